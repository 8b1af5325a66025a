#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: fio's rdma engine
# machine: uml
# part: fast
# order: 60
# timeout: 200
#
# fio from process to process by RDMA WRITE and READ. Its SEND is left out: it
# allows no RNR retry, and sends before the server has posted what to receive.
# shellcheck disable=SC2034  # duo uses SERVER and CLIENT
. "$(dirname "$0")/lib.sh"

accept_start
PORT=9990
for verb in write read; do
	PORT=$((PORT + 1))
	SERVER=(fio --name=server --ioengine=rdma --port="$PORT" --rw=read
		--bs=64k --size=8m --iodepth=16 --thread)
	CLIENT=(fio --name=client --ioengine=rdma --port="$PORT" --hostname="$V4_B"
		--verb="$verb" --rw=write --bs=64k --size=8m --iodepth=4
		--thread)
	duo "verb=$verb" 20 cm
done

accept_end
