#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: RDS over RDMA, kernel 6.12
# machine: 6.12
# order: 71
# needs: source accept
# timeout: 600
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
# uses: selftests.sh
#
# The kernel's test of RDS over RDMA, with an older kernel's RDS. (The other
# scripts are of kernels whose rdma_rxe knows network namespaces.)
#
# shellcheck disable=SC2034  # what it runs uses it
SCRIPTS=
. "$(dirname "$0")/selftests.sh"
