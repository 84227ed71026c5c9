#!/usr/bin/python3
"""The rules of the house that a program can check.

    tools/check_structure.py [--tap] [ROOT]

Prints file:line: what is wrong, then for each folder of src/ its rooms, modules, arrows and circles, read
from the objects in build/debug.  With --tap one test per rule, for tools/run_tests.
"""
import ast
import collections
import pathlib
import re
import sys

import calls
import gen_events
import names
import rooms
import sources
import symbols
import traceability

BUILD = "build/debug"  # whose objects are read
MOST_LINES = 800
MOST_FUNCTION_LINES = 100
MOST_README_LINES = {1: 60, 2: 30}  # of a folder of src/, of a room

# Functions nobody calls, and those that belong to one file: name, where it may stand.
BANNED = {name: None for name in (
    "sprintf vsprintf strcpy stpcpy strcat strtok strtok_r atoi atol atoll gets alloca "
    "setjmp longjmp").split()}
ONLY_IN = {
    **{name: "src/base/clock.c" for name in "time sleep usleep nanosleep gettimeofday".split()},
    **{name: "src/base/file.c" for name in "rename renameat renameat2".split()},
}
# Texts of SQL that are put together: only where the parts are names from our own schema.
SQL_TEXT = re.compile(r'"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|COPY|WITH|PRAGMA|ATTACH)\b[^"\n]*"')
SQL_IS_MADE_IN = {
    "src/store/backup/move.c": "tables of the schema, copied to another database",
    "src/store/backup/move_stream.c": "tables of the schema, copied to another database",
    "src/store/backup/move_payloads.c": "tables of the schema, copied to another database",
    "src/delivery/sql_out.c": "the table of `inbox`, a checked name of the configuration",
    "src/table/sqlite/sqlite_capture.c": "the journal of a table of others, its name quoted",
    "src/table/sqlite/sqlite_mark.c": "one of two tables of ours",
    "src/table/sqlite/sqlite_rows.c": "a table of others, its name quoted",
    "src/store/db/db_sqlite.c": "a setting of the test switch, one of SQLite's own words",
}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|HA" r"CK)\b")


def check_layers(root):
    """includes point down"""
    yield from rooms.include_problems(root)


def check_symbols(root):
    """symbols point down, no circle of rooms, none of more than four files"""
    if compiled(root):
        yield from rooms.symbol_problems(root, root / BUILD)
    else:
        yield root / "src", 1, f"not compiled in {BUILD}: tools/run_tests --build-only debug"


def check_rooms(root):
    """rooms are small and have a README"""
    yield from rooms.size_problems(root)


def check_names(root):
    """static functions and structs have names of their own; files say what they are"""
    yield from names.shared_statics(root)
    yield from names.shared_tags(root)
    yield from names.silent_files(root)


def check_file_size(root):
    """files are at most 800 lines"""
    for path in sources.files(root, "src", "tests", "tools"):
        n = sources.read(path).count("\n")
        if n > MOST_LINES:
            yield path, n, f"{n} lines, at most {MOST_LINES}"
    for path in sorted(pathlib.Path(root, "src").rglob("README.md")):
        n = sources.read(path).count("\n")
        most = MOST_README_LINES[len(path.relative_to(root).parts) - 2]
        if n > most:
            yield path, n, f"{n} lines, at most {most}"


def check_function_length(root):
    """functions are at most 100 lines"""
    for path in sources.files(root, "src", "tests", "tools"):
        found = c_functions(path) if path.suffix in (".c", ".h") else python_functions(path)
        for name, line, length in found:
            if length > MOST_FUNCTION_LINES:
                yield path, line, f"{name}() has {length} lines, at most {MOST_FUNCTION_LINES}"


def c_functions(path):
    for name, first, last in calls.functions(sources.strip_c(sources.read(path))):
        yield name, first, last - first + 1


def python_functions(path):
    tree = ast.parse(sources.read(path))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def check_banned(root):
    """no banned function, no unfinished work"""
    call = re.compile(r"(?<![\w.])(?<!->)(" + "|".join([*BANNED, *ONLY_IN]) + r")\s*\(")
    for path in sources.files(root, "src", "tests", suffixes=(".c", ".h")):
        name = path.relative_to(root).as_posix()
        text = sources.strip_c(sources.read(path))
        for m in call.finditer(text):
            line = sources.line_of(text, m.start())
            if m.group(1) in BANNED:
                yield path, line, f"{m.group(1)}() is banned"
            elif name.startswith("src/") and name != ONLY_IN[m.group(1)]:
                yield path, line, f"{m.group(1)}() belongs into {ONLY_IN[m.group(1)]}"
    for path in sources.files(root, "src", "tests", "tools", "docs",
                              suffixes=(".c", ".h", ".py", ".sql", ".md")):
        for n, line in enumerate(sources.read(path).split("\n"), 1):
            if UNFINISHED.search(line):
                yield path, n, f"unfinished: {line.strip()}"


def check_sql(root):
    """every SQL statement has one text per database and a user"""
    statement = re.compile(r"^-- name:\s*(\w+)[^\n]*\n((?:--[^\n]*\n)*)", re.M)
    used = set(re.findall(r"\bSQL_([A-Z0-9_]+)\b", calls.reached(root, symbols.KEPT)))
    seen = collections.defaultdict(set)
    for path in sorted(pathlib.Path(root, "src/store/sql").glob("*.sql")):
        text = sources.read(path)
        for m in statement.finditer(text):
            name, line = m.group(1), sources.line_of(text, m.start())
            dialect = re.search(r"^-- for:\s*(\w+)", m.group(2), re.M)
            key = dialect.group(1) if dialect else "both"
            if key in seen[name]:
                yield path, line, f"statement {name} is there twice"
            if not seen[name] and name.upper() not in used:
                yield path, line, f"nobody uses SQL_{name.upper()}"
            seen[name].add(key)


def check_sql_texts(root):
    """no SQL is put together from text"""
    for path in sources.files(root, "src", suffixes=(".c", ".h")):
        text = sources.strip_c(sources.read(path), strings=False)
        for m in SQL_TEXT.finditer(text):
            if "%" in m.group() and path.relative_to(root).as_posix() not in SQL_IS_MADE_IN:
                yield path, sources.line_of(text, m.start()), f"SQL made of text: {m.group()}"


def compiled(root):
    return pathlib.Path(root, BUILD, "CMakeFiles/engine.dir").exists()


def check_globals(root):
    """every global is used by another file of the product"""
    if compiled(root):  # else check_symbols says so
        for file, text in symbols.problems(root / BUILD):
            yield root / file, 1, text


def check_connectors(root):
    """connectors.def and the connector files agree"""
    place = {"GATEWAY": ("gateway", "_in.c"), "SERVICE": ("service", ".c"),
             "ENDPOINT": ("delivery", "_out.c"), "JOB": ("job", "_job.c")}
    table = pathlib.Path(root, "src/connectors.def")
    if not table.exists():
        return
    listed = {}
    text = sources.strip_c(sources.read(table))
    for m in re.finditer(r"^\s*(GATEWAY|SERVICE|ENDPOINT|JOB|DATABASE)\((\w+)\)", text, re.M):
        kind, name = m.groups()
        folder, ending = place.get(kind, (f"table/{name}", ".c"))  # a driver of tables has a room
        path = root / "src" / folder / (name + ending)
        line = sources.line_of(text, m.start(1))
        if path in listed:
            yield table, line, f"{kind}({name}) is there twice"
        elif not path.exists():
            yield table, line, f"{path.relative_to(root)} does not exist"
        listed[path] = line
    for folder, ending in place.values():
        for path in sorted((root / "src" / folder).glob("*" + ending)):
            if path not in listed:
                yield path, 1, "not in src/connectors.def"
    for room in sorted((root / "src/table").glob("*/")):  # but for the one of sides that are away
        if room.name != "away" and room / f"{room.name}.c" not in listed:
            yield room / f"{room.name}.c", 1, "not in src/connectors.def"


def check_events(root):
    """events are noun.verb and listed in docs/events.md"""
    yield from gen_events.problems(root)


def check_traceability(root):
    """tests name existing rows of docs/failures.md and docs/security.md, and each promised row has a test"""
    yield from traceability.check(root)[0]


CHECKS = [f for name, f in list(globals().items()) if name.startswith("check_")]


def main():
    args = sys.argv[1:]
    tap = "--tap" in args
    places = [a for a in args if a != "--tap"]
    root = pathlib.Path(places[0] if places else __file__).resolve()
    if not places:
        root = root.parents[1]
    failed = False
    for n, check in enumerate(CHECKS, 1):
        bad = list(check(root))
        failed = failed or bool(bad)
        for path, line, text in bad:
            print(f"{'# ' if tap else ''}{path.relative_to(root)}:{line}: {text}")
        if tap:
            print(f"{'not ' if bad else ''}ok {n} - {check.__doc__}")
    if compiled(root):
        for line in rooms.report(root, root / BUILD):
            print(f"{'# ' if tap else ''}{line}")
    if tap:
        print(f"1..{len(CHECKS)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
