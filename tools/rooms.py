#!/usr/bin/python3
"""The rooms of src/: which stands on which, by includes and by symbols.

    tools/rooms.py [BUILD_DIR]        one line a folder: rooms, modules, arrows, circles

A folder of src/ is a station, a folder in it a room.  ORDER says who may use whom, from the bottom up: a
room uses rooms of the rows above it in this list, and its own files.  Two kinds of arrows are looked at:
an #include, and a symbol that one object uses and another defines (nm), which also sees what a header
elsewhere declares.  A module is a .c with its .h.
"""
import collections
import pathlib
import re
import sys

import sources
import symbols

# Rows from the bottom up.  Names in one row do not see each other.  "store" alone is what stands in
# src/store itself, beside its rooms.
ORDER = [
    ["base"],
    ["core"],
    ["core/format", "core/pickup", "core/probing", "core/mail", "core/web", "core/schedule"],
    ["core/line"],
    ["core/s3", "core/ftp", "core/sftp", "core/mllp"],
    ["cage"],
    ["sql"],
    ["service/script", "service/pgp"],
    ["service/schema"],
    ["router", "extract", "gateway", "service", "delivery"],
    ["store/db"],
    ["store/segment"],
    ["store/kernel"],
    ["store/audit"],
    ["store/payload"],
    ["store/road"],
    ["store/batch"],
    ["store/search", "store/govern", "store/people", "store/job", "store/replica"],
    ["store/manual", "store/retention"],
    ["store/watch"],
    ["store/backup"],
    ["store"],
    ["content", "table"],
    ["table/postgres", "table/sqlite", "table/mariadb", "table/away"],
    ["link"],
    ["engine/threads"],
    ["engine/tally"],
    ["engine/transfer"],
    ["engine/plan"],
    ["engine/flight"],
    ["engine/dispatch", "engine/asking"],
    ["engine/road"],
    ["engine/walk"],
    ["engine/run"],
    ["engine/batch", "engine/intake", "engine/rehearse"],
    ["engine/watch"],
    ["engine/upkeep"],
    ["engine"],
    ["job"],
    ["admin/graphql"],
    ["admin/login"],
    ["admin/view"],
    ["admin/api"],
    ["admin/jobs", "admin/links"],
    ["admin/http"],
    ["admin"],
    ["app"],
]
LEVEL = {room: n for n, row in enumerate(ORDER) for room in row}
# Folders whose rooms others may not know of: whoever may use the folder may use its rooms, but these
# folders of one level do not see each other although ORDER has one of them first.
APART = [{"store", "router", "extract", "gateway", "service", "delivery", "cage"}, {"content", "engine"}]

MOST_IN_A_ROOM = 30    # modules
MOST_BESIDE_ROOMS = 12
MOST_IN_A_CIRCLE = 4   # files
WIDE = {"core", "service", "table"}  # a station that keeps its modules beside a room: every folder uses them by these names


def room_of(name):
    """The room of a file, from its path relative to src/: "store/road/task.c" is in "store/road"."""
    return name.rpartition("/")[0]


def may_use(here, there):
    """May a file of one room use one of the other?"""
    if here == there:
        return True
    for folders in APART:
        if {here.partition("/")[0], there.partition("/")[0]} <= folders \
                and here.partition("/")[0] != there.partition("/")[0]:
            return False
    return LEVEL[there] < LEVEL[here]


def includes(root):
    """(file, line, included file), both relative to src/, for what is included from src/."""
    src = pathlib.Path(root, "src")
    for path in sources.files(root, "src", suffixes=(".c", ".h", ".def")):
        name = path.relative_to(src).as_posix()
        for n, line in enumerate(sources.read(path).split("\n"), 1):
            m = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if m:
                yield name, n, m.group(1)


def include_problems(root):
    """(path, line, text) for each include that does not point down."""
    src = pathlib.Path(root, "src")
    unknown = set()
    for path in sources.files(root, "src", suffixes=(".c", ".h")):
        room = room_of(path.relative_to(src).as_posix())
        if room and room not in LEVEL and room not in unknown:
            unknown.add(room)
            yield path, 1, f"{room}/ is not a room of the design (tools/rooms.py)"
    for name, n, there in includes(root):
        here = room_of(name)
        if there.startswith(".."):
            yield src / name, n, "includes start at src/"
        elif here in LEVEL and room_of(there) in LEVEL and not may_use(here, room_of(there)):
            yield src / name, n, f"{here}/ may not use {room_of(there)}/"


def circles(nodes, arrows):
    """The sets of nodes that reach each other (Tarjan's, without recursion), those of two and more."""
    after = collections.defaultdict(list)
    for a, b in sorted(arrows):
        after[a].append(b)
    index, low, stack, found = {}, {}, [], []
    for start in nodes:
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        path = [(start, iter(after[start]))]
        while path:
            node, rest = path[-1]
            nxt = next(rest, None)
            if nxt is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        found.append(sorted(stack[at:]))
                    del stack[at:]
            elif nxt not in index:
                index[nxt] = low[nxt] = len(index)
                stack.append(nxt)
                path.append((nxt, iter(after[nxt])))
            elif nxt in stack:
                low[node] = min(low[node], index[nxt])
    return found


def between_rooms(found):
    """Arrows between rooms: (room, room) -> the files and symbols they are made of."""
    arrows = collections.defaultdict(list)
    for (a, b), names in sorted(found.arrows.items()):
        if room_of(a) != room_of(b):
            arrows[room_of(a), room_of(b)].append((a, b, sorted(names)))
    return arrows


def symbol_problems(root, build):
    """(path, line, text): symbols that point up, circles of rooms, circles of files that are too large."""
    src = pathlib.Path(root, "src")
    found = symbols.read(build)
    compiled = set(found.files)
    for path in sources.files(root, "src", suffixes=(".c",)):
        if path.relative_to(src).as_posix() not in compiled:
            yield path, 1, f"not compiled in {build}: build first (tools/run_tests --build-only debug)"
    arrows = between_rooms(found)
    for (here, there), uses in arrows.items():
        if here in LEVEL and there in LEVEL and not may_use(here, there):
            for a, b, names in uses:
                yield src / a, 1, f"{here}/ may not use {there}/: {', '.join(names)} of {b}"
    for circle in circles(sorted({r for pair in arrows for r in pair}), arrows):
        yield src, 1, f"rooms that use each other in a circle: {' '.join(circle)}"
    for circle in circles(sorted(compiled), found.arrows):
        if len(circle) > MOST_IN_A_CIRCLE:
            yield src / circle[0], 1, f"a circle of {len(circle)} files, at most {MOST_IN_A_CIRCLE}: " \
                + " ".join(circle)


def modules(root):
    """Room -> its modules, by name without suffix."""
    src = pathlib.Path(root, "src")
    found = collections.defaultdict(set)
    for path in sources.files(root, "src", suffixes=(".c", ".h")):
        name = path.relative_to(src).as_posix()
        found[room_of(name)].add(path.stem)
    return found


def size_problems(root):
    """(path, line, text): rooms with too many modules, or without a README."""
    found = modules(root)
    for room, names in sorted(found.items()):
        folder = pathlib.Path(root, "src", room)
        has_rooms = any(r.startswith(room + "/") for r in found)
        most = MOST_BESIDE_ROOMS if has_rooms else MOST_IN_A_ROOM
        if "/" not in room and (not has_rooms or room in WIDE):
            most = None  # a station without rooms
        if most is not None and len(names) > most:
            yield folder, 1, f"{len(names)} modules, at most {most}" + (" beside rooms" if has_rooms else "")
        if room and not (folder / "README.md").exists():
            yield folder, 1, "has no README.md"


def report(root, build):
    """One line a folder."""
    found = symbols.read(build)
    by_room = modules(root)
    arrows = between_rooms(found)
    rooms_in_circle = circles(sorted({r for pair in arrows for r in pair}), arrows)
    files_in_circle = circles(sorted(found.files), found.arrows)
    for folder in sorted({r.partition("/")[0] for r in by_room if r}):
        rooms = [r for r in by_room if r.startswith(folder + "/")]
        inner = [k for k in arrows if all(r.partition("/")[0] == folder for r in k)]
        own = [c for c in files_in_circle if c[0].startswith(folder + "/")]
        yield (f"{folder:<10}{len(rooms):3} rooms {sum(len(by_room[r]) for r in [folder, *rooms]):4} modules "
               f"{len(inner):3} arrows between rooms {sum(len(arrows[k]) for k in inner):4} of files "
               f"{sum(1 for c in rooms_in_circle if any(r.startswith(folder) for r in c)):2} circles of rooms "
               f"{len(own):2} of files" + (f", the largest of {max(map(len, own))}" if own else ""))


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    for line in report(root, sys.argv[1] if len(sys.argv) > 1 else root / "build/debug"):
        print(line)


if __name__ == "__main__":
    main()
