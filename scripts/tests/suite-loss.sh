#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 840
# again: trains=0@uml
# needs: sroce tests
#
# Checked traffic over a wire that loses, reorders, duplicates and corrupts.
. "$(dirname "$0")/lib.sh"

start_suite

# lossy NAME NETEM-WORDS... : one case over that wire
lossy() {
	local name=$1
	shift
	netem "$@" || not_ok "netem $*"
	verify "$name, path MTU 1024" 60 -q 2 -n 120 -t 8 -T 14 -m 1024 -s 3
	verify "$name, any path MTU, IPv6, events" 60 -q 3 -f 6 -e -n 60 -t 8 \
		-T 14 -s 4
	netem off
}

lossy "loss 0.1 %" loss 0.1%
lossy "loss 1 %" loss 1%
lossy "loss 10 %" loss 10%
lossy "bursts of loss" loss gemodel 2% 20% 80% 0.1%
lossy "reorder" delay 1ms reorder 30% 50%
lossy "duplicate 5 %" duplicate 5%
lossy "corrupt 1 %" corrupt 1%
lossy "all of it" delay 200us 100us loss 1% duplicate 2% reorder 5% corrupt 0.5%
netem loss 1%
verify "loss 1 %, receives posted late" 60 -r 20 -n 60 -t 8 -T 14 -s 5
verify "loss 1 %, long messages" 60 -M 2000000 -m 4096 -n 10 -t 10 -T 14 -s 6
verify "loss 1 %, 32 queue pairs" 60 -q 32 -n 8 -t 10 -T 14 -M 20000 -s 7
netem off
t_klog "loss"

end_suite
