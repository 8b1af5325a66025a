#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: kernel selftests
# machine: 7.3
# part: fast
# order: 70
# needs: source accept
# timeout: 900
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# The kernel's own scripts for soft RoCE and for RDS over RDMA, from the
# package of its source. They name rdma_rxe; the copy that runs names the
# driver under test.
#
# shellcheck disable=SC2034  # the library uses RESOURCES
. "$(dirname "$0")/lib.sh"

KERNEL=/lab/source
SELFTESTS=tools/testing/selftests
COPY=/tmp/kernel/$SELFTESTS
ALL="rxe_rping_between_netns rxe_ipv6 rxe_socket_with_netns
	rxe_test_NETDEV_UNREGISTER rxe_sent_rcvd_bytes rxe_netns_names"

# Loading and unloading a module that is not installed: the scripts do it.
make_tools() {
	mkdir -p /tmp/bin
	cat >/tmp/bin/modprobe <<-END
	#!/bin/sh
	case "\$*" in
	sroce) grep -q '^sroce ' /proc/modules || exec insmod $(find_sroce) ;;
	"-r sroce") exec rmmod sroce ;;
	*) exec /sbin/modprobe "\$@" ;;
	esac
	END
	cat >/tmp/bin/modinfo <<-END
	#!/bin/sh
	[ "\$1" = sroce ] || exec /sbin/modinfo "\$@"
	END
	chmod +x /tmp/bin/*
	PATH=/tmp/bin:$PATH
}

copy_tests() {
	mkdir -p $COPY/net /tmp/kernel/tools/net || return
	cp -r $KERNEL/$SELFTESTS/{rdma,kselftest} $COPY/ || return
	cp -r $KERNEL/$SELFTESTS/net/{rds,lib} $COPY/net/ || return
	# what its Python library wants
	cp -r $KERNEL/tools/net/ynl /tmp/kernel/tools/net/ || return
	[ "$LINK_TYPE" = rxe ] || sed -i \
		"s/type rxe/type $LINK_TYPE/g; s/rdma_rxe/$LINK_TYPE/g" \
		$COPY/rdma/*.sh $COPY/net/rds/test.py
}

# selftest NAME: its own TAP, if it has one, and how it ended
selftest() {
	local rc line
	timeout -k 5 $((60 * SLOW)) bash "$COPY/rdma/$1.sh" >/tmp/selftest.log 2>&1
	rc=$?
	while IFS= read -r line; do
		case $line in
		"ok "*" # SKIP"*)
			skip "$1: $(expr "$line" : 'ok [0-9]* \(.*\) # SKIP')" \
				"${line##*# SKIP}" ;;
		"ok "*) ok "$1: $(expr "$line" : 'ok [0-9]* \(.*\)')" ;;
		"not ok "*) not_ok "$1: $(expr "$line" : 'not ok [0-9]* \(.*\)')" ;;
		*) printf '# %s\n' "${line#\# }" ;;
		esac
	done </tmp/selftest.log
	verdict $rc "$1"
}

klog_mark
load_modules || bail "load the modules"
RESOURCES=$(resources)
note "$(uname -r), $LINK_TYPE"
make_tools
copy_tests || bail "the package of the kernel's source"

for script in ${SCRIPTS-$ALL}; do
	# each takes it for granted, and some take it away
	modprobe -a tun dummy
	selftest "$script"
	t_klog "$script"
done
rdma system set netns shared

load_modules
if modprobe -q -a rds rds_rdma; then
	t_case "net/rds -T rdma" $((100 * SLOW)) \
		python3 $COPY/net/rds/test.py -T rdma -t $((90 * SLOW))
	modprobe -r rds_rdma
else
	skip "net/rds -T rdma" "no RDS in this kernel"
fi

accept_end
