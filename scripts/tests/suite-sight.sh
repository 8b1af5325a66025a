#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 480
# needs: sroce tests
#
# What an administrator sees: counters by the names tools look for, counters of
# chosen queue pairs, trace events of drops and errors, a device's new name.
. "$(dirname "$0")/lib.sh"

start_suite

TRACE=/sys/kernel/tracing
mount -t tracefs tracefs $TRACE 2>/dev/null

# ---- names ----

# rdma_rxe's and mlx5's, where they mean something for a software device
NAMES="sent_pkts rcvd_pkts duplicate_request out_of_seq_request rcvd_rnr_err
send_rnr_err rcvd_seq_err retry_exceeded_err retry_rnr_exceeded_err send_err
link_downed rdma_sends rdma_recvs sent_bytes rcvd_bytes
rx_write_requests rx_read_requests rx_atomic_requests out_of_buffer
out_of_sequence rnr_nak_retry_err packet_seq_err implied_nak_seq_err
local_ack_timeout_err resp_local_length_error resp_cqe_error req_cqe_error
req_remote_invalid_request req_remote_access_errors resp_remote_access_errors
resp_cqe_flush_error req_cqe_flush_error rx_icrc_encapsulated rp_cnp_ignored
rp_cnp_handled rp_loss_handled rp_rehash np_ecn_marked_roce_packets np_cnp_sent
req_transport_retries_exceeded req_rnr_retries_exceeded lifespan"
named() {
	local n rc=0
	for n in $NAMES; do
		[ -e "/sys/class/infiniband/$DEV_A/ports/1/hw_counters/$n" ] &&
			continue
		note "no counter $n"
		rc=1
	done
	return $rc
}
named
verdict $? "counters have the names tools look for"

# ---- drops and errors as trace events ----

t_events() { grep -c "$1" $TRACE/trace; }
if [ -d $TRACE/events/sroce/sroce_drop ]; then
	echo 1 >$TRACE/events/sroce/sroce_drop/enable
	echo 1 >$TRACE/events/sroce/sroce_qp_error/enable
	t_case "datagrams, some of them refused" 60 \
		"$TEST_BIN/sroce_ud" -L 50 $DEV_A $DEV_B
	holds "a drop says its reason and queue pair" [ "$(t_events "sroce_drop: $DEV_B qpn [0-9]*: rx_drop_qkey")" -gt 0 ]
	holds "a failed request says its status" [ "$(t_events 'sroce_qp_error: .* request failed: local QP operation error')" -gt 0 ]
	t_case "errors" 150 "$TEST_BIN/sroce_errors" -L 140 $DEV_A $DEV_B
	holds "a refused peer is seen with the reason" [ "$(t_events 'sroce_qp_error: .* peer refused: remote access error')" -gt 0 ]
	holds "an asynchronous event is seen" [ "$(t_events 'sroce_qp_error: .* event: ')" -gt 0 ]
	# every drop that was counted was seen
	dropped=0
	for f in "/sys/class/infiniband/$DEV_B/ports/1/hw_counters/rx_drop_"*; do
		dropped=$((dropped + $(cat "$f")))
	done
	seen=$(t_events "sroce_drop: $DEV_B .*: rx_drop_")
	note "$dropped drops counted, $seen seen"
	rc=1
	if [ "$dropped" -gt 0 ] && [ "$dropped" = "$seen" ]; then rc=0; fi
	verdict $rc "each drop counted is a drop seen"
	echo 0 >$TRACE/events/sroce/enable
	echo >$TRACE/trace
else
	not_ok "no trace events"
fi
t_klog "trace events"

# ---- what comes for nobody ----

before="$(counter $DEV_A rcvd_pkts) $(counter $DEV_A rcvd_bytes) $(counter $DEV_A rx_drop_qpn)"
in_b bash -c "printf %060d 0 >/dev/udp/$V4_A/4791"
for i in $(seq 50); do
	sleep 0.05
	after="$(counter $DEV_A rcvd_pkts) $(counter $DEV_A rcvd_bytes) $(counter $DEV_A rx_drop_qpn)"
	[ "$before" = "$after" ] || break
done
# shellcheck disable=SC2086	# words
set -- $before $after
note "received, bytes, dropped: $before; then $after"
rc=1
if [ $(($4 - $1)) = 1 ] && [ $(($5 - $2)) = 60 ] && [ $(($6 - $3)) = 1 ]; then rc=0; fi
verdict $rc "a packet for no queue pair is received and dropped"

# ---- counters of chosen queue pairs ----

stat_of() { rdma statistic show link "$1/1" | tr ' ' '\n' | grep -A1 "^$2$" | tail -n 1; }
qp_stat() { rdma statistic qp show link "$1/1" 2>/dev/null | tr ' ' '\n' | grep -A1 "^$2$" | tail -n 1; }

rdma statistic qp set link $DEV_A/1 auto type on
verdict $? "auto mode"
before=$(stat_of $DEV_A sent_pkts)
"$TEST_BIN/sroce_verify" -q 2 -n 100000000 -t 10 -L 60 $DEV_A $DEV_B \
	>/tmp/verify.log 2>&1 &
traffic=$!
for i in $(seq 80); do
	sleep 0.1
	bound=$(qp_stat $DEV_A sent_pkts)
	[ "${bound:-0}" -gt 100 ] && break
done
rdma statistic qp show link $DEV_A/1 | head -n 3 | cut -c 1-150 | sed 's/^/# /'
holds "queue pairs bound by type are counted by themselves" [ "${bound:-0}" -gt 100 ]
wait $traffic
verdict $? "the traffic is unharmed"
holds "the counter goes with its last queue pair" \
	[ -z "$(qp_stat $DEV_A sent_pkts)" ]
after=$(stat_of $DEV_A sent_pkts)
pma=$(cat /sys/class/infiniband/$DEV_A/ports/1/counters/port_xmit_packets)
sysfs=$(counter $DEV_A sent_pkts)
note "sent_pkts $before, then $after; sysfs $sysfs; port counter $pma"
rc=1
if [ "$after" -gt $((before + 100)) ] && [ "$after" = "$pma" ] &&
	[ "$after" = "$sysfs" ]; then rc=0; fi
verdict $rc "and what it counted stays part of the device's sum"
rdma statistic qp set link $DEV_A/1 auto off
verdict $? "auto mode off"

# by hand, while it works
"$TEST_BIN/sroce_verify" -n 100000000 -t 100 -L 110 $DEV_A $DEV_B \
	>/tmp/verify.log 2>&1 &
traffic=$!
# an_rc: number of one of its queue pairs
an_rc() {
	local i qpn
	for i in $(seq 50); do
		qpn=$(rdma resource show qp link $DEV_A/1 |
		      sed -n 's/.*lqpn \([0-9]*\) .*type RC state RTS.*/\1/p')
		[ -n "$qpn" ] && break
		sleep 0.1
	done
	echo "$qpn" | tail -n 1
}
sleep 1
lqpn=$(an_rc)
rdma resource show qp link $DEV_A/1 | sed 's/^/# /'
bad=0
for i in $(seq 10); do
	rdma statistic qp bind link $DEV_A/1 lqpn "$lqpn" || bad=1
	for _ in $(seq 50); do
		sleep 0.2
		[ "$(qp_stat $DEV_A rcvd_pkts)" -gt 0 ] && break
	done
	[ "$(qp_stat $DEV_A rcvd_pkts)" -gt 0 ] || bad=1
	cntn=$(qp_stat $DEV_A cntn)
	rdma statistic qp unbind link $DEV_A/1 cntn "$cntn" lqpn "$lqpn" ||
		bad=1
done
verdict $bad "bind and unbind under traffic, ten times"
kill -INT $traffic
wait $traffic
verdict $? "the traffic is unharmed"
t_klog "counters of queue pairs"

# ---- what rdma resource shows ----

rdma resource show qp link $DEV_A/1 -dd | grep -q drv_udp_sport
verdict $? "rdma resource show qp -dd has details"
# a program that waits for its peer has a region and a completion queue
ip netns exec "$NS_A" ibv_rc_pingpong -d $DEV_A -g 1 -s 10000 >/dev/null 2>&1 &
waits=$!
# detail cq|mr WORDS: they are in the details of one of them
detail() {
	local i
	for i in $(seq 50); do
		rdma resource show "$1" dev $DEV_A -dd | tr '\n' ' ' |
			grep -q "$2" && return 0
		sleep 0.1
	done
	rdma resource show "$1" dev $DEV_A -dd | sed 's/^/# /'
	return 1
}
detail mr "drv_type user drv_valid 1 drv_access 0x1 drv_pages 3 "
verdict $? "rdma resource show mr -dd has details"
detail cq "drv_waiting 0 drv_armed 0 drv_overflowed 0 "
verdict $? "rdma resource show cq -dd has details"
kill $waits
wait $waits 2>/dev/null

# ---- a new name ----

DBG=/sys/kernel/debug/sroce
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
rdma dev set $DEV_A name other
verdict $? "rename"
rc=1
if [ -e $DBG/other/trains ] && [ ! -e $DBG/$DEV_A ]; then rc=0; fi
verdict $rc "the switches are under the new name"
rdma dev set other name $DEV_A && [ -e $DBG/$DEV_A/trains ]
verdict $? "and back"
verify "traffic afterwards" 30 -n 50
t_klog "rename"

end_suite
