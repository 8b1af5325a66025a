#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: 7.3
# timeout: 840
# needs: sroce tests
#
# The longest messages there are. Not on User-Mode Linux: there every page of a
# process is a mapping of the host, and 2 GiB are more than it may have.
. "$(dirname "$0")/lib.sh"

start_suite
t_tap "2 GiB - 1" 350 "$TEST_BIN/sroce_huge" -L 340 $DEV_A $DEV_B
t_klog "huge"
end_suite
