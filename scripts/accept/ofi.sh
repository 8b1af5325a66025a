#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: libfabric
# machine: uml
# order: 200
# needs: accept
# timeout: 300
#
# fi_pingpong over the verbs provider: connected, datagrams, and the reliable
# datagrams that libfabric makes of connections.
#
# shellcheck disable=SC2034  # duo uses SERVER and CLIENT
. "$(dirname "$0")/lib.sh"

accept_start
t_case "fi_info" $((20 * SLOW)) ip netns exec "$NS_A" sh -c \
	"fi_info -p verbs -v | grep -q $DEV_A"
PORT=47600

# ping NAME PROVIDER ENDPOINT OPTIONS...
ping_fi() {
	local name=$1 provider=$2 endpoint=$3 suffix=
	shift 3
	[ "$endpoint" = dgram ] && suffix=-dgram
	PORT=$((PORT + 1))
	SERVER=(fi_pingpong -p "$provider" -e "$endpoint" -B "$PORT" -I 20
		-d "$DEV_B$suffix" "$@")
	CLIENT=(fi_pingpong -p "$provider" -e "$endpoint" -P "$PORT" -I 20
		-d "$DEV_A$suffix" "$@" "$V4_B")
	duo "$name" 30 tcp:$PORT
}

ping_fi "msg" verbs msg
ping_fi "msg, checked" verbs msg -c
ping_fi "msg, 1 MiB, checked" verbs msg -c -S 1048576
ping_fi "dgram" verbs dgram
ping_fi "rdm" "verbs;ofi_rxm" rdm
ping_fi "rdm, checked" "verbs;ofi_rxm" rdm -c
t_klog "libfabric"

accept_end
