#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml
# timeout: 360
# needs: sroce tests
#
# Independent eyes on the wire: a capture with every RC opcode, judged by
# tshark and by scapy's RoCE layer. The trains are taken apart first, so that
# the capture holds what a physical wire would carry.
. "$(dirname "$0")/lib.sh"

start_suite

HERE=$(dirname "$0")
for end in "a va" "b vb"; do
	# shellcheck disable=SC2086
	set -- $end
	ip netns exec "$1" ethtool -K "$2" tx-gso-list off \
		tx-udp-segmentation off gro off >/dev/null 2>&1
done

# captured FILE VERIFY-OPTIONS...
captured() {
	local file=$1
	shift
	sniff "$NS_B" vb "$file" udp port 4791
	verify "$file" 60 "$@"
	unsniff
}

captured /tmp/v4.pcap -n 300 -t 10 -M 6000 -m 1024 -r 5
captured /tmp/v6.pcap -f 6 -n 300 -t 10 -M 6000 -m 512 -c 104
t_tap "IPv4" 100 python3 "$HERE/wirecheck.py" /tmp/v4.pcap
t_tap "IPv6" 100 python3 "$HERE/wirecheck.py" /tmp/v6.pcap
t_klog "wire"

end_suite
