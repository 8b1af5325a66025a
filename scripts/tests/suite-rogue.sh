#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug 7.3
# timeout: 840
# needs: sroce tests
#
# A user that scribbles over its rings, beside one whose data is checked.
. "$(dirname "$0")/lib.sh"

start_suite

# checked traffic of another process, all the while
"$TEST_BIN/sroce_verify" -q 2 -n 100000000 -t 200 -L 230 -w 30 -M 20000 \
	$DEV_A $DEV_B >/tmp/honest.log 2>&1 &
honest=$!
t_tap "rogue" 150 "$TEST_BIN/sroce_rogue" -t 3 $DEV_A $DEV_B
if kill -0 $honest 2>/dev/null; then
	ok "the honest process is still at work"
	kill -INT $honest
else
	not_ok "the honest process is still at work"
fi
wait $honest
rc=$?
sed 's/^#\? \?/# /' /tmp/honest.log
verdict $rc "the honest process saw nothing of it"
t_klog "rogue"

end_suite
