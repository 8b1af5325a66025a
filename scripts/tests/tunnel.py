#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A cable between two tun or tap devices of different network namespaces.

usage: tunnel.py tun|tap NAMESPACE NAME NAMESPACE NAME

Makes the devices, says "ready" and carries packets until it is killed.
"""

import ctypes
import fcntl
import os
import select
import struct
import sys

TUNSETIFF, IFF_TUN, IFF_TAP, IFF_NO_PI = 0x400454CA, 1, 2, 0x1000
CLONE_NEWNET = 0x40000000


def device(kind, namespace, name):
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/run/netns/" + namespace, encoding="ascii") as ns:
        if libc.setns(ns.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    fd = os.open("/dev/net/tun", os.O_RDWR)
    flags = (IFF_TUN if kind == "tun" else IFF_TAP) | IFF_NO_PI
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    os.set_blocking(fd, False)
    return fd


def main():
    kind, ns_a, name_a, ns_b, name_b = sys.argv[1:]
    a = device(kind, ns_a, name_a)
    b = device(kind, ns_b, name_b)
    peer = {a: b, b: a}
    print("ready", flush=True)
    while True:
        for fd in select.select([a, b], [], [])[0]:
            try:
                for _ in range(64):
                    os.write(peer[fd], os.read(fd, 65536))
            except BlockingIOError:
                pass
            except OSError:
                # the other end is down
                pass


main()
