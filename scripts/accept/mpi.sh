#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: Open MPI over UCX
# machine: uml
# order: 220
# needs: accept
# timeout: 400
# uses: mpi_check.py
#
# Two and four ranks on one device; sums and permutations are checked.
. "$(dirname "$0")/lib.sh"

# packets: what the device has sent
packets() { cat /sys/class/infiniband/$DEV_A/ports/1/counters/port_xmit_packets; }

accept_start
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# by IPv6: see ucx.sh
UCX_IB_GID_INDEX=$(gid_index $DEV_A 6)
export UCX_IB_GID_INDEX UCX_LOG_LEVEL=warn UCX_NET_DEVICES=$DEV_A:1
for ranks in 2 4; do
	for transport in rc_verbs ud_verbs; do
		# connections are arranged over datagrams
		UCX_TLS=$transport,self
		[ $transport = ud_verbs ] || UCX_TLS=$UCX_TLS,ud_verbs:aux
		export UCX_TLS
		before=$(packets)
		t_case "$ranks ranks, $transport" $((60 * SLOW)) \
			ip netns exec "$NS_A" mpirun -n $ranks --oversubscribe \
			--mca pml ucx --mca osc ucx \
			python3 "$(dirname "$0")/mpi_check.py"
		[ $(($(packets) - before)) -gt 500 ]
		verdict $? "$ranks ranks, $transport: over the device"
	done
done
t_klog "MPI"

accept_end
