#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml uml-debug
# timeout: 1200
# needs: sroce rxe tests
#
# Loading, link add and del, unload in any order, 200 rounds, with and without
# traffic, beside rdma_rxe loaded before, after and at the same time; netdevs
# and namespaces that go away under open user contexts.
. "$(dirname "$0")/lib.sh"

# the debug kernel takes long over each; the plain one does them all
case $MACHINE in
uml-debug)
	ROUNDS=${SROCE_T_ROUNDS:-12}
	;;
*)
	ROUNDS=${SROCE_T_ROUNDS:-200}
	;;
esac
RANDOM=7
klog_mark
make_net || bail "make the network"

loaded() { grep -q "^$1 " /proc/modules; }
refs() { awk -v m="$1" '$1 == m { print $3 }' /proc/modules; }

# unload NAME: must work at once when no device is left
unload() {
	local i
	for i in $(seq 50); do
		rmmod "$1" 2>/tmp/rmmod.err && return 0
		loaded "$1" || return 0
		sleep 0.1
	done
	note "$1: $(cat /tmp/rmmod.err), $(refs "$1") references"
	return 1
}

# ---- the module alone: 200 rounds of load, add, del, unload ----

round() {
	local how=$1
	loaded sroce || load_module sroce || return
	add_dev "$NS_A" $DEV_A sroce va || return
	case $how in
	0 | 1) add_dev "$NS_B" $DEV_B sroce vb || return ;;
	esac
	case $how in
	0) rdma link delete $DEV_A && rdma link delete $DEV_B ;;
	1) rdma link delete $DEV_B && rdma link delete $DEV_A ;;
	2) rdma link delete $DEV_A && add_dev "$NS_A" $DEV_A sroce va &&
		rdma link delete $DEV_A ;;
	*) ;; # unload with devices, below
	esac || return
	[ "$how" -lt 3 ] && wait_gone $DEV_A $DEV_B
	unload sroce
}

bad=0
for i in $(seq "$ROUNDS"); do
	if ! round $((i % 4)); then
		note "round $i failed"
		bad=1
		break
	fi
done
verdict $bad "$i rounds of load, link add, link del, unload"
t_klog "rounds"

# ---- rdma_rxe before, after and at the same time ----

with_rxe() {
	local order=$1
	case $order in
	before) load_module rxe && load_module sroce ;;
	after) load_module sroce && load_module rxe ;;
	both) load_module rxe & load_module sroce; wait $! ;;
	esac || return
	add_dev "$NS_A" $DEV_A rxe va || return
	add_dev "$NS_B" $DEV_B sroce vb || return
	wait_gids $DEV_A $DEV_B || return
	export RXE_DEVICES=$DEV_A
	timeout 60 "$TEST_BIN/sroce_verify" -n 20 -t 5 -L 50 \
		-o send,write,read $DEV_A $DEV_B >/tmp/verify.log 2>&1 ||
		{ sed 's/^/# /' /tmp/verify.log; return 1; }
	# rdma_rxe goes and must take none of sroce's devices for its own
	if [ "$2" = rxe ]; then
		rdma link delete $DEV_A && unload rdma_rxe || return
		rdma link show $DEV_B/1 >/dev/null 2>&1 ||
			note "sroce's device went with rdma_rxe"
		rdma link delete $DEV_B 2>/dev/null
		wait_gone $DEV_B && unload sroce
	else
		rdma link delete $DEV_B && unload sroce || return
		rdma link show $DEV_A/1 >/dev/null || return
		rdma link delete $DEV_A && unload rdma_rxe
	fi
}

if modprobe -n rdma_rxe 2>/dev/null && [ "$(uname -r | cut -d. -f1)" -ge 7 ]
then
	for order in before after both; do
		for first in rxe sroce; do
			with_rxe $order $first
			verdict $? "rdma_rxe loaded $order, $first leaves first"
		done
	done
	# rmmod of rdma_rxe with devices of both kinds present
	load_module rxe && load_module sroce
	add_dev "$NS_A" $DEV_A rxe va && add_dev "$NS_B" $DEV_B sroce vb
	if unload rdma_rxe; then
		ok "rdma_rxe unloads while sroce has a device"
	else
		# it is its own device that holds it now and then
		skip "rdma_rxe unloads while sroce has a device" \
			"rdma_rxe refuses to go while it has one itself"
	fi
	rdma link delete $DEV_A 2>/dev/null
	rdma link delete $DEV_B 2>/dev/null
	wait_gone $DEV_A $DEV_B
	unload rdma_rxe 2>/dev/null
	unload sroce
	verdict $? "sroce unloads afterwards"
	t_klog "beside rdma_rxe"
else
	skip "beside rdma_rxe" "no rdma_rxe with namespaces here"
fi

# ---- under traffic ----

traffic_start() {
	"$TEST_BIN/sroce_verify" -q 2 -n 100000000 -t 60 -L 70 -w 30 "$@" \
		$DEV_A $DEV_B >/tmp/traffic.log 2>&1 &
	traffic=$!
	sleep 0.$((RANDOM % 5 + 3))
}

# The traffic fails when its device goes; it must end, and by itself.
traffic_gone() {
	local i
	for i in $(seq 150); do
		kill -0 $traffic 2>/dev/null || { wait $traffic; return 0; }
		sleep 0.1
	done
	kill -KILL $traffic
	wait $traffic 2>/dev/null
	return 1
}

pair_up() {
	load_module sroce || return
	ip netns delete "$NS_A" 2>/dev/null
	ip netns delete "$NS_B" 2>/dev/null
	make_net || return
	add_dev "$NS_A" $DEV_A sroce va && add_dev "$NS_B" $DEV_B sroce vb &&
		wait_gids $DEV_A $DEV_B
}

# removed NAME COMMAND...: COMMAND takes a device away from under the traffic
removed() {
	local name=$1
	shift
	pair_up || { not_ok "$name: set up"; return; }
	traffic_start
	timeout 30 "$@"
	verdict $? "$name: done in time"
	traffic_gone || note "the traffic had to be killed: $(tail -n 1 /tmp/traffic.log)"
	rdma link delete $DEV_A 2>/dev/null
	rdma link delete $DEV_B 2>/dev/null
	wait_gone $DEV_A $DEV_B
	verdict $? "$name: the devices are gone"
	unload sroce
	verdict $? "$name: unload"
}

removed "link del of one end" rdma link delete $DEV_B
removed "link del of both ends" \
	sh -c "rdma link delete $DEV_A; rdma link delete $DEV_B"
removed "netdev deleted" ip -n "$NS_A" link delete va
removed "namespace deleted" ip netns delete "$NS_B"
removed "netdev down and up, then deleted" sh -c \
	"ip -n $NS_A link set va down; sleep 0.2; ip -n $NS_A link set va up;
	 sleep 0.2; ip -n $NS_A link delete va"
t_klog "removal under traffic"

# unload under traffic must be refused or must wait for nobody
pair_up || bail "set up"
traffic_start
timeout 20 rmmod sroce 2>/tmp/rmmod.err
rc=$?
note "rmmod under traffic: status $rc, $(cat /tmp/rmmod.err)"
if [ $rc -ne 124 ]; then rc=0; fi
verdict $rc "rmmod under traffic does not hang"
kill -INT $traffic 2>/dev/null
traffic_gone
verdict $? "the traffic ends"
drop_pair
loaded sroce || load_module sroce
unload sroce
verdict $? "unload when it is gone"

# link add and del as fast as it goes while others look
pair_up || bail "set up"
(while :; do
	rdma link show
	rdma resource show qp
	cat /sys/class/infiniband/*/ports/1/hw_counters/sent_pkts
	ibv_devinfo
done >/dev/null 2>&1) &
watcher=$!
bad=0
for i in $(seq $((ROUNDS > 20 ? 20 : ROUNDS / 2))); do
	if ! rdma link delete $DEV_B || ! add_dev "$NS_B" $DEV_B sroce vb; then
		bad=1
		break
	fi
done
kill $watcher
wait $watcher 2>/dev/null
verdict $bad "link add and del while others look"
drop_pair
unload sroce
verdict $? "unload"
t_klog "life"
done_testing
