#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: perftest
# machine: uml
# order: 40
# timeout: 900
#
# perftest's programs with the options people use: services, connection
# manager, shared receive queues, events, multicast. Its figures are not
# looked at, nor does it look at the data.
# shellcheck disable=SC2034  # duo uses SERVER and CLIENT
. "$(dirname "$0")/lib.sh"

accept_start
GID_A=$(gid_index $DEV_A 4) GID_B=$(gid_index $DEV_B 4)
PORT=18700

# perf PROGRAM OPTIONS...
perf() {
	PORT=$((PORT + 1))
	SERVER=("$1" -d "$DEV_B" -x "$GID_B" -F -p "$PORT" "${@:2}")
	CLIENT=("$1" -d "$DEV_A" -x "$GID_A" -F -p "$PORT" "${@:2}" "$V4_B")
	case " $* " in
	*" -a "*) duo "$*" 60 tcp:$PORT ;;
	*) duo "$*" 25 tcp:$PORT ;;
	esac
}

# perf_cm PROGRAM OPTIONS...
perf_cm() {
	PORT=$((PORT + 1))
	SERVER=("$1" -R -F -p "$PORT" "${@:2}")
	CLIENT=("$1" -R -F -p "$PORT" "${@:2}" "$V4_B")
	duo "$1 -R ${*:2}" 25 cm
}

for op in send write read atomic; do
	perf ib_${op}_bw -n 200
	perf ib_${op}_lat -n 50
	perf_cm ib_${op}_bw -n 200
	perf_cm ib_${op}_lat -n 50
done
for service in UC UD; do
	perf ib_send_bw -c $service -s 1024 -n 200
	perf ib_send_lat -c $service -s 1024 -n 50
	perf ib_send_bw -c $service -s 1024 -n 200 -e
	perf ib_send_bw -c $service -s 1024 -n 200 -q 4
done
perf ib_write_bw -c UC -n 200
perf ib_write_lat -c UC -n 50
perf ib_send_bw -c UC -a -n 10
perf_cm ib_send_bw -c UD -s 1024 -n 200
t_klog "services"

perf ib_send_bw -a -n 10
perf ib_send_bw -n 200 -e
perf ib_read_bw -n 200 -e
perf ib_send_bw --use-srq -q 4 -n 100
perf ib_send_bw --use-srq -c UD -q 4 -s 1024 -n 100
perf ib_send_lat --use-srq -s 64 -n 50
perf ib_send_bw -e --use-srq -q 4 -n 100
perf ib_write_bw -q 8 -b -n 50
perf ib_write_bw --write_with_imm -n 200
perf ib_write_bw --use_old_post_send -n 200
perf ib_write_bw --mr_per_qp -q 4 -n 50
perf ib_write_bw --tclass=96 -n 100
perf ib_write_bw -S 3 -n 100
perf ib_write_bw --flow_label=1,2,3,4 -q 4 -n 50
perf ib_write_bw --odp -n 100
perf ib_read_bw -o 4 -n 100
perf ib_write_bw -D 2 --report_gbits
perf ib_write_bw -z -n 100
perf_cm ib_write_bw -T 96 -n 100
perf_cm ib_send_bw -e -q 4 -n 100
perf_cm ib_send_bw --use-srq -q 4 -n 100
t_klog "options"

GID_A=$(gid_index $DEV_A 6) GID_B=$(gid_index $DEV_B 6)
GROUP=255:14:0:0:0:0:0:0:0:0:0:7:0:8:0:9
perf ib_send_bw -c UD -g -M $GROUP -s 1024 -n 100
perf ib_send_bw -c UD -g -M $GROUP -s 512 -n 100 -e
perf ib_write_bw --ipv6 -n 100

accept_end
