#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml 7.3
# timeout: 800
# needs: sroce tests
#
# Every kind of netdev people use: data-checked traffic and rdma_cm over each,
# over IPv4, IPv6 and the link-local address of GID index 0. The emulated machine
# does those alone that the fast one has no module for.
. "$(dirname "$0")/lib.sh"

klog_mark
for m in veth bridge bonding 8021q macvlan ipvlan vxlan tun dummy wireguard; do
	modprobe -q $m
done
load_module sroce || bail "load the module"
HERE=$(dirname "$0")
NS_A=a NS_B=b
GID_TYPES=/sys/class/infiniband/$DEV_A/ports/1/gid_attrs/types

# in_both COMMAND: with X in its words replaced by the end's letter
in_both() {
	ip netns exec a "${@//X/a}" && ip netns exec b "${@//X/b}"
}

# cable NAME [MTU]: a veth pair NAMEa, NAMEb between the two namespaces
cable() {
	ip link add "$1a" mtu "${2:-1500}" netns a type veth \
		peer name "$1b" mtu "${2:-1500}" netns b &&
		in_both ip link set "$1X" up
}

# addresses NETDEV: with X for the letter
addresses() {
	ip -n a addr add $V4_A/24 dev "${1//X/a}"
	ip -n b addr add $V4_B/24 dev "${1//X/b}"
	ip -n a addr add $V6_A/64 dev "${1//X/a}" nodad 2>/dev/null
	ip -n b addr add $V6_B/64 dev "${1//X/b}" nodad 2>/dev/null
	in_both ip link set "$1" up
}

begin() {
	ip netns add a && ip netns add b || return
	in_both ip link set lo up
	# link-local addresses at once
	in_both sysctl -qw net.ipv6.conf.default.accept_dad=0
}

finish() {
	[ -n "$TUNNEL" ] && kill "$TUNNEL" 2>/dev/null && wait "$TUNNEL" 2>/dev/null
	TUNNEL=
	rdma link delete $DEV_A 2>/dev/null
	rdma link delete $DEV_B 2>/dev/null
	wait_gone $DEV_A $DEV_B
	ip netns delete a
	ip netns delete b
}

# ---- the kinds: each makes a pair with addresses and sets DEV to its name ----

net_veth() { cable c && DEV=cX; }

net_bridge() {
	cable c || return
	in_both ip link add brX type bridge forward_delay 0
	in_both ip link set cX master brX
	DEV=brX
}

bond() {
	cable c && cable d || return
	in_both ip link add boX type bond "$@" || return
	in_both ip link set cX down
	in_both ip link set dX down
	in_both ip link set cX master boX
	in_both ip link set dX master boX
	DEV=boX
}
net_bond_backup() { bond mode active-backup miimon 100; }
net_bond_8023ad() { bond mode 802.3ad miimon 100 lacp_rate fast; }

net_vlan_below() {
	cable c || return
	in_both ip link add link cX name cX.5 type vlan id 5
	DEV=cX.5
}

# the device on the lower netdev, its GIDs from the VLAN above
net_vlan_above() {
	net_vlan_below && RDMA_ON=cX
}

net_macvlan() {
	cable c || return
	in_both ip link add link cX name mcvX type macvlan mode bridge
	DEV=mcvX
}

net_ipvlan() {
	cable c || return
	in_both ip link add link cX name ipvX type ipvlan mode l2
	DEV=ipvX
}

net_vxlan() {
	cable c 1600 || return
	ip -n a addr add 10.66.0.1/24 dev ca
	ip -n b addr add 10.66.0.2/24 dev cb
	ip -n a link add xa type vxlan id 42 local 10.66.0.1 \
		remote 10.66.0.2 dstport 4789 dev ca
	ip -n b link add xb type vxlan id 42 local 10.66.0.2 \
		remote 10.66.0.1 dstport 4789 dev cb
	DEV=xX
}

tunnel() {
	local i
	python3 "$HERE/tunnel.py" "$1" a ta b tb >/tmp/tunnel.log 2>&1 &
	TUNNEL=$!
	for i in $(seq 100); do
		grep -q ready /tmp/tunnel.log && break
		kill -0 "$TUNNEL" 2>/dev/null || return 1
		sleep 0.1
	done
	DEV=tX
}
net_tap() { tunnel tap; }
net_tun() {
	tunnel tun
	# no MAC address the default GID could be made of
	NO_LL=1
}

net_wireguard() {
	local key_a key_b
	modprobe -n wireguard 2>/dev/null || return 77
	cable c 1600 || return
	ip -n a addr add 10.66.0.1/24 dev ca
	ip -n b addr add 10.66.0.2/24 dev cb
	in_both ip link add wX type wireguard || return
	key_a=$(wg genkey) key_b=$(wg genkey)
	ip netns exec a wg set wa listen-port 5000 \
		private-key <(echo "$key_a") peer "$(echo "$key_b" | wg pubkey)" \
		allowed-ips 0.0.0.0/0,::/0 endpoint 10.66.0.2:5000
	ip netns exec b wg set wb listen-port 5000 \
		private-key <(echo "$key_b") peer "$(echo "$key_a" | wg pubkey)" \
		allowed-ips 0.0.0.0/0,::/0 endpoint 10.66.0.1:5000
	DEV=wX
	NO_LL=1
}

# IPv6 switched off on both hosts: index 0 is a GID nobody has
net_no_ipv6() {
	in_both sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	in_both sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	cable c && DEV=cX
	NO_V6=1 NO_LL=1
}

# ---- what each is put to ----

# traffic NAME GID: data-checked; GID as sroce_verify's -f
traffic() {
	t_case "$1" 40 "$TEST_BIN/sroce_verify" -L 30 -n 150 -t 4 -f "$2" \
		$DEV_A $DEV_B
}

# cm NAME: rping between the two
cm() {
	local pid rc i
	ip netns exec b timeout -k 2 30 rping -s -a $V4_B -C 5 -V -S 5000 \
		>/tmp/server.log 2>&1 &
	pid=$!
	for i in $(seq 50); do
		rdma resource show cm_id 2>/dev/null | grep -q LISTEN && break
		sleep 0.1
	done
	ip netns exec a timeout -k 2 30 rping -c -a $V4_B -C 5 -V -S 5000 \
		>/tmp/client.log 2>&1
	rc=$?
	[ $rc -ne 0 ] && kill $pid 2>/dev/null
	wait $pid || rc=1
	[ $rc -eq 0 ] || sed 's/^/# /' /tmp/server.log /tmp/client.log
	verdict $rc "$1"
}

# answers: until the hosts reach one another
answers() {
	local i
	for i in $(seq 60); do
		ip netns exec a ping -c 1 -W 1 $V4_B >/dev/null 2>&1 && break
	done
	[ -n "$NO_V6" ] || ip netns exec a ping -c 1 -W 2 $V6_B >/dev/null
}

devices() {
	ip netns exec a rdma link add $DEV_A type sroce netdev "${RDMA_ON//X/a}" &&
		ip netns exec b rdma link add $DEV_B type sroce \
			netdev "${RDMA_ON//X/b}" || return
	if [ -n "$NO_V6" ]; then
		for i in $(seq 50); do
			gid_index $DEV_A 4 >/dev/null &&
				gid_index $DEV_B 4 >/dev/null && return
			sleep 0.1
		done
		return 1
	fi
	wait_gids $DEV_A $DEV_B
}

# kind NAME: with V1 set over RoCEv1, whose GIDs are found first then
kind() {
	local rc what=$1${V1:+, RoCEv1}
	DEV='' RDMA_ON='' NO_V6='' NO_LL=''
	begin || { not_ok "$what: namespaces"; return; }
	"net_$1"
	rc=$?
	if [ $rc = 77 ]; then
		skip "$what" "no module here"
		finish
		return
	elif [ $rc -ne 0 ]; then
		not_ok "$what: set up"
		finish
		return
	fi
	# its link-local address is not made of its MAC address, as RoCEv1 wants it
	[ "$1${V1:-}" = ipvlan1 ] && NO_LL=1
	addresses "$DEV"
	answers || note "$what: no answer to ping"
	RDMA_ON=${RDMA_ON:-$DEV}
	if devices; then
		ok "$what: link add, GIDs of the netdev's addresses"
		in_both rdma link add twiceX type sroce netdev "$RDMA_ON" \
			2>&1 | grep -q "File exists"
		verdict $? "$what: a second device on it: File exists"
		[ -z "$V1" ] || holds "$what: GIDs of that type" grep -q v1 \
			"$GID_TYPES/$(gid_index $DEV_A 4)"
		traffic "$what: IPv4" 4
		[ -n "$NO_V6" ] || traffic "$what: IPv6" 6
		[ -n "$NO_LL" ] || traffic "$what: GID index 0, link-local" -1
		holds "$what: IPv4 has the same index on both ends: $(gid_index $DEV_A 4)" [ "$(gid_index $DEV_A 4)" = "$(gid_index $DEV_B 4)" ]
		cm "$what: rping"
	else
		not_ok "$what: link add, GIDs of the netdev's addresses"
		for f in "/sys/class/infiniband/$DEV_A/ports/1/gids/"[0-5]; do
			note "$(cat "$f")"
		done
	fi
	finish
	t_klog "$what"
}

# alone NAME NETDEV ADDRESS: a netdev that reaches its own host only
alone() {
	ip netns add a && ip -n a link set lo up
	case $2 in
	lo) ;;
	*) ip -n a link add "$2" type dummy && ip -n a link set "$2" up ;;
	esac
	ip -n a addr add "$3/24" dev "$2"
	ip -n a addr add $V6_A/64 dev "$2" nodad
	ip netns exec a rdma link add $DEV_A type sroce netdev "$2" &&
		wait_gids $DEV_A
	verdict $? "$1: link add"
	t_case "$1: IPv4" 30 "$TEST_BIN/sroce_verify" -L 20 -n 150 -t 4 \
		$DEV_A $DEV_A
	t_case "$1: IPv6" 30 "$TEST_BIN/sroce_verify" -L 20 -n 150 -t 4 -f 6 \
		$DEV_A $DEV_A
	rdma link delete $DEV_A
	wait_gone $DEV_A
	ip netns delete a
	t_klog "$1"
}

# Two devices in each namespace, on two cables: each has its own traffic.
two_devices() {
	begin && cable c && cable d || return
	DEV=cX
	addresses cX
	ip -n a addr add 10.88.0.1/24 dev da
	ip -n b addr add 10.88.0.2/24 dev db
	ip -n a addr add fd77:0:0:1::1/64 dev da nodad
	ip -n b addr add fd77:0:0:1::2/64 dev db nodad
	RDMA_ON=cX
	devices && in_both rdma link add twoX type sroce netdev dX &&
		wait_gids twoa twob
	verdict $? "two devices in one namespace: link add"
	traffic "two devices in one namespace: the first" 4
	t_case "two devices in one namespace: the second" 40 \
		"$TEST_BIN/sroce_verify" -L 30 -n 150 -t 4 twoa twob
	t_case "two devices in one namespace: the second, link-local" 40 \
		"$TEST_BIN/sroce_verify" -L 30 -n 150 -t 4 -f -1 twoa twob
	cm "two devices in one namespace: rping"
	rdma link delete twoa
	rdma link delete twob
	traffic "two devices in one namespace: the first when the other is gone" 4
	finish
	t_klog "two devices"
}

case ${MACHINE:-uml} in
uml*)
	for k in ${SROCE_T_KINDS:-veth bridge bond_backup bond_8023ad \
		vlan_below vlan_above macvlan ipvlan vxlan tap \
		tun no_ipv6}; do
		kind "$k"
	done
	if [ -z "$SROCE_T_KINDS" ]; then
		alone dummy du0 $V4_A
		alone lo lo $V4_A
		two_devices
		echo 1 >/sys/module/sroce/parameters/rocev1
		for k in bridge bond_backup bond_8023ad vlan_below vlan_above \
			macvlan ipvlan vxlan tap no_ipv6; do
			V1=1 kind "$k"
		done
	fi
	;;
*)
	kind wireguard
	;;
esac

unload_module sroce
verdict $? "unload"
t_klog "teardown"
done_testing
