#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: NVMe-oF
# machine: 7.3
# order: 100
# timeout: 900
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# A disk of the kernel's NVMe target, used by the kernel's NVMe host over the
# cable; the device goes away under it at the end. nvme-mr.sh runs this too.
# shellcheck disable=SC2034  # the library uses POOL
. "$(dirname "$0")/lib.sh"

TARGET=/sys/kernel/config/nvmet

make_target() {
	local port=$TARGET/ports/1 subsystem=$TARGET/subsystems/t1
	mkdir -p $subsystem/namespaces/1 $port || return
	echo 1 >$subsystem/attr_allow_any_host
	echo -n /dev/ram0 >$subsystem/namespaces/1/device_path
	echo 1 >$subsystem/namespaces/1/enable || return
	echo rdma >$port/addr_trtype
	echo ipv4 >$port/addr_adrfam
	echo $V4_B >$port/addr_traddr
	echo 4420 >$port/addr_trsvcid
	ln -s $subsystem $port/subsystems/t1
}

drop_target() {
	rm -f $TARGET/ports/1/subsystems/t1
	rmdir $TARGET/ports/1
	echo 0 >$TARGET/subsystems/t1/namespaces/1/enable
	rmdir $TARGET/subsystems/t1/namespaces/1 $TARGET/subsystems/t1
}

# nvme_run NAME OPTIONS...: connect, write and check, disconnect
nvme_run() {
	local name=$1
	shift
	t_case "$name: discover" $((20 * SLOW)) nvme discover -t rdma -a $V4_B \
		-w $V4_A -s 4420
	t_case "$name: connect" $((20 * SLOW)) nvme connect -t rdma -n t1 \
		-a $V4_B -w $V4_A -s 4420 "$@" || return
	wait_for 10 test -b /dev/nvme0n1
	rdma resource show srq | wc -l >/tmp/srqs
	fio_verify "$name" /dev/nvme0n1
	t_case "$name: disconnect" $((20 * SLOW)) nvme disconnect -n t1
	t_klog "$name"
}

nvme_all() {
	nvme_run "plain"
	nvme_run "4 queues of 32" -i 4 -Q 32
	drop_target
	t_resources "plain"
	modprobe -r nvmet_rdma
	modprobe nvmet_rdma use_srq=1
	make_target
	verdict $? "a target with shared receive queues"
	nvme_run "SRQ" -i 2
	t_case "the target's receive queues are shared" 20 sh -c \
		'[ "$(cat /tmp/srqs)" -gt 0 ]'
}

# The devices go while the disk is in use, the host's first, then the target's
# with its netdev: a host that looks for a peer which has gone, and whose own
# device is removed meanwhile, waits for ever for its connection manager id, and
# the removal waits for the host. That is so with any driver.
nvme_unplug() {
	t_case "unplug: connect" $((20 * SLOW)) nvme connect -t rdma -n t1 \
		-a $V4_B -w $V4_A -s 4420 --ctrl-loss-tmo=5 --reconnect-delay=1
	wait_for 10 test -b /dev/nvme0n1
	timeout $((30 * SLOW)) fio --name=u --filename=/dev/nvme0n1 \
		--rw=randread --bs=16k --ioengine=libaio --iodepth=8 --direct=1 \
		--time_based --runtime=$((20 * SLOW)) >/dev/null 2>&1 &
	sleep 2
	t_case "unplug: rdma link delete" $((20 * SLOW)) \
		rdma link delete $DEV_A
	t_case "unplug: netdev removed" $((20 * SLOW)) ip link delete va
	nvme disconnect -n t1
	wait
	wait_for 30 sh -c '! ls /dev/nvme0n1 2>/dev/null'
	verdict $? "unplug: the disk is gone"
	drop_target
	t_klog "unplug"
}

POOL=yes
accept_flat
modprobe brd rd_nr=1 rd_size=65536
modprobe -a nvmet_rdma nvme_rdma || bail "modules of the kernel"
make_target || bail "a target"
nvme_all
drop_target
t_resources "NVMe-oF"
make_target
nvme_unplug
RESOURCES=$(resources)
modprobe -r nvme_rdma
modprobe -r nvmet_rdma
accept_end
