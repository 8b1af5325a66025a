#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: ibverbs-utils
# machine: uml
# part: fast
# order: 20
# timeout: 400
#
# The examples of libibverbs: pingpongs over every service, and the events of
# a link that goes and comes back.
# shellcheck disable=SC2034  # duo uses SERVER and CLIENT
. "$(dirname "$0")/lib.sh"

accept_start
GID_A=$(gid_index $DEV_A 4) GID_B=$(gid_index $DEV_B 4)
PORT=18600

# pingpong NAME PROGRAM OPTIONS...
pingpong() {
	local name=$1 program=$2
	shift 2
	PORT=$((PORT + 1))
	SERVER=("ibv_${program}_pingpong" -d "$DEV_B" -g "$GID_B" -p "$PORT" "$@")
	CLIENT=("ibv_${program}_pingpong" -d "$DEV_A" -g "$GID_A" -p "$PORT" "$@"
		"$V4_B")
	duo "$name" 15 tcp:$PORT
}

t_case "ibv_devices" 20 sh -c "ibv_devices | grep -q $DEV_A"
t_case "ibv_devinfo -v" 20 sh -c \
	"ibv_devinfo -v -d $DEV_A | grep -q 'PORT_ACTIVE'"
for program in rc uc ud srq; do
	pingpong "$program" $program -n 200 -s 1024
	pingpong "$program, events" $program -n 200 -s 1024 -e
	pingpong "$program, data checked" $program -n 200 -s 1024 -c
done
pingpong "rc, new send calls" rc -n 200 -N
pingpong "rc, new send calls, events, checked" rc -n 200 -N -e -c
for mtu in 256 512 1024 2048 4096; do
	pingpong "rc, path MTU $mtu" rc -n 50 -s 10000 -m $mtu -c
done
pingpong "rc, 1 MiB" rc -n 20 -s 1048576 -c
pingpong "uc, 1 MiB" uc -n 20 -s 1048576 -c
pingpong "rc, on-demand paging" rc -n 50 -o -c
pingpong "srq, on-demand paging" srq -n 50 -o
GID_A=0 GID_B=0
pingpong "rc, 1 MiB, link-local GID" rc -n 20 -s 1048576 -c
pingpong "ud, link-local GID" ud -n 100 -s 1024
t_resources "pingpongs"
t_klog "pingpongs"

# The events a program sees when the link is switched off and on
ip netns exec "$NS_A" stdbuf -oL ibv_asyncwatch -d $DEV_A >/tmp/events 2>&1 &
WATCH=$!

# seen TEXT
seen() {
	local i
	for i in $(seq 100); do
		grep -q "$1" /tmp/events && return 0
		sleep 0.1
	done
	sed 's/^/# /' /tmp/events
	return 1
}

seen "$DEV_A: async event FD"
verdict $? "ibv_asyncwatch waits"
ip -n "$NS_A" link set va down
seen IBV_EVENT_PORT_ERR
verdict $? "ibv_asyncwatch: the port goes down"
ip -n "$NS_A" link set va up
seen IBV_EVENT_PORT_ACTIVE
verdict $? "ibv_asyncwatch: the port comes up"
seen IBV_EVENT_GID_CHANGE
verdict $? "ibv_asyncwatch: GIDs change"
kill $WATCH
wait $WATCH 2>/dev/null

accept_end
