#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One experiment inside a machine whose time is simulated.

Reads what to build from the JSON in SROCE_T_SPEC, builds the network of
namespaces, runs sroce_flow and whatever goes on beside it, and leaves
/out/result.json: what each flow carried in each tick, samples of each queue,
counters.  Nothing here spins: time passes only while everybody sleeps.

Hosts are namespaces with one veth to a switch; switches are namespaces with a
bridge.  A host's line rate and the path's delay are netem on its own veth; a
switch port has htb with RED under it.  A spine-leaf network has routers in
place of switches, with ECMP on the 5-tuple.

Neighbours are permanent entries and IPv6 is off: RED drops what it cannot
mark, and ARP among it would be counted as drops.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

SPEC = json.loads(os.environ["SROCE_T_SPEC"])
MTU = 4300
FLOW = "/lab/build/tests/sroce_flow"
CC = "/sys/kernel/debug/sroce/%s/cc_params/%s"


def run(command, check=True):
    done = subprocess.run(command, shell=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if check and done.returncode:
        print("# failed: %s: %s" % (command, done.stdout))
        sys.exit(1)
    return done.stdout


def number(host):
    return 1 + list(SPEC["hosts"]).index(host)


def address(host):
    if SPEC["spines"]:
        return "10.0.%d.2" % number(host)
    return "10.0.0.%d" % number(host)


def mac(n):
    """Of host or router interface number n."""
    return "02:00:00:00:%02x:%02x" % (n >> 8, n & 255)


def quiet(ns):
    run("ip netns exec %s sysctl -qw net.ipv6.conf.all.disable_ipv6=1 "
        "net.ipv6.conf.default.disable_ipv6=1" % ns, check=False)


def load():
    for module in ("udp_tunnel", "ip6_udp_tunnel", "ib_core", "ib_uverbs",
                   "veth", "sch_netem", "sch_htb", "sch_red", "bridge"):
        run("modprobe -q " + module, check=False)
    if SPEC["driver"] == "rxe":
        run("modprobe rdma_rxe")
    else:
        run("insmod $(find $MODULES -name sroce.ko | head -n 1)")
    run("mountpoint -q /sys/kernel/debug || "
        "mount -t debugfs none /sys/kernel/debug")


def queue(ns, dev, port):
    """The queue of a switch port: htb for the rate, RED for the marks."""
    rate = "%dmbit" % port["mbit"]
    # red: of its EWMA while the queue is empty; at most 32 bits of bytes/s
    limit = "%dmbit" % min(port["mbit"], 30000)
    burst = max(8000, port["mbit"] * 2)
    tc = "ip netns exec %s tc " % ns
    run(tc + "qdisc replace dev %s root handle 1: htb default 10" % dev)
    run(tc + "class add dev %s parent 1: classid 1:10 htb rate %s ceil %s "
        "burst %d cburst %d quantum 8000" % (dev, rate, rate, burst, burst))
    if port.get("tail"):
        run(tc + "qdisc add dev %s parent 1:10 handle 10: bfifo limit %d" %
            (dev, port["limit"]))
        return
    run(tc + "qdisc add dev %s parent 1:10 handle 10: red limit %d min %d "
        "max %d avpkt 1000 burst %d probability %s bandwidth %s ecn" %
        (dev, port["limit"], port["kmin"], port["kmax"],
         port["kmin"] // 1000 + 1, port["pmax"], limit))


def veth(one, dev, other, peer, macs):
    run("ip link add %s netns %s mtu %d address %s type veth "
        "peer name %s netns %s mtu %d address %s" %
        (dev, one, MTU, mac(macs[0]), peer, other, MTU, mac(macs[1])))
    run("ip -n %s link set %s up; ip -n %s link set %s up" %
        (one, dev, other, peer))


def neighbour(ns, dev, ip, n):
    run("ip -n %s neigh replace %s lladdr %s dev %s nud permanent" %
        (ns, ip, mac(n), dev))


def host_side(host):
    run("ip -n %s link set lo up" % host)
    if not SPEC["whole_trains"]:
        run("ip netns exec %s ethtool -K e0 tx-gso-list off" % host)
    netem(host, "")


def spine_leaf():
    """Hosts at leaf routers, every leaf at every spine; /30 between routers."""
    leaves = sorted(set(SPEC["hosts"].values()))
    for router in leaves + SPEC["spines"]:
        run("ip netns add " + router)
        quiet(router)
        run("ip netns exec %s sysctl -qw net.ipv4.ip_forward=1 "
            "net.ipv4.fib_multipath_hash_policy=1" % router)
        run("ip netns exec %s sysctl -qw net.ipv4.fib_multipath_hash_seed=%d" %
            (router, 17 + (leaves + SPEC["spines"]).index(router)),
            check=False)
    for host, leaf in SPEC["hosts"].items():
        n = number(host)
        run("ip netns add " + host)
        quiet(host)
        veth(host, "e0", leaf, "p-" + host, (n, 256 + n))
        run("ip -n %s addr add 10.0.%d.2/24 dev e0" % (host, n))
        run("ip -n %s addr add 10.0.%d.1/24 dev p-%s" % (leaf, n, host))
        run("ip -n %s route add default via 10.0.%d.1" % (host, n))
        neighbour(host, "e0", "10.0.%d.1" % n, 256 + n)
        neighbour(leaf, "p-" + host, "10.0.%d.2" % n, n)
        host_side(host)
    for i, leaf in enumerate(leaves):
        hops = ""
        for k, spine in enumerate(SPEC["spines"]):
            n = i * len(SPEC["spines"]) + k
            veth(leaf, "t-" + spine, spine, "t-" + leaf, (512 + n, 768 + n))
            run("ip -n %s addr add 10.1.%d.1/30 dev t-%s" % (leaf, n, spine))
            run("ip -n %s addr add 10.1.%d.2/30 dev t-%s" % (spine, n, leaf))
            neighbour(leaf, "t-" + spine, "10.1.%d.2" % n, 768 + n)
            neighbour(spine, "t-" + leaf, "10.1.%d.1" % n, 512 + n)
            for host, at in SPEC["hosts"].items():
                if at == leaf:
                    run("ip -n %s route add 10.0.%d.0/24 via 10.1.%d.1" %
                        (spine, number(host), n))
            hops += " nexthop via 10.1.%d.2" % n
        run("ip -n %s route add 10.0.0.0/16%s" % (leaf, hops))


def switched():
    for switch in SPEC["switches"]:
        run("ip netns add " + switch)
        quiet(switch)
        run("ip -n %s link add br0 type bridge mcast_snooping 0; "
            "ip -n %s link set br0 mtu %d up" % (switch, switch, MTU))
    for host, switch in SPEC["hosts"].items():
        run("ip netns add " + host)
        quiet(host)
        veth(host, "e0", switch, "p-" + host,
             (number(host), 256 + number(host)))
        run("ip -n %s link set p-%s master br0" % (switch, host))
        run("ip -n %s addr add %s/24 dev e0" % (host, address(host)))
        for other in SPEC["hosts"]:
            if other != host:
                neighbour(host, "e0", address(other), number(other))
        host_side(host)
    for i, (one, two) in enumerate(SPEC["trunks"]):
        veth(one, "t-" + two, two, "t-" + one, (512 + i, 768 + i))
        run("ip -n %s link set t-%s master br0; "
            "ip -n %s link set t-%s master br0" % (one, two, two, one))


def netem(host, more):
    run("ip netns exec %s tc qdisc replace dev e0 root netem limit 100000 "
        "delay %dus rate %dmbit %s" %
        (host, SPEC["delay_us"], SPEC["line_mbit"], more))


def build():
    if SPEC["spines"]:
        spine_leaf()
    else:
        switched()
    for name, port in SPEC["ports"].items():
        queue(*name.split(":"), port)
    for line in SPEC["commands"]:
        run(line)


def devices():
    for host in SPEC["hosts"]:
        run("ip netns exec %s rdma link add d_%s type %s netdev e0" %
            (host, host, SPEC["driver"]))
    time.sleep(1)
    # the switches learn where everybody is before anything is measured
    hosts = list(SPEC["hosts"])
    for host in hosts:
        run("ip netns exec %s ping -Q 2 -c 1 -W 2 %s" %
            (host, address(hosts[-1] if host != hosts[-1] else hosts[0])))
    for host, more in SPEC["netem"].items():
        netem(host, more)
    if SPEC["driver"] == "rxe":
        return
    for host in hosts:
        # the line first: what was not set by hand follows it
        knobs = {"line_rate": SPEC["line_mbit"] * 1000,
                 "enable": 1 if SPEC["cc"] else 0}
        knobs.update(SPEC["knobs"])
        for name, value in knobs.items():
            with open(CC % ("d_" + host, name), "w", encoding="ascii") as f:
                f.write("%s\n" % value)


def counters():
    found = {}
    for host in SPEC["hosts"]:
        folder = "/sys/class/infiniband/d_%s/ports/1/hw_counters/" % host
        for name in os.listdir(folder):
            if name == "lifespan":
                continue
            with open(folder + name, encoding="ascii") as f:
                found["%s.%s" % (host, name)] = int(f.read())
    return found


class Sampler(threading.Thread):
    """Looks at the queues of the switch ports every few ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.rows = []
        self.over = False

    def look(self):
        for ns in sorted({name.split(":")[0] for name in SPEC["ports"]}):
            text = run("ip netns exec %s tc -s -j qdisc show" % ns,
                       check=False)
            now = time.monotonic_ns()
            for q in json.loads(text):
                name = "%s:%s" % (ns, q["dev"])
                if name in SPEC["ports"] and q["kind"] in ("red", "bfifo"):
                    self.rows.append([now, name, q["backlog"],
                                      q.get("marked", 0), q["drops"],
                                      q["bytes"]])

    def run(self):
        while not self.over:
            self.look()
            time.sleep(SPEC["sample_ms"] / 1000)


def blast(spec):
    """UDP packets of 1200 bytes at so many Mbit/s, from one host to another."""
    code = (
        "import socket,time\n"
        "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n"
        "s.connect(('%s',9))\n"
        "end=time.monotonic()+%f\n"
        "n=max(1,int(%d*1e6*0.0005/8/1242))\n"
        "nxt=time.monotonic()\n"
        "while nxt<end:\n"
        "    for i in range(n):\n"
        "        try: s.send(b'x'*1200)\n"
        "        except OSError: pass\n"
        "    nxt+=0.0005\n"
        "    time.sleep(max(0,nxt-time.monotonic()))\n" %
        (address(spec["to"]), SPEC["ms"] / 1000, spec["mbit"]))
    return subprocess.Popen(["ip", "netns", "exec", spec["from"], "python3",
                             "-c", code])


def ping(spec):
    """ECN-capable, so that RED does not drop them in place of a mark.

    Its pauses are rounded up to the kernel's ticks: when an answer came is what
    it prints, not what its number is.
    """
    return subprocess.Popen(
        ["ip", "netns", "exec", spec["from"], "ping", "-D", "-Q", "2", "-i",
         "0.002", address(spec["to"])], stdout=subprocess.PIPE, text=True)


def answers(process, real_ns):
    """Ends a ping: time of each answer, ns, and what it took, ms.

    @real_ns: the real-time clock when the monotonic one was 0.
    """
    process.send_signal(signal.SIGINT)
    return [[int(float(line[1:].split("]")[0]) * 1e9) - real_ns,
             float(line.split("time=")[1].split()[0])]
            for line in process.communicate()[0].splitlines()
            if "time=" in line]


def main():
    load()
    build()
    devices()
    before = counters()
    real_ns = time.time_ns() - time.monotonic_ns()
    sampler = Sampler()
    sampler.start()
    beside = [blast(b) for b in SPEC["blast"]]
    pings = [ping(p) for p in SPEC["pings"]]
    done = subprocess.run(
        [FLOW, "-t", str(SPEC["ms"]), "-i", str(SPEC["tick_ms"]), "-o",
         "/tmp/flows.json"] + SPEC["flows"], text=True,
        stdout=subprocess.PIPE)
    print(done.stdout)
    sampler.over = True
    sampler.join()
    after = counters()
    result = {
        "counters": {k: after[k] - before.get(k, 0) for k in after},
        "queues": sampler.rows,
        "pings": [answers(p, real_ns) for p in pings],
        "status": done.returncode,
    }
    for b in beside:
        b.wait()
    with open("/tmp/flows.json", encoding="utf-8") as f:
        result.update(json.load(f))
    with open("/out/result.json", "w", encoding="utf-8") as f:
        json.dump(result, f)
    print("# done")


if __name__ == "__main__":
    main()
