# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Runs programs of rdma-core and perftest over the pair that lib.sh made, a
# server in one namespace and a client in the other, each run one case.
#
# Sourced by a suite after start_suite.

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

# served WAIT: SERVER is run in b, and once WAIT PID came back, CLIENT in a
served() {
	local pid rc i
	# no shell between: it would not pass the signal on, and wait_port looks
	# at the namespace of the child
	ip netns exec "$NS_B" timeout -k 2 60 "${SERVER[@]}" >/tmp/server.log 2>&1 &
	pid=$!
	"$1" $pid
	in_a timeout -k 2 60 "${CLIENT[@]}" >/tmp/client.log 2>&1
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

# both SERVER_COMMAND -- CLIENT_COMMAND: "PORT" in them is replaced
both() {
	PORT=$((PORT + 1))
	SERVER=()
	while [ "$1" != -- ]; do
		SERVER+=("${1/#PORT/$PORT}")
		shift
	done
	shift
	CLIENT=("${@/#PORT/$PORT}")
	served wait_port
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
