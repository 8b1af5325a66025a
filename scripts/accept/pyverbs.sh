#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: rdma-core's Python tests
# machine: 7.3
# timeout: 900
# part: fast
# order: 10
# uses: run_pyverbs.py
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# The cases of rdma-core that concern any device, from its Debian package.
. "$(dirname "$0")/lib.sh"

TESTS_OF_RDMA_CORE=/usr/share/doc/rdma-core/tests

accept_start
[ ! -e /proc/sys/vm/nr_hugepages ] || echo 64 >/proc/sys/vm/nr_hugepages
# shellcheck disable=SC2086  # words
tap_of 800 ip netns exec "$NS_A" python3 "$(dirname "$0")/run_pyverbs.py" $DEV_A \
	$TESTS_OF_RDMA_CORE ${SROCE_T_PYVERBS:-}
accept_end
