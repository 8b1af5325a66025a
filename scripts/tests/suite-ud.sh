#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 300
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

end_suite
