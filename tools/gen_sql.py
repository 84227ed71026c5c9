#!/usr/bin/env python3
"""Turn src/store/sql/*.sql into the SQL catalogue: an enum and one table per dialect.

A statement starts with `-- name: NAME` and may have

    -- in:    $1 num int, $2 id bytes, $3 name text     its parameters, all of them
    -- out:   num, id, @doc@, which                      the columns of its rows, by name
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
NAMELESS_MOST = 3  # so many columns are read by number without harm
FAMILIES = ("done",)  # of numbered tables: done_N


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


def split_top(text, separator=","):
    """Split where no parenthesis is open."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == separator and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


def comment(rest, key):
    """What a comment of several lines says: `-- KEY: ...`, and lines indented below it."""
    found = re.search(rf"(?m)^-- {key}:[ \t]*(.*(?:\n--[ \t]{{5,}}.*)*)", rest)
    return found and " ".join(re.sub(r"(?m)^--", " ", found.group(1)).split())


def columns_of_groups(paths):
    """{group: [(the group whose constant it is, name, expression or None)]}, of all files."""
    groups = {}
    for path in paths:
        text = path.read_text()
        for group in re.findall(r"(?m)^-- columns (\w+):", text):
            where = f"{path}: {group}"
            if group in groups:
                fail(where, "these columns stand here twice")
            groups[group] = []
            for part in split_top(comment(text, f"columns {group}")):
                m = re.fullmatch(r"([a-z]\w*)(?: = (.+))?", part)
                if part[:1] == "@" and part[1:-1] in groups and not groups[group]:
                    groups[group] += groups[part[1:-1]]
                elif m:
                    groups[group].append((group, *m.groups()))
                else:
                    fail(where, f"columns are `name` or `name = expression`, behind one group, not `{part}`")
    return groups


def put_groups(sql, groups):
    def put(m):
        alias, group = m.groups()
        if group not in groups:
            return m.group(0)
        return ", ".join(f"{expression} AS {name}" if expression else (alias or "") + name
                         for _, name, expression in groups[group])
    return re.sub(r"@(\w+\.)?([a-z]\w*)@", put, sql)


def declared(rest, groups, where):
    """The columns of a row: [(the group whose constant it is, or None, name)]; None: not said."""
    text = comment(rest, "out")
    if text is None:
        return None
    columns = []
    for part in split_top(text):
        if part[:1] == "@" and part[1:-1] in groups:
            if columns not in ([], [(None, "which")]):
                fail(where, "a group of columns stands first in `out:`, or behind `which` (rows.h: row_found)")
            columns += [(group, name) for group, name, _ in groups[part[1:-1]]]
        elif re.fullmatch(r"[a-z]\w*", part):
            columns.append((None, part))
        else:
            fail(where, f"`out:` has names of columns, not `{part}`")
    if len({name for _, name in columns}) < len(columns):
        fail(where, "`out:` names a column twice")
    return columns


def result_list(sql):
    """The expressions that a text returns; [] for none, None where that is not simple to say."""
    flat, depth = [], 0
    for c in sql:
        depth -= c == ")"
        flat.append(c if depth == 0 and c not in "()" else "\0")
        depth += c == "("
    flat = "".join(flat)
    if re.search(r"(?i)\b(UNION|PRAGMA)\b", flat):
        return None
    found = re.search(r"\bRETURNING\b(.*)$", flat)
    if not found:
        if re.search(r"\b(INSERT|UPDATE|DELETE|CREATE|DROP|ALTER)\b(?! SKIP)", flat.replace("FOR UPDATE", "")):
            return []
        found = re.search(r"\bSELECT\b(?: DISTINCT\b)?(.*?)(?:\bFROM\b|$)", flat)
    if not found:
        return []
    items = split_top(sql[found.start(1):found.end(1)])
    return None if any(item.endswith("*") and not item.endswith("(*)") for item in items) else items


def check_columns(entry):
    """Against the text: how many there are, and the names of those that have one there."""
    items = result_list(entry["sql"])
    columns = entry["columns"]
    if items is None:
        return
    if columns is None:
        if len(items) > NAMELESS_MOST:
            fail(entry["where"], f"returns {len(items)} columns and names none in `out:`")
        return
    if len(items) != len(columns):
        fail(entry["where"], f"returns {len(items)} columns, `out:` has {len(columns)}")
    for item, (_, name) in zip(items, columns):
        plain = re.search(r"(?i)\bAS (\w+)$", item) or re.fullmatch(r"(?:\w+\.)?([a-z_]\w*)", item)
        if plain and plain.group(1) != name and item != "u.at":
            fail(entry["where"], f"column `{item}` is called `{name}` in `out:`")


def parse(path, groups):
    before, *blocks = re.split(r"(?m)^-- name:[ \t]*", path.read_text())
    if re.sub(r"(?m)--.*$", "", before).strip():
        fail(path, "text before the first `-- name:`")
    for block in blocks:
        name, _, rest = block.partition("\n")
        name = name.strip()
        where = f"{path}: {name}"
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            fail(where, "a name has small letters, digits and _")
        rest = re.sub(r"(?m)^-- columns \w+:.*(?:\n--[ \t]{5,}.*)*", "", rest)
        for key in re.findall(r"(?m)^-- (\w+):", rest):
            if key not in KEYS:
                fail(where, f"unknown `-- {key}:`")
        types = parameters(rest, where)
        sql = put_groups(" ".join(re.sub(r"(?m)--.*$", "", rest).split()).rstrip("; "), groups)
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
            "columns": declared(rest, groups, where),
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
    table, groups = {}, columns_of_groups(paths)
    for path in paths:
        for name, entry in parse(path, groups):
            entries = table.setdefault(name, {})
            if entry["dialect"] in entries:
                fail(entry["where"], "stands here twice")
            for other in entries.values():
                if other["types"] != entry["types"] or other["batch"] != entry["batch"]:
                    fail(entry["where"], "takes other parameters than the other dialect's text")
            entries[entry["dialect"]] = entry
    for entries in table.values():
        one_result(entries)
    return table


def one_result(entries):
    """The dialects of a statement return the same columns; one of the texts says which."""
    said = [entry["columns"] for entry in entries.values() if entry["columns"] is not None]
    for entry in entries.values():
        if said and said[0] != (entry["columns"] or said[0]):
            fail(entry["where"], "returns other columns than the other dialect's text")
        entry["columns"] = said[0] if said else None
        check_columns(entry)


def c_text(text):
    if text is None:
        return "NULL"
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", '\\n"\n        "') + '"'


BLOCK = r"(?ms)^-- (only|each): (\w+)(?: (\w+))?\n(.*?)^-- end$"


def migration(path, dialect):
    """Its steps: [(family or None, text)]; those of a family are run for each of its tables."""
    steps, at, text = [], 0, path.read_text()
    for m in re.finditer(BLOCK, text):
        how, which, only, inside = m.groups()
        steps.append((None, text[at:m.start()]))
        at = m.end()
        if re.search(r"(?m)^-- (only|each):", inside):
            fail(path, "`-- only: DIALECT` or `-- each: FAMILY` and `-- end` do not match")
        if how == "each" and which not in FAMILIES:
            fail(path, f"no family of tables {which}")
        only = which if how == "only" else only or dialect
        if only not in TOKENS:
            fail(path, f"no dialect {only}")
        if only == dialect:
            steps.append((which if how == "each" else None, inside))
    steps.append((None, text[at:]))
    steps = [(family, migration_text(path, dialect, family, step)) for family, step in steps]
    joined = []
    for family, step in steps:
        if step and joined and not family and not joined[-1][0]:
            joined[-1] = (None, joined[-1][1] + "\n" + step)
        elif step:
            joined.append((family, step))
    return joined


def migration_text(path, dialect, family, text):
    if re.search(r"(?m)^-- (only:|each:|end$)", text):
        fail(path, "`-- only: DIALECT` or `-- each: FAMILY` and `-- end` do not match")
    text = re.sub(r"(?m)\s*--.*$", "", text)
    for token, word in TOKENS[dialect].items():
        text = text.replace(token, word)
    left = [token for token in re.findall(r"@\w+@", text) if not (family and token == "@SLOT@")]
    if left:
        fail(path, f"unknown tokens {left}")
    if family and "@SLOT@" not in text:
        fail(path, "a text for each table of a family has @SLOT@ in it")
    return "\n".join(line for line in text.splitlines() if line.strip())


def constants(table, groups):
    """[(constant, column)] of the groups, then of the statements."""
    found = [(f"{group}_{name}", i) for group, columns in groups.items()
             for i, (owner, name, _) in enumerate(columns) if owner == group]
    for statement, entries in table.items():
        columns = next(iter(entries.values()))["columns"] or []
        found += [(f"{statement}_{name}", i) for i, (group, name) in enumerate(columns) if group is None]
    seen = set()
    for constant, _ in found:
        if constant in seen:
            fail(constant.upper(), "two columns have this constant")
        seen.add(constant)
    return [(constant.upper(), i) for constant, i in found]


def header(table, groups):
    lines = ["/* generated by tools/gen_sql.py: do not edit */", "#pragma once", "enum sql_id {"]
    lines += [f"    SQL_{name.upper()}," for name in table] + ["    SQL_COUNT", "};"]
    lines += ["enum sql_column {"] + [f"    {name} = {i}," for name, i in constants(table, groups)] + ["};"]
    return "\n".join(lines) + "\n"


def statements(table, dialect):
    yield f"const struct sql_statement sql_{dialect}[SQL_COUNT] = {{"
    for name, entries in table.items():
        any_entry = next(iter(entries.values()))
        types = "".join(TYPES[t][0] for t in any_entry["types"])
        yield (f'    [SQL_{name.upper()}] = {{ .name = "{name}", .types = "{types}", '
               f'.batch = {"true" if any_entry["batch"] else "false"}, '
               f'.columns = {-1 if any_entry["columns"] is None else len(any_entry["columns"])}, .text = {c_text(for_dialect(entries, dialect))} }},')
    yield "};"


def c_steps(steps):
    texts = [f"{{ .family = {c_text(family)}, .text = {c_text(text)} }}," for family, text in steps]
    return "(const struct sql_step[]){ " + " ".join(texts + ["{ 0 } }"])


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
        yield f"      .sqlite = {c_steps(migration(path, 'sqlite'))},"
        yield f"      .postgresql = {c_steps(migration(path, 'postgresql'))} }},"
    yield "    { .version = 0 },"
    yield "};"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("-o", required=True, help="folder for sql_catalog.h and sql_catalog.c")
    args.add_argument("files", nargs="*")
    args.add_argument("--schema", nargs="*", default=[])
    args = args.parse_args()
    paths = sorted(map(pathlib.Path, args.files))
    table = load(paths)
    body = ["/* generated by tools/gen_sql.py: do not edit */", '#include "store/db/sql.h"']
    for dialect in TOKENS:
        body += statements(table, dialect)
    body += migrations(sorted(map(pathlib.Path, args.schema)))
    out = pathlib.Path(args.o)
    (out / "sql_catalog.h").write_text(header(table, columns_of_groups(paths)))
    (out / "sql_catalog.c").write_text("\n".join(body) + "\n")


if __name__ == "__main__":
    main()
