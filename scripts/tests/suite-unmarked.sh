#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml
# time-travel: yes
# timeout: 600
# needs: sroce tests
#
# Congestion control where nothing is marked: on and off send the same bytes at
# the same time, but for the ECN bits. Time is simulated, so that what is
# acknowledged together, or repeated, is not the host's affair.
. "$(dirname "$0")/lib.sh"

HERE=$(dirname "$0")
CC=/sys/kernel/debug/sroce

start_suite
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
netem delay 20us rate 400mbit
# trains are cut into packets where they leave, before they are captured
in_a ethtool -K va tx-gso-list off
in_b ethtool -K vb tx-gso-list off

enable() {
	echo "$1" >$CC/$DEV_A/cc_params/enable
	echo "$1" >$CC/$DEV_B/cc_params/enable
}

# capture FILE FLOW...: what passes vb while these flows run
capture() {
	local file=$1 pid
	shift
	ip netns exec "$NS_B" tcpdump -i vb -s 0 --immediate-mode -U -w "$file" \
		udp port 4791 2>/dev/null &
	pid=$!
	sleep 1
	"$TEST_BIN/sroce_flow" -t 500 -i 100 "$@" || not_ok "flows ran"
	sleep 0.5
	kill "$pid"
	wait "$pid" 2>/dev/null
}

# same NAME WORDS: a flow of WRITEs, then one of READs.
# QPs made and used while it is off are ones without congestion control.
same() {
	local name=$1 word=a=$DEV_A,b=$DEV_B,$2 state

	for state in 1 0; do
		enable $state
		capture /tmp/wire-$state.pcap "$word,stop=8" \
			"$word,op=read,start=10,stop=18"
	done
	t_tap "$name" 120 python3 "$HERE/cc_packets.py" same /tmp/wire-1.pcap \
		/tmp/wire-0.pcap
}

same "16 KB, class 104" size=16384,tc=104
same "999 bytes, class 107" size=999,tc=107
same "64 KB in packets of 4 KB, class 1" size=65536,mtu=4096,tc=1,depth=3
same "500 bytes at a limit of 20 Mbit/s" size=500,limit=20000

t_klog "unmarked traffic"
end_suite
