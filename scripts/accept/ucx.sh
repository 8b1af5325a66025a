#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: UCX
# machine: uml
# order: 210
# needs: accept
# timeout: 400
#
# ucx_perftest over its reliable-connected and its datagram transport.
#
# shellcheck disable=SC2034  # duo uses SERVER and CLIENT
. "$(dirname "$0")/lib.sh"

accept_start
# By IPv6: over IPv4 its datagrams look for a 16-byte GID where the packet's
# IPv4 header is, and drop what they receive.
UCX_IB_GID_INDEX=$(gid_index $DEV_A 6)
export UCX_IB_GID_INDEX UCX_LOG_LEVEL=warn
t_case "ucx_info" $((30 * SLOW)) sh -c \
	"UCX_NET_DEVICES=$DEV_A:1 ucx_info -d >/tmp/info; grep rc_verbs /tmp/info"
PORT=13400
for transport in rc_verbs ud_verbs; do
	# connections are arranged over datagrams
	tls=$transport,ud_verbs:aux
	[ $transport = rc_verbs ] || tls=$transport
	for test in tag_lat tag_bw ucp_put_lat ucp_put_bw ucp_get ucp_am_lat \
		ucp_am_bw stream_bw; do
		PORT=$((PORT + 1))
		how="-p $PORT -t $test -n 100 -w 10 -s 8192"
		# without a terminal it wants to be started by MPI
		SERVER=(env UCX_TLS="$tls" UCX_NET_DEVICES="$DEV_B:1"
			script -qec "ucx_perftest $how" /dev/null)
		CLIENT=(env UCX_TLS="$tls" UCX_NET_DEVICES="$DEV_A:1"
			script -qec "ucx_perftest $V4_B $how" /dev/null)
		duo "$transport $test" 30 tcp:$PORT
	done
	t_klog $transport
done

accept_end
