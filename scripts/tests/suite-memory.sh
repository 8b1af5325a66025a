#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug 7.3
# timeout: 840
# needs: sroce tests
#
# Memory: windows and what ends them; ATOMIC WRITE and FLUSH; memory on demand,
# registered again, or of a dma-buf. Also where packets are lost.
. "$(dirname "$0")/lib.sh"

start_suite
t_tap "windows" 120 "$TEST_BIN/sroce_windows" $DEV_A $DEV_B
t_klog "windows"
t_tap "flush" 60 "$TEST_BIN/sroce_flush" $DEV_A $DEV_B
netem loss 5% duplicate 5%
t_tap "flush, 5 % lost" 100 "$TEST_BIN/sroce_flush" -c FLUSH, $DEV_A $DEV_B
netem off
t_klog "flush"
modprobe -q udmabuf
t_tap "regions" 160 "$TEST_BIN/sroce_regions" $DEV_A $DEV_B
netem loss 1%
t_tap "regions, 1 % lost" 100 "$TEST_BIN/sroce_regions" -c "every operation" \
	$DEV_A $DEV_B
netem off
t_klog "regions"
end_suite
