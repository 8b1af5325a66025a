#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends hostile RoCEv2 frames at the queue pairs of sroce_target.

Runs in the network namespace of the peer and injects Ethernet frames on its
interface. Each group states which drop counter it expects to move; counters a
driver does not have are not asked for. Prints "ok - name" lines.

usage: packets.py INTERFACE TARGET-PROGRAM DEVICE PEER-DEVICE DMAC SRC DST
	[v1|ignored]

"v1" sends RoCEv1 frames, and TL_ROCE=v1 has the target use such GIDs; "ignored"
sends them to who has never heard of RoCEv1.
"""

import ipaddress
import os
import random
import socket
import struct
import subprocess
import sys
import time
import zlib

RC_SEND_ONLY, RC_WRITE_ONLY, RC_READ_REQ, RC_ACK = 0x04, 0x0A, 0x0C, 0x11
# opcode: bytes of extended headers after the BTH
RC_EXT = {0x00: 0, 0x01: 0, 0x02: 0, 0x03: 4, 0x04: 0, 0x05: 4, 0x06: 16,
          0x07: 0, 0x08: 0, 0x09: 4, 0x0A: 16, 0x0B: 20, 0x0C: 16, 0x0D: 4,
          0x0E: 0, 0x0F: 4, 0x10: 4, 0x11: 4, 0x12: 12, 0x13: 28, 0x14: 28,
          0x16: 4, 0x17: 4}
KNOWN = set(RC_EXT) | {0x1C, 0x1D} | set(range(0x20, 0x2C)) | {0x64, 0x65, 0x81}


class Wire:
    """Frames from SRC to DST, with a right ICRC unless told otherwise."""

    def __init__(self, iface, dmac, src, dst):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.sock.bind((iface, 0))
        self.smac = self.sock.getsockname()[4]
        self.dmac = bytes(int(x, 16) for x in dmac.split(":"))
        self.src = ipaddress.ip_address(src)
        self.dst = ipaddress.ip_address(dst)
        self.sent = 0

    def l3(self, payload_len, src, masked, dst=None):
        dst = dst or self.dst
        v6 = self.dst.version == 6
        if v6:
            first = 0x6FFFFFFF if masked else 0x60000000
            return struct.pack("!IHBB", first, payload_len, 17,
                               0xFF if masked else 64) + src.packed + \
                dst.packed
        head = struct.pack("!BBHHHBBH", 0x45, 0xFF if masked else 0,
                           20 + payload_len, self.sent & 0xFFFF, 0x4000,
                           0xFF if masked else 64, 17,
                           0xFFFF if masked else 0) + src.packed + \
            dst.packed
        if masked:
            return head
        s = sum(struct.unpack("!10H", head))
        s = (s >> 16) + (s & 0xFFFF)
        s = ~((s >> 16) + s) & 0xFFFF
        return head[:10] + struct.pack("!H", s) + head[12:]

    def send(self, bth, src=None, icrc_xor=0, cut=None, sport=0xC123,
             dst=None):
        """@bth: from the BTH to the end, without ICRC."""
        src = ipaddress.ip_address(src) if src else self.src
        dst = ipaddress.ip_address(dst) if dst else self.dst
        if cut is not None:
            bth = bth[:cut]
        udp_len = 8 + len(bth) + 4
        masked = bth[:4] + b"\xff" + bth[5:] if len(bth) > 4 else bth
        crc = zlib.crc32(b"\xff" * 8 + self.l3(udp_len, src, True, dst) +
                         struct.pack("!HHHH", sport, 4791, udp_len, 0xFFFF) +
                         masked) ^ icrc_xor
        udp = struct.pack("!HHHH", sport, 4791, udp_len, 0)
        if self.dst.version == 6:
            udp = udp[:6] + self.sum6(src, dst, udp + bth +
                                      struct.pack("<I", crc))
        self.raw(self.l3(udp_len, src, False, dst) + udp + bth +
                 struct.pack("<I", crc), dst)

    @staticmethod
    def sum6(src, dst, data):
        s = len(data) + 17
        data += b"\0" * (len(data) & 1)
        s += sum(struct.unpack("!%dH" % (len(data) // 2), data))
        s += sum(struct.unpack("!16H", src.packed + dst.packed))
        while s >> 16:
            s = (s >> 16) + (s & 0xFFFF)
        return struct.pack("!H", (~s & 0xFFFF) or 0xFFFF)

    def mac_of(self, dst):
        if not dst or not dst.is_multicast:
            return self.dmac
        if dst.version == 6:
            return b"\x33\x33" + dst.packed[12:]
        return b"\x01\x00\x5e" + bytes([dst.packed[1] & 0x7F]) + dst.packed[2:]

    def raw(self, packet, dst=None):
        kind = b"\x86\xdd" if self.dst.version == 6 else b"\x08\x00"
        self.sock.send(self.mac_of(dst) + self.smac + kind + packet)
        self.sent += 1
        # a veth queue is short in a machine of one CPU
        if self.sent % 32 == 0:
            time.sleep(0.001)


class WireV1(Wire):
    """The same behind a GRH, on Ethernet, without UDP."""

    @staticmethod
    def gid(address):
        return address.packed if address.version == 6 else \
            b"\0" * 10 + b"\xff\xff" + address.packed

    def grh(self, payload_len, src, masked=False, dst=None, version=6,
            next_header=0x1B):
        first = version << 28 | (0x0FFFFFFF if masked else 0)
        return struct.pack("!IHBB", first, payload_len, next_header,
                           0xFF if masked else 64) + self.gid(src) + \
            self.gid(dst or self.dst)

    def send(self, bth, src=None, icrc_xor=0, cut=None, sport=0, dst=None,
             mac=None, more=0, tail=b"", **fields):
        """@more: what the length in the GRH is wrong by."""
        src = ipaddress.ip_address(src) if src else self.src
        dst = ipaddress.ip_address(dst) if dst else self.dst
        if cut is not None:
            bth = bth[:cut]
        size = len(bth) + 4 + more
        masked = bth[:4] + b"\xff" + bth[5:] if len(bth) > 4 else bth
        crc = zlib.crc32(b"\xff" * 8 + self.grh(size, src, True, dst, **fields) +
                         masked) ^ icrc_xor
        self.frame(self.grh(size, src, False, dst, **fields) + bth +
                   struct.pack("<I", crc) + tail, mac)

    def frame(self, packet, mac=None):
        self.sock.send((mac or self.dmac) + self.smac + b"\x89\x15" + packet)
        self.sent += 1
        if self.sent % 32 == 0:
            time.sleep(0.001)


class Target:
    def __init__(self, program, family, device, peer):
        self.device = device
        self.proc = subprocess.Popen([program, "-f", family, device, peer],
                                     stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        self.qp = {}
        self.victims = []
        self.read_qps()

    def read_qps(self):
        self.victims = []
        for line in self.proc.stdout:
            word = line.split()
            if word[0] == "ready":
                return
            if word[0] == "mr":
                self.va, self.rkey = int(word[1]), int(word[2])
            elif word[0] == "qp" and word[1] == "victim":
                self.victims.append((int(word[2]), int(word[3])))
            elif word[0] == "qp":
                self.qp[word[1]] = (int(word[2]), int(word[3]))
            else:
                raise RuntimeError(line)
        raise RuntimeError("the target ended")

    def ask(self, what):
        self.proc.stdin.write(what + "\n")
        self.proc.stdin.flush()
        return self.proc.stdout.readline().strip()

    def refresh(self):
        self.proc.stdin.write("refresh\n")
        self.proc.stdin.flush()
        self.read_qps()

    def counter(self, name):
        path = "/sys/class/infiniband/%s/ports/1/hw_counters/%s"
        try:
            with open(path % (self.device, name), encoding="ascii") as f:
                return int(f.read())
        except FileNotFoundError:
            return None


def bth(opcode, qpn, psn, tver=0, pkey=0xFFFF, pad=0, ack=1, flags=0):
    return struct.pack("!BBHII", opcode, flags << 6 | pad << 4 | tver, pkey,
                       qpn, ack << 31 | psn & 0xFFFFFF)


def reth(va, rkey, length):
    return struct.pack("!QII", va & (1 << 64) - 1, rkey, length & 0xFFFFFFFF)


def deth(qkey, src_qpn):
    return struct.pack("!II", qkey, src_qpn)


UD_QKEY, CNP = 0x5555, 0x81


class Tests:
    def __init__(self, wire, target):
        self.w, self.t = wire, target
        self.failed = 0

    def ok(self, good, name, why=""):
        print("%s - %s%s" % ("ok" if good else "not ok", name,
                             ": " + why if not good else ""), flush=True)
        self.failed += not good

    def frame(self, opcode, qp="rts", payload=b"", **kw):
        """A well-made frame of @opcode for the queue pair in state @qp."""
        qpn, psn = self.t.qp[qp]
        ext = b""
        if opcode in (0x06, 0x0A, 0x0B, 0x0C):
            ext = reth(self.t.va, self.t.rkey, len(payload))
        elif opcode in (0x13, 0x14):
            ext = struct.pack("!QIQQ", self.t.va, self.t.rkey, 1, 1)
        if opcode in RC_EXT:
            ext += b"\0" * (RC_EXT[opcode] - len(ext))
        return bth(opcode, qpn, psn, **kw) + ext + payload

    def silent(self, name, counters, shoot):
        """@shoot sends frames that must be dropped without any effect."""
        before = {c: self.t.counter(c) for c in counters}
        start = self.w.sent
        shoot()
        n = self.w.sent - start
        for _ in range(50):
            time.sleep(0.03)
            after = {c: self.t.counter(c) for c in counters}
            have = [c for c in counters if before[c] is not None]
            moved = sum(after[c] - before[c] for c in have)
            if not have or moved >= n:
                break
        answer = self.t.ask("check")
        good = answer == "good" and (not have or moved >= n)
        self.ok(good, "%s, %d frames" % (name, n),
                "target says %s, counters moved by %s" %
                (answer, moved if have else "-"))

    # ---- groups ----

    def truncated(self):
        def shoot():
            for opcode in RC_EXT:
                whole = self.frame(opcode, payload=b"x" * 8)
                for cut in range(12 + RC_EXT[opcode]):
                    self.w.send(whole, cut=cut)
        self.silent("truncated at every length, right ICRC",
                    ["rx_drop_short", "rx_drop_length", "rx_drop_opcode",
                     "rx_drop_qpn", "rx_icrc_encapsulated"], shoot)

        def shoot_bad():
            whole = self.frame(RC_WRITE_ONLY, payload=b"y" * 64)
            for cut in range(len(whole)):
                self.w.send(whole, cut=cut, icrc_xor=0x1234)
        self.silent("truncated at every length, wrong ICRC",
                    ["rx_drop_short", "rx_drop_length",
                     "rx_icrc_encapsulated", "rx_drop_opcode"], shoot_bad)

    def truncated_ip(self):
        """IP and UDP lengths that promise more or less than there is."""
        qpn, psn = self.t.qp["rts"]
        body = bth(RC_WRITE_ONLY, qpn, psn) + \
            reth(self.t.va, self.t.rkey, 64) + b"z" * 64

        def shoot():
            for ip_len in (0, 8, 12, 20, 40, 120, 4000, 65000):
                for udp_len in (0, 4, 8, 9, 12, 24, 100, 108, 2000, 65535):
                    udp = struct.pack("!HHHH", 0xC123, 4791, udp_len, 0)
                    self.w.raw(self.w.l3(ip_len, self.w.src, False) + udp +
                               body + b"\0\0\0\0")
        self.silent("IP and UDP lengths that lie", [], shoot)

    def wrong_icrc(self):
        def shoot():
            for bit in range(32):
                for opcode in (RC_SEND_ONLY, RC_WRITE_ONLY, RC_READ_REQ,
                               RC_ACK, 0x14):
                    self.w.send(self.frame(opcode, payload=b"12345678"
                                           if opcode < 0x0C else b""),
                                icrc_xor=1 << bit)
        self.silent("each bit of the ICRC wrong", ["rx_icrc_encapsulated"],
                    shoot)

    def unknown_opcodes(self):
        def shoot():
            for opcode in range(256):
                if opcode in KNOWN:
                    continue
                for n in (0, 4, 16, 64):
                    self.w.send(self.frame(opcode, payload=b"q" * n))
        self.silent("unknown opcodes", ["rx_drop_opcode", "rx_drop_type"],
                    shoot)

    def other_transports(self):
        def shoot():
            for opcode in sorted(set(range(0x20, 0x2C)) | {0x64, 0x65}):
                self.w.send(self.frame(opcode, payload=b"u" * 64))
        self.silent("opcodes of UC and UD", ["rx_drop_opcode", "rx_drop_type",
                                             "rx_drop_qkey"], shoot)

    def versions(self):
        def shoot():
            for tver in range(1, 16):
                self.w.send(self.frame(RC_SEND_ONLY, payload=b"t" * 8,
                                       tver=tver))
        self.silent("transport versions 1 to 15", ["rx_drop_tver"], shoot)

    def no_such_qp(self):
        def shoot():
            for qpn in [0, 1, 2, 15, 0xFFFFFF, 0xFFFFFE] + \
                    [random.randrange(1 << 24) for _ in range(40)]:
                if qpn in [q for q, _ in self.t.qp.values()]:
                    continue
                self.w.send(bth(RC_SEND_ONLY, qpn, 1) + b"n" * 8)
        self.silent("no such queue pair", ["rx_drop_qpn", "rx_drop_type",
                                           "rx_drop_state"], shoot)

    def states(self):
        def shoot():
            for state in ("reset", "init", "err"):
                for opcode in RC_EXT:
                    self.w.send(self.frame(opcode, qp=state))
            for opcode in (RC_ACK, 0x10, 0x12):
                self.w.send(self.frame(opcode, qp="rtr"))
        self.silent("queue pair in RESET, INIT, ERR; responses in RTR",
                    ["rx_drop_state", "rx_drop_addr", "rx_drop_ghost_ack"],
                    shoot)

    def foreign(self):
        base = int(self.w.src)

        def shoot():
            for i in range(1, 60):
                addr = str(type(self.w.src)(base + i))
                for opcode in (RC_SEND_ONLY, RC_WRITE_ONLY, RC_READ_REQ,
                               RC_ACK):
                    self.w.send(self.frame(opcode, payload=b"f" * 8
                                           if opcode < 0x0C else b""),
                                src=addr)
        self.silent("foreign source addresses", ["rx_drop_addr"], shoot)

    def pkeys(self):
        def shoot():
            for pkey in (0, 1, 0x1234, 0x8000, 0xFFFE, 0x7FFE):
                self.w.send(self.frame(RC_SEND_ONLY, payload=b"p" * 8,
                                       pkey=pkey))
        self.silent("wrong P_Key", ["rx_drop_pkey"], shoot)

    def ghosts(self):
        """Responses to a queue pair that asked for nothing."""
        qpn, psn = self.t.qp["rts"]

        def shoot():
            for syndrome in (0, 0x1F, 0x20, 0x3F, 0x60, 0x61, 0x62, 0x63,
                             0x64, 0x7F, 0xFF):
                for d in (-2, -1, 0, 1, 1000, 1 << 23):
                    self.w.send(bth(RC_ACK, qpn, psn + d) +
                                struct.pack("!I", syndrome << 24))
            for opcode in (0x0D, 0x0E, 0x0F, 0x10, 0x12):
                for d in (-1, 0, 1, 1 << 23):
                    self.w.send(bth(opcode, qpn, psn + d) +
                                b"\0" * RC_EXT[opcode] + b"g" * 64)
        self.silent("responses nobody waits for", [], shoot)

    # ---- datagrams, UC, CNPs, multicast ----

    def datagrams(self):
        qpn, psn = self.t.qp["ud"]
        good = bth(0x64, qpn, psn) + deth(UD_QKEY, 0x99) + b"d" * 32

        def keys():
            for qkey in (0, 1, UD_QKEY + 1, UD_QKEY | 1 << 31, (1 << 32) - 1):
                for opcode in (0x64, 0x65):
                    self.w.send(bth(opcode, qpn, psn) + deth(qkey, 0x99) +
                                b"\0" * 8)
        self.silent("UD: wrong Q_Keys", ["rx_drop_qkey"], keys)

        def short():
            for opcode, ext in ((0x64, 8), (0x65, 12)):
                whole = bth(opcode, qpn, psn) + deth(UD_QKEY, 1) + b"\0" * 4
                for cut in range(12 + ext):
                    self.w.send(whole, cut=cut)
        self.silent("UD: truncated at every length",
                    ["rx_drop_short", "rx_drop_length", "rx_drop_qpn"], short)

        def others():
            for opcode in sorted(RC_EXT) + list(range(0x20, 0x2C)):
                self.w.send(bth(opcode, qpn, psn) + b"\0" * 28)
        self.silent("UD: opcodes of RC and UC",
                    ["rx_drop_type", "rx_drop_length", "rx_drop_opcode"],
                    others)

        def fields():
            for bit in range(32):
                self.w.send(good, icrc_xor=1 << bit)
            for pkey in (0, 0x7FFE, 0x1234):
                self.w.send(bth(0x64, qpn, psn, pkey=pkey) +
                            deth(UD_QKEY, 1) + b"p" * 8)
            for pad in (1, 2, 3):
                self.w.send(bth(0x64, qpn, psn, pad=pad) + deth(UD_QKEY, 1))
        self.silent("UD: wrong ICRC, P_Key, pad",
                    ["rx_icrc_encapsulated", "rx_drop_pkey",
                     "rx_drop_length"], fields)
        self.silent("UD: no receive request",
                    ["out_of_buffer"],
                    lambda: [self.w.send(good) for _ in range(50)])

    def unreliable(self):
        qpn, psn = self.t.qp["uc"]

        def others():
            for opcode in sorted(RC_EXT) + [0x64, 0x65]:
                self.w.send(bth(opcode, qpn, psn) + b"\0" * 28)
        self.silent("UC: opcodes of RC and UD",
                    ["rx_drop_type", "rx_drop_length", "rx_drop_opcode"],
                    others)

        def writes():
            for va, rkey, n in ((self.t.va, self.t.rkey ^ 0x100, 8),
                                (self.t.va - 4, self.t.rkey, 8),
                                (self.t.va + 4092, self.t.rkey, 8),
                                (self.t.va, self.t.rkey ^ 1, 8)):
                for opcode in (0x26, 0x2A):
                    for d in (0, 1, 5, -1, 1 << 23):
                        self.w.send(bth(opcode, qpn, psn + d) +
                                    reth(va, rkey, n) + b"w" * n)
            for opcode in (0x21, 0x22, 0x27, 0x28):
                self.w.send(bth(opcode, qpn, psn + 9) + b"m" * 1024)
        self.silent("UC: WRITEs out of bounds, ends without a beginning", [],
                    writes)

    def cnps(self):
        def shoot():
            for qpn, psn in self.t.qp.values():
                for n in (0, 1, 4, 15, 16, 17, 20, 64, 1024):
                    for flags in range(4):
                        self.w.send(bth(CNP, qpn, psn, ack=0, flags=flags) +
                                    b"\0" * n)
                self.w.send(bth(CNP, qpn, psn) + b"\0" * 16, icrc_xor=1)
                self.w.send(bth(CNP, qpn, psn, pkey=1) + b"\0" * 16)
            for _ in range(500):
                self.w.send(bth(CNP, self.t.qp["rts"][0], 0) + b"\0" * 16)
        self.silent("CNPs of all shapes to queue pairs in all states", [],
                    shoot)

    def multicast(self):
        group = "ff0e::9:9:9" if self.w.dst.version == 6 else "239.9.9.9"
        if self.t.counter("rcvd_mcast_pkts") is None:
            return
        qpn, psn = self.t.qp["ud"]
        tail = deth(UD_QKEY, 0x99) + b"m" * 32
        good = bth(0x64, 0xFFFFFF, psn) + tail

        def keys():
            for qkey in (0, UD_QKEY + 1, UD_QKEY | 1 << 31):
                self.w.send(bth(0x64, 0xFFFFFF, psn) + deth(qkey, 1),
                            dst=group)
        self.silent("multicast: wrong Q_Keys", ["rx_drop_qkey"], keys)

        def bad():
            for bit in range(32):
                self.w.send(good, dst=group, icrc_xor=1 << bit)
            for opcode in (RC_SEND_ONLY, RC_WRITE_ONLY, RC_ACK, 0x24, CNP):
                self.w.send(bth(opcode, 0xFFFFFF, psn) + b"\0" * 28,
                            dst=group)
            self.w.send(bth(0x64, 0xFFFFFF, psn, pkey=1) + tail, dst=group)
            self.w.send(bth(0x64, 0xFFFFFF, psn, tver=1) + tail, dst=group)
            for cut in range(12, 20):
                self.w.send(good, dst=group, cut=cut)
        self.silent("multicast: wrong ICRC, opcode, P_Key, version, length",
                    ["rx_icrc_encapsulated", "rx_drop_type", "rx_drop_pkey",
                     "rx_drop_tver", "rx_drop_short", "rx_drop_length",
                     "rx_drop_opcode"], bad)

        def mixed():
            for n in range(10):
                # a group's address with a queue pair of one's own, and reverse
                self.w.send(bth(0x64, qpn, psn + n) + tail, dst=group)
                self.w.send(bth(RC_SEND_ONLY, self.t.qp["rts"][0], n) +
                            b"x" * 8, dst=group)
                self.w.send(good)
        self.silent("multicast address without 0xffffff, and reverse",
                    ["rx_drop_addr", "rx_drop_qpn"], mixed)
        self.silent("multicast: no receive request", ["out_of_buffer"],
                    lambda: [self.w.send(good, dst=group) for _ in range(50)])

    # ---- RoCEv1 ----

    def good(self):
        """What a queue pair would take, if only it got there."""
        return self.frame(RC_SEND_ONLY, payload=b"v1v1v1v1")

    def grhs(self):
        good = self.good()

        def lies():
            for more in (-1000, -21, -20, -17, -16, -8, -4, -1, 1, 2, 3, 4,
                         8, 400, 60000):
                if len(good) + 4 + more >= 0:
                    self.w.send(good, more=more)
            for tail in (1, 2, 3, 5, 100):
                # behind its end is what Ethernet padded it with
                self.w.send(good, icrc_xor=1, tail=b"t" * tail)
        self.silent("GRH lengths that lie",
                    ["rx_drop_short", "rx_drop_length", "rx_drop_qpn",
                     "rx_icrc_encapsulated"], lies)

        def fields():
            for version in range(16):
                if version != 6:
                    self.w.send(good, version=version)
            for header in (0, 1, 6, 17, 0x1A, 0x1C, 58, 255):
                self.w.send(good, next_header=header)
        self.silent("GRH versions and next headers", ["rx_drop_opcode"],
                    fields)

        def cut():
            whole = self.w.grh(len(good) + 4, self.w.src) + good + b"\0" * 4
            for n in range(len(whole)):
                self.w.frame(whole[:n])
        self.silent("GRHs truncated at every length",
                    ["rx_drop_short", "rx_drop_length", "rx_drop_opcode"], cut)

    def destinations(self):
        good = self.good()
        qpn, psn = self.t.qp["ud"]
        datagram = bth(0x64, qpn, psn) + deth(UD_QKEY, 0x99) + b"d" * 32
        base = int(self.w.dst)
        group = "ff0e::9:9:9" if self.w.dst.version == 6 else "239.9.9.9"

        def foreign():
            for i in range(20, 50):
                address = str(type(self.w.dst)(base + i))
                self.w.send(good, dst=address)
                self.w.send(datagram, dst=address)
        self.silent("foreign destination GIDs", ["rx_drop_addr"], foreign)

        def multicast():
            for frame in (good, datagram,
                          bth(0x64, 0xFFFFFF, psn) + deth(UD_QKEY, 1)):
                self.w.send(frame, dst=group)
        self.silent("multicast GIDs", ["rx_drop_addr"], multicast)

        def macs():
            for mac in (b"\xff" * 6, b"\x33\x33\0\0\0\1", b"\2\0\0\0\0\1",
                        self.w.mac_of(ipaddress.ip_address("239.9.9.9"))):
                self.w.send(good, mac=mac)
                self.w.send(datagram, mac=mac)
        self.silent("MAC addresses that are not the host's", [], macs)

    def mixed_versions(self):
        other = Wire(sys.argv[1], *sys.argv[5:8])

        def shoot():
            for _ in range(20):
                other.send(self.good())
            self.w.sent += other.sent
        self.silent("RoCEv2 at queue pairs of RoCEv1", ["rx_drop_gid_type"],
                    shoot)

    def ignored(self):
        names = [c for c in os.listdir(
            "/sys/class/infiniband/%s/ports/1/hw_counters" % self.t.device)
                 if c.startswith("rx_drop") or c == "rx_icrc_encapsulated"]
        before = {c: self.t.counter(c) for c in names}
        for _ in range(100):
            self.w.send(self.good())
        time.sleep(0.3)
        moved = {c: self.t.counter(c) - before[c] for c in names
                 if self.t.counter(c) != before[c]}
        answer = self.t.ask("check")
        self.ok(answer == "good" and not moved and len(names) > 10,
                "frames of RoCEv1 are nobody's, %d frames" % self.w.sent,
                "%s %s" % (answer, moved))

    def noise(self):
        """Right in everything a header check sees, wild in all the rest."""
        bad = ""
        start = self.w.sent
        wild = (0, 1, 3, 4, 8, 4095, 4096, 4097, 1 << 31, (1 << 32) - 1)
        for _ in range(NOISE_ROUNDS):
            self.t.refresh()
            for qpn, psn in self.t.victims:
                for _ in range(40):
                    opcode = random.choice(list(RC_EXT) +
                                           [random.randrange(256)])
                    va = self.t.va + random.choice(
                        (0, 1, 4, -1, -4096, 4095, 4096, 1 << 63,
                         -self.t.va, (1 << 64) - 1 - self.t.va))
                    rkey = self.t.rkey ^ random.choice((0, 0, 0, 1, 0x100))
                    if opcode in (0x06, 0x0A, 0x0B, 0x0C):
                        ext = reth(va, rkey, random.choice(wild))
                    elif opcode in (0x13, 0x14):
                        ext = struct.pack("!QIQQ", va & (1 << 64) - 1, rkey,
                                          random.getrandbits(64), 0)
                    else:
                        ext = b""
                    ext += b"\0" * max(0, RC_EXT.get(opcode, 0) - len(ext))
                    body = b"N" * random.choice((0, 1, 3, 4, 64, 1023, 1024,
                                                 1025, 2048, 4000))
                    self.w.send(bth(opcode, qpn, psn +
                                    random.choice((0, 0, 0, 0, 1, -1, 5)),
                                    pad=random.choice((0, 0, 0, 1, 3)),
                                    flags=random.randrange(4),
                                    ack=random.randrange(2)) + ext + body)
                    psn += random.randrange(2)
            time.sleep(0.02)
            answer = self.t.ask("guards")
            if answer != "good":
                bad = answer
                break
        self.ok(not bad, "noise at %d queue pairs, %d frames: no byte outside"
                % (NOISE_ROUNDS * len(self.t.victims), self.w.sent - start),
                bad)
        self.t.refresh()


NOISE_ROUNDS = int(os.environ.get("NOISE_ROUNDS", "20"))


def main():
    iface, program, device, peer, dmac, src, dst = sys.argv[1:8]
    random.seed(int(os.environ.get("SEED", "1")))
    kind = sys.argv[8] if len(sys.argv) > 8 else "v2"
    wire = (Wire if kind == "v2" else WireV1)(iface, dmac, src, dst)
    target = Target(program, str(wire.dst.version), device, peer)
    t = Tests(wire, target)
    both = (t.truncated, t.wrong_icrc, t.unknown_opcodes, t.other_transports,
            t.versions, t.no_such_qp, t.states, t.foreign, t.pkeys, t.ghosts,
            t.datagrams, t.unreliable, t.cnps)
    groups = {"v2": (t.truncated_ip, *both, t.multicast, t.noise),
              "v1": (t.grhs, t.destinations, t.mixed_versions, *both, t.noise),
              "ignored": (t.ignored,)}
    for group in groups[kind]:
        group()
    target.ask("quit")
    target.proc.wait(10)
    return 1 if t.failed else 0


sys.exit(main())
