#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: SRP
# machine: 7.3
# order: 130
# timeout: 900
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# A disk of the kernel's SRP target, reached through the connection manager by
# the kernel's SRP initiator.
#
# shellcheck disable=SC2034  # the library uses POOL
. "$(dirname "$0")/lib.sh"

TARGET=/sys/kernel/config/target

make_target() {
	local guid port acl
	truncate -s 64M /run/disk
	mkdir -p $TARGET/core/fileio_0/d0 $TARGET/srpt || return
	echo "fd_dev_name=/run/disk,fd_dev_size=67108864" \
		>$TARGET/core/fileio_0/d0/control
	echo 1 >$TARGET/core/fileio_0/d0/enable || return
	echo 5555 >$TARGET/srpt/discovery_auth/rdma_cm_port || return
	guid=$(cat /sys/class/infiniband/$DEV_B/node_guid)
	port=$TARGET/srpt/$guid/$guid
	mkdir $TARGET/srpt/"$guid" && mkdir "$port" "$port/lun/lun_0" || return
	ln -s $TARGET/core/fileio_0/d0 "$port/lun/lun_0/d0"
	for acl in $V4_A $V4_B "$(cat /sys/class/infiniband/$DEV_A/node_guid)" \
		"$guid"; do
		mkdir "$port/acls/$acl" "$port/acls/$acl/lun_0" || return
		ln -s "$port/lun/lun_0" "$port/acls/$acl/lun_0/d0"
	done
	echo 1 >"$port/enable"
}

drop_target() {
	local port acl
	for port in "$TARGET"/srpt/*:*/*:*; do
		echo 0 >"$port/enable"
		for acl in "$port"/acls/*; do
			rm "$acl/lun_0/d0"
			rmdir "$acl/lun_0" "$acl"
		done
		rm "$port/lun/lun_0/d0"
		rmdir "$port/lun/lun_0" "$port" "${port%/*}"
	done
	rmdir $TARGET/srpt $TARGET/core/fileio_0/d0 $TARGET/core/fileio_0
}

the_disk() {
	local block
	for block in /sys/block/sd*; do
		[ -e "$block" ] || continue
		echo "/dev/${block##*/}"
		return 0
	done
	return 1
}

# login NAME
login() {
	local service
	service=$(sed s/0x// /sys/module/ib_srpt/parameters/srpt_service_guid)
	t_case "$1: login" $((30 * SLOW)) sh -c "echo id_ext=$service,initiator_ext=fe80000000000000,ioc_guid=$service,src=$V4_A,dest=$V4_B:5555 \
		>/sys/class/infiniband_srp/srp-$DEV_A-1/add_target"
	wait_for 20 the_disk >/dev/null
}

POOL=yes
accept_flat
modprobe -a ib_srpt ib_srp target_core_file sd_mod ||
	bail "modules of the kernel"
make_target
verdict $? "a target" || done_testing
RESOURCES=$(resources)
login "session"
the_disk >/dev/null || bail "no disk"
fio_verify "session" "$(the_disk)" 32
t_case "session: logout" $((30 * SLOW)) sh -c \
	'for p in /sys/class/srp_remote_ports/port-*/delete; do echo 1 >$p; done'
t_klog "session"
t_resources "SRP"

# The device goes while the disk is in use
login "unplug"
timeout $((30 * SLOW)) fio --name=u --filename="$(the_disk)" --rw=randread \
	--bs=16k --ioengine=libaio --iodepth=8 --direct=1 --time_based \
	--runtime=$((10 * SLOW)) >/dev/null 2>&1 &
FIO=$!
sleep 2
t_case "unplug: rdma link delete" $((30 * SLOW)) rdma link delete $DEV_A
t_case "unplug: rdma link delete at the target" $((30 * SLOW)) \
	rdma link delete $DEV_B
wait $FIO
drop_target
RESOURCES=$(resources)
modprobe -r ib_srp
modprobe -r ib_srpt
accept_end
