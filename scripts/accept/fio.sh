#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# title: fio's rdma engine
# machine: 7.3
# part: fast
# order: 60
# timeout: 200
# append: kfence.sample_interval=100 slub_debug=FZPU page_poison=1
#
# fio from process to process by every verb a client can name.
# shellcheck disable=SC2034  # duo uses SERVER and CLIENT
. "$(dirname "$0")/lib.sh"

accept_start
PORT=9990
for verb in write read send; do
	PORT=$((PORT + 1))
	SERVER=(fio --name=server --ioengine=rdma --port="$PORT" --rw=read
		--bs=64k --size=8m --iodepth=8)
	CLIENT=(fio --name=client --ioengine=rdma --port="$PORT" --hostname="$V4_B"
		--verb="$verb" --rw=write --bs=64k --size=8m --iodepth=8)
	duo "verb=$verb" 20 cm
done

accept_end
