"""Rooms: arrows that point up are found by include and by symbol, and so are circles."""
import subprocess

import pytest
import rooms


@pytest.fixture(name="house")
def fixture_house(tmp_path):
    """Sources, compiled as the build does it: write({file: text}) returns the root."""
    def write(files):
        for name, text in files.items():
            source = tmp_path / "src" / name
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            if source.suffix == ".c":
                target = tmp_path / "build/debug/CMakeFiles/engine.dir/src" / (name + ".o")
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["gcc", "-w", "-c", "-I", tmp_path / "src", "-o", target, source], check=True)
        return tmp_path
    return write


def by_include(root):
    return [f"{p.relative_to(root)}:{n}: {t}" for p, n, t in rooms.include_problems(root)]


def by_symbol(root):
    return [f"{p.relative_to(root)}:{n}: {t}" for p, n, t in rooms.symbol_problems(root, root / "build/debug")]


def calls(name, *others):
    """A file with one function that calls others."""
    return "".join(f"void {o}(void);\n" for o in others) \
        + f"void {name}(void)\n{{\n" + "".join(f"    {o}();\n" for o in others) + "}\n"


DOWN = {"store/db/db.h": "void db(void);\n", "store/db/db.c": calls("db"),
        "store/kernel/writer.c": '#include "store/db/db.h"\n' + calls("writer", "db")}


def test_arrows_that_point_down_are_fine(house):
    root = house(DOWN)
    assert by_include(root) == []
    assert by_symbol(root) == []


def test_an_upward_include(house):
    root = house({**DOWN, "store/kernel/writer.h": "", "store/db/copy.c": '\n#include "store/kernel/writer.h"\n'})
    assert by_include(root) == ["src/store/db/copy.c:2: store/db/ may not use store/kernel/"]


def test_an_upward_symbol_behind_a_declaration_of_its_own(house):
    root = house({**DOWN, "store/db/copy.c": calls("copy", "writer")})
    assert by_include(root) == []
    assert by_symbol(root) == [
        "src/store/db/copy.c:1: store/db/ may not use store/kernel/: writer of store/kernel/writer.c",
        "src:1: rooms that use each other in a circle: store/db store/kernel"]


def test_stations_of_one_level_do_not_see_each_other(house):
    root = house({"store/kernel/x.h": "", "engine/intake/take.c": calls("take"),
                  "gateway/a.c": '#include "store/kernel/x.h"\n' + calls("a", "take")})
    assert by_include(root) == ["src/gateway/a.c:1: gateway/ may not use store/kernel/"]
    assert by_symbol(root) == ["src/gateway/a.c:1: gateway/ may not use engine/intake/: take of engine/intake/take.c"]


@pytest.mark.parametrize("size,good", [(2, True), (4, True), (5, False)])
def test_a_circle_of_files(house, size, good):
    names = [f"f{n}" for n in range(size)]
    root = house({f"core/{a}.c": calls(a, b) for a, b in zip(names, names[1:] + names[:1])})
    assert (by_symbol(root) == []) == good
    if not good:
        assert by_symbol(root) == ["src/core/f0.c:1: a circle of 5 files, at most 4: "
                                   + " ".join(f"core/{n}.c" for n in names)]


def test_a_room_that_nobody_declared(house):
    root = house({"store/attic/a.c": calls("a")})
    assert by_include(root) == ["src/store/attic/a.c:1: store/attic/ is not a room of the design (tools/rooms.py)"]


def test_what_was_not_compiled_is_no_proof(house):
    root = house(DOWN)
    (root / "src/store/db/new.c").write_text("")
    assert ["not compiled" in line for line in by_symbol(root)] == [True]


def test_a_moved_source_leaves_its_object_behind(house):
    root = house({**DOWN, "store/db/copy.c": calls("copy", "writer")})
    (root / "src/store/db/copy.c").unlink()
    assert by_symbol(root) == []


def test_sizes(house):
    root = house({f"store/{room}m{n}.h": "" for room, count in (("db/", 31), ("segment/", 30), ("", 13))
                  for n in range(count)})
    for room in ("store", "store/db"):
        (root / "src" / room / "README.md").write_text("")
    assert [f"{p.relative_to(root)}: {t}" for p, _, t in rooms.size_problems(root)] == [
        "src/store: 13 modules, at most 12 beside rooms", "src/store/db: 31 modules, at most 30",
        "src/store/segment: has no README.md"]


def test_the_report_counts(house):
    root = house({**DOWN, "core/a.c": calls("a", "b"), "core/b.c": calls("b", "a")})
    assert list(rooms.report(root, root / "build/debug")) == [
        "core        0 rooms    2 modules   0 arrows between rooms    0 of files  0 circles of rooms  1 of files, "
        "the largest of 2",
        "store       2 rooms    2 modules   1 arrows between rooms    1 of files  0 circles of rooms  0 of files"]
