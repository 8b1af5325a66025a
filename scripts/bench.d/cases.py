# SPDX-License-Identifier: GPL-2.0
"""What the benchmark measures, and what is expected of it.

A case has a name, a group (its neighbours of the group are measured with the
same pair of devices), options of the program bench.d/speed, a unit, the
targets as ratios to rdma_rxe: on the clock in QEMU, in processor time of kernel
verbs in User-Mode Linux; and which CPUs receive, where it is not the one that
sends. Ratios are written so that more is better.
"""

from collections import namedtuple

Case = namedtuple("Case", "name group spec unit wall cpu text rps",
                  defaults=(None,))

MB, KMSG, US = "MB/s", "k msg/s", "us"

CASES = [
    Case("write-64k", "write", "", MB, 2.2, 3, "WRITE 64 KB, MTU 4096"),
    Case("write-64k-1024", "write", "mtu=1024", MB, 4, 5,
         "WRITE 64 KB, MTU 1024"),
    Case("write-1m", "write", "size=1048576", MB, None, None,
         "WRITE 1 MB, MTU 4096"),
    Case("write-1m-1024", "write", "size=1048576,mtu=1024", MB, None, None,
         "WRITE 1 MB, MTU 1024"),
    Case("send-64k", "send", "op=send", MB, 2.2, 3, "SEND 64 KB, MTU 4096"),
    Case("send-64k-1024", "send", "op=send,mtu=1024", MB, None, None,
         "SEND 64 KB, MTU 1024"),
    Case("send-1m", "send", "op=send,size=1048576", MB, None, None,
         "SEND 1 MB, MTU 4096"),
    Case("send-1m-1024", "send", "op=send,size=1048576,mtu=1024", MB, None,
         None, "SEND 1 MB, MTU 1024"),
    Case("read-64k", "read", "op=read", MB, 2.2, 3, "READ 64 KB, MTU 4096"),
    Case("read-64k-1024", "read", "op=read,mtu=1024", MB, None, None,
         "READ 64 KB, MTU 1024"),
    Case("read-1m", "read", "op=read,size=1048576", MB, None, None,
         "READ 1 MB, MTU 4096"),
    Case("read-1m-1024", "read", "op=read,size=1048576,mtu=1024", MB, None,
         None, "READ 1 MB, MTU 1024"),
    Case("write-8", "small", "size=8", KMSG, 2, 2.5,
         "WRITE 8 B, one WR per doorbell"),
    Case("write-8-list", "small", "size=8,list=32", KMSG, 8, 10,
         "WRITE 8 B, post list 32"),
    Case("write-lat", "latency", "size=2,lat=1", US, 2, None,
         "WRITE 2 B latency, polling"),
    Case("write-lat-event", "latency", "size=2,lat=1,events=1", US, 2, None,
         "WRITE 2 B latency, events"),
    Case("send-lat", "latency", "op=send,size=2,lat=1", US, None, None,
         "SEND 2 B latency, polling"),
    Case("send-lat-event", "latency", "op=send,size=2,lat=1,events=1", US,
         None, None, "SEND 2 B latency, events"),
    Case("atomic-lat", "latency", "op=fadd,size=8,lat=1", US, None, None,
         "ATOMIC latency, polling"),
    Case("write-64k-q4", "scale", "qps=4", MB, None, None,
         "WRITE 64 KB, 4 QPs"),
    Case("write-64k-q16", "scale", "qps=16", MB, None, None,
         "WRITE 64 KB, 16 QPs"),
    Case("write-64k-q64", "scale", "qps=64", MB, 2.2, 3,
         "WRITE 64 KB, 64 QPs"),
    Case("write-64k-bidir", "scale", "bidir=1", MB, None, None,
         "WRITE 64 KB, both ways"),
    # transmit on one CPU and receive on the other; many flows on both
    Case("write-64k-rps", "rps", "pin=1", MB, None, None,
         "WRITE 64 KB, RPS to the other CPU", "1:2"),
    Case("write-64k-1024-rps", "rps", "mtu=1024,pin=1", MB, None, None,
         "WRITE 64 KB, MTU 1024, RPS to the other CPU", "1:2"),
    Case("write-64k-q64-rps", "rps64", "qps=64", MB, None, None,
         "WRITE 64 KB, 64 QPs, RPS to all CPUs", "3:3"),
]
BY_NAME = {c.name: c for c in CASES}

# The one case that is held against TCP and against the bare train.
YARDSTICK = "write-1m"
TCP_WALL, TCP_CPU, BOUND = 0.45, 2.0, 0.75

# Kernel verbs: what the driver and the stack cost, without system calls.
KERNEL = ["write-64k", "write-64k-1024", "write-1m", "write-1m-1024",
          "send-64k", "send-64k-1024", "read-64k", "read-64k-1024", "write-8",
          "write-8-list", "write-64k-q64"]
# On one processor a poller only takes time from those it waits for.
ONE_CPU = ["write-64k", "write-64k-1024", "write-8", "write-8-list",
           "write-lat-event"]
INSTRUCTIONS = ["write-64k", "write-64k-1024", "write-8", "write-8-list"]
NO_ZEROING = ["write-64k", "write-64k-1024", "send-64k", "read-64k",
              "write-8-list"]
QUICK = ["write-64k", "write-64k-1024", "write-1m", "send-64k", "read-64k",
         "write-8", "write-8-list", "write-lat", "write-lat-event",
         "write-64k-q64"]
MIXED_ENDS = [("rxe", "rxe"), ("sroce", "rxe"), ("rxe", "sroce")]
MIXED = ["write-64k", "send-64k", "read-64k", "write-8-list"]
ABLATION = ["write-64k", "write-64k-1024", "read-64k", "send-64k", "write-8",
            "write-8-list", "write-lat", "write-lat-event"]
NO_TRAINS = "no trains"     # no slower than rdma_rxe in any case
KNOBS = {
    NO_TRAINS: {"trains": "N"},
    "no packs": {"packs": "N"},
    "no steering": {"steer": "N"},
    "no doorbell wait": {"doorbell_us": "0"},
    "no hook": {"hook": "N"},
    "no ACK coalescing": {"coalesce_acks": "N"},
    "no inline doorbell": {"inline_doorbell": "N"},
    "no congestion control": {"cc_params/enable": "N"},
}
PERFTEST = [     # name, unit, program, arguments
    ("pt-write-64k", MB, "ib_write_bw", ["-s", "65536"]),
    ("pt-read-64k", MB, "ib_read_bw", ["-s", "65536"]),
    ("pt-send-64k", MB, "ib_send_bw", ["-s", "65536"]),
    ("pt-write-1m", MB, "ib_write_bw", ["-s", "1048576"]),
    ("pt-write-8", KMSG, "ib_write_bw", ["-s", "8"]),
]
TRAINS = {4096: 15, 1024: 60}   # payload of a frame: frames of a train
