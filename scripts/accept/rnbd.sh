#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: RNBD over RTRS
# machine: 7.3
# order: 130
# timeout: 600
# needs: source
# ulp: rnbd
# uses: build-ulp
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# A disk of the kernel's RNBD server, used by the kernel's RNBD client: several
# connections a session, WRITE with immediate data, remote invalidation. The
# modules are built from the kernel's source, as Debian leaves them out. The
# server's device goes under it at the end.
#
# shellcheck disable=SC2034  # the library uses POOL
. "$(dirname "$0")/lib.sh"

ULP=/lab/build/ulp/rnbd-$MACHINE
CTL=/sys/devices/virtual/rnbd-client/ctl/map_device
DISK=/dev/rnbd0

insert() {
	modprobe -q sg_pool
	insmod "$ULP/rtrs/rtrs-core.ko" && insmod "$ULP/rtrs/rtrs-client.ko" &&
		insmod "$ULP/rtrs/rtrs-server.ko" &&
		insmod "$ULP/rnbd/rnbd-client.ko" &&
		insmod "$ULP/rnbd/rnbd-server.ko"
}

eject() { rmmod rnbd_client rnbd_server rtrs_client rtrs_server rtrs_core; }

map() {
	echo "sessname=$1 path=ip:$V4_A@ip:$V4_B device_path=/dev/ram0" >$CTL
	wait_for 20 test -b $DISK
}

unmap() {
	timeout $((30 * SLOW)) sh -c "echo ${1:-normal} >/sys/block/rnbd0/rnbd/unmap_device"
}

disk_gone() { [ ! -e "$DISK" ]; }

POOL=yes
accept_flat
modprobe brd rd_nr=1 rd_size=65536
insert
verdict $? "the modules are loaded" || done_testing
RESOURCES=$(resources)
map one
verdict $? "map" || done_testing
sed 's/^/# /' /sys/devices/virtual/rtrs-client/one/paths/*/state
fio_verify "RNBD" $DISK
unmap
verdict $? "unmap"
wait_for 20 disk_gone
verdict $? "the disk is gone"
t_klog "RNBD"

map two
verdict $? "unplug: map"
timeout $((30 * SLOW)) fio --name=u --filename=$DISK --rw=randread --bs=16k \
	--ioengine=libaio --iodepth=8 --direct=1 --time_based \
	--runtime=$((10 * SLOW)) >/dev/null 2>&1 &
FIO=$!
sleep 2
t_case "unplug: rdma link delete" $((30 * SLOW)) rdma link delete $DEV_B
t_case "unplug: the other" $((30 * SLOW)) rdma link delete $DEV_A
unmap force
verdict $? "unplug: unmap"
wait $FIO
wait_for 20 disk_gone
verdict $? "unplug: the disk is gone"
t_klog "unplug"
eject
verdict $? "the modules are unloaded"
RESOURCES=$(resources)
accept_end
