#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: SMC-R
# machine: 6.12
# order: 125
# timeout: 400
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
# uses: smc.py
#
# Sockets whose data the kernel carries over RDMA, and never falls back to TCP
# for; also while the cable loses frames, and when the device goes under them.
# There is no baseline: rdma_rxe of this kernel knows no network namespaces.
#
# shellcheck disable=SC2034  # the library uses them
. "$(dirname "$0")/lib.sh"

SMC=$TEST_SRC/scripts/accept/smc.py
PORT=18900

# smc NAME CONNECTIONS BYTES
smc() {
	PORT=$((PORT + 1))
	SERVER=(python3 "$SMC" serve "$V4_B" "$PORT" "$2")
	CLIENT=(python3 "$SMC" ask "$V4_B" "$PORT" "$2" "$3")
	duo "$1" 40 tcp:$PORT
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# SMC keeps a link and its queue pairs for ten minutes, except after a fault
POOL=yes
accept_start
modprobe -a smc smc_diag || bail "modules of the kernel"
t_case "the name of the machines" 20 python3 "$SMC" eid
smc "one connection, 1 byte" 1 1
smc "one connection, 3 MB" 1 3000000
smc "20 connections" 20 100000
t_klog "SMC-R"
netem loss 1%
smc "loss 1 %" 2 500000
netem off
t_klog "loss"

PORT=$((PORT + 1))
in_b timeout 60 python3 "$SMC" serve $V4_B $PORT 1 >/tmp/server.log 2>&1 &
SERVER_PID=$!
sleep 1
in_a timeout 60 python3 "$SMC" busy $V4_B $PORT >/tmp/client.log 2>&1 &
CLIENT_PID=$!
sleep 3
kill -0 $CLIENT_PID
verdict $? "unplug: a connection is busy"
t_case "unplug: rdma link delete" $((30 * SLOW)) rdma link delete $DEV_B
wait_for 20 gone $CLIENT_PID
verdict $? "unplug: the connection ends"
wait $CLIENT_PID $SERVER_PID
sed 's/^/# client: /' /tmp/client.log | tail -n 1
t_klog "unplug"
rdma link delete $DEV_A
verdict $? "the other device goes"
t_case "smc is unloaded" $((30 * SLOW)) modprobe -r smc_diag smc
RESOURCES=$(resources)
accept_end
