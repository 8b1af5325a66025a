#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: iSER
# machine: 7.3
# order: 120
# needs: accept
# timeout: 900
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# A disk of the kernel's iSCSI target, reached over RDMA by open-iscsi.
#
# shellcheck disable=SC2034  # the library uses POOL
. "$(dirname "$0")/lib.sh"

TARGET=/sys/kernel/config/target
IQN=iqn.2026-01.example:t
GROUP=$TARGET/iscsi/$IQN/tpgt_1

make_target() {
	truncate -s 64M /run/disk
	mkdir -p $TARGET/core/fileio_0/d0 || return
	echo "fd_dev_name=/run/disk,fd_dev_size=67108864" \
		>$TARGET/core/fileio_0/d0/control
	echo 1 >$TARGET/core/fileio_0/d0/enable || return
	mkdir -p $GROUP/lun/lun_0 || return
	ln -s $TARGET/core/fileio_0/d0 $GROUP/lun/lun_0/d0
	mkdir $GROUP/np/$V4_B:3260 || return
	echo 1 >$GROUP/np/$V4_B:3260/iser || return
	echo 0 >$GROUP/attrib/authentication
	echo 1 >$GROUP/attrib/generate_node_acls
	echo 0 >$GROUP/attrib/demo_mode_write_protect
	echo 1 >$GROUP/enable
}

drop_target() {
	echo 0 >$GROUP/enable
	rmdir $GROUP/np/*
	rm -f $GROUP/lun/lun_0/d0
	rmdir $GROUP/lun/lun_0 $GROUP $TARGET/iscsi/$IQN
	rmdir $TARGET/iscsi $TARGET/core/fileio_0/d0 $TARGET/core/fileio_0
}

node() { iscsiadm -m node -T $IQN -p $V4_B "$@"; }

# the_disk: the name of the disk that came
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
	t_case "$1: login" $((30 * SLOW)) iscsiadm -m node -T $IQN -p $V4_B --login
	wait_for 20 the_disk >/dev/null
	t_case "$1: the transport is RDMA" 20 sh -c \
		"iscsiadm -m session | grep -q '^iser'"
}

POOL=yes
accept_flat
# where open-iscsi keeps its state is on a read-only root
mount -t tmpfs tmpfs /etc/iscsi
mount -t tmpfs tmpfs /var/lib/iscsi
mkdir -p /run/lock/iscsi
echo "InitiatorName=iqn.2026-01.example:i" >/etc/iscsi/initiatorname.iscsi
cat >/etc/iscsi/iscsid.conf <<-END
	node.startup = manual
	node.session.timeo.replacement_timeout = 5
	node.conn[0].timeo.noop_out_interval = 0
END
modprobe -a ib_isert ib_iser target_core_file sd_mod iscsi_tcp ||
	bail "modules of the kernel"
make_target
verdict $? "a target" || done_testing
RESOURCES=$(resources)
iscsid
t_case "discovery" $((30 * SLOW)) iscsiadm -m discovery -t st -p $V4_B -I iser
node -o update -n iface.transport_name -v iser
login "session"
the_disk >/dev/null || bail "no disk"
fio_verify "session" "$(the_disk)" 32
t_case "session: logout" $((30 * SLOW)) iscsiadm -m node -T $IQN -p $V4_B \
	--logout
t_klog "session"
t_resources "iSER"

# The device goes while the disk is in use
login "unplug"
timeout $((30 * SLOW)) fio --name=u --filename="$(the_disk)" --rw=randread \
	--bs=16k --ioengine=libaio --iodepth=8 --direct=1 --time_based \
	--runtime=$((10 * SLOW)) >/dev/null 2>&1 &
FIO=$!
sleep 2
t_case "unplug: rdma link delete" $((30 * SLOW)) rdma link delete $DEV_B
rdma link delete $DEV_A
t_case "unplug: logout" $((40 * SLOW)) iscsiadm -m node -T $IQN -p $V4_B \
	--logout
wait $FIO
drop_target
pkill -x iscsid
RESOURCES=$(resources)
modprobe -r ib_iser
modprobe -r ib_isert
accept_end
