#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: NVMe over fabrics, kernel host and kernel target
# machine: 7.3
# part: full
# order: 110
# timeout: 420
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# The kernel's NVMe host and target, both on one device, which is all one
# namespace lets them have: fio writes, reads back and compares. Then the same
# with ib_core.force_mr, where the target registers memory too; and the device
# goes while a disk is in use.
NS_A=init
. "$(dirname "$0")/lib.sh"

SUBSYS=sroce-t1
CFG=/sys/kernel/config/nvmet
SLOW=${SLOW:-3}

# target: a disk of 64 MiB behind $V4_A
target() {
	local i
	modprobe -a loop nvmet nvmet-rdma nvme-rdma || return
	mountpoint -q /sys/kernel/config ||
		mount -t configfs none /sys/kernel/config || return
	[ -f /tmp/disk ] || dd if=/dev/zero of=/tmp/disk bs=1M count=64 status=none
	LOOP=$(losetup -f) && losetup "$LOOP" /tmp/disk || return
	mkdir -p $CFG/subsystems/$SUBSYS/namespaces/1 $CFG/ports/1 || return
	echo 1 >$CFG/subsystems/$SUBSYS/attr_allow_any_host
	echo -n "$LOOP" >$CFG/subsystems/$SUBSYS/namespaces/1/device_path
	echo 1 >$CFG/subsystems/$SUBSYS/namespaces/1/enable || return
	echo rdma >$CFG/ports/1/addr_trtype
	echo ipv4 >$CFG/ports/1/addr_adrfam
	echo "$V4_A" >$CFG/ports/1/addr_traddr
	echo 4420 >$CFG/ports/1/addr_trsvcid
	for i in 1 2 3 4 5; do	# the address may be new
		ln -s $CFG/subsystems/$SUBSYS $CFG/ports/1/subsystems/ && return 0
		sleep 1
	done
	return 1
}

target_gone() {
	rm -f $CFG/ports/1/subsystems/$SUBSYS
	echo 0 >$CFG/subsystems/$SUBSYS/namespaces/1/enable
	rmdir $CFG/ports/1 $CFG/subsystems/$SUBSYS/namespaces/1 \
		$CFG/subsystems/$SUBSYS || return
	losetup -d "$LOOP"
}

# disk: the block device of the subsystem
disk() {
	local s
	for s in /sys/class/nvme-subsystem/nvme-subsys*; do
		[ "$(cat "$s/subsysnqn" 2>/dev/null)" = $SUBSYS ] || continue
		find "$s/" -maxdepth 1 -name 'nvme*n*' -printf '/dev/%f\n' | head -n 1
		return
	done
}

connect() {
	local i
	nvme connect -t rdma -n $SUBSYS -a "$V4_A" -s 4420 -i 2 \
		--ctrl-loss-tmo=5 --reconnect-delay=1 "$@" || return
	for i in $(seq 100); do
		DISK=$(disk)
		[ -b "$DISK" ] && return 0
		sleep 0.1
	done
	return 1
}

disconnect() { nvme disconnect -n $SUBSYS; }

# io NAME FIO-OPTIONS...
io() {
	local name=$1
	shift
	t_case "$name" $((40 * SLOW)) fio --name=v --filename="$DISK" \
		--ioengine=libaio --direct=1 --verify=crc32c --do_verify=1 \
		--verify_fatal=1 --randseed=7 "$@"
}

# all_io NAME: writes are inline below 16 KiB, reads and larger writes go by
# fast registration at the host and READ, WRITE and SEND_WITH_INV at the target
all_io() {
	io "$1: 4 KiB, random" --rw=randwrite --bs=4k --size=4m --iodepth=16
	io "$1: 4 to 64 KiB, mixed" --rw=randrw --bs=4k-64k --size=8m --iodepth=8
	io "$1: 1 MiB, in order" --rw=write --bs=1m --size=24m --iodepth=4
	io "$1: 512 bytes apart" --rw=randwrite --bs=512-8k --blockalign=512 \
		--size=1m --iodepth=4
}

round() {
	target
	verdict $? "$1: the target listens" || return
	connect
	verdict $? "$1: connect" || { klog_new | tail -n 25; target_gone; return; }
	all_io "$1"
	disconnect >/dev/null
	verdict $? "$1: disconnect"
	target_gone
	verdict $? "$1: the target goes"
	t_klog "$1"
}

# The device goes under a disk that is written to; writes fail or wait, and
# everybody lets go of it.
round_del() {
	local pid i
	target && connect
	verdict $? "delete in use: connect" || return
	fio --name=v --filename="$DISK" --ioengine=libaio --direct=1 \
		--rw=randwrite --bs=16k --size=32m --iodepth=8 --time_based \
		--runtime=$((8 * SLOW)) >/tmp/fio.log 2>&1 &
	pid=$!
	sleep 2
	t_case "delete in use: the device goes" $((20 * SLOW)) \
		rdma link delete $DEV_A
	disconnect >/dev/null
	for i in $(seq 600); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	! kill -0 $pid 2>/dev/null
	verdict $? "delete in use: the writer ends"
	target_gone
	verdict $? "delete in use: the target goes"
	t_klog "delete in use"
}

force_mr() {
	local m
	modprobe -r nvme-rdma nvmet-rdma
	drop_pair && unload_module "$LINK_TYPE" || return
	for m in rdma_ucm ib_umad ib_uverbs ib_uverbs_support rdma_cm iw_cm ib_cm ib_core; do
		grep -q "^$m " /proc/modules || continue
		rmmod "$m" || { grep "^$m " /proc/modules; return 1; }
	done
	modprobe ib_core force_mr=Y && load_modules && make_pair
}

# the machine's own name of the host, which nvme-cli wants
mkdir -p /etc/nvme 2>/dev/null
accept_start
# completion queues that kernel users have shared stay till the device goes
resources() { rdma resource show | sed 's/^[0-9]*: //; s/ cq [0-9]*//' | sort; }
RESOURCES=$(resources)
round "NVMe"
t_resources "NVMe"
force_mr
verdict $? "the stack loads again with force_mr" || accept_end
round "force_mr"
t_resources "force_mr"
round_del
add_dev "$NS_A" $DEV_A "$(type_a)" va
verdict $? "the device comes back"
wait_gids $DEV_A $DEV_B
RESOURCES=$(resources)
modprobe -r nvme-rdma nvmet-rdma nvmet
accept_end
