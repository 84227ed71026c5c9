"""The half of the binary that people call asks a node and touches no database: by the symbols of
what was built, of each file of src/app and of everything that it can reach."""
import collections
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD", ROOT / "build" / "debug"))

# Verbs that work while no node runs, and what they call of the store; and the node itself.
OFFLINE = {
    "app/cmd_compact": {"store_compact"},
    "app/cmd_doctor": {"recover_text", "store_open", "store_close"},
    "app/cmd_migrate": {"move_run"},
    "app/cmd_restore": {"restore_files_check", "restore_files_run"},
}
# Verbs that try a configuration without a node, on a store of their own that they throw away.
TRYING = {"app/scratch": {"secret_put"}, "app/scratch_records": {"record_set_id", "records_import"}}
TRYING_VERBS = {"app/cmd_try", "app/cmd_test"}
NODE = {"app/cmd_serve", "app/front", "app/confine_node", "app/reach"}


def read_symbols():
    """What each object defines (symbol: object) and needs (object: symbols)."""
    folder = BUILD / "CMakeFiles" / "engine.dir" / "src"
    objects = sorted(o for o in folder.rglob("*.c.o")  # not those of files that are gone
                     if (ROOT / "src" / o.relative_to(folder)).with_suffix("").exists())
    assert objects, f"nothing is built below {folder}"
    said = subprocess.run(["nm", "-A", "-P", *objects], check=True, timeout=120, text=True,
                          stdout=subprocess.PIPE).stdout
    defines, needs = {}, collections.defaultdict(set)
    for line in said.splitlines():
        path, rest = line.split(": ", 1)
        name, kind = rest.split()[:2]
        thing = os.path.relpath(path, folder).removesuffix(".c.o")
        if kind == "U":
            needs[thing].add(name)
        elif kind.isupper():
            defines[name] = thing
    return defines, needs


def is_database(symbol, defines):
    return defines.get(symbol, "").startswith("store/") or symbol.startswith(("sqlite3_", "PQ"))


def is_kind(thing):
    """A job or a database: tables of functions that only a node calls; verbs read the options in them."""
    folder, _, name = thing.rpartition("/")
    return (folder == "job" and name.endswith("_job")) or folder == f"table/{name}"


def reached(start, defines, needs):
    """Every object that can be reached by calls, and the call by which it was reached first."""
    seen, todo = {start: None}, [start]
    while todo:
        here = todo.pop()
        for symbol in sorted(needs[here]):
            there = defines.get(symbol)
            if there is not None and there not in seen and not is_kind(there):
                seen[there] = (here, symbol)
                todo.append(there)
    return seen


def test_who_calls_the_database():
    defines, needs = read_symbols()
    files = sorted(t for t in set(defines.values()) if t.startswith("app/"))
    assert len(files) > 30 and set(OFFLINE) | NODE <= set(files)
    callers = {f: {s for s in needs[f] if is_database(s, defines)} for f in files}
    assert {f: s for f, s in callers.items() if s and f not in NODE} == OFFLINE | TRYING
    for f in files:
        if f in OFFLINE or f in NODE or f in TRYING or f in TRYING_VERBS:
            continue
        for there, by in reached(f, defines, needs).items():
            bad = sorted(s for s in needs[there] if is_database(s, defines))
            assert not bad, f"{f} comes to {there} by {by}, which calls {bad}"
