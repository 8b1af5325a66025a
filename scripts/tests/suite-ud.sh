#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 840
# needs: sroce tests
#
# Unreliable queue pairs, UD and UC: verbs programs of rdma-core and the UD part of the
# perftest family, over both IP versions, each with its counters and a clean
# kernel log.
. "$(dirname "$0")/lib.sh"

start_suite

# shellcheck source=scripts/tests/programs.sh
. "$(dirname "$0")/programs.sh"

t_tap "rules" 60 "$TEST_BIN/sroce_ud" -L 50 $DEV_A $DEV_B
t_klog "rules"
t_tap "UC" 40 "$TEST_BIN/sroce_uc" -L 30 $DEV_A $DEV_B
netem loss 2%
t_tap "UC with loss" 40 "$TEST_BIN/sroce_uc" -l -L 30 $DEV_A $DEV_B
netem off
t_klog "UC"

for fam in 4 6; do
	# a poller waits for the end of the other's time slice here: few of these
	pingpong $fam rc -n 10
	pingpong $fam rc -n 100 -e
	pingpong $fam uc -n 10
	pingpong $fam uc -n 100 -e -s 65536 -r 100
	pingpong $fam ud -n 10
	pingpong $fam ud -n 100 -e
	pingpong $fam ud -n 100 -e -s 2048 -r 100
done
t_klog "pingpongs"

for fam in 4 6; do
	perf $fam ib_send_bw -c UD -s 1024 -n 500
	perf $fam ib_send_lat -c UD -e -s 64 -n 20
done
perf 4 ib_send_bw -c UD -s 4096 -n 300
perf 4 ib_send_bw -c UD -b -s 2048 -n 300
perf 4 ib_send_bw -c UD -e -s 1024 -n 200
perf 4 ib_send_bw -c UD -I 64 -s 64 -n 300
perf 4 ib_send_bw -c UD -q 4 -s 1024 -n 100
for op in send write; do
	perf 4 ib_${op}_bw -c UC -s 65536 -n 100
	perf 6 ib_${op}_bw -c UC -s 1024 -n 200
	perf 4 ib_${op}_bw -c UC -b -s 4096 -n 100
done
perf 4 ib_send_lat -c UC -e -s 64 -n 20
perf 4 ib_send_bw -c UD --post_list=16 -s 512 -n 320
t_klog "perftest"

# ---- congestion: a mark on a datagram slows the QP that sent it

HERE=$(dirname "$0")
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
enable() { echo "$2" >"/sys/kernel/debug/sroce/$1/cc_params/enable"; }

# marked FAMILY: UDP packets are marked on their way to b, whatever they are
marked() {
	local fam=$1 at proto
	at=$([ "$fam" = 4 ] && echo 20 || echo 40)
	proto=$([ "$fam" = 4 ] && echo ip || echo ipv6)
	in_a tc qdisc add dev va root handle 1: prio bands 4 \
		priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 &&
		in_a tc qdisc add dev va parent 1:4 netem limit 20000 loss 100% ecn &&
		in_a tc filter add dev va parent 1: protocol "$proto" u32 \
			match u16 4791 0xffff at $((at + 2)) flowid 1:4
}

COUNTERS="np_ecn_marked_roce_packets np_cnp_sent rp_cnp_handled rp_cnp_ignored
	rx_drop_qpn rx_drop_state"
# congested FAMILY: datagrams a to b, all marked
congested() {
	local fam=$1 src=$V4_B dst=$V4_A marks sent heeded late
	[ "$fam" = 6 ] && src=$V6_B dst=$V6_A
	marked "$fam" || { not_ok "IPv$fam: mark datagrams"; return; }
	sniff "$NS_B" vb /tmp/ud.pcap udp port 4791
	zero
	perf "$fam" ib_send_bw -c UD -s 1024 -n 300
	unsniff
	in_a tc qdisc del dev va root
	marks=$(since $DEV_B np_ecn_marked_roce_packets)
	sent=$(since $DEV_B np_cnp_sent)
	heeded=$(since $DEV_A rp_cnp_handled)
	# the program ends and does not wait for them
	late=$(($(since $DEV_A rx_drop_qpn) + $(since $DEV_A rx_drop_state) +
		$(since $DEV_A rp_cnp_ignored)))
	note "$marks marks seen, $sent CNPs, $heeded heeded, $late too late"
	holds "IPv$fam: marked datagrams are answered" \
		[ "$sent" -ge 1 -a "$sent" -le "$marks" ]
	holds "IPv$fam: the sender heeds every CNP that comes in time" \
		[ $((heeded + late)) -eq "$sent" -a "$late" -le $((sent / 2)) ]
	t_tap "IPv$fam" 60 python3 "$HERE/cc_packets.py" cnp /tmp/ud.pcap "$src" "$dst"
	t_tap "IPv$fam" 60 python3 "$HERE/cc_packets.py" ud /tmp/ud.pcap "$src" "$dst"
}
congested 4
congested 6

enable $DEV_B N
zero
marked 4
perf 4 ib_send_bw -c UD -s 1024 -n 200
in_a tc qdisc del dev va root
holds "off at the receiver: marks are seen" \
	[ "$(since $DEV_B np_ecn_marked_roce_packets)" -ge 1 ]
holds "off at the receiver: and not answered" [ "$(since $DEV_B np_cnp_sent)" = 0 ]
enable $DEV_B Y
t_klog "marked datagrams"

end_suite
