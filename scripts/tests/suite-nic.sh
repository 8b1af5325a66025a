#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: 7.3 6.12
# timeout: 480
# needs: sroce tests
# qemu: -netdev hubport,id=na,hubid=7 -netdev hubport,id=nb,hubid=7 -device virtio-net-pci,netdev=na,mac=52:54:00:77:00:0a,host_mtu=4200,mrg_rxbuf=on -device virtio-net-pci,netdev=nb,mac=52:54:00:77:00:0b,host_mtu=4200,mrg_rxbuf=on
#
# Two adapters with NAPI, as a physical host has, on one wire: each frame comes by
# itself, and GRO chains what belongs together. Checked data with and without, in
# both directions, over both IP versions, with marks, loss and wrong bytes; and
# the packets of a chain are still what they were for whoever else gets them.
. "$(dirname "$0")/lib.sh"

# The adapters stand in for the pair's ends
make_net() {
	local ns dev
	for ns in "$NS_A va 0a 1" "$NS_B vb 0b 2"; do
		# shellcheck disable=SC2086	# words
		set -- $ns
		ip netns add "$1" || return
		dev=$(grep -l "52:54:00:77:00:$3" /sys/class/net/*/address)
		dev=$(basename "$(dirname "$dev")")
		ip link set "$dev" down
		ip link set "$dev" name "$2" netns "$1" || return
		ip -n "$1" link set "$2" mtu 4200 || return
		ip -n "$1" addr add "10.77.0.$4/24" dev "$2"
		ip -n "$1" addr add "fd77::$4/64" dev "$2" nodad
		ip -n "$1" link set lo up
		ip -n "$1" link set "$2" up
	done
}

modprobe -q virtio_net
klog_mark
load_module sroce || bail "load the module"
make_pair || bail "make the pair of devices"
t_case "the wire" 20 ip netns exec "$NS_A" ping -c 3 -i 0.2 "$V6_B"
note "$(in_b ethtool -k vb | grep -E 'generic-(receive|segm)' | tr '\n' ' ')"

COUNTERS="rcvd_chains rcvd_trains rcvd_pkts rx_icrc_encapsulated sent_packs
	retrans_pkts np_ecn_marked_roce_packets"
begin() { sleep 0.05; zero; }
total() { echo $(($(since $DEV_A "$1") + $(since $DEV_B "$1"))); }
# sums: what the counters grew by, of both ends
sums() {
	local c
	sleep 0.05
	for c in $COUNTERS; do note "$c $(total "$c")"; done
}

traffic() {
	verify "$1, path MTU 1024" 60 -T 17 -m 1024 -M 60000 -n 80 -t 8 -s 1
	verify "$1, path MTU 4096, IPv6, 3 queue pairs" 60 -T 17 -f 6 -m 4096 \
		-M 60000 -q 3 -n 40 -t 8 -s 2
}

begin
traffic "chains"
sums
holds "frames were chained" [ "$(total rcvd_chains)" -gt 20 ]
holds "chains are no trains of a peer that takes packs" \
	[ "$(total rcvd_trains) $(total sent_packs)" = "0 0" ]
holds "each frame of a chain with its ICRC" \
	[ "$(total rx_icrc_encapsulated)" = 0 ]

# a tag that the adapter leaves in front of the IP header
modprobe -q 8021q
for end in "$NS_A va 1" "$NS_B vb 2"; do
	# shellcheck disable=SC2086	# words
	set -- $end
	ip -n "$1" link add link "$2" name "$2.7" type vlan id 7
	ip -n "$1" addr add "10.78.0.$3/24" dev "$2.7"
	ip -n "$1" link set "$2.7" up
done
begin
verify "VLAN" 60 -T 17 -A "$(gid_of $DEV_A 0a4e:0001)" -B "$(gid_of $DEV_B 0a4e:0002)" \
	-m 1024 -M 60000 -n 80 -t 8 -s 5
sums
holds "VLAN: frames were chained" [ "$(total rcvd_chains)" -gt 10 ]
holds "VLAN: none was lost" [ "$(total retrans_pkts)" = 0 ]

knob gro 0
begin
traffic "not chained"
sums
holds "nothing is chained without the switch" [ "$(total rcvd_chains)" = 0 ]
knob gro 1

# a mark on each packet is counted on each, whatever it is chained with
knob trains 0
ip_ns "$NS_A" neigh replace $V4_B lladdr 52:54:00:77:00:0b dev va nud permanent
in_a tc qdisc add dev va root netem limit 20000 loss 100% ecn
begin
verify "marked" 60 -T 18 -1 -o write -m 1024 -M 60000 -n 20 -t 8 -s 3
sums
in_a tc qdisc del dev va root
holds "marked frames of chains: each is seen" \
	[ "$(since $DEV_B np_ecn_marked_roce_packets)" -ge \
	$(($(since $DEV_B rcvd_pkts) * 9 / 10)) ]
holds "and some were chained" [ "$(since $DEV_B rcvd_chains)" -gt 0 ]
knob trains 1

begin
netem delay 200us 100us loss 1% duplicate 2% reorder 5% corrupt 0.5%
traffic "loss, duplicates, reorder, wrong bytes"
netem off
sums
holds "what was lost was sent again" [ "$(total retrans_pkts)" -gt 0 ]
t_klog "traffic"

# A chain that is not taken whole is split by the UDP layer. The hook leaves what
# has a bad UDP checksum or is new to conntrack; here it is switched off for A's
# namespace between two packets of a chain, over and over.
t_case "the switches change under traffic" 60 bash -c '
	"$0" -L 50 -T 17 -m 1024 -M 60000 -n 100000000 -t 8 -s 4 "$1" "$2" &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		for knob in gro hook; do
			for d in "$1" "$2"; do
				echo $((RANDOM & 1)) >"/sys/kernel/debug/sroce/$d/$knob"
			done
		done
		sleep 0.02
	done
	wait $pid' "$TEST_BIN/sroce_verify" $DEV_A $DEV_B
knob gro 1
knob hook 1

# the devices go while chains are held back
"$TEST_BIN/sroce_verify" -q 2 -n 100000000 -t 20 -L 30 -M 20000 $DEV_A $DEV_B \
	>/tmp/gone.log 2>&1 &
sleep 2
rdma link delete $DEV_B && rdma link delete $DEV_A
verdict $? "the devices go under their traffic"
wait $!
t_klog "removal"
end_suite
