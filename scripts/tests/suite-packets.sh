#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 360
# again: trains=0@uml
# needs: sroce tests
#
# Hostile frames from the peer's side, beside traffic that is checked.
. "$(dirname "$0")/lib.sh"

start_suite

MAC_A=$(ip_ns "$NS_A" -br link show dev va | awk '{print $3}')
HERE=$(dirname "$0")

# rdma_rxe does not survive the noise
[ "$(type_a)" = rxe ] && export NOISE_ROUNDS=0
"$TEST_BIN/sroce_verify" -q 2 -n 100000000 -t 150 -L 170 -M 20000 \
	$DEV_A $DEV_B >/tmp/honest.log 2>&1 &
honest=$!
t_tap "IPv4" 80 nsenter --net="/run/netns/$NS_B" python3 "$HERE/packets.py" vb \
	"$TEST_BIN/sroce_target" $DEV_A $DEV_B "$MAC_A" $V4_B $V4_A
[ "$(type_a)" = rxe ] || export NOISE_ROUNDS=5
t_tap "IPv6" 80 nsenter --net="/run/netns/$NS_B" python3 "$HERE/packets.py" vb \
	"$TEST_BIN/sroce_target" $DEV_A $DEV_B "$MAC_A" $V6_B $V6_A
kill -INT $honest
wait $honest
rc=$?
sed 's/^#\? \?/# /' /tmp/honest.log
verdict $rc "the traffic beside it is unharmed"
t_klog "packets"

end_suite
