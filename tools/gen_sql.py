#!/usr/bin/env python3
"""Turn src/store/sql/*.sql into the SQL catalogue: an enum and one table per dialect.

A statement starts with `-- name: NAME` and may have

    -- in:    $1 num int, $2 id bytes, $3 name text     its parameters, all of them
    -- for:   sqlite | postgresql                        replaces the shared text there
    -- only:  sqlite | postgresql                        the other dialect has no such statement
    -- batch                                             run once for each of many rows

SQLite runs a batch row by row.  For PostgreSQL every parameter of a batch is an
array: an `INSERT ... VALUES (...)` is rewritten over unnest() here, anything else
needs a `for: postgresql` text of its own.  Tokens below are the few words in
which the dialects differ; @SLOT@ is left for the driver, which puts an integer.

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
        "@SKIP_LOCKED@": "", "@FOR_UPDATE@": "",
    },
    "postgresql": {
        "@INT@": "BIGINT", "@BYTES@": "BYTEA", "@ROWKEY@": "BIGINT PRIMARY KEY",
        "@CLUSTERED@": "", "@PLAIN@": "",
        "@NOW_US@": "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint",
        "@SKIP_LOCKED@": "FOR UPDATE SKIP LOCKED", "@FOR_UPDATE@": "FOR UPDATE",
    },
}
TYPES = {"int": ("i", "bigint"), "text": ("t", "text"), "bytes": ("b", "bytea")}


def fail(where, message):
    sys.exit(f"{where}: {message}")


def parse(path):
    for block in re.split(r"(?m)^-- name:\s*", path.read_text())[1:]:
        name, rest = block.split("\n", 1)
        name = name.strip()
        where = f"{path}: {name}"
        dialect = re.search(r"(?m)^-- for:\s*(\w+)", rest)
        if dialect and dialect.group(1) not in TOKENS:
            fail(where, f"no dialect {dialect.group(1)}")
        only = re.search(r"(?m)^-- only:\s*(\w+)", rest)
        if only and only.group(1) not in TOKENS:
            fail(where, f"no dialect {only.group(1)}")
        inputs = " ".join(re.findall(r"(?m)^-- (?:in:|\s{4,})\s*(\$.*)$", rest))
        params = re.findall(r"\$(\d+)\s+(\w+)\s+(\w+)", inputs)
        if [int(n) for n, _, _ in params] != list(range(1, len(params) + 1)):
            fail(where, "parameters are not numbered 1, 2, ...")
        for _, label, kind in params:
            if kind not in TYPES:
                fail(where, f"parameter {label} has no type of int, text, bytes")
        sql = " ".join(re.sub(r"(?m)--.*$", "", rest).split()).rstrip("; ")
        used = {int(n) for n in re.findall(r"\$(\d+)", sql)}
        if "@ROWS@" not in sql and used != set(range(1, len(params) + 1)):
            fail(where, f"uses parameters {sorted(used)}, declares {len(params)}")
        yield name, {
            "where": where, "only": only.group(1) if only else None, "dialect": dialect.group(1) if dialect else None, "sql": sql,
            "types": [kind for _, _, kind in params], "batch": bool(re.search(r"(?m)^-- batch", rest)),
        }


def over_unnest(entry):
    """INSERT ... VALUES ($1, 0, $2) over arrays, for PostgreSQL."""
    m = re.match(r"(INSERT INTO [\w@]+(?:\s*AS\s+\w+)?\s*\([^)]*\))\s*VALUES\s*\((.*?)\)(\s*ON CONFLICT.*)?$", entry["sql"])
    if not m:
        fail(entry["where"], "a batch that is not INSERT ... VALUES needs a text `for: postgresql`")
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


def migration(path, dialect):
    text = path.read_text()
    text = re.sub(r"(?ms)^-- only: (\w+)\n(.*?)^-- end\n", lambda m: m.group(2) if m.group(1) == dialect else "", text)
    text = re.sub(r"(?m)\s*--.*$", "", text)
    for token, word in TOKENS[dialect].items():
        text = text.replace(token, word)
    left = re.findall(r"@\w+@", text)
    if left:
        fail(path, f"unknown tokens {left}")
    return "\n".join(line for line in text.splitlines() if line.strip())


def main():
    args = argparse.ArgumentParser()
    args.add_argument("-o", required=True, help="folder for sql_catalog.h and sql_catalog.c")
    args.add_argument("files", nargs="*")
    args.add_argument("--schema", nargs="*", default=[])
    args = args.parse_args()
    table = load(sorted(map(pathlib.Path, args.files)))
    out = pathlib.Path(args.o)
    head = ["/* generated by tools/gen_sql.py: do not edit */", "#pragma once", "enum sql_id {"]
    head += [f"    SQL_{name.upper()}," for name in table] + ["    SQL_COUNT", "};"]
    (out / "sql_catalog.h").write_text("\n".join(head) + "\n")
    body = ["/* generated by tools/gen_sql.py: do not edit */", '#include "store/sql.h"']
    for dialect in TOKENS:
        body.append(f"const struct sql_statement sql_{dialect}[SQL_COUNT] = {{")
        for name, entries in table.items():
            any_entry = next(iter(entries.values()))
            types = "".join(TYPES[t][0] for t in any_entry["types"])
            body.append(
                f'    [SQL_{name.upper()}] = {{ .name = "{name}", .types = "{types}", '
                f'.batch = {"true" if any_entry["batch"] else "false"}, .text = {c_text(for_dialect(entries, dialect))} }},')
        body.append("};")
    body.append("const struct sql_migration sql_migrations[] = {")
    for path in sorted(map(pathlib.Path, args.schema)):
        number = re.match(r"(\d{4})_\w+\.sql$", path.name)
        if not number:
            fail(path, "a migration is named 0001_what.sql")
        body.append(f'    {{ .version = {int(number.group(1))}, .name = "{path.stem}",')
        body.append(f"      .sqlite = {c_text(migration(path, 'sqlite'))},")
        body.append(f"      .postgresql = {c_text(migration(path, 'postgresql'))} }},")
    body.append("    { .version = 0 },")
    body.append("};")
    (out / "sql_catalog.c").write_text("\n".join(body) + "\n")


main()
