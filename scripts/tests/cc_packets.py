#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Looks at what congestion control put on the wire.

usage: cc_packets.py cnp PCAP SRC DST     the CNPs of a capture, byte by byte
       cc_packets.py ud PCAP SRC DST      the CNPs from SRC name the QP of DST
                                          that sent datagrams
       cc_packets.py tos PCAP VALUE       traffic class of all but CNPs
       cc_packets.py same PCAP PCAP       captures of the same traffic (IPv4), with
                                          and without congestion control: only
                                          the ECN bits differ
       cc_packets.py ports SRC DST PCAP HOW...
                                          source ports of each queue pair's data
                                          from SRC, and of the answers to it:
                                          HOW is "move" or "stay"; several pairs
       cc_packets.py paths TEXT           UDP source ports of queue pairs, from
                                          "rdma -dd resource show qp"
Prints "ok - name" lines.
"""

import logging
import re
import struct
import sys
import zlib

logging.getLogger("scapy").setLevel(logging.ERROR)
CNP = 0x81
SAME_US = 2     # a capture's times are whole microseconds
WITH_RETH = (0x06, 0x0A, 0x0B, 0x0C)    # WRITE first and only, READ request


def say(good, text):
    print("%s - %s" % ("ok" if good else "not ok", text))
    return good


def roce_packets(path):
    from scapy.all import rdpcap, IP, IPv6, UDP
    import scapy.contrib.roce    # noqa: F401  # what port 4791 carries
    for packet in rdpcap(path):
        if UDP in packet and packet[UDP].dport == 4791:
            ip = packet[IP] if IP in packet else packet[IPv6]
            yield packet, ip, bytes(packet[UDP].payload)


def traffic_class(ip):
    return ip.tos if ip.version == 4 else ip.tc


def check_cnp(path, src, dst):
    cnps = [(p, ip, raw) for p, ip, raw in roce_packets(path)
            if raw[0] == CNP]
    say(cnps, "%d CNPs" % len(cnps))
    wrong = {}
    for packet, ip, raw in cnps:
        opcode, flags, pkey, becn, dqpn = struct.unpack("!BBHB3s", raw[:8])
        facts = {
            "opcode 0x81, no flags": (opcode, flags) == (CNP, 0),
            "P_Key of the QP": pkey == 0xFFFF,
            "BECN and nothing else": becn == 0x40,
            "a destination QP": int.from_bytes(dqpn, "big") > 1,
            "PSN 0, no ACK asked for": raw[8:12] == bytes(4),
            "16 zero bytes, then the ICRC": raw[12:28] == bytes(16) and
            len(raw) == 32,
            "DSCP 48, ECT(0)": traffic_class(ip) == 0xC2,
            "between the right hosts": (ip.src, ip.dst) == (src, dst),
        }
        facts["the ICRC that scapy computes"] = icrc_right(packet)
        for name, good in facts.items():
            wrong.setdefault(name, 0)
            wrong[name] += not good
    for name, count in wrong.items():
        say(not count, "CNP: %s%s" % (name, " (%d wrong)" % count
                                      if count else ""))


def check_ud(path, src, dst):
    """DETH, behind the BTH: Q_Key, then the source QP."""
    senders, named = set(), set()
    for _, ip, raw in roce_packets(path):
        if raw[0] in (0x64, 0x65) and ip.src == dst:
            senders.add(int.from_bytes(raw[17:20], "big"))
        elif raw[0] == CNP and ip.src == src:
            named.add(int.from_bytes(raw[5:8], "big"))
    senders.discard(1)
    say(named and named <= senders, "CNPs name %s; datagrams came from %s" % (
        ", ".join(map(hex, sorted(named))), ", ".join(map(hex, sorted(senders)))))


def check_tos(path, want):
    seen = {}
    for _, ip, raw in roce_packets(path):
        if raw[0] != CNP:
            key = traffic_class(ip)
            seen[key] = seen.get(key, 0) + 1
    say(set(seen) == {want}, "traffic class of every packet is %#x: %s" % (
        want, ", ".join("%#x x %d" % x for x in sorted(seen.items()))))
    cnps = sum(raw[0] == CNP for _, _, raw in roce_packets(path))
    print("# %d CNPs" % cnps)


def icrc_right(packet):
    from scapy.contrib.roce import BTH
    again = packet.copy()
    again[BTH].icrc = None
    return bytes(again) == bytes(packet)


def ip_sum(head):
    total = sum(struct.unpack("!10H", head))
    total = (total >> 16) + (total & 0xFFFF)
    return ((total >> 16) + total) & 0xFFFF


class Numbers:
    """Names that are drawn at random, in the order in which they come."""

    def __init__(self):
        self.known = {}

    def of(self, name):
        return self.known.setdefault(name, len(self.known))


def without_names(frame, numbers, lowest):
    """A frame from Ethernet up to the ICRC, less what differs between runs.

    That are QP numbers and what follows from them (the UDP source port, the
    ICRC), keys and addresses of memory; and the ECN bits with the checksum of
    IPv4.
    """
    frame = bytearray(frame[:-4])
    frame[15] &= 0xFC
    frame[24:26] = bytes(2)
    frame[34:36] = numbers["port"].of(bytes(frame[34:36])).to_bytes(2, "big")
    opcode, dqpn = frame[42], bytes(frame[47:50])
    frame[47:50] = numbers["qp"].of(dqpn).to_bytes(3, "big")
    if opcode in WITH_RETH:
        va, key = struct.unpack("!QI", frame[54:66])
        frame[54:66] = struct.pack("!QI", va - lowest,
                                   numbers["key"].of(key))
    return bytes(frame)


def conversations(path):
    """Per source and destination QP, in order of appearance: its frames.

    Each with its time.  Also how many checksums are wrong, and the ECN bits.
    """
    packets = list(roce_packets(path))
    wrong, ecn, found = 0, set(), {}
    numbers = {name: Numbers() for name in ("port", "qp", "key")}
    addresses = [int.from_bytes(raw[12:20], "big") for _, _, raw in packets
                 if raw[0] in WITH_RETH]
    for packet, ip, _ in packets:
        frame = bytes(packet)
        wrong += not icrc_right(packet) or ip_sum(frame[14:34]) != 0xFFFF
        ecn.add(ip.tos & 3)
        clean = without_names(frame, numbers, min(addresses))
        found.setdefault((ip.src, clean[47:50]), []).append(
            (int((packet.time - packets[0][0].time) * 1000000), clean))
    return found, wrong, ecn


def check_same(on, off):
    a, wrong_a, ecn_a = conversations(on)
    b, wrong_b, ecn_b = conversations(off)
    say(not wrong_a + wrong_b, "every ICRC and IP checksum is right")
    say(ecn_a == {2} and len(ecn_b) == 1 and ecn_b != ecn_a,
        "ECN bits: %s and %s" % (sorted(ecn_a), sorted(ecn_b)))
    say(set(a) == set(b) and len(a) >= 4, "%d and %d directions of QPs" %
        (len(a), len(b)))
    for key in sorted(set(a) & set(b)):
        pairs = list(zip(a[key], b[key]))
        apart = [x for x in pairs if x[0][1] != x[1][1]]
        late = [x for x in pairs if abs(x[0][0] - x[1][0]) > SAME_US]
        say(len(a[key]) == len(b[key]) >= 8 and not apart and not late,
            "from %s, %d and %d frames: %d differ, %d at another time" % (
                key[0], len(a[key]), len(b[key]), len(apart), len(late)))
        for one, other in (apart + late)[:1]:
            print("# at %d us %s\n# at %d us %s" % (
                one[0], one[1][:80].hex(), other[0], other[1][:80].hex()))


def chi_square(ports, paths):
    """Over a switch that hashes the 5-tuple."""
    bins = [0] * paths
    for port in ports:
        text = struct.pack("!4s4sHHB", bytes([10, 77, 0, 1]),
                           bytes([10, 77, 0, 2]), port, 4791, 17)
        bins[(zlib.crc32(text) >> 8) % paths] += 1
    mean = len(ports) / paths
    return sum((n - mean) ** 2 / mean for n in bins), bins


def check_paths(path):
    with open(path, encoding="utf-8") as handle:
        ports = [int(x) for x in re.findall(r'udp_sport (\d+)',
                                            handle.read())]
    ports = [p for p in ports if p]
    say(len(ports) >= 1000, "%d connected queue pairs" % len(ports))
    say(all(0xC000 <= p <= 0xFFFF for p in ports),
        "source ports from 0xC000 to 0xFFFF, %d different" % len(set(ports)))
    # exceeded by chance once in a thousand
    for paths, limit in ((4, 16.27), (16, 37.70)):
        value, bins = chi_square(ports, paths)
        say(value <= limit, "%d paths: chi-square %.1f, limit %.2f; %s" % (
            paths, value, limit, bins))


def psn_step(a, b):
    """From PSN a to b; negative when b is the earlier one."""
    return ((b - a + (1 << 23)) & 0xFFFFFF) - (1 << 23)


def check_ports(path, src, dst, how):
    """As they arrived: by source address and destination QP."""
    from scapy.all import UDP
    about = re.sub(r".*/|\.pcap", "", path)
    ports, last, back, changes = {}, {}, 0, 0
    for packet, ip, raw in roce_packets(path):
        if raw[0] == CNP or raw[0] >> 5 == 3:
            continue
        key = ip.src, bytes(raw[5:8])
        psn, port = int.from_bytes(raw[9:12], "big"), packet[UDP].sport
        ports.setdefault(key, set()).add(port)
        if key in last:
            back += psn_step(last[key][0], psn) < 0
            changes += last[key][1] != port
        last[key] = psn, port
    for name, host in (("requests", src), ("answers", dst)):
        sets = [v for k, v in ports.items() if k[0] == host]
        counts = sorted(len(x) for x in sets)
        good = counts and (counts[0] > 1 if how == "move" else
                           counts[-1] == 1)
        say(good and all(0xC000 <= p <= 0xFFFF for x in sets for p in x),
            "%s: %s %s: source ports of each of %d QPs, all from 0xC000: %s" % (
                about, name, how, len(sets), counts))
    say(not back, "%s: no PSN came behind a later one (%d changes of port)" % (
        about, changes))


def main():
    what = sys.argv[1]
    if what == "cnp":
        check_cnp(*sys.argv[2:5])
    elif what == "ud":
        check_ud(*sys.argv[2:5])
    elif what == "same":
        check_same(*sys.argv[2:4])
    elif what == "ports":
        for path, how in zip(sys.argv[4::2], sys.argv[5::2]):
            check_ports(path, *sys.argv[2:4], how)
    elif what == "tos":
        check_tos(sys.argv[2], int(sys.argv[3], 0))
    else:
        check_paths(sys.argv[2])


if __name__ == "__main__":
    main()
