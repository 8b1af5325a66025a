#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Judges every RoCEv2 frame of a capture, also those inside of trains.

usage: framecheck.py CAPTURE PMTU single|trains [tagged]

A packet as long as one frame is a frame. A longer one is a train that nobody
has split yet: its frames are taken apart by trying where an ICRC fits, with the
IP ID and the lengths that each of them will have behind the split. The ICRC is
computed from the standard's text (IBA A17.3.3) with zlib, not from the driver.

"single" says that everything is split at the capture, "trains" that trains get
there whole, "tagged" that all has VLAN tags. Prints "ok - name" lines. It must not know the arrangement of
netdevs that the capture comes from.
"""

import collections
import struct
import sys
import zlib

sys.dont_write_bytecode = True
from pcapfile import records  # noqa: E402

PORT = 4791
BTH, ICRC = 12, 4
HEADERS_MAX = 40    # BTH, RETH or AtomicETH, immediate

failed = 0
Packet = collections.namedtuple("Packet", "ip off udp_check")


def ok(good, name, why=""):
    global failed
    failed += not good
    print("%s - %s%s" % ("ok" if good else "not ok", name,
                         "" if good else ": " + str(why)))


def ip_packets(path, seen):
    """RoCEv2 packets with the IP header in front; what is cut off counts."""
    for frame, was in records(path):
        at = 12
        while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
            seen["tagged"] += 1
            at += 4
        kind, ip = frame[at:at + 2], frame[at + 2:]
        if kind == b"\x08\x00":
            off, proto = (ip[0] & 15) * 4, ip[9]
        elif kind == b"\x86\xdd":
            off, proto = 40, ip[6]
        else:
            continue
        if proto != 17 or struct.unpack_from(">H", ip, off + 2)[0] != PORT:
            continue
        if len(frame) < was:
            seen["cut"] += 1
            continue
        yield Packet(ip, off, struct.unpack_from(">H", ip, off + 6)[0])


def masked(packet, ident, bth, size):
    """What the ICRC covers before the payload: the fields that may change on
    the way are ones."""
    ip = bytearray(packet.ip[:packet.off])
    if packet.off == 40:
        ip[0] |= 0x0f
        ip[1:4] = b"\xff\xff\xff"
        struct.pack_into(">H", ip, 4, 8 + size)
        ip[7] = 0xff
    else:
        ip[1] = ip[8] = 0xff
        struct.pack_into(">HH", ip, 2, packet.off + 8 + size, ident)
        ip[10:12] = b"\xff\xff"
    udp = bytearray(packet.ip[packet.off:packet.off + 8])
    struct.pack_into(">H", udp, 4, 8 + size)
    udp[6:8] = b"\xff\xff"
    bth = bytearray(bth)
    bth[4] = 0xff
    return b"\xff" * 8 + ip + udp + bth


def fits(packet, ident, body, at, size):
    """Whether a frame of @size bytes at @at of @body has the right ICRC."""
    if at + size > len(body):
        return False
    crc = zlib.crc32(masked(packet, ident, body[at:at + BTH], size))
    crc = zlib.crc32(body[at + BTH:at + size - ICRC], crc)
    return struct.pack("<I", crc) == body[at + size - ICRC:at + size]


def sizes(pmtu, last):
    """Lengths a frame may have, likely ones first."""
    yield last
    for more in (0, 16, 4, 20):
        yield BTH + more + pmtu + ICRC
    yield from range(BTH + ICRC, HEADERS_MAX + pmtu + ICRC + 4, 4)


def split(packet, pmtu):
    """The lengths of a train's frames, or None where one has no length."""
    body = packet.ip[packet.off + 8:]
    ident = struct.unpack_from(">H", packet.ip, 4)[0]
    at, found = 0, []
    while at < len(body):
        last = found[-1] if found else BTH + ICRC
        for size in sizes(pmtu, last):
            if fits(packet, (ident + len(found)) & 0xffff, body, at, size):
                break
        else:
            return None
        found.append(size)
        at += size
    return found


def check_lengths(packet, wrong):
    """The lengths in the headers against the bytes; IPv4's checksum."""
    size = len(packet.ip) - packet.off
    udp = struct.unpack_from(">H", packet.ip, packet.off + 4)[0]
    if packet.off == 40:
        whole = 40 + struct.unpack_from(">H", packet.ip, 4)[0]
    else:
        whole = struct.unpack_from(">H", packet.ip, 2)[0]
        total = sum(struct.unpack(">%dH" % (packet.off // 2),
                                  packet.ip[:packet.off]))
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        if total != 0xffff:
            wrong["IP checksum"] += 1
    if udp != size or whole != len(packet.ip):
        wrong["length"] += 1


def ones_sum(data, total=0):
    """The Internet checksum's sum, folded, not inverted (RFC 1071)."""
    data += b"\0" * (len(data) & 1)
    total += sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def check_udp(packet, frames, seen, wrong):
    """A checksum is 0, or that of a pack: of one frame it must be right, of many
    it is still the sum over the pseudo-header, and the frames are of one length
    but for the last, which may be shorter."""
    if not packet.udp_check:
        return
    seen["packs"] += 1
    udp = packet.ip[packet.off:]
    addresses = packet.ip[12:20] if packet.off == 20 else packet.ip[8:40]
    pseudo = ones_sum(addresses, 17 + len(udp))
    if len(set(frames[:-1])) > 1 or frames[-1] > frames[0]:
        wrong["a pack's lengths"] += 1
    # left to whoever splits it or to the device, or done
    elif packet.udp_check != pseudo and \
            (len(frames) > 1 or ones_sum(udp, pseudo) != 0xffff):
        wrong["UDP checksum"] += 1


def check_ids(packet, frames, last, seen, wrong):
    """The ID is the low half of the PSN, or counts on within a train: behind a
    READ request, which has several PSNs, and for an acknowledgment that follows
    responses. The first frame of a train has that of its PSN."""
    if packet.off == 40:
        return
    ident, at = struct.unpack_from(">H", packet.ip, 4)[0], packet.off + 8
    way = packet.ip[12:20]
    for i, size in enumerate(frames):
        psn = struct.unpack_from(">I", packet.ip, at + 8)[0]
        this = (ident + i) & 0xffff
        if this == psn & 0xffff:
            seen["ID of the PSN"] += 1
        elif i == 0 and len(frames) > 1:
            wrong["IP ID of a train"] += 1
        elif this != (last[way] + 1) & 0xffff:
            wrong["IP ID"] += 1
        last[way] = this
        at += size


def check(path, pmtu, wanted, tagged):
    seen, wrong, last = (collections.Counter() for _ in range(3))
    for packet in ip_packets(path, seen):
        check_lengths(packet, wrong)
        frames = split(packet, pmtu)
        if not frames:
            wrong["ICRC"] += 1
            continue
        check_udp(packet, frames, seen, wrong)
        check_ids(packet, frames, last, seen, wrong)
        seen["packets"] += 1
        seen["frames"] += len(frames)
        seen["trains"] += len(frames) > 1
        seen["v4" if packet.off == 20 else "v6"] += len(frames)
    text = "%d frames in %d packets" % (seen["frames"], seen["packets"])
    ok(min(seen["v4"], seen["v6"]) > 200 and not seen["cut"], "captured whole",
       text + ", %d cut" % seen["cut"])
    ok(not wrong, "ICRC, IP ID and lengths of %s" % text, dict(wrong))
    ok(seen["ID of the PSN"] >= seen["v4"] * 0.8, "few IDs are not of the PSN",
       seen)
    if wanted == "single":
        ok(not seen["trains"], "all is split", "%d trains" % seen["trains"])
    else:
        ok(seen["trains"] > 10, "trains are whole", text)
    if tagged:
        ok(seen["tagged"] >= seen["packets"], "VLAN tags", seen["tagged"])


check(sys.argv[1], int(sys.argv[2]), sys.argv[3], len(sys.argv) > 4)
sys.exit(1 if failed else 0)
