#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Traffic over SMC sockets, every byte checked, RDMA and no fallback.

    smc.py eid                  this machine's name for SMC version 2
    smc.py serve ADDRESS PORT CONNECTIONS
    smc.py ask ADDRESS PORT CONNECTIONS BYTES
    smc.py busy ADDRESS PORT    one connection that ends when it breaks

The server gives back what it gets. Both ends ask the kernel (smc_diag) whether
the connection is one of SMC-R: a fallback to TCP would pass every other check.
"""

import os
import socket
import struct
import sys
import threading

IPPROTO_SMC = 256
AF_SMC = 43
NETLINK_GENERIC, NETLINK_SOCK_DIAG = 16, 4
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
SOCK_DIAG_BY_FAMILY = 20
MODES = {0: "SMC-R", 1: "TCP", 2: "SMC-D"}
EID = b"SROCE-TEST".ljust(32)


def netlink(protocol, kind, flags, payload):
    """The messages the kernel answers with, as [(type, payload)]."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as s:
        s.settimeout(10)
        s.bind((0, 0))
        s.send(struct.pack("=IHHII", 16 + len(payload), kind,
                           flags | NLM_F_REQUEST, 1, 0) + payload)
        answers = []
        while True:
            data = s.recv(1 << 16)
            while data:
                size, kind, _, _, _ = struct.unpack_from("=IHHII", data)
                body, data = data[16:size], data[(size + 3) & ~3:]
                if kind == NLMSG_ERROR:
                    error = -struct.unpack_from("=i", body)[0]
                    if error:
                        raise OSError(error, os.strerror(error))
                    return answers
                if kind == NLMSG_DONE:
                    return answers
                answers.append((kind, body))


def attribute(number, value):
    size = 4 + len(value)
    return struct.pack("=HH", size, number) + value + bytes(-size % 4)


def add_eid():
    """Version 2 of SMC-R is for machines that share a name."""
    answers = netlink(NETLINK_GENERIC, 16, NLM_F_ACK,
                      struct.pack("=BBH", 3, 1, 0) +
                      attribute(2, b"SMC_GEN_NETLINK\0"))
    family, body = None, answers[0][1][4:]
    while body:
        size, number = struct.unpack_from("=HH", body)
        if number == 1:
            family = struct.unpack_from("=H", body, 4)[0]
        body = body[(size + 3) & ~3:]
    netlink(NETLINK_GENERIC, family, NLM_F_ACK,
            struct.pack("=BBH", 10, 1, 0) + attribute(1, EID + b"\0"))


def mode_of(sock):
    """SMC-R, TCP or SMC-D: what carries this connection."""
    inode = os.fstat(sock.fileno()).st_ino
    request = struct.pack("=BBBB48x", AF_SMC, 0, 0, 0)
    for kind, body in netlink(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY,
                              NLM_F_DUMP, request):
        if kind == SOCK_DIAG_BY_FAMILY and \
           struct.unpack_from("=Q", body, 56)[0] == inode:
            return MODES.get(body[2], "unknown")
    return "not SMC"


def check_mode(sock):
    mode = mode_of(sock)
    if mode != "SMC-R":
        sys.exit(f"the connection is one of {mode}")


def make_socket():
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SMC)
    s.settimeout(60)
    return s


def echo(sock, results):
    with sock:
        mode, total = mode_of(sock), 0
        while True:
            data = sock.recv(100000)
            if not data:
                break
            sock.sendall(data)
            total += len(data)
        sock.shutdown(socket.SHUT_WR)
        results.append((mode, total))


def serve(address, port, connections):
    threads, results = [], []
    with make_socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(connections)
        for _ in range(connections):
            sock = listener.accept()[0]
            sock.settimeout(60)
            threads.append(threading.Thread(target=echo, args=(sock, results)))
            threads[-1].start()
    for thread in threads:
        thread.join()
    print(results)
    if [mode for mode, _ in results] != ["SMC-R"] * connections:
        sys.exit("not all of them were SMC-R")


def send_all(sock, data):
    """In writes of many lengths, which end anywhere in the peer's ring."""
    sent, step = 0, 1
    while sent < len(data):
        sock.sendall(data[sent:sent + step])
        sent, step = sent + step, step * 3 % 70001 + 1
    sock.shutdown(socket.SHUT_WR)


def exchange(sock, data):
    sender = threading.Thread(target=send_all, args=(sock, data))
    sender.start()
    got = bytearray()
    while True:
        part = sock.recv(65536)
        if not part:
            break
        got += part
    sender.join()
    sock.close()
    if got != data:
        sys.exit(f"{len(got)} of {len(data)} bytes came back, or others")


def ask(address, port, connections, size):
    socks = []
    for _ in range(connections):
        s = make_socket()
        s.connect((address, port))
        check_mode(s)
        socks.append(s)
    for s in socks:
        exchange(s, os.urandom(size))
    print(f"{connections} connections, {size} bytes each way on each")


def busy(address, port):
    with make_socket() as s:
        s.connect((address, port))
        check_mode(s)
        data = os.urandom(50000)
        while True:
            s.sendall(data)
            got = b""
            while len(got) < len(data):
                part = s.recv(len(data) - len(got))
                if not part:
                    sys.exit("the peer closed it")
                got += part
            if got != data:
                sys.exit("other bytes came back")


def main():
    words = sys.argv[1:]
    if words == ["eid"]:
        add_eid()
    elif words[:1] == ["serve"]:
        serve(words[1], int(words[2]), int(words[3]))
    elif words[:1] == ["busy"]:
        busy(words[1], int(words[2]))
    else:
        ask(words[1], *map(int, words[2:]))


if __name__ == "__main__":
    main()
