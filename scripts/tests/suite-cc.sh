#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 600
# needs: sroce tests
#
# Congestion control: marks, CNPs, what they do to senders, knobs, rate limits.
. "$(dirname "$0")/lib.sh"

HERE=$(dirname "$0")
CC=/sys/kernel/debug/sroce

start_suite
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug

# netem drops what it cannot mark: no ARP or neighbour discovery then
mac() { ip_ns "$1" -br link show dev "$2" | awk '{print $3}'; }
ip_ns "$NS_A" neigh replace $V4_B lladdr "$(mac "$NS_B" vb)" dev va nud permanent
ip_ns "$NS_B" neigh replace $V4_A lladdr "$(mac "$NS_A" va)" dev vb nud permanent

# cc DEVICE KNOB [VALUE]
cc() {
	if [ $# = 3 ]; then
		echo "$3" 2>/dev/null >"$CC/$1/cc_params/$2"
	else
		cat "$CC/$1/cc_params/$2"
	fi
}

# both KNOB VALUE
both() { cc $DEV_A "$1" "$2" && cc $DEV_B "$1" "$2"; }

flow() { "$TEST_BIN/sroce_flow" "$@"; }

# mark_at_a WORDS..., mark_at_b WORDS...: marks of netem on the way out of an end
mark_at_a() { in_a tc qdisc replace dev va root netem limit 20000 "$@"; }
mark_at_b() { in_b tc qdisc replace dev vb root netem limit 20000 "$@"; }

# between LOW VALUE HIGH NAME
between() {
	if [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; then
		ok "$4: $2, from $1 to $3"
	else
		not_ok "$4: $2, not from $1 to $3"
	fi
}

# what zero and since look at
COUNTERS="np_ecn_marked_roce_packets np_cnp_sent rp_cnp_handled
	rp_cnp_ignored rp_loss_handled retrans_pkts sent_trains rp_rehash
	packet_seq_err out_of_sequence duplicate_request local_ack_timeout_err"
# capture FILE COMMAND...: what passes vb meanwhile
capture() {
	local file=$1
	shift
	sniff "$NS_B" vb "$file" -c 20000 -s 128 udp port 4791
	"$@"
	unsniff
}

# ---- knobs

knobs() {
	local name bad rc=0
	[ "$(cc $DEV_A enable)" = Y ] || { echo "not enabled"; rc=1; }
	[ "$(cc $DEV_A line_rate)" = 10000000 ] || { echo "line rate"; rc=1; }
	for name in rp_ai_rate:0 rp_ai_rate:400001 rp_gd:16 rp_threshold:0 \
		rp_dce_tcp_g:1024 np_cnp_dscp:64 np_cnp_prio:8 \
		line_rate:999 rp_time_reset:131072 rp_min_dec_fac:101 \
		rp_hai_rate:x rp_rehash_rounds:1000001 \
		rp_rehash_drain_us:100001 rp_rehash_share:1025; do
		bad=${name#*:} name=${name%:*}
		if cc $DEV_A "$name" "$bad"; then
			echo "$name took $bad"
			rc=1
		fi
	done
	[ "$(cc $DEV_A rp_ai_rate)" = 10 ] || { echo "rp_ai_rate changed"; rc=1; }
	cc $DEV_A rp_ai_rate 25 || rc=1
	[ "$(cc $DEV_A rp_ai_rate)" = 25 ] || { echo "no 25"; rc=1; }
	[ "$(cc $DEV_B rp_ai_rate)" = 10 ] || { echo "other device"; rc=1; }
	cc $DEV_A rp_ai_rate 10
	return $rc
}
knobs
verdict $? "knobs: limits, defaults, one device at a time"

# what scales with the line follows it, but for what was set
line_rate() {
	local rc=0
	cc $DEV_A rp_hai_rate 7
	cc $DEV_A line_rate 100000000 || rc=1
	[ "$(cc $DEV_A rp_ai_rate) $(cc $DEV_A rp_hai_rate)" = "100 7" ] || rc=1
	cc $DEV_A line_rate 10000000 || rc=1
	[ "$(cc $DEV_A rp_ai_rate) $(cc $DEV_A rp_hai_rate)" = "10 7" ] || rc=1
	cc $DEV_A rp_hai_rate 1
	return $rc
}
line_rate
verdict $? "knobs: steps follow line_rate"

# ---- marking

wire() {
	capture /tmp/wire.pcap flow -t 300 -i 100 a=$DEV_A,b=$DEV_B,tc="$1",stop=200 \
		"a=$DEV_A,b=$DEV_B,tc=$1,op=read,stop=200"
	t_tap "$3" 30 python3 "$HERE/cc_packets.py" tos /tmp/wire.pcap "$2"
}
wire 104 0x6a "on: ECT(0), the DSCP kept"
wire 107 0x6a "on: the user's ECN bits replaced"
both enable 0
wire 107 0x6b "off: the traffic class untouched"
wire 0 0 "off: nothing set"
both enable 1

# ---- marks and CNPs

zero
mark_at_a loss 1% ecn
t_case "data under marks" 60 "$TEST_BIN/sroce_verify" -L 50 -q 2 -n 300 -t 10 \
	-T 18 $DEV_A $DEV_B
between 1 "$(since $DEV_B np_ecn_marked_roce_packets)" \
	$((5 + $(since $DEV_A sent_trains) / 40)) "marks seen"
between 1 "$(since $DEV_B np_cnp_sent)" "$(since $DEV_B np_ecn_marked_roce_packets)" \
	"CNPs sent for them"
sent=$(since $DEV_B np_cnp_sent)
between "$sent" "$(since $DEV_A rp_cnp_handled)" "$sent" "CNPs handled"
between 0 "$(since $DEV_A rp_cnp_ignored)" 0 "CNPs ignored"
between 0 "$(since $DEV_A retrans_pkts)" 0 "packets repeated"

zero
mark_at_a loss 100% ecn
capture /tmp/cnp.pcap flow -t 20000 -i 100 "a=$DEV_A,b=$DEV_B,mtu=4096,timeout=18,stop=1000"
between 10 "$(since $DEV_B np_cnp_sent)" 20001 "all marked: CNPs in 1 s"
between 0 "$(since $DEV_A retrans_pkts)" 0 "all marked: packets repeated"
t_tap "capture" 60 python3 "$HERE/cc_packets.py" cnp /tmp/cnp.pcap $V4_B $V4_A
n=$(tshark -r /tmp/cnp.pcap -Y 'infiniband.bth.opcode == 0x81 && infiniband.cnp.reserved8' 2>/dev/null | wc -l)
[ "$n" -gt 0 ] || n=$(tshark -r /tmp/cnp.pcap -Y 'infiniband.bth.opcode == 0x81' 2>/dev/null | wc -l)
between 1 "$n" 100000 "tshark: CNPs"

# a marked CNP is not answered
zero
mark_at_b loss 100% ecn
flow -t 20000 -i 100 "a=$DEV_A,b=$DEV_B,stop=300"
acks=$(since $DEV_A np_cnp_sent)
between 1 "$(since $DEV_B np_cnp_sent)" 10000 "everything marked: CNPs for data"
note "CNPs for ACKs: $acks"
between 0 "$(since $DEV_A rp_cnp_ignored)" 0 "everything marked: CNPs ignored"
in_a tc qdisc del dev va root

# READ responses come from b, which is told to slow down
zero
flow -t 20000 -i 100 "a=$DEV_A,b=$DEV_B,op=read,mtu=4096,stop=4000" &
flow_pid=$!
# the lowest rate of a QP seen while it runs; how soon it starts is the host's affair
rate=
while kill -0 $flow_pid 2>/dev/null; do
	rdma -dd resource show qp link $DEV_B >/tmp/qp.now
	now=$(sed -n 's/.*cc_read_rate \([0-9]*\).*/\1/p' /tmp/qp.now |
		sort -n | head -n 1)
	if [ -n "$now" ] && [ "$now" -lt "${rate:-1000000000000}" ]; then
		rate=$now
		cp /tmp/qp.now /tmp/qp.txt
	fi
	sleep 0.1
done
wait
between 1 "$(since $DEV_A np_cnp_sent)" 20001 "READ: CNPs of the requester"
sent=$(since $DEV_A np_cnp_sent)
between "$sent" "$(since $DEV_B rp_cnp_handled)" "$sent" "READ: CNPs handled"
sed 's/^/# /' /tmp/qp.txt
between 600000 "${rate:-0}" 1000000000 "READ: bytes/s the responder is down to"
in_b tc qdisc del dev vb root

both enable 0
zero
mark_at_a loss 100% ecn
flow -t 20000 -i 100 "a=$DEV_A,b=$DEV_B,tc=2,stop=200"
between 1 "$(since $DEV_B np_ecn_marked_roce_packets)" 1000000 "off: marks seen"
between 0 "$(since $DEV_B np_cnp_sent)" 0 "off: CNPs sent"
both enable 1
in_a tc qdisc del dev va root

# ---- another source port, and with it another path

# ports NAME FLOW-WORDS: a capture of two flows
ports() {
	zero
	capture "/tmp/$1.pcap" flow -t 20000 -i 100 \
		"a=$DEV_A,b=$DEV_B,n=2,timeout=18,stop=1000$2"
	between 0 "$(since $DEV_A retrans_pkts)" 0 "$1: packets repeated"
	between 0 "$(since $DEV_B out_of_sequence)" 0 "$1: packets out of sequence"
}
ports unmarked ""
between 0 "$(since $DEV_A rp_rehash)" 0 "unmarked: changes of port"
mark_at_a loss 100% ecn
ports marked ""
between 2 "$(since $DEV_A rp_rehash)" 4000 "marked: changes of port"
ports label ",label=77"
both rp_rehash_drain_us 0
ports single ",depth=1,size=4096"
both rp_rehash_drain_us 1000
both rp_rehash_rounds 0
ports never ""
both rp_rehash_rounds 4
both enable 0
ports off ",tc=2"
both enable 1
t_tap "source ports" 90 python3 "$HERE/cc_packets.py" ports $V4_A $V4_B \
	/tmp/unmarked.pcap stay /tmp/marked.pcap move /tmp/label.pcap stay \
	/tmp/single.pcap move /tmp/never.pcap stay /tmp/off.pcap stay

# every byte arrives, whatever the port; long messages, one-sided and not
zero
t_case "data of changing ports" 60 "$TEST_BIN/sroce_verify" -L 50 -q 2 -n 200 \
	-t 10 -T 18 -M 200000 -m 4096 $DEV_A $DEV_B
between 2 "$(since $DEV_A rp_rehash)" 20000 "data of changing ports: changes"
between 0 "$(since $DEV_A retrans_pkts)" 0 "data of changing ports: repeated"
between 0 "$(since $DEV_B out_of_sequence)" 0 "data of changing ports: out of sequence"
in_a tc qdisc del dev va root

# source port of the one connected queue pair of a
requests_port() {
	rdma -dd resource show qp link $DEV_A | grep -o 'udp_sport [0-9]*' |
		awk '$2 && !n++ { print $2 }'
}

# a path that dies: what comes from the port of a queue pair is lost
zero
flow -t 20000 -i 100 -o /tmp/dead.json \
	"a=$DEV_A,b=$DEV_B,timeout=14,gap=1000,stop=3000" &
flow_pid=$!
port=
for _ in $(seq 50); do
	port=$(requests_port)
	[ "${port:-0}" -gt 0 ] && break
	sleep 0.1
done
if in_b tc qdisc add dev vb clsact && in_b tc filter add dev vb ingress protocol ip \
	flower ip_proto udp src_port "$port" action drop; then
	sleep 1
	now=$(requests_port)
	note "port $port is dead, now $now"
	wait $flow_pid
	verdict $? "a dead path: no request fails"
	between 2 "$(since $DEV_A local_ack_timeout_err)" 30 "a dead path: ACK timeouts"
	between 1 "$(since $DEV_A rp_rehash)" 30 "a dead path: changes of port"
	in_b tc qdisc del dev vb clsact
else
	wait $flow_pid
	skip "a dead path" "no tc flower here"
fi

# ---- a peer that answers no marks: losses may stand in

loses() { flow -t 20000 -i 100 "a=$DEV_A,b=$DEV_B,mtu=4096,stop=1500,rough=1"; }
cc $DEV_B enable 0
mark_at_a loss 10%
zero
loses
between 1 "$(since $DEV_A retrans_pkts)" 1000000 "losses: packets repeated"
between 0 "$(since $DEV_A rp_loss_handled)" 0 "losses: nothing slows down by default"
cc $DEV_A rp_loss_is_mark 1
zero
loses
between 1 "$(since $DEV_A rp_loss_handled)" 100000 "losses: slow down with rp_loss_is_mark"
# once a CNP came, marks say it all
cc $DEV_B enable 1
in_a tc qdisc replace dev va root handle 1: netem limit 20000 loss 50% ecn
in_a tc qdisc add dev va parent 1: netem limit 20000 loss 3%
zero
loses
between 1 "$(since $DEV_A rp_cnp_handled)" 100000 "losses and marks: CNPs handled"
note "$(since $DEV_A rp_loss_handled) losses counted before the first CNP"
between 0 "$(since $DEV_A rp_loss_handled)" 20 "losses and marks: losses that slowed down"
cc $DEV_A rp_loss_is_mark 0
in_a tc qdisc del dev va root

# ---- round-trip time

in_a tc qdisc replace dev va root netem limit 20000 delay 30ms
"$TEST_BIN/sroce_flow" -t 20000 -i 100 \
	"a=$DEV_A,b=$DEV_B,size=8192,depth=2,timeout=18,stop=15000" &
flow_pid=$!
srtt=0
while [ "$srtt" -lt 30000000 ] && kill -0 $flow_pid 2>/dev/null; do
	sleep 0.1
	now=$(rdma -dd resource show qp link $DEV_A |
		sed -n 's/.*srtt_ns \([0-9]*\).*/\1/p' | sort -n | tail -n 1)
	[ "${now:-0}" -gt "$srtt" ] && srtt=$now
done
kill $flow_pid
wait $flow_pid 2>/dev/null
in_a tc qdisc del dev va root
between 30000000 "$srtt" 900000000 "30 ms on the way: smoothed round trip, ns"

# ---- rate limit

# 2 Mbit/s for two seconds: 460 KB without headers.  A busy machine's timers are
# late, so how exact it is the experiment "limit" measures in simulated time.
flow -t 2000 -i 100 -o /tmp/limit.json \
	"a=$DEV_A,b=$DEV_B,limit=2000,size=8192,depth=4"
bytes=$(sed -n 's/.*"bytes": \([0-9]*\).*/\1/p' /tmp/limit.json)
between 150000 "${bytes:-0}" 480000 "2 Mbit/s for 2 s: payload bytes"

# ---- classes

# default_roce_tos: what rdma_cm gives a connection whose program asked for nothing
DEFAULTS=/sys/kernel/config/rdma_cm/$DEV_A
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
roce_tos() {
	local pid
	in_b timeout 20 rping -s -a 0.0.0.0 -p 19000 -C 5 >/dev/null 2>&1 &
	pid=$!
	for _ in $(seq 50); do
		rdma resource show cm_id 2>/dev/null | grep -q LISTEN && break
		sleep 0.1
	done
	in_a timeout 20 rping -c -a "$V4_B" -p 19000 -C 5 >/dev/null
	wait "$pid"
}
if mkdir -p "$DEFAULTS" 2>/dev/null && [ -e "$DEFAULTS/ports/1/default_roce_tos" ]; then
	echo 104 >"$DEFAULTS/ports/1/default_roce_tos"
	capture /tmp/tos.pcap roce_tos
	echo 0 >"$DEFAULTS/ports/1/default_roce_tos"
	rmdir "$DEFAULTS"
	seen=$(tshark -r /tmp/tos.pcap -T fields -e ip.dsfield -Y "ip.src == $V4_A &&
		infiniband.bth.destqp != 1" 2>/dev/null | sort | uniq -c | tr -s ' \n' ' ')
	note "traffic classes of rping's packets: $seen"
	rc=1
	if [[ $seen =~ ^\ [0-9]+\ 0x6a\ $ ]]; then rc=0; fi
	verdict $rc "rdma_cm's default_roce_tos: DSCP 26, ECT(0)"
else
	skip "rdma_cm's default_roce_tos" "no configfs here"
fi

# the SL is the packet's priority, that the PCP of a VLAN; CNPs have their own
vlan() {
	ip_ns "$1" link add link "$2" name "$2.7" type vlan id 7 \
		egress-qos-map 3:3 6:6 && ip_ns "$1" link set "$2.7" up &&
		ip_ns "$1" addr add "$3/24" dev "$2.7"
}
modprobe -q 8021q
if vlan "$NS_A" va 10.78.0.1 && vlan "$NS_B" vb 10.78.0.2; then
	ip_ns "$NS_A" neigh replace 10.78.0.2 lladdr "$(mac "$NS_B" vb)" dev va.7 \
		nud permanent
	ip_ns "$NS_B" neigh replace 10.78.0.1 lladdr "$(mac "$NS_A" va)" dev vb.7 \
		nud permanent
	a=$(gid_of $DEV_A 0a4e:0001) b=$(gid_of $DEV_B 0a4e:0002)
	mark_at_a loss 100% ecn
	sniff "$NS_B" vb /tmp/vlan.pcap -c 20000 -s 128 'vlan 7 and udp port 4791'
	t_case "data over a VLAN, SL 3" 60 "$TEST_BIN/sroce_flow" -t 300 -i 100 \
		"a=$DEV_A,b=$DEV_B,sl=3,agid=$a,bgid=$b"
	unsniff
	in_a tc qdisc del dev va root
	tshark -r /tmp/vlan.pcap -T fields -e ip.src -e infiniband.bth.opcode \
		-e vlan.priority 2>/dev/null | sort | uniq -c >/tmp/vlan.txt
	sed 's/^/# /' /tmp/vlan.txt
	n=$(awk '$2 == "10.78.0.1" && $4 != 3' /tmp/vlan.txt | wc -l)
	grep -q '10.78.0.1' /tmp/vlan.txt && [ "$n" = 0 ]
	verdict $? "data of SL 3 has PCP 3"
	n=$(awk '$3 == 129 && $4 != 6' /tmp/vlan.txt | wc -l)
	awk '$3 == 129' /tmp/vlan.txt | grep -q . && [ "$n" = 0 ]
	verdict $? "CNPs have PCP 6"
	ip_ns "$NS_A" link del va.7
	ip_ns "$NS_B" link del vb.7
else
	skip "PCP" "no VLANs here"
fi

# ---- many queue pairs

flow -t 6000 -i 1000 "a=$DEV_A,b=$DEV_B,n=1000,size=8,gap=5000000" &
for _ in $(seq 200); do
	sleep 0.3
	rdma -dd resource show qp link $DEV_A >/tmp/qps.txt
	[ "$(grep -c RTS /tmp/qps.txt)" -ge 1000 ] && break
done
wait
t_tap "entropy" 30 python3 "$HERE/cc_packets.py" paths /tmp/qps.txt

t_klog "congestion control"
end_suite
