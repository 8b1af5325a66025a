# SPDX-License-Identifier: GPL-2.0
"""
Just enough C to check how the sources are written.

Owns: finding functions, kernel-doc blocks, structs and includes in one kernel
style C file, with line numbers.  Used by check-functions, check-doc and
check-layers, which decide what is wrong with what is found here.  Not a
compiler: the build step has already proven that the text is C, so macros
stay unexpanded and both sides of a conditional are read.
"""

import os
import re

DRIVER = "drivers/infiniband/sw/sroce"

# Words that look like the name of a function in front of "(" and are not.
ATTRIBUTES = {
    "__printf", "__attribute__", "__aligned", "__releases", "__acquires",
    "__must_hold", "__counted_by", "__alloc_size", "__guarded_by",
    "__pt_guarded_by", "__section", "__cacheline_group_begin",
}


def top():
    """The checkout this script belongs to."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sources(*under, ext=(".c", ".h")):
    """Paths, relative to the checkout, of the C files below some folders."""
    root = top()
    found = []
    for folder in under:
        for where, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(d for d in folders if not d.startswith("."))
            for name in sorted(names):
                if name.endswith(ext) and not name.endswith(".mod.c"):
                    path = os.path.join(where, name)
                    found.append(os.path.relpath(path, root))
    return found


def layers_map():
    """layers.txt as (section, line number, words) rows."""
    rows, section = [], None
    with open(os.path.join(top(), "scripts/layers.txt"),
              encoding="utf-8") as handle:
        for number, line in enumerate(handle, 1):
            text = line.split("#")[0]
            if text.strip() and not text[0].isspace():
                section = text.split()[0]
            elif text.strip():
                rows.append((section, number, text.split()))
    return rows


def blank(text):
    """The same text with every character but line ends made a space."""
    return re.sub(r"[^\n]", " ", text)


TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                   r"'(?:\\.|[^'\\\n])*'", re.S)


def strip(text):
    """Blank out comments and the inside of literals."""
    def hide(match):
        token = match.group()
        if token[0] in "\"'":
            return token[0] + blank(token[1:-1]) + token[0]
        return blank(token)
    return TOKEN.sub(hide, text)


DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)


def no_directives(code):
    """Blank out preprocessor lines of stripped text."""
    return DIRECTIVE.sub(lambda m: blank(m.group()), code)


class Function:
    """One function definition."""

    def __init__(self, name, head, line, first, last, span):
        self.name = name
        self.static = bool(re.search(r"\bstatic\b", head))
        self.inline = bool(re.search(r"inline\b", head))
        self.void = bool(re.match(
            r"(?:\w+\s+)*?void\s+(?:\w+\s+)*%s\s*\(" % re.escape(name),
            head))
        self.line = line        # of its name
        self.first = first      # of the opening brace
        self.last = last        # of the closing brace
        self.span = span        # offsets of the braces

    def body_lines(self):
        """Lines between the braces."""
        return max(0, self.last - self.first - 1)


class Source:
    """One file, read once."""

    def __init__(self, path):
        self.path = path
        with open(os.path.join(top(), path), encoding="utf-8") as handle:
            self.text = handle.read()
        self.code = strip(self.text)
        self.plain = no_directives(self.code)
        self.functions = []
        self.structs = []       # (name, line)
        self.bodies = []        # offsets of every outermost brace pair
        self._scan()

    def line(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def lines(self):
        return self.text.count("\n")

    def _scan(self):
        code = self.plain
        depth = parens = 0
        head_at = 0
        for match in re.finditer(r"[(){};]", code):
            char, at = match.group(), match.start()
            if char == "(":
                parens += 1
            elif char == ")":
                parens = max(0, parens - 1)
            elif parens:
                continue
            elif char == "{":
                if not depth:
                    opened = at
                    head = code[head_at:at]
                depth += 1
            elif char == "}":
                depth = max(0, depth - 1)
                if not depth:
                    self._close(head, head_at, opened, at)
                    head_at = at + 1
            elif not depth:
                head_at = at + 1

    def _close(self, head, head_at, opened, closed):
        self.bodies.append((opened, closed))
        shape = re.search(r"\b(struct|union)\s+(\w+)[^()=]*$", head)
        if shape and "=" not in head:
            if shape.group(1) == "struct":
                self.structs.append((shape.group(2),
                                     self.line(head_at + shape.start())))
            return
        if re.search(r"(?<![=!<>])=(?!=)", head):
            return
        for match in re.finditer(r"\b(\w+)\s*\(", head):
            if match.group(1) in ATTRIBUTES:
                continue
            start = head_at + len(head) - len(head.lstrip())
            self.functions.append(Function(
                match.group(1), code_head(self.plain[start:opened]),
                self.line(head_at + match.start()), self.line(opened),
                self.line(closed), (opened, closed)))
            return

    def docs(self):
        """kernel-doc blocks: (kind, name) -> (line, text)."""
        found = {}
        for match in re.finditer(r"/\*\*\s.*?\*/", self.text, re.S):
            title = re.match(r"/\*\*\s*\n?\s*\*?\s*"
                             r"(struct|union|enum|typedef)?\s*(\w+)",
                             match.group())
            if title:
                kind = title.group(1) or "function"
                found[kind, title.group(2)] = (self.line(match.start()),
                                               match.group())
        return found

    def includes(self):
        """(line, name, local) of every include."""
        found = []
        for number, line in enumerate(self.text.splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+(["<])([^">]+)', line)
            if match:
                found.append((number, match.group(2),
                              match.group(1) == '"'))
        return found


def code_head(text):
    """A definition's head on one line."""
    return re.sub(r"\s+", " ", text).strip()
