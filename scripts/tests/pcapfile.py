# SPDX-License-Identifier: GPL-2.0
"""Reads the packets of a classic capture file, one after the other.

For the judges of captures in this folder. It must not know what is in them.
"""

import struct


def records(path):
    """Each packet's bytes as captured, and how long it was."""
    with open(path, "rb") as f:
        data = f.read()
    magic, = struct.unpack_from("<I", data)
    if magic not in (0xa1b2c3d4, 0xa1b23c4d):
        raise ValueError("not a capture")
    at = 24
    while at + 16 <= len(data):
        have, was = struct.unpack_from("<II", data, at + 8)
        yield data[at + 16:at + 16 + have], was
        at += 16 + have
