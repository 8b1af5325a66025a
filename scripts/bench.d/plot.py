# SPDX-License-Identifier: GPL-2.0
"""The benchmark's figures as SVG, without a plotting library."""

import math
import os
import textwrap
from html import escape

import cases as C

COLOURS = ("#1b6ca8", "#d9822b", "#7a9e3f", "#8a5a9e", "#9a9a9a", "#b8433c",
           "#2f9c95", "#c9a227", "#5b5f97", "#4d7c0f", "#a8577e")
FONT = 'font-family="sans-serif" font-size="%d"'


class Canvas:
    """Collects SVG elements."""

    def __init__(self, width, height, title, note):
        self.width, self.height = width, height
        self.parts = []
        self.text(width / 2, 20, title, size=14, anchor="middle")
        # the machine, in lines of what fits
        for i, line in enumerate(reversed(textwrap.wrap(note, width / 5.2))):
            self.text(10, height - 6 - 11 * i, line, size=9, colour="#666")

    def text(self, x, y, text, size=11, anchor="start", colour="#222"):
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" {FONT % size} fill="{colour}" '
            f'text-anchor="{anchor}">{escape(text)}</text>')

    def rect(self, x, y, w, h, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" '
                          f'height="{h:.1f}" fill="{colour}"/>')

    def line(self, points, colour="#ccc", width=1):
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{where}" fill="none" '
                          f'stroke="{colour}" stroke-width="{width}"/>')

    def legend(self, names, x=190, y=38):
        for i, name in enumerate(names):
            self.rect(x, y - 9, 10, 10, COLOURS[i])
            self.text(x + 14, y, name)
            x += 30 + 7 * len(name)

    def save(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.write(f'<svg xmlns="http://www.w3.org/2000/svg" '
                    f'width="{self.width}" height="{self.height}" '
                    f'viewBox="0 0 {self.width} {self.height}">\n'
                    f'<rect width="100%" height="100%" fill="white"/>\n')
            f.write("\n".join(self.parts) + "\n</svg>\n")


def ticks(top):
    step = 10 ** math.floor(math.log10(top or 1))
    for divide in (5, 2, 1):
        if top / (step / divide) <= 10:
            step /= divide
            break
    return [i * step for i in range(int(top / step) + 1)]


def bars(path, title, note, names, rows, marks=None):
    """Horizontal groups: rows is [(label, [value or None per name])]."""
    left, right, line = 190, 60, 14
    group = line * len(names) + 8
    height = 60 + group * len(rows) + 60
    c = Canvas(820, height, title, note)
    top = max([v for _, vs in rows for v in vs if v] + [1e-9]) * 1.05
    scale = (c.width - left - right) / top
    for t in ticks(top):
        x = left + t * scale
        c.line([(x, 50), (x, height - 60)])
        c.text(x, height - 48, f"{t:g}", size=9, anchor="middle")
    for r, (label, values) in enumerate(rows):
        y = 54 + r * group
        c.text(left - 6, y + group / 2, label, anchor="end")
        for i, value in enumerate(values):
            if value:
                c.rect(left, y + i * line, value * scale, line - 2,
                       COLOURS[i])
                c.text(left + value * scale + 4, y + i * line + 10,
                       f"{value:.3g}", size=9)
            mark = marks and marks[r][i]
            if mark and mark <= top:
                x = left + mark * scale
                c.line([(x, y + i * line - 1), (x, y + i * line + line - 1)],
                       "#b8433c", 2)
    c.legend(names)
    c.save(path)


def curves(path, title, note, labels, series):
    """Lines over the labels: series is [(name, [value or None])]."""
    left, bottom = 70, 80
    c = Canvas(640, 400, title, note)
    top = max([v for _, vs in series for v in vs if v] + [1e-9]) * 1.1
    step = (c.width - left - 40) / max(1, len(labels) - 1)
    scale = (c.height - bottom - 50) / top
    base = c.height - bottom
    for t in ticks(top):
        y = base - t * scale
        c.line([(left, y), (c.width - 40, y)])
        c.text(left - 6, y + 4, f"{t:g}", size=9, anchor="end")
    for i, label in enumerate(labels):
        c.text(left + i * step, base + 18, label, anchor="middle")
    for n, (_, values) in enumerate(series):
        c.line([(left + i * step, base - v * scale)
                for i, v in enumerate(values) if v], COLOURS[n], 3)
    c.legend([name for name, _ in series], x=left)
    c.save(path)


def median(s):
    return s["median"] if s else None


def draw_all(directory, data, note):
    """Every figure there are data for."""
    def path(name):
        return os.path.join(directory, f"bench-{name}.svg")

    cases = data["cases"]
    rows = [(n, [d["ratio"], d["cpu_ratio"]]) for n, d in cases.items()
            if d["ratio"]]
    if rows:
        bars(path("ratio"), "How many times rdma_rxe (red: target)", note,
             ["on the clock, QEMU", "processor time, kernel verbs, UML"], rows,
             [(cases[n]["target"], cases[n]["cpu_target"]) for n, _ in rows])
    for name, unit in (("bandwidth", C.MB), ("latency", C.US),
                       ("rate", C.KMSG)):
        rows = [(n, [median(d["sroce"]), median(d["rxe"])])
                for n, d in cases.items() if d["unit"] == unit and d["sroce"]]
        if rows:
            bars(path(name), f"{name}, {unit}, QEMU", note,
                 ["sroce", "rdma_rxe"], rows)
    scale = ["write-64k", "write-64k-q4", "write-64k-q16", "write-64k-q64"]
    if all(n in cases and cases[n]["sroce"] for n in scale):
        curves(path("scaling"), "WRITE 64 KB over queue pairs, MB/s, QEMU",
               note, ["1", "4", "16", "64"],
               [(d, [median(cases[n][d]) for n in scale])
                for d in ("sroce", "rxe")])
    for machine, table in data["ablation"].items():
        names = ["all", *C.KNOBS, "rxe"]
        rows = []
        for n, r in table.items():
            full = median(r["all"])
            faster = r["unit"] in (C.MB, C.KMSG)
            if full and n in C.ABLATION:
                rows.append((n, [
                    (median(r[k]) / full if faster else full / median(r[k]))
                    if r[k] else None for k in names]))
        if rows:
            bars(path(f"ablation-{machine}"), "Speed with one mechanism "
                 f"switched off, {machine}", note, names, rows)
