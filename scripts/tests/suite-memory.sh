#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug 7.3
# timeout: 300
# needs: sroce tests
#
# Memory: windows and what ends them.
. "$(dirname "$0")/lib.sh"

start_suite
t_tap "windows" 120 "$TEST_BIN/sroce_windows" $DEV_A $DEV_B
t_klog "windows"
end_suite
