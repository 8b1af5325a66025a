#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs rdma-core's own Python tests and prints one line per case.

The tests are where the distribution's package put them. They run in a child
that is replaced when it dies or hangs, so that every case gets its turn; the
case that was under way then has failed.

Objects in cycles are not collected before the child ends: the collector closes
a device before what was made on it, and the interpreter crashes then.

usage: run_pyverbs.py DEVICE TESTS-FOLDER [MODULE...]
Lines: "ok - MODULE.CLASS.CASE", the same with " # SKIP why", "not ok - ...".
"""

import gc
import gzip
import importlib
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

# The modules that concern any device. What test_flow leaves crashes the
# interpreter at its end, so it comes last.
MODULES = """addr atomic cq cq_events cqex cuda_dmabuf device fork mr odp
    parent_domain pd qp qpex rdmacm relaxed_ordering rss_traffic shared_pd srq
    tag_matching flow""".split()
CASE_LIMIT = 90


class Result(unittest.TestResult):
    """Says what happens as it happens."""

    def say(self, test, verdict, why=""):
        name = test.id().removeprefix("tests.")
        line = f"{verdict} {name}"
        if why:
            line += f" # {why}"
        print(line, flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.say(test, "begin")

    def addSuccess(self, test):
        self.say(test, "ok")

    def addSkip(self, test, reason):
        self.say(test, "ok", "SKIP " + " ".join(reason.split()))

    def addFailure(self, test, err):
        self.addError(test, err)

    def addError(self, test, err):
        text = self._exc_info_to_string(err, test)
        for line in text.splitlines():
            print("note", line)
        self.say(test, "not ok")

    def addSubTest(self, test, subtest, err):
        if err:
            self.addError(test, err)


def child(device, folder, modules, after):
    """Runs what comes after the named case."""
    sys.path.insert(0, folder)
    sys.argv[1:] = ["--dev", device]
    importlib.import_module("args_parser").parser.parse_args()
    gc.disable()
    waiting = bool(after)
    result = Result()
    for module in modules:
        loaded = unittest.defaultTestLoader.loadTestsFromName(
            "tests.test_" + module)
        for case in cases_of(loaded):
            if waiting:
                waiting = case.id().removeprefix("tests.") != after
                continue
            case.run(result)


def cases_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases_of(item)
        else:
            yield item


def follow(process, last):
    """Passes on what the child says; returns (case under way, case done)."""
    under_way, done = None, last
    buffer = b""
    deadline = time.monotonic() + CASE_LIMIT
    while True:
        left = deadline - time.monotonic()
        ready = select.select([process.stdout], [], [], max(left, 0))[0]
        if not ready:
            print(f"# {under_way}: no end after {CASE_LIMIT} s")
            process.kill()
            return under_way, done
        data = os.read(process.stdout.fileno(), 65536)
        if not data:
            return under_way, done
        buffer += data
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            if word == "begin":
                under_way = rest
                deadline = time.monotonic() + CASE_LIMIT
            elif word in ("ok", "not"):
                rest = rest.removeprefix("ok ")
                done, under_way = rest.split(" # ")[0], None
                print("ok -" if word == "ok" else "not ok -", rest,
                      flush=True)
            else:
                print("#", word, rest, flush=True)


def unpack(source):
    folder = tempfile.mkdtemp(prefix="pyverbs-")
    tests = os.path.join(folder, "tests")
    shutil.copytree(source, tests)
    for name in os.listdir(tests):
        path = os.path.join(tests, name)
        if name.endswith(".gz"):
            with gzip.open(path) as f, open(path[:-3], "wb") as g:
                shutil.copyfileobj(f, g)
    # theirs imports every module, the vendors' too
    open(os.path.join(tests, "__init__.py"), "w", encoding="ascii").close()
    # the tests import their helpers both ways
    shutil.copy(os.path.join(tests, "args_parser.py"), folder)
    return folder


def main():
    if sys.argv[1] == "--child":
        _, _, device, folder, modules, after = sys.argv
        child(device, folder, modules.split(), after)
        return
    device, source = sys.argv[1:3]
    modules = sys.argv[3:] or MODULES
    folder = unpack(source)
    done = ""
    for group in (modules[:-1], modules[-1:]):
        done = ""
        while group:
            with subprocess.Popen(
                    [sys.executable, "-X", "faulthandler", __file__, "--child",
                     device, folder, " ".join(group), done],
                    stdout=subprocess.PIPE) as process:
                under_way, done = follow(process, done)
            code = process.returncode
            if not under_way:
                if code:
                    print(f"# the interpreter ended with {code}")
                break
            print(f"not ok - {under_way}", flush=True)
            done = under_way
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
