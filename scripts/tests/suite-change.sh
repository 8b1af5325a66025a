#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 600
# needs: sroce tests
#
# What changes under a device while it is used: link, MTU, addresses; and RDMA
# namespaces of their own (exclusive mode), devices that move between them.
. "$(dirname "$0")/lib.sh"

klog_mark
load_module sroce || bail "load the module"

# ---- exclusive mode: it can be set before there is a namespace only ----

sees() { in_ns "$1" rdma link show 2>/dev/null | grep -q "link $2/1"; }

# Who makes a device has it in the namespace of the netdev, or, on kernels that
# know no better, in the first one, and moves it there.
place() {
	sees "$1" "$2" || rdma dev set "$2" netns "$1"
}

# exclusive_rping: between the two namespaces
exclusive_rping() {
	local pid rc
	ip netns exec b timeout -k 2 30 rping -s -a $V4_B -C 5 -V \
		>/tmp/server.log 2>&1 &
	pid=$!
	sleep 1
	ip netns exec a timeout -k 2 30 rping -c -a $V4_B -C 5 -V \
		>/tmp/client.log 2>&1
	rc=$?
	[ $rc -ne 0 ] && kill $pid 2>/dev/null
	wait $pid || rc=1
	[ $rc -eq 0 ] || sed 's/^/# /' /tmp/server.log /tmp/client.log
	return $rc
}

rdma system set netns exclusive
verdict $? "exclusive mode"
make_net || bail "make the network"
add_dev a $DEV_A sroce va && add_dev b $DEV_B sroce vb
verdict $? "link add in both namespaces"
place a $DEV_A && place b $DEV_B
sees a $DEV_A && sees b $DEV_B && ! sees b $DEV_A && ! sees init $DEV_A
verdict $? "each namespace sees its own device only"
exclusive_rping
verdict $? "rping between them"
[ -e /sys/kernel/debug ] && mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
switches() { find /sys/kernel/debug/sroce -name trains | wc -l; }
holds "both have their switches" [ "$(switches)" = 2 ]

# the same name in two namespaces, where the kernel lets them
if ip netns exec b rdma dev set $DEV_B name $DEV_A 2>/dev/null; then
	holds "two devices of one name: both have their switches" [ "$(switches)" = 2 ]
	ip netns exec b rdma dev set $DEV_A name $DEV_B
else
	skip "two devices of one name" "this kernel has one name space"
fi

# moved away and back while a program has it open
timeout 60 ip netns exec a rping -s -a $V4_A >/tmp/open.log 2>&1 &
open=$!
for i in $(seq 50); do
	ip netns exec a rdma resource show cm_id 2>/dev/null | grep -q LISTEN &&
		break
	sleep 0.1
done
ip netns exec a rdma dev set $DEV_A netns b
verdict $? "a device moves to another namespace under an open program"
sees b $DEV_A && ! sees a $DEV_A
verdict $? "and is seen there"
ip netns exec b rdma dev set $DEV_A netns a
verdict $? "and back"
sees a $DEV_A
verdict $? "where it is seen again"
kill $open 2>/dev/null
wait $open 2>/dev/null
exclusive_rping
verdict $? "rping afterwards"
t_klog "moving"

# the namespace goes, with the device in it or elsewhere
ip netns exec a rdma dev set $DEV_A netns b
ip netns delete a
wait_net=1
for i in $(seq 100); do
	sees b $DEV_A || { wait_net=0; break; }
	sleep 0.1
done
verdict $wait_net "the netdev's namespace goes: its device in another one too"
ip netns delete b
for i in $(seq 100); do
	[ -z "$(ls /sys/kernel/debug/sroce)" ] && break
	sleep 0.1
done
holds "a namespace goes with its device" [ -z "$(ls /sys/kernel/debug/sroce)" ]
for i in $(seq 50); do
	rdma system set netns shared 2>/dev/null && break
	sleep 0.1
done
rdma system show netns 2>/dev/null | grep -q shared
verdict $? "back to shared mode"
t_klog "exclusive mode"

# ---- link, MTU and addresses under traffic ----

make_pair || bail "make the pair"

# disturb SECONDS TIMEOUT OPTIONS -- COMMAND: runs while checked traffic does;
# that is process TRAFFIC
disturb() {
	local opts=(-t "$1" -T "$2")
	shift 2
	while [ "$1" != -- ]; do
		opts+=("$1")
		shift
	done
	shift
	"$TEST_BIN/sroce_verify" -p 1 -n 100000000 -L 60 "${opts[@]}" \
		$DEV_A $DEV_B >/tmp/traffic.log 2>&1 &
	TRAFFIC=$!
	sleep 1.5
	"$@"
}

# during NAME OPTIONS -- COMMAND: the traffic must be unharmed
during() {
	local name=$1
	shift
	disturb 5 17 "$@"
	wait "$TRAFFIC"
	verdict $? "$name" || tail -n 20 /tmp/traffic.log | sed 's/^/# /'
}

flap() {
	ip -n a link set va down
	sleep 0.2
	ip -n a link set va up
}
during "a link that goes down and up" -- flap
# IPv6 addresses went with the link
ip -n a addr add $V6_A/64 dev va nodad 2>/dev/null

mtu() { ip -n a link set va mtu "$1"; ip -n b link set vb mtu "$1"; }
lower_and_raise() { mtu 1500; sleep 0.5; mtu 9000; sleep 0.5; mtu 4200; }
during "an MTU that changes above the path MTU" -m 1024 -- lower_and_raise
mtu 1500
ibv_devinfo -d $DEV_A | grep -q 'active_mtu:.*1024'
verdict $? "active_mtu follows the MTU"
mtu 4200

readdress() {
	ip -n a addr del "$V4_A/24" dev va
	sleep 0.2
	ip -n a addr add "$V4_A/24" dev va
}
during "an address that goes and comes back" -- readdress
during "another address comes and goes" -- sh -c \
	"ip -n a addr add 10.78.0.1/24 dev va; sleep 0.3;
	 ip -n a addr del 10.78.0.1/24 dev va"
t_klog "changes that pass"

# ends NAME OPTIONS -- COMMAND: the traffic cannot go on and must end by itself
ends() {
	local name=$1 pid rc
	shift
	disturb 50 12 "$@"
	pid=$TRAFFIC
	# less than the program's own patience
	for i in $(seq 120); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	kill -0 $pid 2>/dev/null && { kill -KILL $pid; not_ok "$name: hangs"; return; }
	wait $pid
	rc=$?
	grep -q 'transport retry counter exceeded' /tmp/traffic.log && [ $rc -ne 0 ]
	verdict $? "$name" || tail -n 20 /tmp/traffic.log | sed 's/^/# /'
}
ends "an MTU below the path MTU: retries run out" -m 4096 -- mtu 1500
mtu 4200
# WRITEs of one end alone: its own stack is all that stands in the way
ends "such an MTU and WRITEs only" -m 4096 -1 -o write -M 30000 -- mtu 1500
mtu 4200
firewall() {
	ip netns exec a nft -f - <<-END
	table inet refuse {
		chain out {
			type filter hook output priority 0;
			udp dport 4791 drop
		}
	}
	END
}
ends "a firewall that refuses what leaves: retries run out" -1 -o write -- \
	firewall
ip netns exec a nft delete table inet refuse
ends "a queue that is always full: retries run out" -1 -o write -- \
	tc -n a qdisc add dev va root pfifo limit 0
tc -n a qdisc del dev va root
ends "an address that goes for good: retries run out" -- \
	ip -n a addr del $V4_A/24 dev va
ip -n a addr add $V4_A/24 dev va
wait_gids $DEV_A
verify "and all is well afterwards" 30 -n 100
t_klog "changes that do not"

end_suite
