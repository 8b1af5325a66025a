#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 600
# needs: sroce tests
#
# Multicast: members on both hosts, joining and leaving as the network sees it,
# through a bridge that snoops, over rdma_cm and in perftest.
. "$(dirname "$0")/lib.sh"

start_suite

if ! grep -q 'cpu MHz' /proc/cpuinfo; then
	sed 's/^bogomips.*/&\ncpu MHz\t\t: 2000.000/' /proc/cpuinfo >/tmp/cpuinfo
	mount --bind /tmp/cpuinfo /proc/cpuinfo
fi

# member IN NETDEV ADDRESS: has that netdev joined?
member() { "$1" ip maddr show dev "$2" | grep -q "$3"; }

# ---- members, and what the neighbours hear of them ----

ip netns exec "$NS_A" tcpdump -i va -p -n -w /tmp/join.pcap \
	'igmp or ip6' >/tmp/tcpdump.log 2>&1 &
tcpdump=$!
for i in $(seq 50); do
	grep -q listening /tmp/tcpdump.log && break
	sleep 0.1
done
t_tap "members" 80 "$TEST_BIN/sroce_mcast" -L 60 $DEV_A $DEV_B
t_klog "members"
no_trace() {
	! member in_a va 239.1.2.3 && ! member in_b vb 239.1.2.3 &&
		! member in_a va ff0e::4:5:6 && ! member in_b vb ff0e::4:5:6
}
no_trace
verdict $? "no netdev is left in a group"

# heard FILTER: a captured packet that fits
heard() { tshark -r /tmp/join.pcap -Y "$1" 2>/dev/null | grep -q .; }
for i in $(seq 40); do
	kill -INT $tcpdump 2>/dev/null
	kill -0 $tcpdump 2>/dev/null || break
	sleep 0.1
done
heard 'igmp.maddr == 239.1.2.3 && ip.src == 10.77.0.2'
verdict $? "the neighbours hear of it: IGMP report"
heard 'icmpv6.mldr.mar.multicast_address == ff0e::4:5:6'
verdict $? "and MLD report"

# a member is seen while it is one
coproc M { "$TEST_BIN/sroce_mcast" -w -L 60 $DEV_A $DEV_B; }
# shellcheck disable=SC2153  # bash sets it
m_pid=$M_PID
while read -r line <&"${M[0]}"; do
	[ "$line" = "# attached" ] && break
done
member in_b vb 239.1.2.3 && member in_a va 239.1.2.3
verdict $? "the netdevs are in the group while there are members"

# ---- the devices go from under the members ----

rdma link delete $DEV_B
verdict $? "link delete under members"
add_dev "$NS_B" $DEV_B sroce vb
! member in_b vb 239.1.2.3
verdict $? "which leaves the group"
ip_ns "$NS_A" link set va down
ip_ns "$NS_A" link delete va
kill -KILL "$m_pid"
wait "$m_pid" 2>/dev/null
wait_gone $DEV_A $DEV_B
verdict $? "netdev removal under members"
t_klog "removal"
drop_pair
make_pair
verdict $? "a new pair"

# ---- a switch that forwards to members only ----

# snoop: puts a bridge between the ends
snoop() {
	ip netns add sw || return
	ip_ns "$NS_A" link delete va
	wait_gone $DEV_A $DEV_B
	ip link add va mtu 4200 netns "$NS_A" type veth peer name pa mtu 4200 netns sw
	ip link add vb mtu 4200 netns "$NS_B" type veth peer name pb mtu 4200 netns sw
	ip -n sw link add br0 type bridge mcast_snooping 1 mcast_querier 1 \
		forward_delay 0 mcast_query_interval 100 \
		mcast_startup_query_interval 50 \
		mcast_query_response_interval 50 || return
	for p in pa pb; do
		ip -n sw link set $p master br0
		ip -n sw link set dev $p type bridge_slave mcast_flood off
		ip -n sw link set $p up
	done
	ip -n sw addr add 10.77.0.9/24 dev br0
	ip -n sw link set br0 up
	ip_ns "$NS_A" addr add $V4_A/24 dev va
	ip_ns "$NS_B" addr add $V4_B/24 dev vb
	ip_ns "$NS_A" addr add $V6_A/64 dev va nodad
	ip_ns "$NS_B" addr add $V6_B/64 dev vb nodad
	ip_ns "$NS_A" link set va up
	ip_ns "$NS_B" link set vb up
	add_dev "$NS_A" $DEV_A sroce va && add_dev "$NS_B" $DEV_B sroce vb &&
		wait_gids $DEV_A $DEV_B
}
if modprobe -q bridge || ip link add brx type bridge 2>/dev/null; then
	ip link delete brx 2>/dev/null
	snoop
	verdict $? "a bridge that snoops between the ends"
	# its querier asks once its own address is no longer tentative; a host
	# tells of a member up to a second after it joined (RFC 3376 8.11)
	sleep 3
	t_tap "through a snooping bridge" 100 "$TEST_BIN/sroce_mcast" -L 70 -s 2000 \
		$DEV_A $DEV_B
	t_klog "snooping"
else
	skip "through a snooping bridge" "no bridge here"
fi

# ---- rdma_cm ----

# mckey_run GROUP: a member in b, a sender in a
mckey_run() {
	local pid rc i
	ip netns exec "$NS_B" timeout -k 2 40 mckey -m "$1" -b $V4_B -C 10 \
		>/tmp/server.log 2>&1 &
	pid=$!
	for i in $(seq 100); do
		in_b ip maddr show dev vb | grep -q "$1" && break
		sleep 0.1
	done
	in_a timeout -k 2 40 mckey -m "$1" -b $V4_A -C 10 -s \
		>/tmp/client.log 2>&1
	rc=$?
	wait $pid || rc=1
	[ $rc -eq 0 ] || sed 's/^/# /' /tmp/server.log /tmp/client.log
	return $rc
}
mckey_run 239.4.5.6
verdict $? "mckey"

# ud_bw NAME OPTIONS...: perftest's multicast
ud_bw() {
	local pid rc name=$1
	shift
	ip netns exec "$NS_B" timeout -k 2 40 ib_send_bw -d $DEV_B -F -c UD -g \
		-x "$(gid_index $DEV_B 6)" -s 1024 -n 200 "$@" \
		>/tmp/server.log 2>&1 &
	pid=$!
	for i in $(seq 100); do
		in_b ss -Hltn | grep -q ':18515 ' && break
		sleep 0.1
	done
	in_a timeout -k 2 40 ib_send_bw -d $DEV_A -F -c UD -g \
		-x "$(gid_index $DEV_A 6)" -s 1024 -n 200 "$@" $V4_B \
		>/tmp/client.log 2>&1
	rc=$?
	wait $pid || rc=1
	[ $rc -eq 0 ] || tail -n 12 /tmp/server.log /tmp/client.log | sed 's/^/# /'
	verdict $rc "$name"
}
ud_bw "ib_send_bw -c UD -g" -M 255:14:0:0:0:0:0:0:0:0:0:7:0:8:0:9
t_klog "rdma_cm and perftest"

mc() { cat "/sys/class/infiniband/$DEV_A/ports/1/counters/multicast_xmit_packets"; }
[ "$(counter $DEV_A sent_mcast_pkts)" -ge 10 ] &&
	[ "$(mc)" = "$(counter $DEV_A sent_mcast_pkts)" ] &&
	[ "$(counter $DEV_B rcvd_mcast_pkts)" -ge 10 ]
verdict $? "multicast is counted, also in ports/1/counters"

ip netns delete sw 2>/dev/null
end_suite
