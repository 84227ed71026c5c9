"""What the product runs: the functions that are reached from its tables and from main().

By names alone, without a build, and in doubt for the function: one that is named in a table, in a
macro or in a function that is reached is reached, and so is every other one of that name.
"""
import collections
import re

import sources

_NAME = re.compile(r"\b[a-z_]\w*\b")
# A name outside of functions that is not declared there: `.run = claim_run,`.
_GIVEN = re.compile(r"\b[a-z_]\w*\b(?!\s*\()")
_MACRO = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.M)


def functions(text):
    """(name, first line, last line) of each: with our format a function, and nothing else, has its
    braces alone in column one.  Lines count from 1, of C without comments."""
    lines = text.split("\n")
    start = None
    for n, line in enumerate(lines, 1):
        if line == "{":
            start = n
        elif line.startswith("}") and start is not None:
            head = " ".join(lines[max(0, start - 6):start - 1])
            names = re.findall(r"(\w+)\s*\(", head.rpartition(";")[2].rpartition("}")[2])
            yield names[0] if names else "?", start, n
            start = None


def reached(root, kept=()):
    """The C text of the product, without comments and without functions that nothing reaches.  kept:
    functions that stay although the product does not call them (symbols.py)."""
    bodies = collections.defaultdict(str)
    outside = ""
    for path in sources.files(root, "src", suffixes=(".c", ".h", ".def")):
        lines = sources.strip_c(sources.read(path)).split("\n")
        for name, first, last in functions("\n".join(lines)):
            bodies[name] += "\n".join(lines[first - 1:last])
            lines[first - 1:last] = [""] * (last - first + 1)
        outside += "\n".join(lines) + "\n"
    todo = {"main", *kept, *_GIVEN.findall(outside), *_NAME.findall(" ".join(_MACRO.findall(outside)))}
    text, seen = [outside], set()
    while todo:
        name = todo.pop()
        if name in bodies and name not in seen:
            seen.add(name)
            text.append(bodies[name])
            todo |= set(_NAME.findall(bodies[name])) - seen
    return "\n".join(text)
