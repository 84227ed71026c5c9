#!/usr/bin/env python3
"""Turn src/store/sql/*.sql into the SQL catalogue: an enum and one table per dialect.

A statement starts with `-- name: NAME` and may have

    -- in:    $1 num int, $2 id bytes, $3 name text     its parameters, all of them
    -- out:   what the rows are                          for the reader
    -- for:   sqlite | postgresql                        replaces the shared text there
    -- only:  sqlite | postgresql                        the other dialect has no such statement
    -- batch                                             run once for each of many rows

SQLite runs a batch row by row.  For PostgreSQL every parameter of a batch is an
array: an `INSERT ... VALUES (...)` is rewritten over unnest() here, anything else
needs a `for: postgresql` text of its own.  Tokens below are the few words in
which the dialects differ; @SLOT@ is left for the driver, which puts an integer.
`= @KEY(expression)@` looks a row up by its key for each row of something else; why it
is not written as a plain = says src/store/db/sql.h.

Migrations are the files of sql/schema, applied whole, in the order of their numbers;
a part between `-- only: DIALECT` and `-- end` is for that dialect.
"""
import argparse
import pathlib
import re
import sys

TOKENS = {
    "sqlite": {
        "@INT@": "INTEGER", "@BYTES@": "BLOB", "@ROWKEY@": "INTEGER PRIMARY KEY",
        "@CLUSTERED@": "STRICT, WITHOUT ROWID", "@PLAIN@": "STRICT", "@NOW_US@": "now_us()",
        "@SKIP_LOCKED@": "", "@FOR_UPDATE@": "", "@FIND@": "instr", "@ASCII@": "COLLATE BINARY",
    },
    "postgresql": {
        "@INT@": "BIGINT", "@BYTES@": "BYTEA", "@ROWKEY@": "BIGINT PRIMARY KEY",
        "@CLUSTERED@": "", "@PLAIN@": "",
        "@NOW_US@": "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint",
        "@SKIP_LOCKED@": "FOR UPDATE SKIP LOCKED", "@FOR_UPDATE@": "FOR UPDATE", "@FIND@": "strpos",
        "@ASCII@": 'COLLATE "C"',
    },
}
KEY = {"sqlite": r"\1", "postgresql": r"ANY (ARRAY[\1])"}
TYPES = {"int": ("i", "bigint"), "text": ("t", "text"), "bytes": ("b", "bytea")}


def fail(where, message):
    sys.exit(f"{where}: {message}")


KEYS = ("in", "out", "for", "only")


def dialect_of(rest, key, where):
    found = re.findall(rf"(?m)^-- {key}:[ \t]*(.*)$", rest)
    if not found:
        return None
    if len(found) > 1 or found[0].strip() not in TOKENS:
        fail(where, f"`{key}:` names one dialect of {', '.join(TOKENS)}, not {' and '.join(found)!r}")
    return found[0].strip()


def parameters(rest, where):
    """The declared types, in order."""
    text = " ".join(re.findall(r"(?m)^-- (?:in:|\s{4,})\s*(\$.*)$", rest))
    found = [part.split() for part in text.split(",") if part.strip()]
    for i, part in enumerate(found, 1):
        if len(part) != 3 or part[0] != f"${i}":
            fail(where, f"parameter {i} is declared as `${i} name type`, not `{' '.join(part)}`")
        if part[2] not in TYPES:
            fail(where, f"parameter {part[1]} has no type of {', '.join(TYPES)}")
    return [part[2] for part in found]


def parse(path):
    before, *blocks = re.split(r"(?m)^-- name:[ \t]*", path.read_text())
    if re.sub(r"(?m)--.*$", "", before).strip():
        fail(path, "text before the first `-- name:`")
    for block in blocks:
        name, _, rest = block.partition("\n")
        name = name.strip()
        where = f"{path}: {name}"
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            fail(where, "a name has small letters, digits and _")
        for key in re.findall(r"(?m)^-- (\w+):", rest):
            if key not in KEYS:
                fail(where, f"unknown `-- {key}:`")
        types = parameters(rest, where)
        sql = " ".join(re.sub(r"(?m)--.*$", "", rest).split()).rstrip("; ")
        if not sql:
            fail(where, "has no text")
        if ";" in sql:
            fail(where, "is more than one statement")
        used = {int(n) for n in re.findall(r"\$(\d+)", sql)}
        if "@ROWS@" not in sql and used != set(range(1, len(types) + 1)):
            fail(where, f"uses parameters {sorted(used)}, declares {len(types)}")
        yield name, {
            "where": where, "only": dialect_of(rest, "only", where), "dialect": dialect_of(rest, "for", where),
            "sql": sql, "types": types, "batch": bool(re.search(r"(?m)^-- batch\s*$", rest)),
        }


def over_unnest(entry):
    """INSERT ... VALUES ($1, 0, $2) over arrays, for PostgreSQL."""
    m = re.match(r"(INSERT INTO [\w@]+(?:\s*AS\s+\w+)?\s*\([^)]*\))\s*VALUES\s*\((.*?)\)(\s*ON CONFLICT.*)?$", entry["sql"])
    if not m:
        fail(entry["where"], "a batch that is not INSERT ... VALUES needs a text `for: postgresql`")
    if "$" in (m.group(3) or ""):
        fail(entry["where"], "ON CONFLICT of a batch sees excluded.COLUMN, not a parameter")
    columns = re.sub(r"\$(\d+)", r"u.c\1", m.group(2))
    return f"{m.group(1)} SELECT {columns} FROM {unnest(entry['types'])}{m.group(3) or ''}"


def unnest(types):
    arrays = ", ".join(f"${i}::{TYPES[t][1]}[]" for i, t in enumerate(types, 1))
    names = ", ".join(f"c{i}" for i in range(1, len(types) + 1))
    return f"unnest({arrays}) AS u({names})"


def for_dialect(entries, dialect):
    entry = entries.get(dialect) or entries.get(None)
    only = next((e["only"] for e in entries.values() if e["only"]), None)
    if only and only != dialect:
        return None
    if entry is None:
        fail(next(iter(entries.values()))["where"], f"nothing for {dialect}")
    sql = entry["sql"]
    if dialect == "postgresql" and entry["batch"]:
        sql = over_unnest(entry) if entry["dialect"] is None else sql.replace("@ROWS@", unnest(entry["types"]))
    sql = re.sub(r"@KEY\((.*?)\)@", KEY[dialect], sql)
    for token, text in TOKENS[dialect].items():
        sql = sql.replace(token, text)
    left = set(re.findall(r"@\w+@", sql)) - {"@SLOT@"}
    if left:
        fail(entry["where"], f"unknown tokens {left}")
    if dialect == "sqlite":
        sql = re.sub(r"\$(\d+)", r"?\1", sql)
    return sql


def load(paths):
    table = {}
    for path in paths:
        for name, entry in parse(path):
            entries = table.setdefault(name, {})
            if entry["dialect"] in entries:
                fail(entry["where"], "stands here twice")
            for other in entries.values():
                if other["types"] != entry["types"] or other["batch"] != entry["batch"]:
                    fail(entry["where"], "takes other parameters than the other dialect's text")
            entries[entry["dialect"]] = entry
    return table


def c_text(text):
    if text is None:
        return "NULL"
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", '\\n"\n        "') + '"'


def part(path, dialect, only, text):
    if only not in TOKENS:
        fail(path, f"no dialect {only}")
    if "-- only:" in text:
        fail(path, "`-- only: DIALECT` and `-- end` do not match")
    return text if only == dialect else ""


def migration(path, dialect):
    text = path.read_text()
    text = re.sub(r"(?ms)^-- only: (\w+)\n(.*?)^-- end$", lambda m: part(path, dialect, *m.groups()), text)
    if re.search(r"(?m)^-- (only:|end$)", text):
        fail(path, "`-- only: DIALECT` and `-- end` do not match")
    text = re.sub(r"(?m)\s*--.*$", "", text)
    for token, word in TOKENS[dialect].items():
        text = text.replace(token, word)
    left = re.findall(r"@\w+@", text)
    if left:
        fail(path, f"unknown tokens {left}")
    return "\n".join(line for line in text.splitlines() if line.strip())


def header(table):
    lines = ["/* generated by tools/gen_sql.py: do not edit */", "#pragma once", "enum sql_id {"]
    lines += [f"    SQL_{name.upper()}," for name in table] + ["    SQL_COUNT", "};"]
    return "\n".join(lines) + "\n"


def statements(table, dialect):
    yield f"const struct sql_statement sql_{dialect}[SQL_COUNT] = {{"
    for name, entries in table.items():
        any_entry = next(iter(entries.values()))
        types = "".join(TYPES[t][0] for t in any_entry["types"])
        yield (f'    [SQL_{name.upper()}] = {{ .name = "{name}", .types = "{types}", '
               f'.batch = {"true" if any_entry["batch"] else "false"}, .text = {c_text(for_dialect(entries, dialect))} }},')
    yield "};"


def migrations(paths):
    seen = {0}
    yield "const struct sql_migration sql_migrations[] = {"
    for path in paths:
        number = re.match(r"(\d{4})_\w+\.sql$", path.name)
        if not number:
            fail(path, "a migration is named 0001_what.sql")
        version = int(number.group(1))
        if version in seen:
            fail(path, f"there is a version {version} already, or it is 0")
        seen.add(version)
        yield f'    {{ .version = {version}, .name = "{path.stem}",'
        yield f"      .sqlite = {c_text(migration(path, 'sqlite'))},"
        yield f"      .postgresql = {c_text(migration(path, 'postgresql'))} }},"
    yield "    { .version = 0 },"
    yield "};"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("-o", required=True, help="folder for sql_catalog.h and sql_catalog.c")
    args.add_argument("files", nargs="*")
    args.add_argument("--schema", nargs="*", default=[])
    args = args.parse_args()
    table = load(sorted(map(pathlib.Path, args.files)))
    body = ["/* generated by tools/gen_sql.py: do not edit */", '#include "store/db/sql.h"']
    for dialect in TOKENS:
        body += statements(table, dialect)
    body += migrations(sorted(map(pathlib.Path, args.schema)))
    out = pathlib.Path(args.o)
    (out / "sql_catalog.h").write_text(header(table))
    (out / "sql_catalog.c").write_text("\n".join(body) + "\n")


if __name__ == "__main__":
    main()
