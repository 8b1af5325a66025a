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

netem loss 1%
kverbs "loss: write" op=write size=16384
kverbs "loss: READ that invalidates" op=read_inv size=65536
netem off
t_klog "kernel verbs with loss"

rmmod kverbs
verdict $? "unload kverbs"
end_suite
