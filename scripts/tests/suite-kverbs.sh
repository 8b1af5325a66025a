#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 360
# needs: sroce
#
# Kernel users' verbs on the debug kernel: fast registration, all kinds of
# requests, posted in lists and one by one, with and without loss, and READs that
# take the key of their buffer away. scripts/bench.d/kverbs compares the data.
. "$(dirname "$0")/lib.sh"

RUN=/sys/kernel/debug/kverbs/run
start_suite
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
insmod "$(dirname "$(find_sroce)" | sed 's,/drivers/.*,,')/kverbs/kverbs.ko"
verdict $? "load kverbs"

# kverbs NAME WORDS...: a run that ends well, having moved something
kverbs() {
	local name=$1 n
	shift
	if ! echo "$DEV_A $DEV_B $* warm=20 ms=300" 2>/tmp/why >$RUN; then
		not_ok "$name: $(cat /tmp/why)"
		return
	fi
	read -r n _ <$RUN
	holds "$name: $n messages" [ "$n" -gt 0 ]
}

for op in write read send; do
	kverbs "$op, 64 KB" op=$op size=65536
	kverbs "$op, 64 KB, path MTU 1024" op=$op size=65536 mtu=1024
	kverbs "$op, 8 bytes in lists" op=$op size=8 list=32
	kverbs "$op, 4 KB, 8 queue pairs" op=$op size=4096 qps=8 list=4
done
kverbs "READ that invalidates, 8 bytes" op=read_inv size=8
kverbs "READ that invalidates, 64 KB" op=read_inv size=65536
kverbs "READ that invalidates, 1 MB" op=read_inv size=1048576
t_klog "kernel verbs"

# held NAME N: enum held of scripts/bench.d/kverbs/held.h, done to held requests.
# On a busy host the second is too late, or the clock strikes: tried again.
held() {
	local try rc held trains
	for try in 1 2 3 4 5; do
		held=$(counter $DEV_A held_doorbells)
		trains=$(counter $DEV_A sent_trains)
		rc=0
		echo "$DEV_A $DEV_B size=8 list=1 signal=1 held=$2" 2>/tmp/why >$RUN ||
			rc=1
		sleep 0.02	# counters are cached for 10 ms
		held=$(($(counter $DEV_A held_doorbells) - held))
		trains=$(($(counter $DEV_A sent_trains) - trains))
		[ $rc -ne 0 ] && break
		[ $held -eq 5 ] && [ $trains -le 3 ] && break
	done
	verdict $rc "held requests: $1 $(cat /tmp/why)"
	holds "$held of 5 were held, $trains trains left (try $try)" \
		[ $held -eq 5 -a $trains -le 3 ]
}

# how many of a run's messages were held; the run's are in n
run_held() {
	local before
	before=$(counter $DEV_A held_doorbells)
	echo "$DEV_A $DEV_B op=write size=8 warm=20 ms=300 $*" >$RUN
	read -r _ _ _ n <$RUN
	n_held=$(($(counter $DEV_A held_doorbells) - before))
}

knob doorbell_us 1000
held "the timer sends them" 1
held "SQD and RTS again" 3
held "they leave when the CQ is polled empty" 6
held "they leave when the CQ is armed" 7
for _ in 1 2 3; do
	held "ERR" 2
	held "RESET" 4
	held "destroyed" 5
done
run_held depth=1 signal=1
holds "none of $n is held when each is waited for" [ "$n_held" -eq 0 ]
run_held depth=2 signal=1
holds "$n_held of $n are held where it brings no company" [ "$n_held" -le $((1 + n / 16)) ]
run_held depth=32 signal=1
holds "$n_held of $n are held where it does" [ "$n_held" -gt 32 ]
knob doorbell_us 30
t_klog "held requests"

netem loss 1%
kverbs "loss: write" op=write size=16384
kverbs "loss: READ that invalidates" op=read_inv size=65536
netem off
t_klog "kernel verbs with loss"

rmmod kverbs
verdict $? "unload kverbs"
end_suite
