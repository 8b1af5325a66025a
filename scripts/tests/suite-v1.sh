#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml uml-debug
# timeout: 1000
# needs: sroce tests
#
# RoCEv1: nothing of it without the switch; with it checked traffic of every
# service over IPv4 and IPv6 GIDs, on a VLAN, to the device itself, with loss;
# captures; RoCEv1 and RoCEv2 on one connection; rdma_cm; hostile frames.
. "$(dirname "$0")/lib.sh"

HERE=$(dirname "$0")
PARAMETER=/sys/module/sroce/parameters/rocev1
modprobe -q 8021q

# types DEVICE: the types of its GIDs
types() {
	cat "/sys/class/infiniband/$1/ports/1/gid_attrs/types/"* 2>/dev/null |
		sort | uniq -c | tr '\n' ' ' | tr -s ' '
}

# v1_index DEVICE PATTERN: index of the RoCEv1 GID of that address
v1_index() {
	local i dir=/sys/class/infiniband/$1/ports/1
	for i in $(seq 0 3199); do
		if grep -qs v1 "$dir/gid_attrs/types/$((i % 32))" &&
			grep -qs "$2" "$dir/gids/$((i % 32))"; then
			echo $((i % 32))
			return 0
		fi
		[ $((i % 32)) -ne 31 ] || sleep 0.05
	done
	note "$1: no RoCEv1 GID $2" >&2
	return 1
}

# address 4|6 LAST-NUMBER [NET]: as the GID table writes it
address() {
	if [ "$1" = 4 ]; then
		printf 'ffff:0a%02x:%04x$' "${3:-77}" "$2"
	else
		printf 'fd%02d:.*:%04x$' "${3:-77}" "$2"
	fi
}

# ---- without the switch ----

klog_mark
load_modules || bail "load the modules"
make_pair || bail "make the pair of devices"
MAC_A=$(ip_ns "$NS_A" -br link show dev va | awk '{print $3}')
note "GIDs: $(types $DEV_A)"
holds "off: no GID of RoCEv1" [ -z "$(types $DEV_A | grep v1)" ]
holds "off: GIDs of RoCEv2" [ -n "$(types $DEV_A | grep v2)" ]
holds "off: nobody waits for the EtherType" \
	[ -z "$(grep '^8915' /proc/net/ptype)" ]
holds "off: debugfs says so" \
	[ "$(cat /sys/kernel/debug/sroce/$DEV_A/rocev1)" = N ]
t_tap "off" 40 nsenter --net="/run/netns/$NS_B" python3 "$HERE/packets.py" vb \
	"$TEST_BIN/sroce_target" $DEV_A $DEV_B "$MAC_A" $V4_B $V4_A ignored
verify "off: data" 40 -n 100 -t 3
drop_pair

# ---- with it ----

echo 1 >$PARAMETER
make_pair || bail "make the pair of devices with RoCEv1"
add_dev "$NS_A" roce_l sroce lo
holds "on: somebody waits for the EtherType" \
	[ -n "$(grep '^8915' /proc/net/ptype)" ]
holds "on: not on lo" [ "$(cat /sys/kernel/debug/sroce/roce_l/rocev1)" = N ]
del_dev roce_l
echo 0 >$PARAMETER
MAC_A=$(ip_ns "$NS_A" -br link show dev va | awk '{print $3}')
note "GIDs: $(types $DEV_A)"
holds "on: as many GIDs of RoCEv1 as of RoCEv2" \
	[ "$(types $DEV_A | grep -o '[0-9]* IB/RoCE v1' | cut -d' ' -f1)" = \
	"$(types $DEV_A | grep -o '[0-9]* RoCE v2' | cut -d' ' -f1)" ]
holds "on: debugfs says so, whatever came after" \
	[ "$(cat /sys/kernel/debug/sroce/$DEV_A/rocev1)" = Y ]

# capture FILE COMMAND...: all of RoCE on the wire while the command runs
capture() {
	local file=$1
	shift
	sniff "$NS_B" vb "$file" \
		"ether proto 0x8915 or udp port 4791 or (vlan and (ether proto 0x8915 or udp port 4791))"
	"$@"
	unsniff
}

# v1_verify NAME FAMILY NUMBER-A NUMBER-B NET OPTIONS...
v1_verify() {
	local name=$1 a b
	a=$(v1_index $DEV_A "$(address "$2" "$3" "$5")")
	b=$(v1_index $DEV_B "$(address "$2" "$4" "$5")")
	name="$name, IPv$2"
	shift 5
	verify "$name" 60 -A "$a" -B "$b" "$@"
}

capture /tmp/v4 v1_verify "RC" 4 1 2 77 -n 200 -t 5 -M 60000 -m 1024
t_tap "IPv4" 60 python3 "$HERE/grhcheck.py" /tmp/v4 500
capture /tmp/v6 v1_verify "RC" 6 1 2 77 -n 200 -t 5 -M 60000 -m 4096 -c 104
t_tap "IPv6" 60 python3 "$HERE/grhcheck.py" /tmp/v6 300
v1_verify "RC, events, 3 queue pairs" 4 1 2 77 -n 200 -t 5 -M 20000 -e -q 3
verify "RoCEv2 on the same devices" 40 -n 100 -t 3 \
	-A $(($(v1_index $DEV_A "$(address 4 1)") + 1)) \
	-B $(($(v1_index $DEV_B "$(address 4 2)") + 1))
export TL_ROCE=v1
t_tap "UC" 40 "$TEST_BIN/sroce_uc" -L 30 $DEV_A $DEV_B
t_tap "UD" 60 "$TEST_BIN/sroce_ud" -L 50 $DEV_A $DEV_B
netem loss 2% delay 100us
v1_verify "RC with loss" 4 1 2 77 -n 150 -t 8 -M 30000 -m 1024 -T 14
v1_verify "RC with loss" 6 1 2 77 -n 150 -t 8 -M 30000 -m 1024 -T 14
t_tap "UC with loss" 40 "$TEST_BIN/sroce_uc" -l -L 30 $DEV_A $DEV_B
netem duplicate 5% corrupt 2% delay 200us reorder 10%
v1_verify "RC with duplicates and wrong bytes" 4 1 2 77 -n 150 -t 8 -M 30000 -T 14
netem off
holds "loss: packets were sent again" [ "$(counter $DEV_A retrans_pkts)" -gt 0 ]
unset TL_ROCE
t_klog "traffic"

# ---- VLAN, the device itself ----

for end in "$NS_A va 1" "$NS_B vb 2"; do
	# shellcheck disable=SC2086
	set -- $end
	ip -n "$1" link add link "$2" name v7 type vlan id 7 egress 3:3
	ip -n "$1" addr add "10.78.0.$3/24" dev v7
	ip -n "$1" addr add "fd78::$3/64" dev v7 nodad
	ip -n "$1" link set v7 up
done
capture /tmp/vlan v1_verify "VLAN" 4 1 2 78 -n 100 -t 4 -M 30000
t_tap "VLAN, IPv4" 60 python3 "$HERE/grhcheck.py" /tmp/vlan 100 tagged
capture /tmp/vlan v1_verify "VLAN" 6 1 2 78 -n 100 -t 4 -M 30000
t_tap "VLAN, IPv6" 60 python3 "$HERE/grhcheck.py" /tmp/vlan 100 tagged

ip -n "$NS_A" addr add 10.77.0.9/24 dev va
ip -n "$NS_A" addr add fd77::9/64 dev va nodad
SAVED=$DEV_B
DEV_B=$DEV_A
v1_verify "to the device itself" 4 1 9 77 -n 200 -t 4 -M 30000
v1_verify "to the device itself" 6 9 1 77 -n 200 -t 4 -M 30000
v1_verify "to one GID" 4 1 1 77 -n 100 -t 4 -M 30000
DEV_B=$SAVED
t_klog "VLAN and the device itself"

# ---- both on one connection ----

for fam in 4 6; do
	dropped=$(counter $DEV_B rx_drop_gid_type)
	t_tap "mixed, IPv$fam" 60 "$TEST_BIN/sroce_mixed" -f $fam -L 50 \
		$DEV_A $DEV_B
	sleep 0.05
	holds "mixed, IPv$fam: the receiver counted" \
		[ $(($(counter $DEV_B rx_drop_gid_type) - dropped)) -ge 6 ]
done
t_klog "mixed"

# ---- other people's programs ----

# shellcheck source=scripts/tests/programs.sh
. "$HERE/programs.sh"

# gid_index() finds RoCEv1 first; a machine with all checks is slow
families="4 6"
[ -e /sys/kernel/debug/kmemleak ] && families=4
for fam in $families; do
	pingpong "$fam" rc -n 100 -e
	pingpong "$fam" uc -n 100 -e
	pingpong "$fam" ud -n 100 -e
done
perf 4 ib_send_bw -c UD -s 1024 -n 200
perf 4 ib_write_bw -s 65536 -n 50
t_klog "programs"

# SL 3 is priority 3 of the VLAN
pcp() {
	local a b
	a=$(v1_index "$DEV_A" "$(address 4 1 78)")
	b=$(v1_index "$DEV_B" "$(address 4 2 78)")
	both ib_write_bw -d "$DEV_B" -x "$b" -F -p PORT -S 3 -n 20 -- \
		ib_write_bw -d "$DEV_A" -x "$a" -F -p PORT -S 3 -n 20 "$V4_B"
	verdict $? "VLAN: ib_write_bw with SL 3"
}
capture /tmp/pcp pcp
pcps=$(tshark -n -r /tmp/pcp -T fields -e vlan.priority 2>/dev/null | sort -u)
holds "VLAN: the SL is the priority of every frame" [ "$pcps" = 3 ]
t_klog "priorities"

mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config
modprobe -q rdma_cm
# cm_mode DEVICE MODE
cm_mode() {
	local dir=/sys/kernel/config/rdma_cm/$1
	[ -d "$dir" ] || mkdir "$dir"
	echo "$2" >"$dir/ports/1/default_roce_mode"
}

# wait_listen: until somebody listens
wait_listen() {
	local i
	for i in $(seq 20); do
		rdma resource show cm_id 2>/dev/null | grep -q LISTEN && return
		sleep 0.1
	done
}

# rping_run NAME ADDRESS ANY
rping_run() {
	PORT=$((PORT + 1))
	SERVER=(rping -s -a "$3" -p "$PORT" -C 10 -S 9000 -V)
	CLIENT=(rping -c -a "$2" -p "$PORT" -C 10 -S 9000 -V)
	served wait_listen
	verdict $? "$1"
}

PORT=19500
if [ -d /sys/kernel/config/rdma_cm ]; then
	cm_mode $DEV_A "IB/RoCE v1"
	cm_mode $DEV_B "IB/RoCE v1"
	capture /tmp/cm4 rping_run "rping, IPv4" $V4_B 0.0.0.0
	t_tap "rping, IPv4" 60 python3 "$HERE/grhcheck.py" /tmp/cm4 30
	capture /tmp/cm6 rping_run "rping, IPv6" $V6_B ::
	t_tap "rping, IPv6" 60 python3 "$HERE/grhcheck.py" /tmp/cm6 30
	SERVER=(udaddy -b "$V4_B" -C 10 -S 500)
	CLIENT=(udaddy -s "$V4_B" -C 10 -S 500)
	served wait_listen
	verdict $? "udaddy"
	# a listener answers in the version it is asked in
	cm_mode $DEV_B "RoCE v2"
	capture /tmp/cm rping_run "rping, the listener's default is RoCEv2" \
		$V4_B 0.0.0.0
	t_tap "rping, other default" 60 python3 "$HERE/grhcheck.py" /tmp/cm 30
	cm_mode $DEV_A "RoCE v2"
	cm_mode $DEV_B "IB/RoCE v1"
	before=$(counter $DEV_B rx_drop_gid_type)
	rping_run "rping, the listener's default is RoCEv1" $V4_B 0.0.0.0
	holds "rping, other default: nothing was dropped" \
		[ "$(counter $DEV_B rx_drop_gid_type)" = "$before" ]
	rmdir /sys/kernel/config/rdma_cm/*
else
	skip "rping" "no configfs for rdma_cm"
fi
t_klog "rdma_cm"

# ---- hostile frames ----

A=$(v1_index $DEV_A "$(address 4 1)")
B=$(v1_index $DEV_B "$(address 4 2)")
"$TEST_BIN/sroce_verify" -A "$A" -B "$B" -q 2 -n 100000000 -t 150 -L 170 \
	-M 20000 $DEV_A $DEV_B >/tmp/honest.log 2>&1 &
honest=$!
export TL_ROCE=v1 NOISE_ROUNDS=5
t_tap "frames, IPv4" 80 nsenter --net="/run/netns/$NS_B" python3 "$HERE/packets.py" vb \
	"$TEST_BIN/sroce_target" $DEV_A $DEV_B "$MAC_A" $V4_B $V4_A v1
t_tap "frames, IPv6" 80 nsenter --net="/run/netns/$NS_B" python3 "$HERE/packets.py" vb \
	"$TEST_BIN/sroce_target" $DEV_A $DEV_B "$MAC_A" $V6_B $V6_A v1
unset TL_ROCE
kill -INT $honest
wait $honest
rc=$?
sed 's/^#\? \?/# /' /tmp/honest.log
verdict $rc "frames: the traffic beside them is unharmed"
t_klog "frames"

# ---- a device goes under its traffic ----

"$TEST_BIN/sroce_verify" -A "$A" -B "$B" -q 2 -n 100000000 -t 20 -L 30 \
	-M 20000 $DEV_A $DEV_B >/tmp/gone.log 2>&1 &
sleep 1
ip -n "$NS_A" link delete va
wait_gone $DEV_A $DEV_B
verdict $? "the netdevs go under the traffic, the devices with them"
holds "nobody waits for the EtherType any more" \
	[ -z "$(grep '^8915' /proc/net/ptype)" ]
kill $! 2>/dev/null
wait $!
t_klog "netdevs gone"

end_suite
