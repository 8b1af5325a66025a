# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The harness the suites share. Sourced by a suite that runs as root inside a
# test machine; it prints TAP on the standard output.
#
# It owns: test numbering, the pair of network namespaces with a veth pair and
# one RDMA device on each end, time limits, the kernel log check, teardown.
# It must not know what a suite tests.
#
# Variables a caller may set:
#   LINK_TYPE    sroce (default) or rxe: the driver under test
#   TYPE_A/B     the driver of one end, for mixed pairs
#   NS_A/B       the network namespace of one end; "init" is the machine's own
#   KNOBS        switches of each sroce device, as "trains=0 hook=0"
#   TEST_BIN     where the compiled test programs are
#   TEST_OUT     where results may be left

LINK_TYPE=${LINK_TYPE:-${SROCE_T_LINK_TYPE:-sroce}}
KNOBS=${KNOBS:-${SROCE_T_KNOBS:-}}
TEST_BIN=${TEST_BIN:-${TESTS:-/lab/build/tests}}
TEST_OUT=${TEST_OUT:-/out}
TEST_SRC=${TEST_SRC:-/src}
NS_A=${NS_A:-a}
NS_B=${NS_B:-b}
V4_A=10.77.0.1 V4_B=10.77.0.2
V6_A=fd77::1 V6_B=fd77::2
# shellcheck disable=SC2034  # suites use them
DEV_A=roce_a DEV_B=roce_b

T_N=0
T_FAILED=0
SECONDS=0

# ---- TAP ----

note() { printf '# %s\n' "$*"; }

ok() { T_N=$((T_N + 1)); printf 'ok %d - %s\n' "$T_N" "$*"; }

not_ok() {
	T_N=$((T_N + 1))
	T_FAILED=$((T_FAILED + 1))
	printf 'not ok %d - %s\n' "$T_N" "$*"
}

skip() { T_N=$((T_N + 1)); printf 'ok %d - %s # SKIP %s\n' "$T_N" "$1" "$2"; }

# verdict STATUS NAME
verdict() {
	local rc=$1
	shift
	if [ "$rc" -eq 0 ]; then ok "$*"; else not_ok "$* (status $rc)"; fi
	note "at $SECONDS s"
	return "$rc"
}

# holds NAME COMMAND...: ok when the command is true
holds() {
	local name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name"; fi
}

# done_testing: the plan. A suite that dies before it has none, and fails.
done_testing() {
	note "suite took $SECONDS s"
	printf '1..%d\n' "$T_N"
	[ "$T_FAILED" -eq 0 ]
	exit
}

bail() {
	not_ok "$*"
	done_testing
}

# t_case NAME LIMIT COMMAND...: ok when the command ends with 0 in LIMIT s.
# Its output goes to the log as comments.
t_case() {
	local name=$1 limit=$2 rc log start=$SECONDS
	shift 2
	log=$(mktemp)
	timeout -k 5 "$limit" "$@" >"$log" 2>&1
	rc=$?
	if [ $rc -ne 0 ]; then
		note "command: $*"
		tail -n 60 "$log" | sed 's/^#\? \?/# /'
	else
		tail -n 3 "$log" | sed 's/^#\? \?/# /'
	fi
	rm -f "$log"
	verdict $rc "$name ($((SECONDS - start)) s)"
}

# t_tap NAME LIMIT COMMAND...: the command prints "ok - x" and "not ok - x"
# lines; they become cases of this suite, and its end one more.
t_tap() {
	local name=$1 limit=$2 rc line log
	shift 2
	log=$(mktemp)
	timeout -k 5 "$limit" "$@" >"$log" 2>&1
	rc=$?
	while IFS= read -r line; do
		case $line in
		"ok - "*) ok "$name: ${line#ok - }" ;;
		"not ok - "*) not_ok "$name: ${line#not ok - }" ;;
		*) printf '# %s\n' "${line#\# }" ;;
		esac
	done <"$log"
	rm -f "$log"
	verdict $rc "$name: ran to its end"
}

# ---- kernel log ----

KLOG_BAD='BUG|WARNING|KASAN|UBSAN|KFENCE|lockdep|possible (circular|recursive)|inconsistent lock|refcount_t|rcu.*(stall|self-detected)|Oops|general protection|unable to handle|leaked|scheduling while atomic|blocked for more than|Call Trace'
# UML's own boot message, from its virtio PCI bus
KLOG_ALLOWED='No virtio device ID configured'

# klog_mark: from here on the log belongs to the running case
klog_mark() { KLOG_AT=$(dmesg | wc -l); }

klog_new() { dmesg | tail -n +$((KLOG_AT + 1)); }

# t_klog NAME: ok when nothing alarming was logged since klog_mark
t_klog() {
	local bad
	bad=$(klog_new | grep -E "$KLOG_BAD" | grep -vE "$KLOG_ALLOWED" | head -n 5)
	if [ -n "$bad" ]; then
		klog_new | tail -n 80 | sed 's/^/# /'
		not_ok "$1: kernel log"
	else
		ok "$1: kernel log"
	fi
	klog_mark
}

# ---- modules ----

find_sroce() {
	find "${MODULES:-/lab/build/$(uname -r)}" -name sroce.ko 2>/dev/null |
		head -n 1
}

# load_module TYPE
load_module() {
	local ko m
	for m in udp_tunnel ip6_udp_tunnel ib_core ib_uverbs rdma_ucm veth \
		sch_netem; do
		modprobe -q "$m"
	done
	if [ "$1" = rxe ]; then
		modprobe rdma_rxe
		return
	fi
	grep -q '^sroce ' /proc/modules && return 0
	ko=$(find_sroce)
	if [ -z "$ko" ]; then
		note "no sroce.ko for $(uname -r)"
		return 1
	fi
	insmod "$ko"
}

unload_module() {
	case $1 in
	rxe) modprobe -r rdma_rxe ;;
	*) rmmod sroce ;;
	esac
}

type_a() { echo "${TYPE_A:-$LINK_TYPE}"; }
type_b() { echo "${TYPE_B:-$LINK_TYPE}"; }

load_modules() {
	load_module "$(type_a)" && load_module "$(type_b)"
}

# ---- the pair ----

# in_ns NAMESPACE COMMAND...
in_ns() {
	local ns=$1
	shift
	if [ "$ns" = init ]; then "$@"; else ip netns exec "$ns" "$@"; fi
}

in_a() { in_ns "$NS_A" "$@"; }
in_b() { in_ns "$NS_B" "$@"; }

# ip_ns NAMESPACE ARGUMENTS...: cheaper than a shell in the namespace
ip_ns() {
	local ns=$1
	shift
	if [ "$ns" = init ]; then ip "$@"; else ip -n "$ns" "$@"; fi
}

# make_net [MTU]: namespaces, the veth pair va/vb, addresses
make_net() {
	local mtu=${1:-4200}
	[ "$NS_A" = init ] || ip netns add "$NS_A" || return
	[ "$NS_B" = init ] || ip netns add "$NS_B" || return
	ip link add va mtu "$mtu" type veth peer name vb mtu "$mtu" || return
	[ "$NS_A" = init ] || ip link set va netns "$NS_A"
	[ "$NS_B" = init ] || ip link set vb netns "$NS_B"
	ip_ns "$NS_A" addr add $V4_A/24 dev va
	ip_ns "$NS_B" addr add $V4_B/24 dev vb
	ip_ns "$NS_A" addr add $V6_A/64 dev va nodad
	ip_ns "$NS_B" addr add $V6_B/64 dev vb nodad
	ip_ns "$NS_A" link set lo up
	ip_ns "$NS_B" link set lo up
	ip_ns "$NS_A" link set va up
	ip_ns "$NS_B" link set vb up
}

# add_dev NAMESPACE NAME TYPE NETDEV: with its switches as KNOBS says
add_dev() {
	local word
	in_ns "$1" rdma link add "$2" type "$3" netdev "$4" || return
	[ "$3" = sroce ] || return 0
	for word in $KNOBS; do
		echo "${word#*=}" >"/sys/kernel/debug/sroce/$2/${word%%=*}" ||
			return
	done
}

# knob NAME VALUE: a switch of both sroce devices
knob() {
	local dev
	for dev in $DEV_A $DEV_B; do
		echo "$2" >"/sys/kernel/debug/sroce/$dev/$1" || return
	done
}

del_dev() { rdma link delete "$1"; }

# gid_index DEVICE 4|6: of the global address
gid_index() {
	local i gid dir=/sys/class/infiniband/$1/ports/1/gids
	for i in 0 1 2 3 4 5 6 7; do
		gid=$(cat "$dir/$i" 2>/dev/null) || continue
		case $2:$gid in
		4:0000:0000:0000:0000:0000:ffff:*) echo $i; return 0 ;;
		6:fd77:*) echo $i; return 0 ;;
		esac
	done
	return 1
}

# gid_of DEVICE ADDRESS-AS-IN-A-GID: its index, waited for
gid_of() {
	local i
	for i in $(seq 0 1599); do
		grep -qs "$2\$" "/sys/class/infiniband/$1/ports/1/gids/$((i % 16))" &&
			echo $((i % 16)) && return 0
		[ $((i % 16)) -ne 15 ] || sleep 0.05
	done
	note "$1: no GID $2" >&2
	return 1
}

wait_gids() {
	local dev i
	for dev in "$@"; do
		for i in $(seq 100); do
			gid_index "$dev" 4 >/dev/null &&
				gid_index "$dev" 6 >/dev/null && break
			[ "$i" = 100 ] && note "$dev: no GIDs" && return 1
			sleep 0.1
		done
	done
}

# make_pair [MTU]: everything a traffic test needs
make_pair() {
	make_net "$@" || return
	add_dev "$NS_A" $DEV_A "$(type_a)" va || return
	add_dev "$NS_B" $DEV_B "$(type_b)" vb || return
	wait_gids $DEV_A $DEV_B || return
	RXE_DEVICES=
	[ "$(type_a)" = rxe ] && RXE_DEVICES=$DEV_A
	[ "$(type_b)" = rxe ] && RXE_DEVICES="$RXE_DEVICES $DEV_B"
	export RXE_DEVICES
}

# netem ARGUMENTS...: on both ends; "off" removes it
netem() {
	ip_ns "$NS_A" link set va up
	in_a tc qdisc del dev va root 2>/dev/null
	in_b tc qdisc del dev vb root 2>/dev/null
	[ "$1" = off ] && return 0
	in_a tc qdisc add dev va root netem limit 20000 "$@" &&
		in_b tc qdisc add dev vb root netem limit 20000 "$@"
}

# drop_pair: removes what make_pair made, in the usual order
drop_pair() {
	rdma link delete $DEV_A 2>/dev/null
	rdma link delete $DEV_B 2>/dev/null
	ip_ns "$NS_A" link delete va 2>/dev/null
	[ "$NS_A" = init ] || ip netns delete "$NS_A" 2>/dev/null
	[ "$NS_B" = init ] || ip netns delete "$NS_B" 2>/dev/null
	wait_gone $DEV_A $DEV_B
}

# wait_gone DEVICE...: until they have left sysfs
wait_gone() {
	local dev i
	for dev in "$@"; do
		for i in $(seq 100); do
			[ -e "/sys/class/infiniband/$dev" ] || break
			[ "$i" = 100 ] && note "$dev is still there" && return 1
			sleep 0.1
		done
	done
}

# start_suite [MTU]: modules, pair, log mark; gives up when they fail
start_suite() {
	klog_mark
	load_modules || bail "load the modules"
	make_pair "$@" || bail "make the pair of devices"
}

# knobs_held: proof that KNOBS had their effect all the time
knobs_held() {
	local dev
	for dev in $DEV_A $DEV_B; do
		[ -d "/sys/kernel/debug/sroce/$dev" ] || continue
		case " $KNOBS " in
		*" trains=0 "*)
			holds "$dev: each frame left alone" [ "$(counter $dev sent_pkts)" \
				-eq "$(counter $dev sent_trains)" ]
			;;
		esac
		case " $KNOBS " in
		*" hook=0 "*)
			holds "$dev: no train was taken whole" \
				[ "$(counter $dev rcvd_trains)" -eq 0 ]
			;;
		esac
	done
}

# end_suite: teardown, module unload, log check, plan
end_suite() {
	local t
	sleep 0.05	# counters are cached for 10 ms
	knobs_held
	drop_pair
	verdict $? "remove the pair"
	for t in $(printf '%s\n' "$(type_a)" "$(type_b)" | sort -u); do
		unload_module "$t"
		verdict $? "unload the $t module"
	done
	t_klog "teardown"
	done_testing
}

# counter DEVICE NAME: a hardware counter's value, 0 when there is none
counter() {
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2" 2>/dev/null ||
		echo 0
}

# zero, since DEVICE NAME: what the counters named in COUNTERS grew by in between
declare -A ZERO
zero() {
	local d c
	for d in $DEV_A $DEV_B; do
		for c in $COUNTERS; do ZERO[$d.$c]=$(counter "$d" "$c"); done
	done
}
since() { echo $(($(counter "$1" "$2") - ${ZERO[$1.$2]})); }

# sniff NAMESPACE NETDEV FILE OPTION...: a capture begins, that unsniff ends
sniff() {
	local ns=$1 dev=$2 file=$3 i
	shift 3
	# no shell between: the process to be ended is tcpdump
	ip netns exec "$ns" tcpdump -i "$dev" -s 0 -B 30000 -U -w "$file" "$@" \
		>/dev/null 2>/tmp/tcpdump.err &
	SNIFFER=$!
	for i in $(seq 100); do
		grep -q listening /tmp/tcpdump.err && break
		sleep 0.05
	done
}

unsniff() {
	# it gets its packets in blocks, at the latest each second
	sleep 1.1
	# it may have ended by itself, at -c
	kill -INT "$SNIFFER" 2>/dev/null
	wait "$SNIFFER"
	note "$(tr '\n' ' ' </tmp/tcpdump.err)"
}

# verify NAME LIMIT OPTIONS...: a run of sroce_verify over the pair, in LIMIT s on
# a machine that has time for it
verify() {
	local name=$1 limit=$((2 * $2))
	shift 2
	t_case "$name" $((limit + 10)) "$TEST_BIN/sroce_verify" -L "$limit" "$@" \
		$DEV_A $DEV_B
}
