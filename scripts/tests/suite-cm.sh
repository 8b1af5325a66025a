#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 600
# needs: sroce tests
#
# The connection manager: programs of librdmacm and perftest -R, over IPv4 and
# IPv6, and the counters the management path gives to sysfs.
. "$(dirname "$0")/lib.sh"

start_suite

# shellcheck source=scripts/tests/programs.sh
. "$(dirname "$0")/programs.sh"

PORT=19000

# wait_listen: until somebody listens
wait_listen() {
	local i
	for i in $(seq 20); do
		rdma resource show cm_id 2>/dev/null |
			grep -q LISTEN && return 0
		sleep 0.1
	done
	note "no listener seen"
}

# cm NAME: SERVER and CLIENT are set
cm() {
	local start=$SECONDS
	served wait_listen
	verdict $? "$* ($((SECONDS - start)) s)"
}

for fam in 4 6; do
	addr=$V4_B
	any=0.0.0.0
	[ $fam = 6 ] && addr=$V6_B any=::

	PORT=$((PORT + 1))
	SERVER=(rping -s -a "$any" -p "$PORT" -C 20)
	CLIENT=(rping -c -a "$addr" -p "$PORT" -C 20)
	cm "IPv$fam rping"
	PORT=$((PORT + 1))
	SERVER=(rping -s -a "$any" -p "$PORT" -C 10 -S 65535 -V)
	CLIENT=(rping -c -a "$addr" -p "$PORT" -C 10 -S 65535 -V)
	cm "IPv$fam rping, 64 KB, verified"
	for tool in ucmatose udaddy; do
		SERVER=("$tool" -b "$addr" -c 5 -C 10 -S 500)
		CLIENT=("$tool" -s "$addr" -c 5 -C 10 -S 500)
		cm "IPv$fam $tool, 5 connections"
	done
	t_klog "IPv$fam"
done

PORT=$((PORT + 1))
SERVER=(rdma_server -p "$PORT")
CLIENT=(rdma_client -s "$V4_B" -p "$PORT")
cm "rdma_server and rdma_client"

for tool in "ib_send_bw" "ib_write_bw" "ib_read_bw" "ib_send_lat" \
	"ib_send_bw -c UD" "ib_send_bw -e" "ib_write_bw -q 4"; do
	PORT=$((PORT + 1))
	# shellcheck disable=SC2206  # words
	SERVER=($tool -R -F -s 1024 -n 100 -p "$PORT")
	CLIENT=("${SERVER[@]}" "$V4_B")
	cm "$tool -R"
done
t_klog "perftest -R"

# Nobody listens: the other side says so at once
refused() {
	local start=$SECONDS
	in_a timeout 20 rping -c -a $V4_B -p 18999 -C 1 >/tmp/refused 2>&1 &&
		return 1
	[ $((SECONDS - start)) -lt 10 ] && grep -q REJECTED /tmp/refused
}
refused
verdict $? "a connection nobody waits for is rejected"

# A server without a peer can be interrupted
interrupted() {
	local rc=0
	in_b timeout -s INT 1 rping -s -a 0.0.0.0 -p 18998 >/dev/null 2>&1 ||
		rc=$?
	[ $rc -eq 124 ]
}
interrupted
verdict $? "a listener ends"

# port_counter NAME
port_counter() { cat "/sys/class/infiniband/$DEV_A/ports/1/counters/$1"; }
counted() {
	[ "$(port_counter port_xmit_packets)" -gt 100 ] &&
		[ "$(port_counter port_rcv_packets)" -gt 100 ] &&
		[ "$(port_counter port_xmit_data)" -gt 1000 ]
}
counted
verdict $? "sysfs has the port's counters"
none_lost() {
	[ "$(counter $DEV_A rx_drop_qpn)" -eq 0 ] &&
		[ "$(counter $DEV_A rx_drop_qkey)" -eq 0 ]
}
none_lost
verdict $? "no management packet was lost"

# Connections in a row leave nothing behind
leftovers() {
	[ "$(rdma resource show qp | grep -cv 'qp-type\|type GSI')" -eq 0 ]
}
leftovers
verdict $? "no queue pair but QP1 is left"
t_klog "connection manager"

end_suite
