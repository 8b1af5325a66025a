#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 600
# needs: sroce tests
#
# Every switch of a device in its other position, and the netdev's segmentation
# off: the same data-checked traffic, and proof that the switch did something.
. "$(dirname "$0")/lib.sh"

start_suite

# PER_SKB: frames A sent for each skb it sent, in hundredths, since the last call
frames_per_train() {
	local pkts trains
	pkts=$(counter $DEV_A sent_pkts)
	trains=$(counter $DEV_A sent_trains)
	PER_SKB=$(((pkts - LAST_PKTS) * 100 / (trains - LAST_TRAINS)))
	LAST_PKTS=$pkts LAST_TRAINS=$trains
}
LAST_PKTS=0 LAST_TRAINS=0 PER_SKB=0

# hardware counters are cached by the core for 10 ms
settle() { sleep 0.05; }

verify "all switches on" 60 -m 1024 -M 60000 -n 40 -t 8 -s 21
settle
frames_per_train
holds "bursts leave as trains" [ "$PER_SKB" -gt 200 ]
got=$(counter $DEV_B rcvd_trains)
holds "trains arrive whole ($got)" [ "$got" -gt 0 ]

knob trains 0
verify "trains off" 60 -m 1024 -M 60000 -n 40 -t 8 -s 22
settle
frames_per_train
holds "each frame leaves alone" [ "$PER_SKB" -eq 100 ]
knob trains 1

knob hook 0
settle
before=$(counter $DEV_B rcvd_trains)
verify "hook off" 60 -m 1024 -M 60000 -n 40 -t 8 -s 23
settle
holds "no train arrives whole without the hook" [ "$(counter $DEV_B rcvd_trains)" -eq "$before" ]
knob hook 1

knob coalesce_acks 0
verify "an ACK for each request that asks" 60 -m 1024 -M 60000 -n 40 -t 8 -s 24
knob coalesce_acks 1

knob inline_doorbell 0
verify "doorbell left to BH work" 60 -m 1024 -M 60000 -n 40 -t 8 -s 25
knob inline_doorbell 1

knob window_bytes 16384
knob inflight_bytes 16384
verify "small windows" 60 -m 4096 -M 60000 -n 40 -t 8 -s 26
knob window_bytes 524288
knob inflight_bytes 409600

# with one CPU there is no other that could receive; suite steer has two
knob steer 0
settle
before=$(counter $DEV_B rcvd_steered)
verify "steering off" 60 -m 4096 -M 200000 -n 40 -t 8 -s 28
settle
holds "nothing is steered then" [ "$(counter $DEV_B rcvd_steered)" -eq "$before" ]
knob steer 1

packs() { counter $DEV_A sent_packs; }

settle
before=$(packs)
verify "runs of small packets" 60 -o write -m 256 -M 30000 -n 40 -t 8 -s 31
settle
holds "they leave as packs" [ "$(packs)" -gt "$before" ]
knob packs 0
settle
before=$(packs)
verify "packs off" 60 -o write -m 256 -M 30000 -n 40 -t 8 -s 32
settle
holds "no packs then" [ "$(packs)" -eq "$before" ]
knob packs 1

knob doorbell_us 0
verify "each doorbell at once" 60 -M 900 -n 200 -t 8 -s 33
knob doorbell_us 1000
verify "small requests wait for more, 1 ms" 60 -M 900 -n 200 -t 8 -s 34
knob doorbell_us 30
(echo 1001 >/sys/kernel/debug/sroce/$DEV_A/doorbell_us) 2>/dev/null &&
	not_ok "doorbell_us takes 1001"
holds "a wait too long is refused" [ "$(cat /sys/kernel/debug/sroce/$DEV_A/doorbell_us)" -eq 30 ]

# B's ACKs come whole, so A packs, and its netdev has the stack split and sum up
for f in tx-gso-list tx-udp-segmentation tx; do
	in_a ethtool -K va $f off >/dev/null 2>&1
done
settle
before=$(packs) trains=$(counter $DEV_B rcvd_trains)
verify "packs split on their way" 60 -o write -m 256 -M 30000 -n 40 -t 8 -s 35 -1
verify "long packs split on their way" 60 -o write -m 1024 -M 65536 -n 40 -t 8 -s 36 -1
settle
holds "they were packs when they left" [ "$(packs)" -gt "$before" ]
holds "and none arrived whole" [ "$(counter $DEV_B rcvd_trains)" -eq "$trains" ]
holds "each with its ICRC" [ "$(counter $DEV_B rx_icrc_encapsulated)" -eq 0 ]
for f in tx-gso-list tx-udp-segmentation tx; do
	in_a ethtool -K va $f on >/dev/null 2>&1
done

for bad in x -1 1e3 99999999999999999999; do
	(echo "$bad" >/sys/kernel/debug/sroce/$DEV_A/window_bytes) 2>/dev/null &&
		not_ok "window_bytes takes '$bad'"
done
holds "bad values are refused and change nothing" [ "$(cat /sys/kernel/debug/sroce/$DEV_A/window_bytes)" -eq 524288 ]

for f in tx-gso-list tx-udp-segmentation generic-segmentation-offload tx \
	scatter-gather; do
	in_a ethtool -K va $f off >/dev/null 2>&1
	in_b ethtool -K vb $f off >/dev/null 2>&1
done
verify "segmentation, checksum and scatter-gather off in the netdev" 60 \
	-m 1024 -M 60000 -n 40 -t 8 -s 27
holds "no ICRC error in any arrangement" [ "$(counter $DEV_A rx_icrc_encapsulated)" -eq 0 ]
holds "no ICRC error in any arrangement" [ "$(counter $DEV_B rx_icrc_encapsulated)" -eq 0 ]
t_klog "traffic"

end_suite
