#!/usr/bin/python3
"""Names that say where one is: each static function and each struct once in the tree.

    tools/names.py [ROOT]

A stack trace of `take <- tell <- run` helps nobody, and a search for a struct should end at one place.  A
static function may share its name only when it fills a slot of that name in a table of functions
(`.open = open`): there the table says which one it is.
"""
import collections
import pathlib
import re
import sys

import sources

STATIC = re.compile(r"^static\b(?!\s+(?:const\s+)?struct\s+\w+\s+\w+\s*[=\[;])[^;={}]*?\b(\w+)\(", re.M)
STRUCT = re.compile(r"^(?:struct|union|enum)\s+(\w+)\s*\{", re.M)


def static_functions(text):
    """(name, line) of each static function that has a body; `text` is C without comments."""
    for m in STATIC.finditer(text):
        end = closing(text, m.end() - 1)
        if re.match(r"(?:\s*__attribute__\(\(.*?\)\))*\s*\{", text[end:end + 200], re.S):
            yield m.group(1), sources.line_of(text, m.start(1))


def closing(text, at):
    """Behind the parenthesis that closes the one at `at`."""
    depth = 0
    for n in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[n], 0)
        if depth == 0:
            return n + 1
    return len(text)


def fills_slot(text, name):
    return re.search(rf"\.\s*{name}\s*=\s*{name}\b", text) is not None


def shared_statics(root):
    """(path, line, text) for static functions of one name in several files."""
    places = collections.defaultdict(list)
    for path in sources.files(root, "src", suffixes=(".c",)):
        text = sources.strip_c(sources.read(path))
        for name, line in static_functions(text):
            if not fills_slot(text, name):
                places[name].append((path, line))
    for name, found in sorted(places.items()):
        for path, line in found[1:]:
            yield path, line, f"static {name}() is also in {found[0][0].relative_to(root)}"


def shared_tags(root):
    """(path, line, text) for a struct, union or enum that two headers define."""
    places = {}
    for path in sources.files(root, "src", suffixes=(".h",)):
        text = sources.strip_c(sources.read(path))
        for m in STRUCT.finditer(text):
            line = sources.line_of(text, m.start())
            if m.group(1) in places:
                yield path, line, f"{m.group(1)} is also defined in {places[m.group(1)].relative_to(root)}"
            places.setdefault(m.group(1), path)


def silent_files(root):
    """(path, line, text) for a .c without a header of its own that does not say what it is."""
    for path in sources.files(root, "src", suffixes=(".c",)):
        if not path.with_suffix(".h").exists() and not sources.read(path).startswith("/*"):
            yield path, 1, "has no header of its own: its first line says what it is"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1]).resolve()
    found = [p for check in (shared_statics, shared_tags, silent_files) for p in check(root)]
    for path, line, text in found:
        print(f"{path.relative_to(root)}:{line}: {text}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
