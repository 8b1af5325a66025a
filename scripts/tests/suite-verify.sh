#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 840
# again: trains=0@uml hook=0@uml
# needs: sroce tests
#
# Data-checked traffic: every operation, size, split, path MTU, mode.
. "$(dirname "$0")/lib.sh"

start_suite

# a first look at each operation alone, so that a failure names it
for op in send send_imm write write_imm read cas fadd counter write_read \
	read_write write_send overwrite; do
	verify "$op" 60 -o $op -n 30 -t 6 -M 20000
done
for mtu in 256 512 1024 2048 4096; do
	verify "all operations, path MTU $mtu" 60 -m $mtu -n 60 -t 8 -s $mtu
done
verify "all operations, IPv6" 60 -f 6 -n 80 -t 8 -s 6
verify "events" 60 -e -n 80 -t 8 -s 7
verify "events, IPv6, traffic class" 60 -e -f 6 -c 104 -n 60 -t 8 -s 8
verify "one SGE" 60 -g 1 -n 60 -t 6 -s 9
verify "depth 1" 60 -d 1 -n 40 -t 6 -s 10
verify "long messages" 60 -M 4000000 -m 4096 -n 40 -t 10 -s 11
verify "8 queue pairs" 60 -q 8 -n 25 -t 8 -s 12
verify "64 queue pairs, events" 90 -q 64 -e -n 5 -t 10 -M 8000 -s 13
verify "receives posted late" 60 -r 30 -n 40 -t 8 -s 14
verify "one way" 60 -1 -n 80 -t 6 -s 15
t_tap "bursts" 240 "$TEST_BIN/sroce_bursts" -L 230 $DEV_A $DEV_B
# the checker itself: a broken byte must be noticed
t_case "a broken byte is noticed" 60 bash -c \
	"! $TEST_BIN/sroce_verify -n 20 -t 5 -x 3 $DEV_A $DEV_B"
# a receiver that is not ready for long must not keep the CPU from getting so
verify "receives posted late, RNR timer 10 us" 60 -r 30 -R 1 -n 40 -t 8 -s 16
t_klog "traffic"

end_suite
