#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml
# timeout: 240
# needs: sroce
#
# What brings a device back after a boot: the module's alias, the udev rule that
# says what the device is, the systemd unit that makes it.
. "$(dirname "$0")/lib.sh"

klog_mark
DEST=/tmp/dest
RULES=$DEST/usr/local/lib/udev/rules.d
UNITS=$DEST/usr/local/lib/systemd/system

make -s -C "$TEST_SRC" install-boot DESTDIR=$DEST
verdict $? "make install-boot"
rc=1
if [ -f $RULES/76-sroce.rules ] && [ -f $UNITS/sroce@.service ]; then rc=0; fi
verdict $rc "puts rule and unit in their places"

# ---- the module comes when its type is asked for ----

ko=$(find_sroce)
modinfo -F alias "$ko" | grep -qx rdma-link-sroce
verdict $? "the module has the alias of its link type"
load_module rxe && modprobe -r rdma_rxe
cat >/tmp/modprobe <<EOM
#!/bin/sh
echo "\$@" >>/tmp/modprobe.log
for m; do :; done
[ "\$m" = rdma-link-sroce ] && exec insmod $ko
exit 1
EOM
chmod +x /tmp/modprobe
: >/tmp/modprobe.log
echo /tmp/modprobe >/proc/sys/kernel/modprobe
make_net
unit=$UNITS/sroce@.service

# unit_line KEY: the command of the unit for netdev va, device roce_va
unit_line() {
	sed -n "s/^$1=-\?//p" "$unit" | sed 's/\${NAME}/roce_va/; s/%I/va/'
}
# shellcheck disable=SC2046  # words
in_a $(unit_line ExecStart)
verdict $? "the unit's command adds the device"
grep -q rdma-link-sroce /tmp/modprobe.log && grep -q '^sroce ' /proc/modules
verdict $? "and the kernel has loaded the module"
rdma link show roce_va/1 >/dev/null
verdict $? "the device is there"

# ---- what udev says of it ----

mkdir -p /run/udev/rules.d
cp $RULES/76-sroce.rules /run/udev/rules.d/
if udevadm verify --help >/dev/null 2>&1; then
	udevadm verify --no-style $RULES/76-sroce.rules >/tmp/udev.log 2>&1
	verdict $? "udevadm verify" || sed 's/^/# /' /tmp/udev.log
else
	skip "udevadm verify" "this udev is too old"
fi
# udev_says NAME: properties of a device
udev_says() { udevadm test --action=add "/sys/class/infiniband/$1" 2>&1; }
udev_says roce_va >/tmp/udev.log
grep -q 'ID_RDMA_ROCE=1' /tmp/udev.log && grep -q 'rdma-load-modules@roce' /tmp/udev.log
verdict $? "a device by that name is RoCE, and RoCE's modules are wanted" ||
	tail -n 30 /tmp/udev.log | sed 's/^/# /'
rdma dev set roce_va name anything
udev_says anything | grep -q 'ID_RDMA_ROCE=1'
verdict $? "and by any other"
rdma dev set anything name roce_va

# ---- the unit ----

mkdir -p /run/systemd/system
cp "$unit" /run/systemd/system/
systemd-analyze verify --man=no /run/systemd/system/sroce@va.service \
	>/tmp/unit.log 2>&1
rc=$?
grep -q 'sroce@' /tmp/unit.log && rc=1
sed 's/^/# /' /tmp/unit.log
verdict $rc "systemd-analyze verify"

read -ra words <<<"$(unit_line ExecStop)"
"${words[@]}"
verdict $? "the unit's command removes the device"
wait_gone roce_va
verdict $? "it is gone"
unload_module sroce
verdict $? "unload"
t_klog "boot"
done_testing
