#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: SMB Direct
# machine: 7.3
# order: 131
# timeout: 700
# needs: source accept
# ulp: smb
# uses: build-ulp
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# A mount of the kernel's SMB client from the kernel's SMB server, by RDMA: a
# tree and a large file copied and compared; then the devices go under it. The
# modules are built from the kernel's source, as Debian leaves RDMA out.
#
# shellcheck disable=SC2034  # the library uses POOL
. "$(dirname "$0")/lib.sh"

ULP=/lab/build/ulp/smb-$MACHINE/smb
EXPORT=/run/export
MOUNT=/run/mount
FILES=/src/drivers

# insert FILE: after what it depends on
insert() {
	local m
	for m in $(modinfo -F depends "$1" | tr , ' '); do
		grep -q "^$m " /proc/modules || modprobe -q "$m"
	done
	insmod "$1"
}

insert_all() {
	modprobe -q sg_pool
	insert "$ULP/common/cifs_md4.ko"
	[ ! -e "$ULP/common/smb_compress.ko" ] || insert "$ULP/common/smb_compress.ko"
	insert "$ULP/smbdirect/smbdirect.ko" && insert "$ULP/server/ksmbd.ko" &&
		insert "$ULP/client/cifs.ko"
}

make_server() {
	mount -t tmpfs tmpfs /etc/ksmbd || return
	mkdir -p $EXPORT $MOUNT
	mount -t tmpfs -o size=200m tmpfs $EXPORT
	cat >/etc/ksmbd/ksmbd.conf <<-END
		[global]
			netbios name = TARGET
			deadtime = 0
		[share]
			path = $EXPORT
			read only = no
			oplocks = no
	END
	ksmbd.adduser --config=/etc/ksmbd/ksmbd.conf \
		--pwddb=/etc/ksmbd/ksmbdpwd.db --password=secret --add root ||
		return
	ksmbd.mountd --config=/etc/ksmbd/ksmbd.conf \
		--pwddb=/etc/ksmbd/ksmbdpwd.db
	wait_for 20 listening
}

listening() { rdma resource show cm_id | grep -q LISTEN; }

mount_it() {
	t_case "$1: mount" $((30 * SLOW)) mount -t cifs "//$V4_B/share" $MOUNT \
		-o rdma,vers=3.1.1,username=root,password=secret,cache=none,soft
	holds "$1: the transport is RDMA" grep -q 'cifs .*rdma' /proc/mounts
}

POOL=yes
accept_flat
insert_all
verdict $? "the modules are loaded" || done_testing
RESOURCES=$(resources)
make_server
verdict $? "a server" || done_testing
head -c 20000000 /dev/urandom >/run/large
mount_it "SMB"
mountpoint -q $MOUNT || done_testing
t_case "SMB: copy a tree" $((60 * SLOW)) cp -r $FILES $MOUNT/tree
t_case "SMB: the server has the same tree" 60 diff -r $FILES $EXPORT/tree
t_case "SMB: copy a large file" $((40 * SLOW)) \
	dd if=/run/large of=$MOUNT/large bs=1M conv=fsync
t_case "SMB: the server has the same file" 60 cmp /run/large $EXPORT/large
t_case "SMB: the client reads the same tree" $((60 * SLOW)) \
	diff -r $FILES $MOUNT/tree
t_case "SMB: the client reads the same file" $((40 * SLOW)) \
	cmp /run/large $MOUNT/large
t_case "SMB: umount" $((20 * SLOW)) umount $MOUNT
t_klog "SMB"

mount_it "unplug"
timeout 60 sh -c "while cat $MOUNT/large >/dev/null; do :; done" 2>/dev/null &
READER=$!
sleep 2
t_case "unplug: rdma link delete" $((30 * SLOW)) rdma link delete $DEV_A
t_case "unplug: the server's" $((30 * SLOW)) rdma link delete $DEV_B
kill $READER 2>/dev/null
t_case "unplug: umount" $((40 * SLOW)) umount -f $MOUNT
wait $READER 2>/dev/null
t_klog "unplug"
ksmbd.control --shutdown
pkill -x ksmbd.mountd
wait_for 20 rmmod cifs 2>/dev/null
verdict $? "the client is unloaded"
wait_for 20 rmmod ksmbd 2>/dev/null
verdict $? "the server is unloaded"
rmmod smbdirect
RESOURCES=$(resources)
accept_end
