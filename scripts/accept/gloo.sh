#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: gloo
# machine: uml
# order: 91
# needs: accept
# timeout: 400
# uses: gloo_check.cc
#
# Collectives of gloo, PyTorch's library for them, over its ibverbs transport:
# sums and broadcasts between ranks on both ends of the cable, all elements
# checked.
. "$(dirname "$0")/lib.sh"

CHECK=/tmp/gloo_check

# ranks NUMBER 4|6 [NAME]: by a GID of IPv4 or IPv6, every second one at the
# other end
ranks() {
	local i pids=() rc=0 name="$1 ranks, IPv$2${3:+, $3}"
	local store="/tmp/store-$1-$2-$3"
	mkdir -p "$store"
	for i in $(seq 0 $(($1 - 1))); do
		local ns=$NS_A dev=$DEV_A
		[ $((i % 2)) = 0 ] || ns=$NS_B dev=$DEV_B
		ip netns exec "$ns" timeout -k 2 $((60 * SLOW)) $CHECK "$dev" \
			"$(gid_index "$dev" "$2")" "$i" "$1" "$store" \
			>"/tmp/rank-$i" 2>&1 &
		pids+=($!)
	done
	for i in "${!pids[@]}"; do
		wait "${pids[i]}" || rc=1
		sed 's/^/# /' "/tmp/rank-$i"
	done
	verdict $rc "$name"
	t_resources "$name"
	t_klog "$name"
}

accept_start
t_case "compile" $((100 * SLOW)) g++ -O1 -Wall -o $CHECK \
	"$TEST_SRC/scripts/accept/gloo_check.cc" -lgloo -libverbs -pthread
[ -x $CHECK ] || done_testing
ranks 2 4
ranks 4 4
ranks 2 6
netem loss 0.5%
ranks 2 4 "loss 0.5 %"
netem off

accept_end
