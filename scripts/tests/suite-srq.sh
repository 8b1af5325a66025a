#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 480
# needs: sroce tests
#
# Completion queues; shared receive queues: their rules, with and without loss, and
# the programs of rdma-core and perftest that use them.
. "$(dirname "$0")/lib.sh"

start_suite
# shellcheck source=scripts/tests/programs.sh
. "$(dirname "$0")/programs.sh"

t_tap "CQ" 100 "$TEST_BIN/sroce_cq" -L 90 $DEV_A $DEV_B
t_klog "CQ"
t_tap "rules" 100 "$TEST_BIN/sroce_srq" -L 90 $DEV_A $DEV_B
t_klog "rules"
t_tap "rules, IPv6" 100 "$TEST_BIN/sroce_srq" -f 6 -L 90 -c order $DEV_A $DEV_B
netem loss 1%
t_tap "loss" 100 "$TEST_BIN/sroce_srq" -L 90 -c "many queue pairs" \
	$DEV_A $DEV_B
netem off
t_klog "loss"

pingpong 4 srq -q 4 -n 100 -e
pingpong 6 srq -q 4 -n 100 -e -s 16384
pingpong 4 srq -q 16 -n 20
perf 4 ib_send_bw -q 4 --use-srq -s 4096 -n 100
perf 4 ib_send_bw -q 2 --use-srq -b -s 1024 -n 100
perf 4 ib_send_lat --use-srq -e -s 64 -n 20
t_klog "programs"

end_suite
