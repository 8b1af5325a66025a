#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: 7.3
# timeout: 300
# cpus: 2
# append: kfence.sample_interval=100 slub_debug=FZP page_poison=1
# needs: sroce tests
#
# Receive steering, which wants two CPUs: checked traffic over veth and a wire
# that loses, reorders and duplicates; a CPU, devices, netdevs and namespaces that
# go while packets wait in its queues.
. "$(dirname "$0")/lib.sh"

COUNTERS="rcvd_steered out_of_sequence rx_drop_steer rx_icrc_encapsulated"
BIG="-m 4096 -M 400000 -d 16"
CPU1=/sys/devices/system/cpu/cpu1/online

settle() { sleep 0.05; }	# counters are cached for 10 ms

steered() { settle; echo $(($(since $DEV_A rcvd_steered) + $(since $DEV_B rcvd_steered))); }

# checked NAME OPTION...: traffic of long messages, some of them steered; on a busy
# host the other CPU may not be free at first
checked() {
	local name=$1 got
	shift
	zero
	for _ in 1 2 3; do
		# shellcheck disable=SC2086  # words
		verify "$name" 60 $BIG -t 10 "$@"
		got=$(steered)
		[ "$got" -gt 0 ] && break
	done
	holds "$name: $got packets were steered" [ "$got" -gt 0 ]
	holds "$name: none was refused, none was spoilt" [ 0 -eq $(($(since $DEV_A rx_drop_steer) +
		$(since $DEV_B rx_drop_steer) + $(since $DEV_A rx_icrc_encapsulated) +
		$(since $DEV_B rx_icrc_encapsulated))) ]
}

start_suite
holds "two CPUs" [ "$(nproc)" -eq 2 ]

for op in write read send; do
	checked "$op" -o $op -n 60 -s 41
done
checked "all operations, 8 queue pairs" -q 8 -n 30 -s 42
checked "small path MTU, IPv6, events" -f 6 -e -m 1024 -n 60 -s 43

zero
verify "latency's kind of traffic" 60 -M 4000 -d 1 -n 200 -t 8 -s 44
got=$(steered)
holds "of it nothing is steered ($got)" [ "$got" -eq 0 ]
knob steer 0
zero
# shellcheck disable=SC2086  # words
verify "switched off" 60 $BIG -n 60 -t 8 -s 45
got=$(steered)
holds "then nothing is steered ($got)" [ "$got" -eq 0 ]
knob steer 1

# shellcheck disable=SC2086  # words
"$TEST_BIN/sroce_verify" -L 60 $BIG -q 4 -n 300 -t 12 -s 46 $DEV_A $DEV_B \
	>/tmp/verify.log 2>&1 &
for n in $(seq 40); do
	knob steer $((n % 2))
	sleep 0.05
done
wait $!
verdict $? "switched on and off under traffic"
knob steer 1

netem loss 1% delay 200us 100us reorder 10% duplicate 3%
# shellcheck disable=SC2086  # words
verify "loss, reorder, duplicates" 60 $BIG -q 2 -n 60 -t 8 -T 14 -s 47
netem off
t_klog "traffic"

# ---- a CPU goes and comes ----

if [ -e $CPU1 ]; then
	(for i in 1 2 3; do
		echo 0 >$CPU1
		sleep 0.3
		echo 1 >$CPU1
		sleep 0.3
	done) &
	plugger=$!
	checked "a CPU goes and comes" -q 4 -n 500 -s 48
	wait $plugger
	holds "both are back" [ "$(nproc)" -eq 2 ]
	t_klog "a CPU goes and comes"
else
	skip "a CPU goes and comes" "this machine cannot"
fi

# ---- what goes under traffic ----

# removed NAME COMMAND...: takes something away, then all of it comes back
removed() {
	local name=$1 traffic
	shift
	zero
	# shellcheck disable=SC2086  # words
	"$TEST_BIN/sroce_verify" $BIG -L 30 -q 4 -n 100000 -t 20 \
		-o write,read,send $DEV_A $DEV_B >/tmp/traffic.log 2>&1 &
	traffic=$!
	for n in $(seq 200); do
		[ "$(steered)" -gt 100 ] && break
	done
	holds "$name: something is steered" [ "$(steered)" -gt 100 ]
	timeout 20 "$@"
	verdict $? "$name: done in time"
	# whose device goes sees its calls fail; nobody waits for his judgment
	kill -9 $traffic 2>/dev/null
	wait $traffic 2>/dev/null
	drop_pair
	verdict $? "$name: all is gone"
}

again() { make_pair || bail "make the pair of devices again"; }

removed "program killed" true
again
removed "device deleted" rdma link delete $DEV_B
again
removed "netdev deleted" ip -n "$NS_A" link delete va
again
removed "namespace deleted" ip netns delete "$NS_B"
ip netns delete "$NS_A" 2>/dev/null
again
removed "module unloaded behind a program" rdma link delete $DEV_A
unload_module sroce
verdict $? "unload the module"
t_klog "removal"
done_testing
