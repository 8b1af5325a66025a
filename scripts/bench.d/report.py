# SPDX-License-Identifier: GPL-2.0
"""From single measurements to medians, ratios, tables and files."""

import json
import os
import re
import statistics

import cases as C
import plot

DRIVERS = ("sroce", "rxe")
MARKS = (".. bench: begin\n", ".. bench: end\n")


def value_of(result, case):
    """(figure, unit) of one measurement, or None."""
    if "mib" in result:
        if "pt-write-8/" in result["id"]:
            return result["mpps"] * 1e3, C.KMSG
        return result["mib"] * 1.048576, C.MB
    if not result.get("seconds"):
        return None
    if case and case.unit == C.US and "us" in result:
        return result["us"], C.US
    if case and case.unit != C.MB:
        return result["messages"] / result["seconds"] / 1e3, C.KMSG
    return result["bytes"] / result["seconds"] / 1e6, C.MB


def cost_of(result, case):
    """Processor time: ns per KB, or µs per message where size is not it."""
    if not result.get("busy") or not result.get("bytes"):
        return None
    if case and case.unit != C.MB:
        return result["busy"] / result["messages"] * 1e6
    return result["busy"] / result["bytes"] * 1e9 * 1024


def summary(values):
    values = sorted(v for v in values if v is not None)
    if not values:
        return None
    return {"median": statistics.median(values), "min": values[0],
            "max": values[-1], "runs": len(values)}


class Table:
    """Summaries by machine, case and variant."""

    def __init__(self, got):
        self.runs = {}
        for key, result in got.items():
            parts = key.split("/")
            if len(parts) == 4 and "failed" not in result:
                self.runs.setdefault(tuple(parts[:3]), []).append(result)

    def of(self, machine, case, variant, figure):
        runs = self.runs.get((machine, case, variant), [])
        return summary(figure(r, C.BY_NAME.get(case)) for r in runs)

    def value(self, machine, case, variant):
        return self.of(machine, case, variant, lambda r, c:
                       (value_of(r, c) or (None,))[0])

    def cost(self, machine, case, variant):
        return self.of(machine, case, variant, cost_of)

    def extra(self, machine, case, variant, field):
        s = self.of(machine, case, variant, lambda r, c:
                    r[field] / r["messages"]
                    if r.get(field) is not None and r.get("messages")
                    else None)
        return s and s["median"]


def better(unit, ours, theirs):
    """How many times better, more is better whatever the unit."""
    if not ours or not theirs or not ours["median"] or not theirs["median"]:
        return None
    r = ours["median"] / theirs["median"]
    return 1 / r if unit == C.US else r


def met(ratio, target):
    if ratio is None or target is None:
        return None
    return "met" if ratio >= target else "missed"


# Where a case's processor time comes from: machine, suffix of the variant.
COSTS = {"guest_cpu": ("qemu", ""), "uml_cpu": ("uml", " kernel"),
         "uml_user_cpu": ("uml", ""), "insn": ("insn", " kernel"),
         "insn_user": ("insn", "")}


def case_data(t, case):
    d = {"text": case.text, "unit": case.unit, "target": case.wall,
         "cpu_target": case.cpu, "switches": {}, "skbs": {}}
    for driver in DRIVERS:
        d[driver] = t.value("qemu", case.name, driver)
        d["switches"][driver] = t.extra("qemu", case.name, driver, "switches")
        d["skbs"][driver] = t.extra("qemu", case.name, driver + " counts",
                                    "skbs")
    for name, (machine, suffix) in COSTS.items():
        ours, theirs = (t.cost(machine, case.name, x + suffix)
                        for x in DRIVERS)
        d[name] = {"sroce": ours, "rxe": theirs,
                   "ratio": better(C.US, ours, theirs)}
    d["frames"] = t.extra("qemu", case.name, "sroce counts", "sent_pkts")
    d["trains"] = t.extra("qemu", case.name, "sroce counts", "sent_trains")
    d["ratio"] = better(case.unit, d["sroce"], d["rxe"])
    d["met"] = met(d["ratio"], case.wall)
    d["cpu_ratio"] = d["uml_cpu"]["ratio"]
    d["cpu_met"] = met(d["cpu_ratio"], case.cpu)
    d["nozero"] = {x: t.value("nozero", case.name, x) for x in DRIVERS}
    d["nozero_ratio"] = better(case.unit, *d["nozero"].values())
    return d


def yardsticks(t):
    """The one case held against TCP and against the bare train."""
    y = {}
    for machine in ("qemu", "uml", "insn"):
        suffix = "" if machine == "qemu" else " kernel"
        ours = t.value(machine, C.YARDSTICK, "sroce" + suffix)
        tcp = t.value(machine, "tcp", "tcp")
        cost = t.cost(machine, C.YARDSTICK, "sroce" + suffix)
        y[machine] = {
            "sroce": ours, "tcp": tcp, "to_tcp": better(C.MB, ours, tcp),
            "rxe": t.value(machine, C.YARDSTICK, "rxe" + suffix),
            "cost": cost, "tcp_cost": t.cost(machine, "tcp", "tcp"),
            "cost_to_tcp": better(C.US, cost, t.cost(machine, "tcp", "tcp")),
        }
        for payload, name in ((4096, "write-1m"), (1024, "write-1m-1024")):
            bound = t.value(machine, f"bound-{payload}", "bound")
            cost = t.cost(machine, f"bound-{payload}", "bound")
            y[machine][f"bound_{payload}"] = bound
            y[machine][f"bound_{payload}_cost"] = cost
            y[machine][f"of_bound_{payload}"] = better(
                C.MB, t.value(machine, name, "sroce"), bound) \
                if machine == "qemu" else better(
                    C.US, t.cost(machine, name, "sroce" + suffix), cost)
    return y


def figure_of(t, machine, name, variant):
    """(figure, unit) to compare variants by: speed in QEMU, elsewhere cost."""
    if machine == "qemu":
        return t.value(machine, name, variant), C.BY_NAME[name].unit
    cost = t.cost(machine, name, variant + " kernel")
    return cost, "ns/KB" if C.BY_NAME[name].unit == C.MB else "us/msg"


def compare(unit, ours, theirs):
    return better(unit if unit in (C.MB, C.KMSG) else C.US, ours, theirs)


def ablation(t):
    """Each mechanism off; without trains nothing may be slower than rxe."""
    rows = {}
    for machine in ("qemu", "uml", "insn"):
        for case in C.CASES:
            row = {k: figure_of(t, machine, case.name, k)[0] for k in C.KNOBS}
            if not any(row.values()):
                continue
            row["all"], unit = figure_of(t, machine, case.name, "sroce")
            row["rxe"], _ = figure_of(t, machine, case.name, "rxe")
            row["ratio"] = compare(unit, row[C.NO_TRAINS], row["rxe"])
            row["met"] = met(row["ratio"], 1)
            rows.setdefault(machine, {})[case.name] = {"unit": unit, **row}
    return rows


def mixed(t):
    """One end of each kind: no slower than two of rxe."""
    rows = {}
    both, *ends = (f"{a} to {b}" for a, b in C.MIXED_ENDS)
    for machine in ("qemu", "uml"):
        for name in C.MIXED:
            base, unit = figure_of(t, machine, name, both)
            row = {"unit": unit, both: base}
            for v in ends:
                row[v] = figure_of(t, machine, name, v)[0]
                row[v + " ratio"] = compare(unit, row[v], base)
                row[v + " met"] = met(row[v + " ratio"], 1)
            if row[ends[0]]:
                rows.setdefault(machine, {})[name] = row
    return rows


def host_cpu():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        model = re.search(r"^model name\s*: (.*)", f.read(), re.M)
    return {"cpus": os.cpu_count(), "cpu": model.group(1) if model else "?"}


def collect(got, wanted):
    t = Table(got)
    data = {
        "host": host_cpu(),
        "machines": {k.split("/")[0]: v for k, v in got.items()
                     if k.endswith("/machine")},
        "cases": {c.name: case_data(t, c) for c in C.CASES
                  if c.name in wanted},
        "yardsticks": yardsticks(t), "ablation": ablation(t),
        "mixed": mixed(t),
        "perftest": {n: {"unit": unit, **{d: t.value("qemu", n, d)
                                          for d in ("sroce", "rxe", "siw")}}
                     for n, unit, _, _ in C.PERFTEST},
        "failed": {k: v["failed"] for k, v in got.items() if "failed" in v},
    }
    data["table"] = table_rows(data)
    return data


# ---- text -------------------------------------------------------------------

def num(v, times=""):
    if isinstance(v, dict):
        v = v["median"]
    if v is None:
        return "-"
    if abs(v) >= 1000:
        return f"{v:.0f}{times}"
    return (f"{v:.3g}" if abs(v) < 100 else f"{v:.0f}") + times


def spread(s):
    if not s or not s["median"]:
        return "-"
    return f"{100 * (s['max'] - s['min']) / s['median'] / 2:.0f}%"


def table_row(name, unit, ours, theirs, **more):
    row = {"case": name, "unit": unit}
    for who, figure in (("sroce", ours), ("rxe", theirs)):
        row[who + " median"] = figure and figure["median"]
        row[who + " spread"] = spread(figure)
    return {**row, **more}


def table_rows(data):
    """What is held against targets; also in bench.json."""
    rows = []
    for name, d in data["cases"].items():
        rows.append(table_row(
            name, d["unit"], d["sroce"], d["rxe"], ratio=d["ratio"],
            target=d["target"], met=d["met"], **{
                "CPU ratio": d["cpu_ratio"], "CPU target": d["cpu_target"],
                "CPU met": d["cpu_met"]}))
    q, u = data["yardsticks"]["qemu"], data["yardsticks"]["uml"]
    if q["to_tcp"] or u["cost_to_tcp"]:
        rows.append(table_row(
            "write-1m to TCP", C.MB, q["sroce"], q["tcp"], ratio=q["to_tcp"],
            target=C.TCP_WALL, met=met(q["to_tcp"], C.TCP_WALL), **{
                "CPU ratio": u["cost_to_tcp"], "CPU target": 1 / C.TCP_CPU,
                "CPU met": met(u["cost_to_tcp"], 1 / C.TCP_CPU)}))
    if q["of_bound_4096"] or u["of_bound_4096"]:
        rows.append(table_row(
            "write-1m to bare train", C.MB, q["sroce"], q["bound_4096"],
            ratio=q["of_bound_4096"], target=C.BOUND,
            met=met(q["of_bound_4096"], C.BOUND), **{
                "CPU ratio": u["of_bound_4096"], "CPU target": C.BOUND,
                "CPU met": met(u["of_bound_4096"], C.BOUND)}))
    return rows


def layout(head, rows):
    rows = [head] + rows
    width = [max(len(r[i]) for r in rows) for i in range(len(head))]
    lines = []
    for r in rows:
        lines.append("  ".join(
            c.ljust(w) if not i else c.rjust(w)
            for i, (c, w) in enumerate(zip(r, width))).rstrip())
    lines.insert(1, "  ".join("-" * w for w in width))
    return "\n".join(lines)


def main_table(data):
    return layout(
        ["case", "unit", "sroce", "+-", "rxe", "+-", "ratio", "target", "",
         "CPU ratio", "target", ""],
        [[r["case"], r["unit"], num(r["sroce median"]), r["sroce spread"],
          num(r["rxe median"]), r["rxe spread"], num(r["ratio"], "x"),
          num(r["target"]), r["met"] or "", num(r["CPU ratio"], "x"),
          num(r["CPU target"]), r["CPU met"] or ""] for r in data["table"]])


def cost_cells(d, name, scale=1):
    return [num(d[name][x] and d[name][x]["median"] * scale)
            for x in DRIVERS] + [num(d[name]["ratio"], "x")]


def cost_table(data):
    """Processor time of the drivers by kernel verbs, and of whole machines."""
    rows = []
    for name, d in data["cases"].items():
        if not any(d[k]["sroce"] for k in COSTS):
            continue
        rows.append([name, "ns/KB" if d["unit"] == C.MB else "us/msg"] + [
            c for k in ("uml_cpu", "uml_user_cpu", "guest_cpu")
            for c in cost_cells(d, k)])
    return layout(["case", "CPU", "UML kernel sroce", "rxe", "ratio",
                   "UML user sroce", "rxe", "ratio", "QEMU user sroce", "rxe",
                   "ratio"], rows)


def insn_table(data):
    """Instructions; one of them is a nanosecond in that machine."""
    rows = []
    for name, d in data["cases"].items():
        bulk = d["unit"] == C.MB
        if d["insn"]["sroce"] or d["insn_user"]["sroce"]:
            rows.append([name, "KB" if bulk else "message"] + [
                c for k in ("insn", "insn_user")
                for c in cost_cells(d, k, 1 if bulk else 1000)])
    return layout(["case", "per", "kernel sroce", "rxe", "ratio", "user sroce",
                   "rxe", "ratio"], rows)


def event_table(data):
    rows = [[name, *(num(d[k][x]) for k in ("skbs", "switches")
                     for x in DRIVERS), num(d["trains"]), num(d["frames"]),
             num(d["nozero_ratio"], "x")]
            for name, d in data["cases"].items() if d["sroce"]]
    return layout(["case", "skbs sroce", "rxe", "switches sroce", "rxe",
                   "trains", "frames", "no zeroing"], rows)


def ablation_table(rows):
    return layout(
        ["case", "unit", "sroce", *C.KNOBS, "rxe", "no trains/rxe", ""],
        [[n, r["unit"], num(r["all"]), *(num(r[k]) for k in C.KNOBS),
          num(r["rxe"]), num(r["ratio"], "x"), r["met"] or ""]
         for n, r in rows.items()])


def mixed_table(rows):
    both, *ends = (f"{a} to {b}" for a, b in C.MIXED_ENDS)
    return layout(
        ["case", "unit", both, "+-", *(h for v in ends
                                       for h in (v, "+-", "ratio", ""))],
        [[n, r["unit"], num(r[both]), spread(r[both]), *(
            c for v in ends for c in
            (num(r[v]), spread(r[v]), num(r[v + " ratio"], "x"),
             r[v + " met"] or ""))] for n, r in rows.items()])


MACHINE_NAMES = {"qemu": "user space, clock, QEMU",
                 "uml": "kernel verbs, processor time, User-Mode Linux",
                 "insn": "kernel verbs, 1 instruction = 1 ns"}


def text(data):
    out = []

    def table(title, body):
        out.extend(["", title, "", body])

    cases = data["cases"].values()
    if any(d["sroce"] or d["cpu_ratio"] for d in cases):
        table("sroce beside rdma_rxe; medians and half the spread; ratio on "
              "the clock in QEMU,\nCPU ratio by kernel verbs in User-Mode "
              "Linux; more is better; the last rows hold\nWRITE 1 MB against "
              "one TCP stream and the bare train instead of rxe",
              main_table(data))
    if any(d["guest_cpu"]["sroce"] or d["uml_cpu"]["sroce"] for d in cases):
        table("Processor time: kernel verbs in User-Mode Linux, user space "
              "there, user space in QEMU", cost_table(data))
    if any(d["insn"]["sroce"] or d["insn_user"]["sroce"] for d in cases):
        table("Instructions: kernel verbs, user space", insn_table(data))
    if any(d["switches"]["sroce"] for d in cases):
        table("Per message in QEMU: allocations, context switches, trains; "
              "ratio with init_on_alloc=0", event_table(data))
    for machine, rows in data["ablation"].items():
        table("What each mechanism brings: one switched off "
              f"({MACHINE_NAMES[machine]})", ablation_table(rows))
    for machine, rows in data["mixed"].items():
        table(f"Mixed pairs ({MACHINE_NAMES[machine]})", mixed_table(rows))
    if any(v["sroce"] for v in data["perftest"].values()):
        table("perftest, with siw as a second peer", layout(
            ["case", "unit", "sroce", "rxe", "siw"],
            [[n, v["unit"], num(v["sroce"]), num(v["rxe"]), num(v["siw"])]
             for n, v in data["perftest"].items()]))
    out += ["", yard_text(data)]
    for key, why in data["failed"].items():
        out.append(f"failed: {key}: {why}")
    return "\n".join(out) + "\n"


def yard_text(data):
    """The yardsticks of each machine, and how near WRITE 1 MB comes to them."""
    rows = []
    for machine, y in data["yardsticks"].items():
        if not y["bound_4096"]:
            continue
        rows.append([machine, num(y["tcp"]), num(y["tcp_cost"])] + [
            c for p in (4096, 1024) for c in
            (num(y[f"bound_{p}"]), num(y[f"bound_{p}_cost"]),
             num(y[f"of_bound_{p}"]))])
    return "\n".join(["", "Yardsticks: one TCP stream; the bare train, and how "
                      "much of it WRITE 1 MB reaches", "", layout(
                          ["machine", "TCP MB/s", "ns/KB", "train 4096 MB/s",
                           "ns/KB", "reached", "1024 MB/s", "ns/KB",
                           "reached"], rows)]) if rows else ""


def machine_text(data):
    """One line for the host, one for each machine."""
    host = data["host"]
    return [f"host: {host['cpus']} CPUs, {host['cpu']}"] + [
        f"{k}: Linux {m['kernel']}, {m['cpus']} CPUs, {m['cpu']}"
        for k, m in data["machines"].items()]


# ---- files ------------------------------------------------------------------

def write_doc(path, body):
    with open(path, encoding="utf-8") as f:
        doc = f.read()
    block = "".join("   " + line + "\n" if line else "\n"
                    for line in body.splitlines())
    pattern = re.escape(MARKS[0]) + ".*" + re.escape(MARKS[1])
    doc = re.sub(pattern, lambda m: MARKS[0] + "\n::\n\n" + block.strip("\n") +
                 "\n\n" + MARKS[1], doc, flags=re.S)
    with open(path, "w", encoding="utf-8") as f:
        f.write(doc)


def write(src, data, body, publish):
    """Results to out/; after a complete run to Documentation/ as well."""
    where = [os.path.join(src, "out")]
    if publish:
        where.append(os.path.join(src, "Documentation", "figures"))
    for directory in where:
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "bench.json"), "w",
                  encoding="utf-8") as f:
            json.dump(data, f, indent=1)
            f.write("\n")
        plot.draw_all(directory, data, "; ".join(machine_text(data)))
    if publish:
        write_doc(os.path.join(src, "Documentation", "performance.rst"),
                  "\n".join(machine_text(data)) + "\n" + body)
