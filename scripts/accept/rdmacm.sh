#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: rdmacm-utils
# machine: uml
# part: fast
# order: 30
# timeout: 500
#
# The examples of librdmacm: connections by the connection manager, sockets
# over RDMA, multicast.
# shellcheck disable=SC2034  # duo uses SERVER and CLIENT
. "$(dirname "$0")/lib.sh"

accept_start

# both NAME LIMIT PROGRAM OPTIONS...: the same options at both ends
both() {
	local name=$1 limit=$2 program=$3
	shift 3
	SERVER=("$program" -b "$V4_B" "$@")
	CLIENT=("$program" -s "$V4_B" "$@")
	duo "$name" "$limit" cm
}

for family in 4 6; do
	addr=$V4_B
	[ $family = 4 ] || addr=$V6_B
	SERVER=(rping -s -a "$addr" -C 10 -v -V -S 1000)
	CLIENT=(rping -c -a "$addr" -C 10 -v -V -S 1000)
	# its server says that the peer went away, and fails
	SERVER_ENDS=no duo "rping, IPv$family" 20 cm
done
SERVER=(rping -s -a "$V4_B" -C 10 -V -S 65000 -q)
CLIENT=(rping -c -a "$V4_B" -C 10 -V -S 65000)
SERVER_ENDS=no duo "rping, 65000 bytes" 20 cm
both "ucmatose" 20 ucmatose -c 4 -C 20
both "ucmatose, 50 connections" 30 ucmatose -c 50 -C 2
both "ucmatose, 500 connections" 60 ucmatose -c 500 -C 1 -S 64
both "udaddy" 20 udaddy -c 4 -C 20
t_klog "connections"

both "rstream" 20 rstream -S 65536 -C 50 -I 2
for how in v a b n; do
	both "rstream -T $how" 20 rstream -S 65536 -C 50 -I 2 -T $how
done
both "rstream, all sizes, verified" 30 rstream -S all -I 4 -C 4 -T v
both "riostream" 20 riostream -S 65536 -C 50 -I 2
for how in v a b n; do
	both "riostream -T $how" 20 riostream -S 65536 -C 50 -I 2 -T $how
done
head -c 5000000 /dev/urandom >/tmp/in
SERVER=(rcopy)
CLIENT=(rcopy /tmp/in "$V4_B:/tmp/copied")
SERVER_ENDS=no duo "rcopy" 30 cm
t_case "rcopy: the same data" 10 cmp /tmp/in /tmp/copied
t_klog "rsockets"

SERVER=(udpong -b "$V4_B" -C 20 -S 512)
CLIENT=(udpong -s "$V4_B" -C 20 -S 512)
SERVER_ENDS=no duo "udpong" 15 udp:7174
both "cmtime" 30 cmtime -c 20
SERVER=(rdma_server -p 7471)
CLIENT=(rdma_client -s "$V4_B" -p 7471)
duo "rdma_server" 15 cm
SERVER=(rdma_xserver -p 7471 -c r)
CLIENT=(rdma_xclient -s "$V4_B" -p 7471 -c r)
duo "rdma_xserver" 15 cm
t_klog "others"

# multicast: the receiver is in the group when its queue pair is up
for group in 239.1.1.1 ff0e::77; do
	bind_a=$V4_A bind_b=$V4_B
	[ $group = 239.1.1.1 ] || bind_a=$V6_A bind_b=$V6_B
	SERVER=(mckey -m "$group" -b "$bind_b" -C 10)
	CLIENT=(sh -c "sleep $((2 * SLOW)); exec mckey -m $group -s -b $bind_a -C 10")
	duo "mckey, group $group" 20 none
done

accept_end
