#!/usr/bin/python3
"""Which object of the product uses which symbol of which other one, read by nm.

    tools/symbols.py [BUILD_DIR]

Prints the globals of src/ that no other object of the product uses, except those listed in KEPT:
such a function becomes static, moves to the tests, or goes.  And those that have the name of a symbol
of a library that the program links: who means the library's would call ours.
"""
import collections
import dataclasses
import pathlib
import subprocess
import sys

# Globals that no other file of the product uses, and why they stay.
KEPT = {
    "api_find_right": "tests guard a schema of their own as the API guards its own",
    "api_may": "the same",
    **{f"embed_{name}_{what}": "a label of embed.c in assembler; a local one is lost by link-time optimization"
       for name in ("schema", "prelude") for what in ("bytes", "size")},
    "main": "the program begins there",
    "mariadb_writers_read": "a test reads reports of the engine that no server can be made to print",
    "queue_is_stuck": "a rule about time, which its tests make",
    "router_find_counted": "tells how many tables a search has looked into: tests and the benchmark keep it bounded",
    "service_memory_bytes": "of the io on which tests, fuzz targets and benchmarks run every service",
    "sql_place_parse": "tests and a fuzz target read connection strings without a configuration",
    "state_describe": "makes docs/states.md of tables that nobody else sees; its test compares",
}


@dataclasses.dataclass
class Symbols:
    files: list    # sources relative to src/, those that still exist
    defined: dict  # symbol -> file
    arrows: dict   # (from file, to file) -> set of symbols

    def unused(self):
        """(symbol, defining file) of every global that no other file of the product uses."""
        used = set().union(*self.arrows.values())
        return sorted((name, file) for name, file in self.defined.items() if name not in used)


def objects(build):
    """Source relative to src/ -> object file.  Objects of sources that were moved or deleted
    since they were compiled are left out."""
    build = pathlib.Path(build).resolve()
    src = build.parents[1] / "src"
    found = {}
    for target in ("engine", "waybill"):
        base = build / f"CMakeFiles/{target}.dir/src"
        for path in sorted(base.rglob("*.c.o")):
            name = path.relative_to(base).as_posix()[:-len(".o")]
            if (src / name).exists():
                found[name] = path
    return found


def table(paths):
    """(object, symbol, type) as nm lists them; an upper-case type is a global, U is undefined."""
    if not paths:
        return
    out = subprocess.run(["nm", "-A", "-P", "--", *paths], check=True, capture_output=True, text=True)
    for line in out.stdout.splitlines():
        path, name, kind = line.split()[:3]
        yield path.removesuffix(":"), name, kind


def read(build):
    """The symbols of the product built in this directory, ROOT/build/PRESET."""
    found = objects(build)
    file_of = {str(path): name for name, path in found.items()}
    defined, wanted = {}, []
    for path, name, kind in table(list(file_of)):
        if kind == "U":
            wanted.append((file_of[path], name))
        elif kind.isupper():
            defined[name] = file_of[path]
    arrows = collections.defaultdict(set)
    for file, name in wanted:
        if name in defined:
            arrows[file, defined[name]].add(name)
    return Symbols(list(found), defined, dict(arrows))


def of_libraries(program):
    """What the libraries of a program define; nothing of one that is not linked yet."""
    if not program.exists():
        return set()
    linked = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    paths = [line.split()[2] for line in linked.splitlines() if " => /" in line]
    out = subprocess.run(["nm", "-D", "-P", "--defined-only", "--", *paths], check=True, capture_output=True, text=True)
    return {line.split("@")[0].split()[0] for line in out.stdout.splitlines() if line and " " in line}


def problems(build):
    """(path, text) of globals that nobody uses and that have no reason to stay, of reasons that nobody
    needs, and of names that a library has; nothing while some sources are not compiled."""
    symbols = read(build)
    src = pathlib.Path(build).resolve().parents[1] / "src"
    if {path.relative_to(src).as_posix() for path in src.rglob("*.c")} != set(symbols.files):
        return
    for name, file in symbols.unused():
        if name not in KEPT:
            yield f"src/{file}", f"no other file of the product uses {name}: make it static, or move it to the tests"
    for name in sorted(KEPT.keys() - dict(symbols.unused()).keys()):
        yield "tools/symbols.py", f"{name} is used by another file, or gone: it is no exception"
    for name in sorted(symbols.defined.keys() & of_libraries(pathlib.Path(build) / "waybill") - {"main"}):
        yield f"src/{symbols.defined[name]}", f"{name} is a name of a library that the program links, too: give it another one"


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    found = list(problems(sys.argv[1] if len(sys.argv) > 1 else root / "build/debug"))
    for file, text in found:
        print(f"{file}: {text}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
