#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: 7.3 6.12 6.12-cloud
# timeout: 480
# needs: sroce tests
#
# The module on a kernel as the distribution ships it: load, one data-checked
# run of every operation, perftest, unload.
. "$(dirname "$0")/lib.sh"

start_suite
note "$(uname -r), sroce built for it"
for op in send send_imm write write_imm read cas fadd counter write_read \
	read_write write_send overwrite; do
	verify "$op" 60 -o $op -n 100 -t 10
done
verify "all operations, 4 queue pairs" 60 -q 4 -n 300 -t 15 -s 1
verify "all operations, IPv6, events" 60 -f 6 -e -n 300 -t 15 -s 2
t_tap "errors" 100 "$TEST_BIN/sroce_errors" -L 90 $DEV_A $DEV_B
t_klog "traffic"

end_suite
