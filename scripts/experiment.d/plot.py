# SPDX-License-Identifier: GPL-2.0
"""Line charts as SVG, without a plotting library."""

COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#8e6c8a", "#d29a2d", "#4a4e69",
           "#2a9d8f", "#9b2226")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 260, 64, 16, 28, 40


def nice(top):
    """A round number not below @top, for the end of an axis."""
    step = 1.0
    while step * 10 < top:
        step *= 10
    while step > top:
        step /= 10
    for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10):
        if step * factor >= top:
            return step * factor
    return top


def text(x, y, words, anchor="middle", size=12):
    return ('<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" '
            'font-family="sans-serif" fill="#222">%s</text>' %
            (x, y, size, anchor, words))


def panel(y0, title, unit, end, lines, marks):
    """One chart; @lines: [(label, [(x, y)])], @marks: [(label, y)]."""
    top = nice(max([y for _, points in lines for _, y in points] +
                   [y for _, y in marks] + [1e-9]))
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(x, y):
        return LEFT + wide * x / end, y0 + TOP + high * (1 - min(y, top) / top)

    out = [text(LEFT, y0 + 18, title, "start", 14)]
    for i in range(5):
        _, y = place(0, top * i / 4)
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" '
                   'stroke="#ddd"/>' % (LEFT, WIDTH - RIGHT, y, y))
        out.append(text(LEFT - 6, y + 4, "%g" % (top * i / 4), "end", 11))
    for i in range(6):
        x, y = place(end * i / 5, 0)
        out.append(text(x, y + 16, "%g" % round(end * i / 5, 3), size=11))
    out.append(text(WIDTH - RIGHT, y0 + HEIGHT - 8, "s", "end", 11))
    out.append(text(LEFT - 6, y0 + 18, unit, "end", 11))
    for label, level in marks:
        _, y = place(0, level)
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#888" '
                   'stroke-dasharray="5 4"/>' % (LEFT, WIDTH - RIGHT, y, y))
        out.append(text(WIDTH - RIGHT, y - 4, label, "end", 11))
    for i, (label, points) in enumerate(lines):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join("%.1f,%.1f" % place(x, y) for x, y in points)
        out.append('<polyline fill="none" stroke="%s" stroke-width="1.3" '
                   'points="%s"/>' % (colour, path))
        if len(lines) <= 6:
            out.append('<text x="%d" y="%d" font-size="11" fill="%s" '
                       'font-family="sans-serif">%s</text>' %
                       (WIDTH - RIGHT - 64 * (len(lines) - i), y0 + 18, colour,
                        label))
    return "\n".join(out)


def write(path, panels, end):
    """@panels: [(title, unit, lines, marks)], one below the other."""
    body = "\n".join(panel(i * HEIGHT, title, unit, end, lines, marks)
                     for i, (title, unit, lines, marks) in enumerate(panels))
    high = HEIGHT * len(panels)
    with open(path, "w", encoding="utf-8") as f:
        f.write('<svg xmlns="http://www.w3.org/2000/svg" width="%d" '
                'height="%d" viewBox="0 0 %d %d">\n<rect width="100%%" '
                'height="100%%" fill="#fff"/>\n%s\n</svg>\n' %
                (WIDTH, high, WIDTH, high, body))
