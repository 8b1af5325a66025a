#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: a machine with rdma_rxe as the peer
# machine: 7.3
# peer: 7.3
# order: 75
# cpus: 1
# timeout: 1500
#
# Two machines on a cable: the driver under test here, rdma_rxe there. Each
# case runs twice, once with this end asking and once with the other; then
# again over a cable that loses, reorders, duplicates and corrupts. Programs
# that look at their data are told to: the pingpongs (-c), rping (-V), rcopy,
# rstream (-T v). guests-6.12.sh runs this too.
#
# shellcheck disable=SC2034  # the library uses them
NS_A=init NS_B=init
. "$(dirname "$0")/lib.sh"

FAR=("$TEST_SRC/scripts/lab.d/peer" run)
PORT=18800

in_b() { "${FAR[@]}" "$@"; }

resources() {
	{
		rdma resource show
		in_b rdma resource show
	} | sort | sed "s/^[0-9]*: //"
}

# plug END ADDRESS4 ADDRESS6: this machine's end of the cable, made ready. The
# far machine runs it too.
plug() {
	local path
	modprobe -q virtio_net
	path=$(grep -l '^52:54:00:77:' /sys/class/net/*/address) || return
	path=${path%/address}
	ip link set "${path##*/}" name "$1" mtu 4200
	sysctl -q "net.ipv6.conf.$1.accept_dad=0"
	ip addr add "$2/24" dev "$1" && ip addr add "$3/64" dev "$1" nodad &&
		ip link set "$1" up
}

# far FUNCTION ARGUMENTS...: a function of the libraries or of this file, there
far() {
	in_b bash -c ". $TEST_SRC/scripts/tests/lib.sh; $(declare -f "$1"); $*"
}

# wire NETEM-WORDS: at both ends; "off" removes it
wire() {
	tc qdisc del dev va root 2>/dev/null
	in_b tc qdisc del dev vb root 2>/dev/null
	[ "$1" = off ] && return 0
	tc qdisc add dev va root netem limit 20000 "$@" &&
		in_b tc qdisc add dev vb root netem limit 20000 "$@"
}

# forth, back: who asks in the cases that follow
forth() {
	WHO="asked here" SERVER_AT=("${FAR[@]}") CLIENT_AT=(env)
	TO=$V4_B TO6=$V6_B SERVER_DEV=$DEV_B CLIENT_DEV=$DEV_A
	SERVER_GID=$GID_B CLIENT_GID=$GID_A
}

back() {
	WHO="asked there" SERVER_AT=(env) CLIENT_AT=("${FAR[@]}")
	TO=$V4_A TO6=$V6_A SERVER_DEV=$DEV_A CLIENT_DEV=$DEV_B
	SERVER_GID=$GID_A CLIENT_GID=$GID_B
}

# pingpong SERVICE OPTIONS...
pingpong() {
	local service=$1
	shift
	PORT=$((PORT + 1))
	SERVER=("ibv_${service}_pingpong" -d "$SERVER_DEV" -g "$SERVER_GID"
		-p "$PORT" "$@")
	CLIENT=("ibv_${service}_pingpong" -d "$CLIENT_DEV" -g "$CLIENT_GID"
		-p "$PORT" "$@" "$TO")
	duo "$WIRE: $service pingpong $*, $WHO" 20 tcp:$PORT
}

# perf PROGRAM OPTIONS...
perf() {
	PORT=$((PORT + 1))
	SERVER=("$1" -d "$SERVER_DEV" -x "$SERVER_GID" -F -p "$PORT" "${@:2}")
	CLIENT=("$1" -d "$CLIENT_DEV" -x "$CLIENT_GID" -F -p "$PORT" "${@:2}"
		"$TO")
	duo "$WIRE: $*, $WHO" 20 tcp:$PORT
}

# ping_cm NAME ADDRESS OPTIONS...
ping_cm() {
	SERVER=(rping -s -a "$2" -V "${@:3}")
	CLIENT=(rping -c -a "$2" -V "${@:3}")
	SERVER_ENDS=no duo "$WIRE: $1, $WHO" 20 cm
}

# both PROGRAM OPTIONS...
both() {
	SERVER=("$1" -b "$TO" "${@:2}")
	CLIENT=("$1" -s "$TO" "${@:2}")
	duo "$WIRE: $*, $WHO" 20 cm
}

copy() {
	"${CLIENT_AT[@]}" sh -c "head -c 500000 /dev/urandom >/tmp/in"
	SERVER=(rcopy)
	CLIENT=(rcopy /tmp/in "$TO:/tmp/copied")
	SERVER_ENDS=no duo "$WIRE: rcopy, $WHO" 30 cm
	holds "$WIRE: rcopy: the same data, $WHO" [ \
		"$("${CLIENT_AT[@]}" sha256sum </dev/null /tmp/in | cut -d' ' -f1)" = \
		"$("${SERVER_AT[@]}" sha256sum </dev/null /tmp/copied | cut -d' ' -f1)" ]
}

everything() {
	pingpong rc -c -n 100 -s 10000 -m 1024
	pingpong rc -c -n 100 -s 10000 -m 4096 -e
	pingpong rc -c -n 10 -s 1048576
	pingpong uc -c -n 100 -s 1024
	pingpong ud -c -n 100 -s 1024
	pingpong srq -c -n 100 -s 2048
	perf ib_write_bw -n 100
	perf ib_send_bw -n 100 -e
	perf ib_read_bw -n 100
	perf ib_read_lat -n 30
	perf ib_write_lat -n 30
	perf ib_atomic_lat -n 30
	perf ib_write_bw -q 4 -b -n 30
	ping_cm "rping, IPv4" "$TO" -C 10 -S 1000
	ping_cm "rping, IPv6" "$TO6" -C 10 -S 60000
	both ucmatose -c 4 -C 20
	both udaddy -c 4 -C 20
	both rstream -S 65536 -C 20 -I 2 -T v
	copy
}

# what the two exchange on a bad cable. A READ that rdma_rxe asks for may wait
# for ever there (between two of its own as well), so it asks for none: rping's
# server is the one that READs.
some() {
	pingpong rc -c -n 100 -s 4000 -m 1024
	pingpong rc -c -n 30 -s 65536 -e
	pingpong srq -c -n 50 -s 2048
	perf ib_write_bw -n 50 -s 16384
	perf ib_send_bw -n 50 -s 16384
	if [ "$WHO" = "asked here" ]; then
		perf ib_read_bw -n 50 -s 16384
		perf ib_atomic_bw -n 50
	else
		ping_cm "rping" "$TO" -C 10 -S 10000
	fi
	both rstream -S 16384 -C 20 -I 2 -T v
	copy
}

# gaps: how often this end noticed that something was lost, late or there twice
gaps() {
	local name sum=0
	for name in duplicate_request out_of_seq_request rcvd_seq_err; do
		sum=$((sum + $(counter $DEV_A $name)))
	done
	echo $sum
}

klog_mark
plug va $V4_A $V6_A || bail "the cable, here"
far plug vb $V4_B $V6_B || bail "the cable, there"
load_module "$LINK_TYPE" || bail "load the module"
far load_module rxe || bail "load rdma_rxe there"
rdma link add $DEV_A type "$LINK_TYPE" netdev va || bail "a device here"
in_b rdma link add $DEV_B type rxe netdev vb || bail "a device there"
wait_gids $DEV_A || bail "GIDs here"
far wait_gids $DEV_B || bail "GIDs there"
GID_A=$(gid_index $DEV_A 4) GID_B=$(far gid_index $DEV_B 4)
for addr in $V4_B $V6_B; do
	ping -q -c 1 -w 5 "$addr" >/dev/null || bail "no ping from $addr"
done
RESOURCES=$(resources)
note "$(uname -r), $LINK_TYPE"
note "there: $(in_b uname -r), rxe"

WIRE=plain
for who in forth back; do
	$who
	everything
done
t_resources "plain"
t_klog "plain"
while IFS=: read -r WIRE words; do
	# shellcheck disable=SC2086  # a list of words
	wire $words || not_ok "netem $words"
	before=$(gaps)
	for who in forth back; do
		$who
		some
	done
	wire off
	holds "$WIRE: it was noticed" [ "$(gaps)" -gt "$before" ]
	t_klog "$WIRE"
done <<-END
	loss:loss 1%
	reorder:delay 1ms reorder 30% 50%
	duplicate:duplicate 3%
	corrupt:corrupt 1%
END

t_resources "end"
t_klog "end"
rdma link delete $DEV_A && in_b rdma link delete $DEV_B
verdict $? "the devices are deleted"
wait_gone $DEV_A
unload_module "$LINK_TYPE"
verdict $? "the module is unloaded"
in_b modprobe -r rdma_rxe
verdict $? "rdma_rxe is unloaded there"
t_klog "unload"
"$TEST_SRC/scripts/lab.d/peer" quit
done_testing
