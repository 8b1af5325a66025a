#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Judges every RoCEv1 frame of a capture.

usage: grhcheck.py CAPTURE LEAST [tagged]

Each frame must have a GRH whose version, next header and length are right, an
ICRC as the standard words it (IBA 7.8.1, computed with zlib, not by the driver),
and be decoded by tshark without a malformed part. At least LEAST frames there
must be, and no RoCEv2 beside them; "tagged" says that all have VLAN tags. Prints
"ok - name" lines.
"""

import collections
import struct
import subprocess
import sys
import zlib

sys.dont_write_bytecode = True
from pcapfile import records  # noqa: E402

GRH, BTH, ICRC = 40, 12, 4
failed = 0


def ok(good, name, why=""):
    global failed
    failed += not good
    print("%s - %s%s" % ("ok" if good else "not ok", name,
                         "" if good else ": " + str(why)))


def faults(packet):
    """What is wrong with a packet, from its GRH on."""
    if len(packet) < GRH + BTH + ICRC:
        return ["short"]
    first, length, header = struct.unpack_from(">IHB", packet)
    wrong = []
    if first >> 28 != 6:
        wrong.append("version")
    if header != 0x1B:
        wrong.append("next header")
    if length != len(packet) - GRH or length % 4:
        wrong.append("length")
    grh = bytearray(packet[:GRH])
    grh[0] |= 0x0F
    grh[1:4] = b"\xff\xff\xff"
    grh[7] = 0xFF
    bth = bytearray(packet[GRH:GRH + BTH])
    bth[4] = 0xFF
    crc = zlib.crc32(b"\xff" * 8 + grh + bth)
    crc = zlib.crc32(packet[GRH + BTH:-ICRC], crc)
    if struct.pack("<I", crc) != packet[-ICRC:]:
        wrong.append("ICRC")
    return wrong


def check_frames(path, least, tagged):
    seen, wrong = collections.Counter(), collections.Counter()
    for frame, was in records(path):
        at = 12
        while frame[at:at + 2] == b"\x81\x00":
            at += 4
        if frame[at:at + 2] != b"\x89\x15":
            seen["other"] += 1
            continue
        seen["frames"] += 1
        seen["tagged"] += at > 12
        seen["cut"] += len(frame) < was
        wrong.update(faults(frame[at + 2:]))
    ok(seen["frames"] >= least and not seen["cut"], "captured, all whole",
       dict(seen))
    ok(not wrong, "GRH and ICRC of %d frames" % seen["frames"], dict(wrong))
    ok(not seen["other"], "nothing but RoCEv1", seen["other"])
    ok(seen["tagged"] == (seen["frames"] if tagged else 0), "VLAN tags",
       dict(seen))
    return seen["frames"]


# the payload is noise: what tshark takes it for is of no interest
NO_GUESSES = [word for name in (
    "smcr_infiniband", "smb_direct_infiniband", "rpcrdma_infiniband",
    "nvme_rdma", "lnet_ib", "iser_infiniband", "eth_over_ib",
    "mellanox_eoib", "sdp_infiniband", "fc_infiniband", "drbd_rdma")
    for word in ("--disable-heuristic", name)]


def check_tshark(path, frames):
    out = subprocess.run(
        ["tshark", "-n", *NO_GUESSES, "-r", path, "-Y", "infiniband", "-T",
         "fields", "-e", "infiniband.bth.opcode", "-e", "_ws.malformed", "-e",
         "infiniband.grh.nxthdr"],
        text=True, capture_output=True, check=False)
    lines = [line.split("\t") for line in out.stdout.splitlines()]
    bad = [x for x in lines if not x[0] or x[1] or not x[2]]
    ok(out.returncode == 0 and len(lines) == frames and not bad,
       "tshark decodes %d frames, none malformed" % len(lines),
       "%s %s" % (bad[:3], out.stderr[-200:]))


check_tshark(sys.argv[1], check_frames(sys.argv[1], int(sys.argv[2]),
                                       len(sys.argv) > 3))
sys.exit(1 if failed else 0)
