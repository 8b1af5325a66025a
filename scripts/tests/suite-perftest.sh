#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml
# timeout: 600
# needs: sroce tests
#
# The RC part of the perftest family. The figures are not looked at here: its
# clock check fails now and then in this machine; the exit status counts.
. "$(dirname "$0")/lib.sh"

start_suite

# perftest wants to know a clock rate
if ! grep -q 'cpu MHz' /proc/cpuinfo; then
	sed 's/^bogomips.*/&\ncpu MHz\t\t: 2000.000/' /proc/cpuinfo >/tmp/cpuinfo
	mount --bind /tmp/cpuinfo /proc/cpuinfo
fi

GID4_A=$(gid_index $DEV_A 4) GID4_B=$(gid_index $DEV_B 4)
GID6_A=$(gid_index $DEV_A 6) GID6_B=$(gid_index $DEV_B 6)
PORT=18500

# listening PID PORT: whether that process's namespace has the port open
listening() {
	local hex
	hex=$(printf ':%04X ' "$2")
	grep -hq "$hex.* 0A " "/proc/$1/net/tcp" "/proc/$1/net/tcp6" 2>/dev/null
}

# pair_run LIMIT FAMILY TOOL OPTIONS...
pair_run() {
	local limit=$1 fam=$2 tool=$3 ga=$GID4_A gb=$GID4_B pid i rc
	shift 3
	[ "$fam" = 6 ] && ga=$GID6_A gb=$GID6_B
	PORT=$((PORT + 1))
	ip netns exec "$NS_B" timeout -k 2 "$limit" "$tool" -d $DEV_B -x "$gb" \
		-F -p $PORT "$@" >/tmp/server.log 2>&1 &
	pid=$!
	for i in $(seq 100); do
		listening $pid $PORT && break
		sleep 0.02
	done
	ip netns exec "$NS_A" timeout -k 2 "$limit" "$tool" -d $DEV_A -x "$ga" \
		-F -p $PORT "$@" $V4_B >/tmp/client.log 2>&1
	rc=$?
	[ $rc -ne 0 ] && kill $pid 2>/dev/null
	wait $pid
	i=$?
	[ $rc -eq 0 ] && rc=$i
	if [ $rc -ne 0 ]; then
		grep -v Correlation /tmp/server.log | tail | sed 's/^/# server: /'
		grep -v Correlation /tmp/client.log | tail | sed 's/^/# client: /'
	fi
	return $rc
}

# perf FAMILY TOOL OPTIONS...: one case
perf() {
	local start=$SECONDS
	pair_run 40 "$@"
	verdict $? "IPv$1 ${*:2} ($((SECONDS - start)) s)"
}

for op in send write read; do
	perf 4 ib_${op}_bw -a -n 20
	for mtu in 256 512 1024 2048 4096; do
		perf 4 ib_${op}_bw -m $mtu -s 65536 -n 100
	done
	perf 6 ib_${op}_bw -s 65536 -n 100
	perf 6 ib_${op}_lat -s 64 -n 10
	perf 4 ib_${op}_bw -b -s 65536 -n 100
	perf 4 ib_${op}_bw --post_list=8 -s 1024 -n 128
	perf 4 ib_${op}_bw --cq-mod=1 -s 64 -n 100
	perf 4 ib_${op}_bw --cq-mod=40 -s 64 -n 400
	perf 4 ib_${op}_bw -q 4 -s 4096 -n 50
	perf 4 ib_${op}_bw -q 64 -t 16 -s 1024 -n 16
done
# a poller waits for the end of the other's time slice here, so few of these
for size in 2 4096 1000000; do
	perf 4 ib_send_lat -s $size -n 10
	perf 4 ib_write_lat -s $size -n 5
	perf 4 ib_read_lat -s $size -n 10
done
# WRITE has no events in perftest
for op in send read; do
	perf 4 ib_${op}_bw -e -s 65536 -n 100
	perf 4 ib_${op}_bw -b -e -s 4096 -n 100
	perf 4 ib_${op}_lat -e -s 64 -n 100
done
for op in send write; do
	perf 4 ib_${op}_bw -I 64 -s 64 -n 200
	perf 4 ib_${op}_bw -I 200 -s 200 -n 200 -b
	perf 4 ib_${op}_lat -I 32 -s 32 -n 10
done
perf 4 ib_send_bw --post_list=8 --recv_post_list=8 -s 1024 -n 128
for type in CMP_AND_SWAP FETCH_AND_ADD; do
	perf 4 ib_atomic_bw -A $type -n 100
	perf 4 ib_atomic_lat -A $type -n 10
	perf 6 ib_atomic_bw -A $type -b -n 100
done
perf 4 ib_atomic_bw -e -n 100
perf 4 ib_atomic_bw -q 4 -n 50
perf 4 ib_atomic_bw -q 64 -t 16 -n 16
perf 4 ib_atomic_bw --post_list=8 -n 128
t_klog "perftest"

end_suite
