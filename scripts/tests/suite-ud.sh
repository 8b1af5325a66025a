#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 300
# needs: sroce tests
#
# Unreliable queue pairs, UD and UC: verbs programs of rdma-core and the UD part of the
# perftest family, over both IP versions, each with its counters and a clean
# kernel log.
. "$(dirname "$0")/lib.sh"

start_suite

# perftest wants to know a clock rate
if ! grep -q 'cpu MHz' /proc/cpuinfo; then
	sed 's/^bogomips.*/&\ncpu MHz\t\t: 2000.000/' /proc/cpuinfo >/tmp/cpuinfo
	mount --bind /tmp/cpuinfo /proc/cpuinfo
fi

PORT=18600

# wait_port PID: until that process listens on $PORT
wait_port() {
	local hex i
	hex=$(printf ':%04X ' "$PORT")
	for i in $(seq 100); do
		grep -hq "$hex.* 0A " "/proc/$1/net/tcp" "/proc/$1/net/tcp6" \
			2>/dev/null && return 0
		sleep 0.05
	done
	return 1
}

# both SERVER_COMMAND -- CLIENT_COMMAND: "PORT" in them is replaced
both() {
	local server=() pid rc i
	PORT=$((PORT + 1))
	while [ "$1" != -- ]; do
		server+=("${1/#PORT/$PORT}")
		shift
	done
	shift
	# no shell between: wait_port looks at the namespace of the child
	ip netns exec "$NS_B" timeout -k 2 60 "${server[@]}" >/tmp/server.log 2>&1 &
	pid=$!
	wait_port $pid
	in_a timeout -k 2 60 "${@/#PORT/$PORT}" >/tmp/client.log 2>&1
	rc=$?
	[ $rc -ne 0 ] && kill $pid 2>/dev/null
	wait $pid
	i=$?
	[ $rc -eq 0 ] && rc=$i
	if [ $rc -ne 0 ]; then
		tail -n 15 /tmp/server.log | sed 's/^/# server: /'
		tail -n 15 /tmp/client.log | sed 's/^/# client: /'
	fi
	return $rc
}

# pingpong FAMILY TOOL OPTIONS...
pingpong() {
	local fam=$1 tool=$2 start=$SECONDS
	shift 2
	both "ibv_${tool}_pingpong" -d $DEV_B -g "$(gid_index $DEV_B "$fam")" \
		-p PORT "$@" -- \
		"ibv_${tool}_pingpong" -d $DEV_A -g "$(gid_index $DEV_A "$fam")" \
		-p PORT "$@" $V4_B
	verdict $? "IPv$fam ibv_${tool}_pingpong $* ($((SECONDS - start)) s)"
}

# perf FAMILY TOOL OPTIONS...
perf() {
	local fam=$1 tool=$2 start=$SECONDS
	shift 2
	both "$tool" -d $DEV_B -x "$(gid_index $DEV_B "$fam")" -F -p PORT "$@" -- \
		"$tool" -d $DEV_A -x "$(gid_index $DEV_A "$fam")" -F -p PORT \
		"$@" $V4_B
	verdict $? "IPv$fam $tool $* ($((SECONDS - start)) s)"
}

t_tap "rules" 60 "$TEST_BIN/sroce_ud" -L 50 $DEV_A $DEV_B
t_klog "rules"
t_tap "UC" 40 "$TEST_BIN/sroce_uc" -L 30 $DEV_A $DEV_B
netem loss 2%
t_tap "UC with loss" 40 "$TEST_BIN/sroce_uc" -l -L 30 $DEV_A $DEV_B
netem off
t_klog "UC"

for fam in 4 6; do
	# a poller waits for the end of the other's time slice here: few of these
	pingpong $fam rc -n 10
	pingpong $fam rc -n 100 -e
	pingpong $fam uc -n 10
	pingpong $fam uc -n 100 -e -s 65536 -r 100
	pingpong $fam ud -n 10
	pingpong $fam ud -n 100 -e
	pingpong $fam ud -n 100 -e -s 2048 -r 100
done
t_klog "pingpongs"

for fam in 4 6; do
	perf $fam ib_send_bw -c UD -s 1024 -n 500
	perf $fam ib_send_lat -c UD -e -s 64 -n 20
done
perf 4 ib_send_bw -c UD -s 4096 -n 300
perf 4 ib_send_bw -c UD -b -s 2048 -n 300
perf 4 ib_send_bw -c UD -e -s 1024 -n 200
perf 4 ib_send_bw -c UD -I 64 -s 64 -n 300
perf 4 ib_send_bw -c UD -q 4 -s 1024 -n 100
for op in send write; do
	perf 4 ib_${op}_bw -c UC -s 65536 -n 100
	perf 6 ib_${op}_bw -c UC -s 1024 -n 200
	perf 4 ib_${op}_bw -c UC -b -s 4096 -n 100
done
perf 4 ib_send_lat -c UC -e -s 64 -n 20
perf 4 ib_send_bw -c UD --post_list=16 -s 512 -n 320
t_klog "perftest"

end_suite
