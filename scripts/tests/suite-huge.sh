#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml
# timeout: 180
# needs: sroce tests
#
# The longest messages there are.
. "$(dirname "$0")/lib.sh"

start_suite
t_tap "2 GiB - 1" 150 "$TEST_BIN/sroce_huge" -L 140 $DEV_A $DEV_B
t_klog "huge"
end_suite
