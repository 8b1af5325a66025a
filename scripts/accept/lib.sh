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

# resources: what "rdma resource show" counts, one line a device. ib_core keeps
# the completion queues of its kernel users' pool until the device goes, so
# suites of such users set POOL.
resources() {
	rdma resource show | sort |
		sed "s/^[0-9]*: //${POOL:+; s/ cq [0-9]*//}"
}

# Where duo runs its server and its client
SERVER_AT=(ip netns exec "$NS_B")
CLIENT_AT=(ip netns exec "$NS_A")

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
	local end=$((SECONDS + 10 * SLOW))
	while [ "$(resources)" != "$RESOURCES" ] && [ $SECONDS -lt $end ]; do
		sleep 0.2
	done
	if [ "$(resources)" = "$RESOURCES" ]; then
		ok "$1: resources are back at their baseline"
	else
		diff <(echo "$RESOURCES") <(resources) | sed 's/^/# /'
		rdma resource show qp | sed 's/^/# /'
		not_ok "$1: resources are back at their baseline"
	fi
}

# accept_flat: as accept_start, but both ends of the pair are in the machine's
# own namespace, for users of the kernel that know no other. Traffic between
# the two addresses still takes the cable.
accept_flat() {
	NS_A=init NS_B=init
	accept_start "$@"
	sysctl -q net.ipv4.conf.all.rp_filter=0
	sysctl -q net.ipv4.conf.{va,vb}.{rp_filter=0,accept_local=1}
	ip route add $V4_B/32 dev va src $V4_A
	ip route add $V4_A/32 dev vb src $V4_B
	ip neigh replace $V4_B lladdr "$(cat /sys/class/net/vb/address)" dev va \
		nud permanent
	ip neigh replace $V4_A lladdr "$(cat /sys/class/net/va/address)" dev vb \
		nud permanent
}

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
	local end=$((SECONDS + $1 * SLOW))
	shift
	while [ $SECONDS -le $end ]; do
		"$@" && return 0
		sleep 0.2
	done
	note "waited in vain: $*"
	return 1
}

# fio_verify NAME DEVICE [MIB]: small, middling and large blocks, at random,
# read back and checked
fio_verify() {
	local size total
	for size in 4k 64k 1m; do
		total=16m
		[ $size = 4k ] && total=4m
		t_case "$1: fio verify, $size" $((60 * SLOW)) fio --name=v \
			--filename="$2" --rw=randwrite --bs=$size \
			--size="${3:-16}m" --io_size=$total --ioengine=libaio \
			--iodepth=16 --direct=1 --verify=crc32c --do_verify=1 \
			--randseed=7
	done
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
	local hex end=$((SECONDS + 10 * SLOW))
	hex=$(printf ':%04X ' "${1#*:}" 2>/dev/null)
	while [ $SECONDS -lt $end ]; do
		[ -d "/proc/$2" ] || return 1
		case $1 in
		cm) "${SERVER_AT[@]}" rdma resource show cm_id |
			grep -q LISTEN && return 0 ;;
		tcp:*) "${SERVER_AT[@]}" cat /proc/net/tcp /proc/net/tcp6 |
			grep -q "$hex.* 0A " && return 0 ;;
		udp:*) "${SERVER_AT[@]}" cat /proc/net/udp /proc/net/udp6 |
			grep -q "$hex" && return 0 ;;
		none) return 0 ;;
		esac
		sleep 0.05
	done
	note "the server does not wait for anybody"
}

# duo NAME LIMIT HOW: runs SERVER in b, then CLIENT in a (arrays), or where
# SERVER_AT and CLIENT_AT say. Both have to end well, or the client alone where SERVER_ENDS is "no".
duo() {
	local name=$1 limit=$(($2 * SLOW)) pid rc src=0
	# the program itself, and no shell that would not pass a signal on
	"${SERVER_AT[@]}" timeout -k 2 $limit "${SERVER[@]}" \
		</dev/null >/tmp/server.log 2>&1 &
	pid=$!
	ready "$3" $pid
	"${CLIENT_AT[@]}" timeout -k 2 $limit "${CLIENT[@]}" </dev/null >/tmp/client.log 2>&1
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
		tail -n 12 /tmp/server.log | awk '{ print "# server: " $0 }'
		note "client: ${CLIENT[*]}"
		tail -n 12 /tmp/client.log | awk '{ print "# client: " $0 }'
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
