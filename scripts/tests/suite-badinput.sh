#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 180
# needs: sroce rxe
#
# "rdma link add" with arguments that cannot work: the errno a user would
# expect, and one line in the kernel log where the errno does not say why.
. "$(dirname "$0")/lib.sh"

klog_mark
KLOG_START=$KLOG_AT
load_module sroce || bail "load the module"
make_net || bail "make the network"

# refuses NAME TEXT LOG-PATTERN LINK-ADD-ARGUMENTS...: @TEXT is strerror's
refuses() {
	local name=$1 text=$2 pattern=$3 out n
	shift 3
	klog_mark
	if out=$(in_a rdma link add "$@" 2>&1); then
		not_ok "$name: it was accepted"
		return
	fi
	if ! echo "$out" | grep -qi "$text"; then
		not_ok "$name: says '$out', not '$text'"
		return
	fi
	if [ -n "$pattern" ]; then
		n=$(klog_new | grep sroce | grep -c "$pattern")
		if [ "$n" -ne 1 ]; then
			klog_new | sed 's/^/# /'
			not_ok "$name: $n log lines with 'sroce' and '$pattern'"
			return
		fi
	fi
	ok "$name: $out"
}

refuses "no such netdev" "No such device\|Cannot find" "" \
	x0 type sroce netdev nothing9
refuses "no such link type" "Invalid\|not supported\|No such" "" \
	x0 type sroce_x netdev va
ip_ns "$NS_A" link add st0 type sit local 10.77.0.1 remote 10.77.0.2 2>/dev/null
if ip_ns "$NS_A" link show dev st0 >/dev/null 2>&1; then
	refuses "a netdev of another kind (a SIT tunnel)" \
		"not supported\|Invalid" "st0" x0 type sroce netdev st0
	ip_ns "$NS_A" link delete st0
else
	skip "a netdev of another kind" "no SIT tunnels here"
fi
in_a rdma link add x0 type sroce netdev lo
verdict $? "the loopback device is allowed"
rdma link delete x0
wait_gone x0
refuses "a name that is too long" "Invalid\|too long\|range\|Numerical" "" \
	"$(printf 'x%.0s' $(seq 80))" type sroce netdev va

in_a rdma link add x0 type sroce netdev va
verdict $? "a device on va"
refuses "a netdev already used" "File exists" "va" \
	x1 type sroce netdev va
ip_ns "$NS_A" link add dm0 type dummy
refuses "a name already used" "File exists\|Name not unique" "" \
	x0 type sroce netdev dm0
in_a rdma link add x1 type sroce netdev dm0
verdict $? "a second device in the namespace shares the port"
rdma link delete x1
rdma link delete x0
wait_gone x0 x1

# the port belongs to rdma_rxe in this namespace
if [ "$(uname -r | cut -d. -f1)" -ge 7 ] && load_module rxe &&
	in_a rdma link add rxe0 type rxe netdev va; then
	refuses "port 4791 taken by rdma_rxe" "in use" "4791" \
		x0 type sroce netdev va
	rdma link delete rxe0
	wait_gone rxe0
	in_a rdma link add x0 type sroce netdev va
	verdict $? "free again after rdma_rxe's device is gone"
	out=$(in_a rdma link add rxe0 type rxe netdev va 2>&1)
	note "the other way round: $out"
	rdma link delete rxe0 2>/dev/null
	rdma link delete x0
	unload_module rxe
else
	skip "port 4791 taken by rdma_rxe" "no rdma_rxe in a namespace here"
fi

# a program of the user's has it
cat >/tmp/bind.py <<'END'
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 4791))
print("bound", flush=True)
time.sleep(30)
END
ip netns exec "$NS_A" python3 /tmp/bind.py >/tmp/bind.out &
holder=$!
for _ in $(seq 100); do
	grep -q bound /tmp/bind.out && break
	sleep 0.1
done
refuses "port 4791 taken by a program" "in use" "4791" \
	x0 type sroce netdev va
kill $holder
wait $holder 2>/dev/null
in_a rdma link add x0 type sroce netdev va
verdict $? "free again after the program ended"

# IPv6 switched off is no error
ip netns add c
ip -n c link add dm1 type dummy
ip netns exec c sysctl -qw net.ipv6.conf.all.disable_ipv6=1
ip netns exec c rdma link add x2 type sroce netdev dm1
verdict $? "a namespace without IPv6"
rdma link delete x2
ip netns delete c

rdma link delete x0
drop_pair
unload_module sroce
verdict $? "unload"
KLOG_AT=$KLOG_START
t_klog "bad input"
done_testing
