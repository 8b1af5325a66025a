#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml
# timeout: 600
# needs: sroce tests
#
# Trains through every arrangement of netdevs: veth, bridge, VLAN, macvlan, lo,
# each with its features as they are, with trains split on the way, and with
# every offload switched off. All data is checked by sroce_verify, and every
# frame of a capture behind the split by framecheck.py, which knows the standard
# and not the driver.
. "$(dirname "$0")/lib.sh"

HERE=$(dirname "$0")
PMTU=1024
for m in bridge 8021q macvlan; do modprobe -q $m; done
klog_mark
load_modules || bail "load the modules"

# addresses NETNS NETDEV LAST-NUMBER
addresses() {
	ip -n "$1" addr add "10.77.0.$3/24" dev "$2" &&
		ip -n "$1" addr add "fd77::$3/64" dev "$2" nodad &&
		ip -n "$1" link set "$2" up
}

# veth NETNS NAME NETNS NAME
veth() {
	ip link add "$2" netns "$1" mtu 4200 type veth peer name "$4" \
		netns "$3" mtu 4200 &&
		ip -n "$1" link set "$2" up && ip -n "$3" link set "$4" up
}

# The arrangements: each makes the netns, says on which netdevs the devices are
# (DEVS), where to capture (TAP), where trains are split (CUT), and all netdevs
# on the way (ALL), as NETNS/NETDEV.
arrange_veth() {
	veth a va b vb && addresses a va 1 && addresses b vb 2
	DEVS="a/va b/vb" TAP=b/vb CUT="a/va b/vb" ALL=$CUT
}

# split by the bridge's port: a forwarded train. What leaves b is whole there.
arrange_bridge() {
	veth a va c pa && veth b vb c pb &&
		ip -n c link add br0 mtu 4200 type bridge &&
		ip -n c link set pa master br0 && ip -n c link set pb master br0 &&
		ip -n c link set br0 up && addresses a va 1 && addresses b vb 2
	DEVS="a/va b/vb" TAP=b/vb CUT="c/pa c/pb" WAY="-Q in"
	ALL="$CUT a/va b/vb c/br0"
}

arrange_vlan() {
	veth a va b vb && ip -n a link add link va v7 type vlan id 7 &&
		ip -n b link add link vb v7 type vlan id 7 &&
		addresses a v7 1 && addresses b v7 2
	DEVS="a/va b/vb" TAP=b/vb CUT="a/va b/vb" ALL="$CUT a/v7 b/v7"
}

arrange_macvlan() {
	veth a va b vb && ip -n a link add link va m0 type macvlan mode bridge &&
		ip -n b link add link vb m0 type macvlan mode bridge &&
		addresses a m0 1 && addresses b m0 2
	DEVS="a/m0 b/m0" TAP=b/vb CUT="a/va b/vb" ALL="$CUT a/m0 b/m0"
}

# one device at both ends, with two addresses: what it sends takes the way
# through lo
arrange_lo() {
	veth a va b vb && addresses a va 1 && addresses a va 2
	DEVS=a/va TAP=a/lo CUT=a/lo ALL="a/lo a/va"
}

# reachable ADDRESS...: from the first end; a new netdev takes its time
reachable() {
	local address i
	for address in "$@"; do
		for i in $(seq 20); do
			ip netns exec a ping -q -c 1 -W 1 "$address" \
				>/dev/null 2>&1 && break
			[ "$i" = 20 ] && return 1
			sleep 0.1
		done
	done
}

# switch_off NETNS/NETDEV... -- FEATURES...: what a netdev has not, stays
switch_off() {
	local where=() at f
	while [ "$1" != -- ]; do where+=("$1"); shift; done
	shift
	for at in "${where[@]}"; do
		for f in "$@"; do
			ip netns exec "${at%/*}" ethtool -K "${at#*/}" "$f" off \
				>/dev/null 2>&1
		done
	done
}

# is_off NETNS/NETDEV FEATURE
is_off() {
	ip netns exec "${1%/*}" ethtool -k "${1#*/}" | grep -q "^\\s*$2: off"
}

features() {
	local at
	case $1 in
	split)
		# shellcheck disable=SC2086
		switch_off $CUT -- tx-gso-list tx-udp-segmentation gro
		;;
	bare)
		# shellcheck disable=SC2086
		switch_off $ALL -- tx-gso-list tx-udp-segmentation gro gso tso \
			tx-gso-partial tx-sctp-segmentation tx sg rx \
			tx-scatter-gather-fraglist highdma txvlan rxvlan
		;;
	esac
	[ "$1" = as-is ] && return
	for at in $CUT; do
		is_off "$at" tx-gso-list || return
		[ "$1" = split ] && continue
		is_off "$at" generic-segmentation-offload || return
		# lo's are fixed
		[ "$at" = a/lo ] && continue
		is_off "$at" scatter-gather && is_off "$at" tx-checksumming ||
			return
	done
}

# sent DEVICE: packets and trains
sent() { echo "$(counter "$1" sent_pkts) $(counter "$1" sent_trains)"; }

# traffic NAME FAMILY
traffic() {
	local ga gb gid="fd77:0000:0000:0000:0000:0000:0000:000"
	[ "$2" = 4 ] && gid="0000:0000:0000:0000:0000:ffff:0a4d:000"
	ga=$(gid_of $DEV_A ${gid}1)
	gb=$(gid_of $DEV_B ${gid}2)
	verify "$1, IPv$2: data" 60 -A "$ga" -B "$gb" -n 150 -t 5 -M 60000 \
		-m $PMTU -s "$2"
}

# captured NAME WANTED: traffic, and the judgement on what was captured
captured() {
	local name=$1 wanted=$2 i p0 t0 p1 t1 tagged=
	# shellcheck disable=SC2086
	sniff "${TAP%/*}" "${TAP#*/}" /tmp/cap $WAY \
		"udp port 4791 or (vlan and udp port 4791)"
	read -r p0 t0 <<<"$(sent $DEV_A)"
	traffic "$name" 4
	traffic "$name" 6
	unsniff
	read -r p1 t1 <<<"$(sent $DEV_A)"
	holds "$name: $((p1 - p0)) frames left in $((t1 - t0)) trains" \
		[ $((p1 - p0)) -gt $(((t1 - t0) * 3 / 2)) ]
	[ "$ARRANGEMENT" = vlan ] && tagged=tagged
	t_tap "$name" 60 python3 "$HERE/framecheck.py" /tmp/cap $PMTU "$wanted" \
		$tagged
	i=$(($(counter $DEV_A rx_icrc_encapsulated) +
	     $(counter $DEV_B rx_icrc_encapsulated)))
	holds "$name: no ICRC error" [ "$i" -eq 0 ]
}

for ARRANGEMENT in veth bridge vlan macvlan lo; do
	for ns in a b c; do
		ip netns add $ns && ip -n $ns link set lo up
	done
	WAY=
	arrange_$ARRANGEMENT || not_ok "$ARRANGEMENT: set up"
	# shellcheck disable=SC2086
	set -- $DEVS
	DEV_B=roce_b
	[ $# -eq 2 ] || DEV_B=$DEV_A
	add_dev "${1%/*}" $DEV_A "$LINK_TYPE" "${1#*/}"
	verdict $? "$ARRANGEMENT: device"
	if [ $# -eq 2 ]; then
		add_dev "${2%/*}" $DEV_B "$LINK_TYPE" "${2#*/}"
		verdict $? "$ARRANGEMENT: device of the other end"
	fi
	reachable 10.77.0.2 fd77::2
	verdict $? "$ARRANGEMENT: the other end answers a ping"
	for how in as-is split bare; do
		features $how
		verdict $? "$ARRANGEMENT, $how: features"
		wanted=single
		[ $how = as-is ] && wanted=trains
		captured "$ARRANGEMENT, $how" $wanted
	done
	rdma link delete $DEV_A
	[ $DEV_B = $DEV_A ] || rdma link delete $DEV_B
	for ns in a b c; do ip netns delete $ns; done
	wait_gone $DEV_A $DEV_B
	t_klog "$ARRANGEMENT"
done
unload_module "$LINK_TYPE"
verdict $? "unload"
done_testing
