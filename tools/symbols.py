#!/usr/bin/python3
"""Which object of the product uses which symbol of which other one, read by nm.

    tools/symbols.py [BUILD_DIR]

Prints the globals of src/ that no other object of the product uses, except those listed in KEPT:
such a function becomes static, moves to the tests, or goes.
"""
import collections
import dataclasses
import pathlib
import subprocess
import sys

# Globals that no other file of the product uses, and why they stay.
KEPT = {
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


def problems(build):
    """(file, text) for every unused global without a reason to stay."""
    symbols = read(build)
    for name, file in symbols.unused():
        if name not in KEPT and name != "main":
            yield file, f"no other file of the product uses {name}"
    for name in sorted(KEPT):
        if symbols.defined and name not in dict(symbols.unused()):
            yield "../tools/symbols.py", f"{name} is used, or gone: it needs no reason to stay"


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    found = list(problems(sys.argv[1] if len(sys.argv) > 1 else root / "build/debug"))
    for file, text in found:
        print(f"src/{file}: {text}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
