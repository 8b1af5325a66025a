#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: qperf
# machine: 7.3
# part: fast
# order: 50
# timeout: 300
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# qperf over rdma_cm (without it, it asks for no GRH, which RoCE has to
# refuse), the verifying atomics among its tests.
. "$(dirname "$0")/lib.sh"

accept_start
in_b qperf &
SERVER_PID=$!
ready tcp:19765 $SERVER_PID
for test in rc_lat rc_bw rc_bi_bw rc_rdma_read_lat rc_rdma_read_bw \
	rc_rdma_write_lat rc_rdma_write_bw rc_rdma_write_poll_lat uc_lat uc_bw \
	uc_rdma_write_lat uc_rdma_write_bw ud_lat ud_bw \
	rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap \
	ver_rc_fetch_add; do
	t_case "$test" $((10 * SLOW)) ip netns exec "$NS_A" qperf -cm1 -t 1 \
		$V4_B $test
done
kill $SERVER_PID
wait $SERVER_PID 2>/dev/null

accept_end
