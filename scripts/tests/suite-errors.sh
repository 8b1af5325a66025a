#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 840
# again: trains=0@uml
# needs: sroce tests
#
# Every completion status, async event, state and limit.
. "$(dirname "$0")/lib.sh"

start_suite

t_tap "completions" 120 "$TEST_BIN/sroce_errors" -L 110 $DEV_A $DEV_B
t_klog "completions"
t_tap "retries" 60 "$TEST_BIN/sroce_retry" -L 50 $DEV_A $DEV_B
t_klog "retries"

export LINK_DOWN="ip -n $NS_B link set vb down"
export LINK_UP="ip -n $NS_B link set vb up && ip -n $NS_B addr replace $V6_B/64 dev vb nodad"
export ADDR_ADD="ip -n $NS_B addr add 10.77.1.9/24 dev vb"
export ADDR_DEL="ip -n $NS_B addr del 10.77.1.9/24 dev vb"
t_tap "states" 60 "$TEST_BIN/sroce_states" -L 50 $DEV_A $DEV_B
t_tap "events" 60 "$TEST_BIN/sroce_events" -L 50 $DEV_A $DEV_B
t_klog "states and events"

end_suite
