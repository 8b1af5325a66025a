#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug 7.3 6.12
# timeout: 840
# again: trains=0@uml
# needs: sroce rxe tests
#
# rdma_rxe at one end, sroce at the other: every operation, both directions,
# data checked, also with loss. On 6.12 rdma_rxe works in the machine's own
# network namespace only, so that end stays there.
. "$(dirname "$0")/lib.sh"

if ! modprobe -n rdma_rxe 2>/dev/null; then
	skip "interoperation" "this kernel has no rdma_rxe"
	done_testing
fi
TYPE_A=rxe TYPE_B=sroce
case $(uname -r) in
6.*) NS_A=init ;;
esac
start_suite

EACH="send send_imm write write_imm read cas fadd counter write_read
	read_write write_send overwrite"
for op in $EACH; do
	verify "$op" 60 -T 17 -o "$op" -n 30 -t 6 -M 20000
done
for mtu in 256 512 1024 2048 4096; do
	verify "all operations, path MTU $mtu" 60 -T 17 -m $mtu -n 60 -t 8 -s $mtu
done
# What waits for a neighbour may be overtaken: READs would be asked for again,
# and rdma_rxe warns when it answers one again behind an empty message.
t_case "IPv6 neighbours" 20 ip netns exec "$NS_B" ping -6 -c 3 -i 0.2 "$V6_A"
verify "all operations, IPv6" 60 -T 17 -f 6 -n 80 -t 8 -s 6
verify "events" 60 -T 17 -e -n 80 -t 8 -s 7
verify "8 queue pairs" 60 -T 17 -q 8 -n 25 -t 8 -s 12
verify "receives posted late" 60 -l 1 -r 10 -n 40 -t 8 -T 17 -s 14
verify "long messages" 60 -T 17 -M 2000000 -m 4096 -n 15 -t 10 -s 11

# FLUSH is left out: rdma_rxe takes its headers into the ICRC twice, so nobody
# else can check one of its packets, nor it those of others.
t_tap "ATOMIC WRITE asked by rdma_rxe" 60 "$TEST_BIN/sroce_flush" \
	-c "ATOMIC WRITE" $DEV_A $DEV_B
t_tap "ATOMIC WRITE asked by sroce" 60 "$TEST_BIN/sroce_flush" \
	-c "ATOMIC WRITE" $DEV_B $DEV_A
t_tap "windows of sroce" 60 "$TEST_BIN/sroce_windows" $DEV_A $DEV_B

# With loss rdma_rxe has faults of its own, seen between two of its devices: a
# READ it asked for may wait for ever, and one it answers again after an empty
# message is refused with a warning. So no message is empty, and rdma_rxe asks
# for few and short READs. The ACK timeout is long enough that a slow machine
# does not take it for loss.
for loss in 0.1% 1%; do
	netem loss $loss
	for seed in 1 2; do
		verify "loss $loss, seed $seed" 60 -l 1 -m 1024 -n 80 -t 10 \
			-T 17 -s $seed \
			-o send,send_imm,write,write_imm,write_send
	done
	t_case "loss $loss, READ and atomics asked by sroce" 70 \
		"$TEST_BIN/sroce_verify" -1 -l 1 -n 80 -t 10 -T 17 -L 60 \
		-o read,cas,fadd,counter,write_read,read_write $DEV_B $DEV_A
	[ $loss = 1% ] && continue
	verify "loss $loss, READ and atomics asked by rdma_rxe" 60 -1 -l 1 \
		-n 60 -t 10 -T 17 -M 2000 -m 1024 -o read,cas,fadd
done
netem off
t_klog "interoperation"

end_suite
