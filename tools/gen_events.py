#!/usr/bin/python3
"""docs/events.md: every event that the program can log, from the source itself.

    tools/gen_events.py --write | --check
"""
import collections
import pathlib
import re
import sys

import sources

PAGE = "docs/events.md"
HEAD = """# Events

Every line that Waybill logs is one JSON object with a stable `event`, written `noun.verb`.
This page is made from the source by `tools/gen_events.py --write`; `make test` compares.

| event | level | logged in |
| --- | --- | --- |
"""
GOOD_NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
CALL = re.compile(r"\blog_event\(\s*([^,\"]*),\s*(\"([^\"]*)\"|[^\"\s])")
LEVEL = re.compile(r"\bLOG_(\w+)")  # one, or those of a condition
BY_HAND = re.compile(r'\{\\"event\\":\\"([^\\]*)\\"')  # where the logger itself cannot be used


def levels_of(text, call):
    """The levels that a call may log at: those in its first argument, or in what its function gives to a variable that is it."""
    words = call.group(1)
    if words.strip().isidentifier() and not words.strip().startswith("LOG_"):
        function = text[text.rfind("\n}", 0, call.start()) + 1:call.start()]
        words = " ".join(re.findall(rf"\b{words.strip()} = ([^;]*);", function))
    return {level.lower() for level in LEVEL.findall(words)}


def calls(root):
    """Every logged event: (path, line, levels, name), the name None if it is not a literal."""
    for path in sources.files(root, "src", suffixes=(".c", ".h")):
        text = sources.strip_c(sources.read(path), strings=False)
        for m in CALL.finditer(text):
            start = text.rfind("\n", 0, m.start()) + 1
            if not text[start:m.start()].lstrip().startswith("#define"):
                yield path, sources.line_of(text, m.start()), levels_of(text, m), m.group(3)
        for m in BY_HAND.finditer(text):
            yield path, sources.line_of(text, m.start()), {"error"}, m.group(1)


def render(root):
    """The page as it should be."""
    found = collections.defaultdict(lambda: (set(), set()))
    for path, _, of_call, name in calls(root):
        if name is not None:
            levels, places = found[name]
            levels.update(of_call)
            places.add(path.relative_to(root).as_posix())
    return HEAD + "".join(
        f"| `{name}` | {', '.join(sorted(levels))} | {', '.join(sorted(places))} |\n"
        for name, (levels, places) in sorted(found.items()))


def problems(root):
    """Names that are not noun.verb, and a page that is not up to date."""
    for path, line, _, name in calls(root):
        if name is None:
            yield path, line, "the event name must be a literal, so that it can be listed"
        elif not GOOD_NAME.fullmatch(name):
            yield path, line, f'event "{name}" is not noun.verb'
    page = pathlib.Path(root, PAGE)
    want = render(root)
    if (sources.read(page) if page.exists() else HEAD) != want:
        yield page, 1, "differs from the source: run tools/gen_events.py --write"


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    if sys.argv[1:] == ["--write"]:
        pathlib.Path(root, PAGE).write_text(render(root), encoding="utf-8")
        return 0
    if sys.argv[1:] != ["--check"]:
        print(__doc__, file=sys.stderr)
        return 2
    bad = list(problems(root))
    for path, line, text in bad:
        print(f"{path.relative_to(root)}:{line}: {text}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
