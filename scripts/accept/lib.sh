# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the acceptance suites share, on top of the test suites' harness: they
# run other people's programs over a pair of devices, of the driver that
# run-accept names in SROCE_T_LINK_TYPE. Every suite ends with the same
# questions: is anything left, what does the kernel log say, do the devices and
# the module go.
#
# Case names are what results are compared by: they must not depend on time,
# addresses or process numbers.

# shellcheck source=scripts/tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tests/lib.sh"

# Emulated processors are slow; User-Mode Linux has one, but a fast one.
case ${MACHINE:-uml} in uml*) SLOW=1 ;; *) SLOW=3 ;; esac

# resources: what "rdma resource show" counts, one line a device
resources() { rdma resource show | sed 's/^[0-9]*: //' | sort; }

# settled: no address of the machine is still being checked for duplicates; till
# then nobody answers at a link-local GID
settled() {
	local i
	for i in $(seq 100); do
		[ -z "$(in_a ip -6 addr show tentative)$(in_b ip -6 addr show tentative)" ] &&
			return 0
		sleep 0.1
	done
	note "an address is still tentative"
}

# accept_start [MTU]: the pair, and what it holds when nobody uses it
accept_start() {
	start_suite "$@"
	settled
	RESOURCES=$(resources)
	note "$(uname -r), $LINK_TYPE"
}

# t_resources NAME: nothing is left of what ran
t_resources() {
	local i
	for i in $(seq 100); do
		[ "$(resources)" = "$RESOURCES" ] && break
		sleep 0.1
	done
	if [ "$(resources)" = "$RESOURCES" ]; then
		ok "$1: resources are back at their baseline"
	else
		diff <(echo "$RESOURCES") <(resources) | sed 's/^/# /'
		rdma resource show qp | sed 's/^/# /'
		not_ok "$1: resources are back at their baseline"
	fi
}

# accept_end: the questions every suite ends with
accept_end() {
	t_resources "end"
	t_klog "end"
	drop_pair
	verdict $? "the devices are deleted"
	unload_module "$LINK_TYPE"
	verdict $? "the module is unloaded"
	t_klog "unload"
	done_testing
}

# ready HOW PID: the server, started just now, waits for its client.
# HOW: cm (a listening rdma_cm id), tcp:PORT, udp:PORT, none
ready() {
	local i hex
	hex=$(printf ':%04X ' "${1#*:}" 2>/dev/null)
	for i in $(seq $((100 * SLOW))); do
		[ -d "/proc/$2" ] || return 1
		case $1 in
		cm) rdma resource show cm_id | grep -q LISTEN && return 0 ;;
		tcp:*) cat "/proc/$2/net/tcp" "/proc/$2/net/tcp6" |
			grep -q "$hex.* 0A " && return 0 ;;
		udp:*) cat "/proc/$2/net/udp" "/proc/$2/net/udp6" |
			grep -q "$hex" && return 0 ;;
		none) return 0 ;;
		esac
		sleep 0.05
	done
	note "the server does not wait for anybody"
}

# duo NAME LIMIT HOW: runs SERVER in b, then CLIENT in a (arrays). Both have to
# end well, or the client alone where SERVER_ENDS is "no".
duo() {
	local name=$1 limit=$(($2 * SLOW)) pid rc src=0
	# the program itself, and no shell that would not pass a signal on
	ip netns exec "$NS_B" timeout -k 2 $limit "${SERVER[@]}" \
		</dev/null >/tmp/server.log 2>&1 &
	pid=$!
	ready "$3" $pid
	in_a timeout -k 2 $limit "${CLIENT[@]}" </dev/null >/tmp/client.log 2>&1
	rc=$?
	if [ $rc -ne 0 ] || [ "${SERVER_ENDS:-yes}" = no ]; then
		kill $pid 2>/dev/null
	fi
	wait $pid 2>/dev/null || src=$?
	if [ "${SERVER_ENDS:-yes}" = yes ] && [ $rc -eq 0 ]; then
		rc=$src
	fi
	if [ $rc -ne 0 ]; then
		note "server: ${SERVER[*]}: status $src"
		tail -n 12 /tmp/server.log | sed 's/^/# server: /'
		note "client: ${CLIENT[*]}"
		tail -n 12 /tmp/client.log | sed 's/^/# client: /'
	fi
	verdict $rc "$name"
}

# tap_of LIMIT COMMAND...: passes on "ok - x" and "not ok - x" lines as they
# come, and everything else as comments
tap_of() {
	local limit=$1 line
	shift
	while IFS= read -r line; do
		case $line in
		"ok - "*" # SKIP "*)
			skip "$(expr "$line" : 'ok - \(.*\) # SKIP ')" "${line##* # SKIP }" ;;
		"ok - "*) ok "${line#ok - }" ;;
		"not ok - "*) not_ok "${line#not ok - }" ;;
		*) printf '# %s\n' "${line#\# }" ;;
		esac
	done < <(timeout -k 5 "$limit" "$@" 2>&1; echo "# ended with $?")
}
