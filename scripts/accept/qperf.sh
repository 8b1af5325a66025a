#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: qperf
# machine: uml
# part: fast
# order: 50
# timeout: 300
#
# qperf over rdma_cm, the verifying atomics among its tests. What it does not
# do over rdma_cm, UC and UD, asks for no GRH, which RoCE has to refuse.
. "$(dirname "$0")/lib.sh"

# Its server names the port before it listens there, so that the client may be
# too early and turned away.
# shellcheck disable=SC2016  # expanded by the inner shell
TRY='for i in $(seq 20); do
	qperf -cm1 -t 1 "$@" >/tmp/qperf 2>&1
	rc=$?
	grep -q "Event rejected" /tmp/qperf || break
	sleep 0.2
done
cat /tmp/qperf
exit $rc'

accept_start
ip netns exec "$NS_B" qperf &
SERVER_PID=$!
ready tcp:19765 $SERVER_PID
for test in rc_lat rc_bw rc_bi_bw rc_rdma_read_lat rc_rdma_read_bw \
	rc_rdma_write_lat rc_rdma_write_bw rc_rdma_write_poll_lat \
	rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap \
	ver_rc_fetch_add; do
	t_case "$test" $((30 * SLOW)) ip netns exec "$NS_A" bash -c \
		"$TRY" qperf $V4_B $test
done
kill $SERVER_PID
wait $SERVER_PID 2>/dev/null

accept_end
