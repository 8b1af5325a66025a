#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: NVMe-oF, registrations forced
# machine: 7.3
# order: 101
# timeout: 900
# uses: nvme.sh
# append: ib_core.force_mr=Y kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# The same with fast registration on the target's side too.
. "$(dirname "$0")/nvme.sh"
