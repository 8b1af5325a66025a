#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: the same with kernel 6.12 at both ends
# machine: 6.12
# peer: 6.12
# order: 76
# cpus: 1
# timeout: 1500
# uses: guests.sh
#
# What guests.sh does, on an older kernel, whose rdma_rxe is another.
. "$(dirname "$0")/guests.sh"
