#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: NFS v4.2 over RDMA
# machine: 7.3
# order: 110
# needs: accept
# timeout: 900
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# A server in one namespace, a mount in the other: a tree and large files
# copied and compared, after which the device goes under a mount in use.
#
# shellcheck disable=SC2034  # the library uses POOL
. "$(dirname "$0")/lib.sh"

EXPORT=/run/export
MOUNT=/run/mount
FILES=/src/drivers

# in the network namespace alone, so that mounts are seen by everybody
net_a() { nsenter --net=/run/netns/"$NS_A" "$@"; }
net_b() { nsenter --net=/run/netns/"$NS_B" "$@"; }

make_server() {
	net_b mount -t nfsd nfsd /proc/fs/nfsd || return
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	net_b exportfs -o rw,no_root_squash,insecure,fsid=0,no_subtree_check \
		"*:$EXPORT" || return
	net_b rpc.nfsd -N 3 4 || return
	echo "rdma 20049" >/proc/fs/nfsd/portlist || return
	net_b rpc.mountd -N 3
	grep rdma /proc/fs/nfsd/portlist
}

drop_server() {
	net_b exportfs -ua
	net_b rpc.nfsd 0
	pkill -x rpc.mountd
	umount /proc/fs/nfsd
}

# step NAME LIMIT SHELL-TEXT: as the client
step() {
	t_case "$1" $(($2 * SLOW)) nsenter --net=/run/netns/"$NS_A" \
		bash -ec "$3"
}

mount_it() {
	step "$1: mount" 40 "mount -t nfs -o vers=4.2,rdma,port=20049,$2 \
		$V4_B:/ $MOUNT && grep $MOUNT /proc/mounts | grep proto=rdma"
}

copy_and_compare() {
	step "$1: copy a tree" 40 "cp -r $FILES $MOUNT/tree"
	step "$1: the server has the same tree" 30 \
		"sync; diff -r $FILES $EXPORT/tree"
	step "$1: copy a large file" 40 \
		"dd if=/run/large of=$MOUNT/large bs=1M conv=fsync"
	step "$1: the server has the same file" 20 "cmp /run/large $EXPORT/large"
	step "$1: umount" 20 "umount $MOUNT"
	mount_it "$1, again" "$2"
	step "$1: the client reads the same tree" 40 "diff -r $FILES $MOUNT/tree"
	step "$1: the client reads the same file" 40 "cmp /run/large $MOUNT/large"
	step "$1: remove" 40 "rm -r $MOUNT/tree $MOUNT/large; ls -A $EXPORT;
		[ ! -e $EXPORT/tree ] && [ ! -e $EXPORT/large ]"
	step "$1: umount again" 20 "umount $MOUNT"
	t_klog "$1"
}

POOL=yes
accept_start
# where the programs keep their state is on a read-only root
mount -t tmpfs tmpfs /var/lib/nfs
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mkdir -p $EXPORT $MOUNT /var/lib/nfs/v4recovery
mount -t tmpfs -o size=200m tmpfs $EXPORT
head -c 20000000 /dev/urandom >/run/large
modprobe -a nfsd rpcrdma nfsv4 || bail "modules of the kernel"
make_server
verdict $? "a server" || done_testing
mount_it "1 MiB" rsize=1048576,wsize=1048576
copy_and_compare "1 MiB" rsize=1048576,wsize=1048576
mount_it "16 KiB" rsize=16384,wsize=16384
copy_and_compare "16 KiB" rsize=16384,wsize=16384

# The device goes while a file is written
mount_it "unplug" soft,timeo=30,retrans=1
net_a dd if=/dev/zero of=$MOUNT/endless bs=64k count=100000 >/dev/null 2>&1 &
DD=$!
sleep 3
t_case "unplug: rdma link delete" $((30 * SLOW)) rdma link delete $DEV_A
step "unplug: umount -f" 40 "umount -f -l $MOUNT"
drop_server
verdict $? "unplug: the server stops"
kill -9 $DD
wait_for 30 sh -c "! kill -0 $DD 2>/dev/null || grep -q Z /proc/$DD/stat"
verdict $? "unplug: the writer ends"
RESOURCES=$(resources)
umount $EXPORT
modprobe -r rpcrdma
accept_end
