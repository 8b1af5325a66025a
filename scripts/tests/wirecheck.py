#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Judges captured RoCEv2 frames with eyes that are not the driver's.

Every frame must decode in tshark without a malformed part, and its ICRC,
recomputed by scapy's RoCE layer, must be the one in the frame. Every opcode of
RC must have been seen. Prints "ok - name" lines.

usage: wirecheck.py CAPTURE...
"""

import collections
import subprocess
import sys

from scapy.config import conf
conf.verb = 0
# scapy looks for the machine's routes at import; it needs none of them
from scapy.contrib.roce import BTH  # noqa: E402
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.packet import Raw  # noqa: E402
from scapy.utils import RawPcapReader  # noqa: E402

NAMES = {
    0x00: "SEND_FIRST", 0x01: "SEND_MIDDLE", 0x02: "SEND_LAST",
    0x03: "SEND_LAST_IMM", 0x04: "SEND_ONLY", 0x05: "SEND_ONLY_IMM",
    0x06: "WRITE_FIRST", 0x07: "WRITE_MIDDLE", 0x08: "WRITE_LAST",
    0x09: "WRITE_LAST_IMM", 0x0A: "WRITE_ONLY", 0x0B: "WRITE_ONLY_IMM",
    0x0C: "READ_REQUEST", 0x0D: "READ_RESPONSE_FIRST",
    0x0E: "READ_RESPONSE_MIDDLE", 0x0F: "READ_RESPONSE_LAST",
    0x10: "READ_RESPONSE_ONLY", 0x11: "ACKNOWLEDGE",
    0x12: "ATOMIC_ACKNOWLEDGE", 0x13: "COMPARE_SWAP", 0x14: "FETCH_ADD",
    0x17: "SEND_ONLY_INV",
}
failed = 0


def ok(good, name, why=""):
    global failed
    failed += not good
    print("%s - %s%s" % ("ok" if good else "not ok", name,
                         "" if good else ": " + why))


def frames(path):
    """The IP packets of RoCEv2 in @path, as bytes, with the IP version."""
    for data, _ in RawPcapReader(path):
        kind = data[12:14]
        if kind == b"\x08\x00" and data[23] == 17:
            length = int.from_bytes(data[16:18], "big")
            ip, off = data[14:14 + length], 20
        elif kind == b"\x86\xdd" and data[20] == 17:
            length = 40 + int.from_bytes(data[18:20], "big")
            ip, off = data[14:14 + length], 40
        else:
            continue
        if ip[off + 2:off + 4] == b"\x12\xb7":
            yield ip, off, len(data) - 14


def rebuilt_icrc(ip, off):
    """The ICRC that scapy computes for this packet."""
    layer = IP if off == 20 else IPv6
    head = layer(ip[:off])
    udp = UDP(ip[off:off + 8])
    bth = BTH(ip[off + 8:off + 20] + b"\0\0\0\0")
    for part in (head, udp, bth):
        part.remove_payload()
    bth.icrc = None
    return bytes(head / udp / bth / Raw(ip[off + 20:-4]))[-4:]


def check_icrc(paths):
    seen = collections.Counter()
    wrong = []
    short = 0
    for path in paths:
        for ip, off, captured in frames(path):
            if captured < len(ip) or len(ip) < off + 8 + 16:
                short += 1
                continue
            opcode = ip[off + 8]
            seen[opcode, 4 if off == 20 else 6] += 1
            # the arithmetic is slow: all of the rare, a part of the many
            if seen[opcode, 4 if off == 20 else 6] > LIMIT:
                continue
            if rebuilt_icrc(ip, off) != ip[-4:]:
                wrong.append((opcode, off, ip[-4:].hex(),
                              rebuilt_icrc(ip, off).hex()))
    ok(not short, "every frame was captured whole", "%d were not" % short)
    ok(seen and not wrong, "scapy computes the same ICRC, %d frames" %
       sum(min(n, LIMIT) for n in seen.values()), str(wrong[:3]))
    for version in (4, 6):
        have = {o for o, v in seen if v == version}
        if not have:
            continue
        need = {o for o in NAMES if o != 0x17}
        lost = [NAMES[o] for o in sorted(need - have)]
        ok(not lost, "IPv%d: every RC opcode was on the wire" % version,
           " ".join(lost))
        alien = ["%#x" % o for o in sorted(have - set(NAMES))]
        ok(not alien, "IPv%d: no opcode that RC does not have" % version,
           " ".join(alien))


def check_tshark(paths):
    total = 0
    bad = []
    for path in paths:
        out = subprocess.run(
            ["tshark", "-n", *NO_GUESSES, "-r", path, "-Y", "udp.dstport == 4791",
             "-T", "fields", "-e", "infiniband.bth.opcode", "-e",
             "_ws.malformed", "-e", "_ws.expert.message", "-e",
             "infiniband.invariant.crc"],
            text=True, capture_output=True, check=False)
        if out.returncode:
            ok(False, "tshark reads %s" % path, out.stderr[-300:])
            return
        for line in out.stdout.splitlines():
            field = line.split("\t")
            total += 1
            if not field[0] or field[1] or "alformed" in field[2] or \
                    "CRC" in field[2]:
                bad.append(line)
    ok(total and not bad, "tshark decodes %d frames, none malformed" % total,
       "%d bad, first: %s" % (len(bad), bad[:3]))


# of one opcode
LIMIT = 200
# our payload is noise: what tshark takes it for is of no interest
NO_GUESSES = [word for name in (
    "smcr_infiniband", "smb_direct_infiniband", "rpcrdma_infiniband",
    "nvme_rdma", "lnet_ib", "iser_infiniband", "eth_over_ib",
    "mellanox_eoib", "sdp_infiniband", "fc_infiniband", "drbd_rdma")
    for word in ("--disable-heuristic", name)]


def main():
    check_icrc(sys.argv[1:])
    check_tshark(sys.argv[1:])
    return 1 if failed else 0


sys.exit(main())
