#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml 7.3
# timeout: 480
# mem: 3G
# needs: sroce tests
#
# Numbers of objects the device promises, the time to be rid of them, and
# hundreds of connections that are made at once.
. "$(dirname "$0")/lib.sh"

# crowd N: that many connections through the connection manager
crowd() {
	local pid rc i
	ip netns exec "$NS_B" "$TEST_BIN/sroce_crowd" -n "$1" -s >/tmp/server &
	pid=$!
	for i in $(seq 100); do
		grep -q ready /tmp/server && break
		sleep 0.05
	done
	in_a "$TEST_BIN/sroce_crowd" -n "$1" $V4_B
	rc=$?
	[ $rc -ne 0 ] && kill $pid 2>/dev/null
	wait $pid || rc=1
	cat /tmp/server
	return $rc
}

start_suite
modprobe -q rdma_ucm
ulimit -l unlimited
ulimit -n 8192
crowd 500 >/tmp/crowd
rc=$?
sed 's/^#\? \?/# /' /tmp/crowd
verdict $rc "500 connections at once"
t_klog "connections"
t_tap "numbers" 200 "$TEST_BIN/sroce_scale" $DEV_A $DEV_B
t_klog "numbers"
end_suite
