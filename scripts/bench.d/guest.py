#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The benchmark's part inside the machine: works off a list of measurements.

usage: guest.py PLAN

PLAN is a JSON list; each item has an id, a kind, the drivers of the two ends
and what the kind takes. One line "@" + JSON is printed per item as soon as it
is measured. A failed measurement is printed as such and the rest goes on.

It owns the two network namespaces, the veth pair and the RDMA devices. It must
not know cases, targets or ratios.
"""

import glob
import json
import os
import re
import subprocess
import sys
import time

V4 = {"a": "10.77.0.1", "b": "10.77.0.2"}
DEV = {"a": "roce_a", "b": "roce_b"}
IB = "/sys/class/infiniband"
TRACING = "/sys/kernel/tracing"
KNOBS = "/sys/kernel/debug/sroce"
TRAINREF = "/sys/kernel/debug/trainref/run"
TCPREF = "/sys/kernel/debug/tcpref/run"
KVERBS = "/sys/kernel/debug/kverbs/run"
SKB_MAKERS = ("__alloc_skb", "napi_build_skb", "build_skb", "skb_clone")
MODULES = os.environ["MODULES"]
PROGRAMS = os.path.join(MODULES, "bench")


def run(*words, check=True, timeout=30):
    return subprocess.run(words, check=check, timeout=timeout, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def in_ns(end, *words):
    return ("ip", "netns", "exec", end, *words)


def emit(item, **fields):
    print("@" + json.dumps({"id": item["id"], **fields}), flush=True)


def make_net():
    for module in ("udp_tunnel", "ip6_udp_tunnel", "ib_core", "ib_uverbs",
                   "rdma_ucm", "veth"):
        run("modprobe", "-q", module, check=False)
    for end in "ab":
        run("ip", "netns", "add", end)
    run("ip", "link", "add", "va", "mtu", "4200", "netns", "a", "type", "veth",
        "peer", "name", "vb", "mtu", "4200", "netns", "b")
    for end in "ab":
        run("ip", "-n", end, "addr", "add", V4[end] + "/24", "dev", "v" + end)
        run("ip", "-n", end, "link", "set", "lo", "up")
        run("ip", "-n", end, "link", "set", "v" + end, "up")


def idle_seconds():
    with open("/proc/stat", encoding="ascii") as f:
        fields = f.readline().split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def gid_index(dev):
    for i in range(8):
        try:
            with open(f"{IB}/{dev}/ports/1/gids/{i}", encoding="ascii") as f:
                if "ffff:0a4d:" in f.read():
                    return i
        except OSError:
            pass
    return None


def wait_for(what, test):
    for _ in range(500):
        if test():
            return
        time.sleep(0.02)
    raise RuntimeError("waited in vain for " + what)


def set_rps(masks):
    """Which CPUs receive at each end, as "A:B" in hex; nothing for the one that
    sent."""
    for end, mask in zip("ab", (masks or "0:0").split(":")):
        # the sysfs of the namespace is what "ip netns exec" mounts
        run(*in_ns(end, "sh", "-c", f"echo {mask} >/sys/class/net/v{end}/"
                   "queues/rx-0/rps_cpus"), check=bool(masks))


class Pair:
    """The devices there are now, and the way to other ones."""

    def __init__(self):
        self.now = None
        self.rps = None
        self.loaded = set()

    def load(self, kind):
        if kind in self.loaded:
            return
        if kind == "rxe":
            run("modprobe", "rdma_rxe")
        else:
            where = (f"{PROGRAMS}/siw/siw.ko" if kind == "siw" else
                     next(iter(glob.glob(MODULES + "/**/sroce.ko",
                                         recursive=True))))
            if kind == "siw":
                run("modprobe", "-q", "iw_cm", check=False)
            run("insmod", where)
        self.loaded.add(kind)

    def drop(self):
        if self.now:
            for dev in DEV.values():
                run("rdma", "link", "delete", dev, check=False)
            wait_for("devices to go", lambda: not any(
                os.path.exists(f"{IB}/{d}") for d in DEV.values()))
        self.now = None

    def want(self, a, b, knobs, rps):
        if rps != self.rps:
            set_rps(rps)
            self.rps = rps
        wanted = (a, b, tuple(sorted(knobs.items())))
        if self.now == wanted:
            return
        self.drop()
        self.now = wanted
        for end, kind in (("a", a), ("b", b)):
            self.load(kind)
            run(*in_ns(end, "rdma", "link", "add", DEV[end], "type", kind,
                       "netdev", "v" + end))
        for dev in DEV.values():
            if a != "siw":
                wait_for("GIDs", lambda: gid_index(dev) is not None)
            for knob, value in knobs.items():
                if os.path.isdir(f"{KNOBS}/{dev}"):
                    with open(f"{KNOBS}/{dev}/{knob}", "w",
                              encoding="ascii") as f:
                        f.write(value)


# ---- kinds of measurement ---------------------------------------------------

def speed_words(items):
    return [f"{PROGRAMS}/speed", *DEV.values(), *(i["spec"] for i in items)]


def measure_speed(items):
    """Cases of one pair of devices, in one process as long as none fails.

    A case that failed is tried once more: under load the other driver gives up
    now and then.
    """
    tried = set()
    while items:
        with subprocess.Popen(speed_words(items), text=True,
                              stdout=subprocess.PIPE) as process:
            why = ""
            for line in process.stdout:
                if line.startswith("{"):
                    emit(items.pop(0), **json.loads(line))
                else:
                    why = line.strip()
        if not items:
            return
        if items[0]["id"] in tried:
            emit(items.pop(0), failed=why or f"status {process.returncode}")
        else:
            tried.add(items[0]["id"])


def counters():
    total = {}
    for name in ("sent_trains", "sent_pkts"):
        for dev in DEV.values():
            try:
                with open(f"{IB}/{dev}/ports/1/hw_counters/{name}",
                          encoding="ascii") as f:
                    total[name] = total.get(name, 0) + int(f.read())
            except OSError:
                pass
    return total


def write_file(path, text, append=False):
    with open(path, "a" if append else "w", encoding="ascii") as f:
        f.write(text)


def measure_count(item):
    """Events per message: skbs made, trains and frames sent."""
    events = f"{TRACING}/kprobe_events"
    have = os.path.exists(events)
    if have:
        write_file(events, "".join(f"p:bench/{f} {f}\n" for f in SKB_MAKERS))
        write_file(f"{TRACING}/events/bench/enable", "1")
    before = counters()
    try:
        done = json.loads(run(*speed_words([item])).stdout)
    finally:
        skbs = None
        if have:
            write_file(f"{TRACING}/events/bench/enable", "0")
            with open(f"{TRACING}/kprobe_profile", encoding="ascii") as f:
                skbs = sum(int(line.split()[1]) for line in f)
            write_file(events, "")
    n = done["all_messages"]
    after = counters()
    emit(item, messages=n, skbs=skbs,
         **{k: after[k] - before.get(k, 0) for k in after})


def measure_tcp(item):
    with subprocess.Popen(in_ns("b", "iperf3", "-s", "-1"),
                          stdout=subprocess.DEVNULL) as server:
        try:
            wait_for("iperf3", lambda: run(
                *in_ns("b", "ss", "-Hltn", "sport = :5201")).stdout)
            idle, start = idle_seconds(), time.monotonic()
            text = run(*in_ns("a", "iperf3", "-c", V4["b"], "-J", "-t",
                              str(item["seconds"]))).stdout
            idle = idle_seconds() - idle
            spent = (time.monotonic() - start) * os.cpu_count() - idle
        finally:
            server.terminate()
    got = json.loads(text)["end"]["sum_received"]
    emit(item, seconds=got["seconds"], bytes=got["bytes"], busy=spent)


def load_ours(name, path):
    if not os.path.exists(path):
        run("insmod", f"{PROGRAMS}/{name}/{name}.ko")


def write_in(end, path, text):
    """As "ip netns exec", which would hide debugfs behind a sysfs of its own."""
    run("nsenter", f"--net=/run/netns/{end}", "sh", "-c",
        f"echo {text} >{path}")


def measure_tcpref(item):
    load_ours("tcpref", TCPREF)
    write_in("b", TCPREF, "listen")
    write_in("a", TCPREF, f"{V4['b']} {item['ms']}")
    with open(TCPREF, encoding="ascii") as f:
        size, ns, busy = map(int, f.read().split())
    emit(item, bytes=size, seconds=ns / 1e9, busy=busy / 1e9)


def measure_trainref(item):
    load_ours("trainref", TRAINREF)
    write_in("a", TRAINREF, f"{V4['a']} {V4['b']} {item['payload']} "
             f"{item['frames']} {item['ms']}")
    with open(TRAINREF, encoding="ascii") as f:
        frames, size, ns, busy, bad = map(int, f.read().split())
    if bad:
        emit(item, failed=f"{bad} frames wrong or lost")
    else:
        emit(item, frames=frames, bytes=size, seconds=ns / 1e9,
             busy=busy / 1e9)


def kverbs_once(item):
    """The spec is that of the program; the module takes its words."""
    words = item["spec"].split(",")[1:]
    size = next((int(w[5:]) for w in words if w.startswith("size=")), 65536)
    write_file(KVERBS, " ".join([*DEV.values(), *words]))
    with open(KVERBS, encoding="ascii") as f:
        done, ns, busy, everything = map(int, f.read().split())
    emit(item, messages=done, bytes=done * size, seconds=ns / 1e9,
         busy=busy / 1e9, all_messages=everything)


def measure_kverbs(item):
    """Traffic of kernel verbs; as in user space a failure is tried again."""
    load_ours("kverbs", KVERBS)
    try:
        kverbs_once(item)
    except OSError:
        kverbs_once(item)


def measure_perftest(item):
    """Someone else's program as a check of our own; -R where siw needs it."""
    words = [item["tool"], "-F", "-D", str(item["seconds"]), "-f", "0",
             *item["args"]]

    def side(end):
        dev = DEV[end]
        if item["a"] == "siw":
            # siw takes the TCP port once per device, so name the device
            return in_ns(end, *words, "-d", dev, "-R", "--bind_source_ip",
                         V4[end])
        return in_ns(end, *words, "-d", dev, "-x", str(gid_index(dev)))

    with subprocess.Popen(side("b"), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(item["tool"], lambda: server.poll() is not None or run(
                *in_ns("b", "ss", "-Hltn", "sport = :18515")).stdout or
                     item["a"] == "siw" and time.sleep(1) is None)
            got = run(*side("a"), V4["b"], check=False)
            text = got.stdout
        finally:
            server.terminate()
    found = re.search(r"^ #bytes.*\n(.*)", text, re.M)
    if not found:
        emit(item, failed=((got.stderr + text).strip() or "no output")[:300])
        return
    v = [float(x) for x in found.group(1).split()]
    if not v[3]:
        emit(item, failed="perftest reports nothing")
        return
    emit(item, mib=v[3], mpps=v[4] if len(v) > 4 else 0)


def measure_hot(item):
    """A profile of the program's run, or of one by kernel verbs."""
    words = speed_words([item])
    if item["kernel"]:
        load_ours("kverbs", KVERBS)
        spec = " ".join([*DEV.values(), *item["spec"].split(",")[1:]])
        words = ["sh", "-c", f"echo {spec} >{KVERBS}"]
    emit(item, profile=run(f"{PROGRAMS}/hot", "45", *words).stderr)


MEASURE = {"count": measure_count, "tcp": measure_tcp, "hot": measure_hot,
           "trainref": measure_trainref, "perftest": measure_perftest,
           "kverbs": measure_kverbs, "tcpref": measure_tcpref}


def batches(plan):
    """Neighbours of kind speed with the same devices go together."""
    group, key = [], None
    for item in plan:
        k = (item["kind"], item.get("a"), item.get("b"),
             str(item.get("knobs")), item.get("rps"))
        if k != key or item["kind"] != "speed":
            if group:
                yield group
            group = []
        group.append(item)
        key = k
    if group:
        yield group


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        plan = json.load(f)
    make_net()
    with open("/proc/cpuinfo", encoding="ascii") as f:
        model = re.search(r"^model name\s*: (.*)", f.read(), re.M)
    print("@" + json.dumps({
        "id": "machine", "kernel": os.uname().release,
        "cpus": os.cpu_count(), "cpu": model.group(1) if model else "?",
    }), flush=True)
    pair = Pair()
    for group in batches(plan):
        item = group[0]
        try:
            if item.get("a"):
                pair.want(item["a"], item["b"], item.get("knobs", {}),
                          item.get("rps"))
            if item["kind"] == "speed":
                measure_speed(group)
            else:
                MEASURE[item["kind"]](item)
        except (subprocess.SubprocessError, OSError, RuntimeError,
                ValueError, StopIteration) as why:
            detail = getattr(why, "stderr", "") or ""
            for item in group:
                emit(item, failed=f"{type(why).__name__}: {why} {detail}"[:300])
    pair.drop()


if __name__ == "__main__":
    main()
