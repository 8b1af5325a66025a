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
        return result["mib"] * 1.048576, C.MB
    if not result.get("seconds"):
        return None
    if case and case.unit == C.US:
        return (result["us"], C.US) if "us" in result else None
    if case and case.unit == C.KMSG:
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


def case_data(t, case):
    d = {"text": case.text, "unit": case.unit, "target": case.wall,
         "cpu_target": case.cpu, "switches": {}, "skbs": {}, "guest_cpu": {},
         "uml_cpu": {}, "insn": {}}
    for driver in DRIVERS:
        d[driver] = t.value("qemu", case.name, driver)
        for name, machine in (("guest_cpu", "qemu"), ("uml_cpu", "uml"),
                              ("insn", "insn")):
            d[name][driver] = t.cost(machine, case.name, driver)
        d["switches"][driver] = t.extra("qemu", case.name, driver, "switches")
        d["skbs"][driver] = t.extra("qemu", case.name, driver + " counts",
                                    "skbs")
    d["frames"] = t.extra("qemu", case.name, "sroce counts", "sent_pkts")
    d["trains"] = t.extra("qemu", case.name, "sroce counts", "sent_trains")
    d["ratio"] = better(case.unit, d["sroce"], d["rxe"])
    d["met"] = met(d["ratio"], case.wall)
    for name in ("guest_cpu", "uml_cpu", "insn"):
        d[name]["ratio"] = better(C.US, d[name]["sroce"], d[name]["rxe"])
    d["cpu_ratio"] = d["uml_cpu"]["ratio"]
    d["cpu_met"] = met(d["cpu_ratio"], case.cpu)
    d["nozero_ratio"] = better(case.unit, *(
        t.value("nozero", case.name, x) for x in DRIVERS))
    return d


def yardsticks(t):
    """The one case held against TCP and against the bare train."""
    y = {}
    for machine in ("qemu", "uml", "insn"):
        ours = t.value(machine, C.YARDSTICK, "sroce")
        tcp = t.value(machine, "tcp", "tcp")
        y[machine] = {
            "sroce": ours, "rxe": t.value(machine, C.YARDSTICK, "rxe"),
            "tcp": tcp, "to_tcp": better(C.MB, ours, tcp),
            "tcp_cost": t.cost(machine, "tcp", "tcp"),
            "cost_to_tcp": better(C.US, t.cost(machine, C.YARDSTICK, "sroce"),
                                  t.cost(machine, "tcp", "tcp")),
        }
        for payload, name in ((4096, "write-1m"), (1024, "write-1m-1024")):
            bound = t.value(machine, f"bound-{payload}", "bound")
            y[machine][f"bound_{payload}"] = bound
            y[machine][f"of_bound_{payload}"] = better(
                C.MB, t.value(machine, name, "sroce"), bound)
    return y


def ablation(t):
    rows = {}
    for machine in ("qemu", "uml", "insn"):
        for name in C.ABLATION:
            unit = C.BY_NAME[name].unit
            full = t.value(machine, name, "sroce")
            row = {"all": full, "rxe": t.value(machine, name, "rxe")}
            for knob in C.KNOBS:
                row[knob] = t.value(machine, name, knob)
            if any(row[k] for k in C.KNOBS):
                rows.setdefault(machine, {})[name] = {"unit": unit, **row}
    return rows


def mixed(t):
    rows = {}
    for name in C.MIXED:
        row = {"rxe to rxe": t.value("qemu", name, "rxe")}
        for v in ("sroce to rxe", "rxe to sroce"):
            row[v] = t.value("qemu", name, v)
        if row["sroce to rxe"]:
            rows[name] = {"unit": C.BY_NAME[name].unit, **row}
    return rows


def collect(got, wanted):
    t = Table(got)
    data = {
        "machines": {k.split("/")[0]: v for k, v in got.items()
                     if k.endswith("/machine")},
        "cases": {c.name: case_data(t, c) for c in C.CASES
                  if c.name in wanted},
        "yardsticks": yardsticks(t), "ablation": ablation(t),
        "mixed": mixed(t),
        "perftest": {n: {d: t.value("qemu", n, d)
                         for d in ("sroce", "rxe", "siw")}
                     for n, _, _ in C.PERFTEST},
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


def table_rows(data):
    rows = []
    for name, d in data["cases"].items():
        rows.append({
            "case": name, "unit": d["unit"], "sroce median": d["sroce"],
            "rxe median": d["rxe"], "ratio": d["ratio"],
            "target": d["target"], "met": d["met"],
            "CPU ratio": d["cpu_ratio"], "CPU target": d["cpu_target"],
            "CPU met": d["cpu_met"]})
    y = data["yardsticks"]
    if y["qemu"]["to_tcp"] or y["uml"]["cost_to_tcp"]:
        q = y["qemu"]
        rows.append({
            "case": "write-1m to TCP", "unit": C.MB, "sroce median":
            q["sroce"], "rxe median": q["tcp"], "ratio": q["to_tcp"],
            "target": C.TCP_WALL, "met": met(q["to_tcp"], C.TCP_WALL),
            "CPU ratio": y["uml"]["cost_to_tcp"], "CPU target": 1 / C.TCP_CPU,
            "CPU met": met(y["uml"]["cost_to_tcp"], 1 / C.TCP_CPU)})
        rows.append({
            "case": "write-1m to bare train", "unit": C.MB, "sroce median":
            q["sroce"], "rxe median": q["bound_4096"],
            "ratio": q["of_bound_4096"], "target": C.BOUND,
            "met": met(q["of_bound_4096"], C.BOUND),
            "CPU ratio": y["uml"]["of_bound_4096"], "CPU target": None,
            "CPU met": None})
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
        [[r["case"], r["unit"], num(r["sroce median"]),
          spread(r["sroce median"]), num(r["rxe median"]),
          spread(r["rxe median"]), num(r["ratio"], "x"), num(r["target"]),
          r["met"] or "", num(r["CPU ratio"], "x"), num(r["CPU target"]),
          r["CPU met"] or ""] for r in data["table"]])


def insn(d, driver):
    """Instructions per KB or per message: a nanosecond each in that machine."""
    cost = d["insn"][driver]
    scale = 1 if d["unit"] == C.MB else 1000
    return num(cost and cost["median"] * scale)


def cost_table(data):
    rows = []
    for name, d in data["cases"].items():
        unit = "ns/KB" if d["unit"] == C.MB else "us/msg"
        rows.append([name, unit] + [
            num(d[k][x], "x" if x == "ratio" else "")
            for k in ("guest_cpu", "uml_cpu") for x in
            ("sroce", "rxe", "ratio")] + [
            insn(d, "sroce"), insn(d, "rxe"), num(d["insn"]["ratio"], "x"),
            num(d["nozero_ratio"], "x"),
            num(d["skbs"]["sroce"]), num(d["skbs"]["rxe"]),
            num(d["trains"]), num(d["switches"]["sroce"]),
            num(d["switches"]["rxe"])])
    return layout(["case", "CPU", "QEMU sroce", "rxe", "ratio", "UML sroce",
                   "rxe", "ratio", "insn sroce", "rxe", "ratio",
                   "no zeroing", "skbs sroce", "rxe",
                   "trains", "switches sroce", "rxe"], rows)


def text(data):
    out = ["", "sroce beside rdma_rxe; medians, half the spread; ratio on the "
           "clock in QEMU, CPU", "ratio in User-Mode Linux; more is better; "
           "the last rows hold WRITE 1 MB against", "one TCP stream and the "
           "bare train instead of rxe. insn: instructions per KB or message;",
           "a second there is 10^9 of them.", "", main_table(data), "",
           "Processor time, allocations and context switches per message",
           "", cost_table(data)]
    for machine, rows in data["ablation"].items():
        out += ["", f"What each mechanism brings ({machine})", "", layout(
            ["case", "unit", "sroce", *C.KNOBS, "rxe"],
            [[n, r["unit"], num(r["all"]), *(num(r[k]) for k in C.KNOBS),
              num(r["rxe"])] for n, r in rows.items()])]
    if data["mixed"]:
        kinds = ("rxe to rxe", "sroce to rxe", "rxe to sroce")
        out += ["", "Mixed pairs", "", layout(
            ["case", "unit", *kinds], [[n, r["unit"],
                                        *(num(r[k]) for k in kinds)]
                                       for n, r in data["mixed"].items()])]
    if any(v["sroce"] for v in data["perftest"].values()):
        out += ["", "perftest as a check, MB/s", "", layout(
            ["case", "sroce", "rxe", "siw"],
            [[n, num(v["sroce"]), num(v["rxe"]), num(v["siw"])]
             for n, v in data["perftest"].items()])]
    out += ["", yard_text(data)]
    for key, why in data["failed"].items():
        out.append(f"failed: {key}: {why}")
    return "\n".join(out) + "\n"


def yard_text(data):
    lines = []
    for machine, y in data["yardsticks"].items():
        if y["bound_4096"]:
            lines.append(
                f"{machine}: one TCP stream {num(y['tcp'])} MB/s, "
                f"{num(y['tcp_cost'])} ns/KB; bare train "
                f"{num(y['bound_4096'])} MB/s at 4096 ("
                f"WRITE 1 MB: {num(y['of_bound_4096'])} of it), "
                f"{num(y['bound_1024'])} at 1024 ("
                f"{num(y['of_bound_1024'])})")
    return "\n".join(lines)


def machine_text(data):
    return ["; ".join(f"{k}: Linux {m['kernel']}, {m['cpus']} CPUs, {m['cpu']}"
                      for k, m in data["machines"].items())]


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
        plot.draw_all(directory, data, " ".join(machine_text(data)))
    if publish:
        write_doc(os.path.join(src, "Documentation", "performance.rst"),
                  "\n".join(machine_text(data)) + "\n" + body)
