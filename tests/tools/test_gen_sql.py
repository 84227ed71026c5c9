"""tools/gen_sql.py: what it makes of good input, and what it says about bad input."""
import pathlib
import re
import sqlite3
import subprocess

import gen_sql
import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(name="catalog")
def fixture_catalog(tmp_path):
    """Statements from a text: {name: {dialect: sql}}."""
    def make(text, *more):
        paths = []
        for i, part in enumerate((text, *more)):
            paths.append(tmp_path / f"{i}.sql")
            paths[-1].write_text(part)
        table = gen_sql.load(paths)
        return {name: {d: gen_sql.for_dialect(entries, d) for d in gen_sql.TOKENS} for name, entries in table.items()}
    return make


@pytest.fixture(name="migrate")
def fixture_migrate(tmp_path):
    """The migrations of files: the lines of the table."""
    def make(files):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return "\n".join(gen_sql.migrations(sorted(tmp_path / name for name in files)))
    return make


def both(text):
    return {"sqlite": text.replace("$", "?"), "postgresql": text}


# ---- good input

def test_one_text_for_both(catalog):
    made = catalog("""-- What this file is about.
-- name: a
-- in:  $1 num int, $2 name text,
--      $3 sha bytes
-- out: x
-- A word about it.
SELECT x FROM t   -- here too
WHERE a = $1 AND b = $2
  AND c = $3;
""")
    assert made == {"a": both("SELECT x FROM t WHERE a = $1 AND b = $2 AND c = $3")}


def test_a_row_that_is_looked_up_for_each_row_of_another(catalog):
    made = catalog("-- name: a\nSELECT 1 FROM t JOIN d ON d.num = @KEY(coalesce(t.a, t.b))@ AND d.x = @KEY(t.x)@;\n")
    assert made == {"a": {"sqlite": "SELECT 1 FROM t JOIN d ON d.num = coalesce(t.a, t.b) AND d.x = t.x",
                          "postgresql": "SELECT 1 FROM t JOIN d ON d.num = ANY (ARRAY[coalesce(t.a, t.b)]) "
                                        "AND d.x = ANY (ARRAY[t.x])"}}


def test_a_dialect_may_have_its_own_text(catalog):
    made = catalog("-- name: a\nSELECT 1;\n-- name: b\nSELECT 2;\n", "-- name: a\n-- for: postgresql\nSELECT 3\n")
    assert made == {"a": {"sqlite": "SELECT 1", "postgresql": "SELECT 3"}, "b": both("SELECT 2")}


def test_a_dialect_may_be_the_only_one(catalog):
    assert catalog("-- name: a\n-- only: sqlite\nSELECT 1;\n") == {"a": {"sqlite": "SELECT 1", "postgresql": None}}


def test_tokens(catalog):
    made = catalog("-- name: a\nCREATE TABLE t_@SLOT@(a @INT@, b @BYTES@) @CLUSTERED@\n")
    assert made["a"] == {"sqlite": "CREATE TABLE t_@SLOT@(a INTEGER, b BLOB) STRICT, WITHOUT ROWID",
                         "postgresql": "CREATE TABLE t_@SLOT@(a BIGINT, b BYTEA) "}


def test_ten_parameters_keep_their_numbers(catalog):
    declared = ", ".join(f"${i} p{i} int" for i in range(1, 12))
    used = ", ".join(f"${i}" for i in range(1, 12))
    assert catalog(f"-- name: a\n-- in: {declared}\nSELECT f({used})")["a"] == both(f"SELECT f({used})")


BATCHES = [
    ("INSERT INTO t(a, b) VALUES ($1, $2);",
     "INSERT INTO t(a, b) SELECT u.c1, u.c2 FROM unnest($1::bigint[], $2::text[]) AS u(c1, c2)"),
    ("INSERT INTO t(a, n, b, m) VALUES ($1, 0, $2, NULL)",
     "INSERT INTO t(a, n, b, m) SELECT u.c1, 0, u.c2, NULL FROM unnest($1::bigint[], $2::text[]) AS u(c1, c2)"),
    ("INSERT INTO t_@SLOT@(a, b)\nVALUES ($2, $1)\nON CONFLICT(a) DO UPDATE SET n = t.n + excluded.n;",
     "INSERT INTO t_@SLOT@(a, b) SELECT u.c2, u.c1 FROM unnest($1::bigint[], $2::text[]) AS u(c1, c2)"
     " ON CONFLICT(a) DO UPDATE SET n = t.n + excluded.n"),
    ("INSERT INTO t(a, b, at) VALUES ($1, $2, @NOW_US@)",
     "INSERT INTO t(a, b, at) SELECT u.c1, u.c2, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint"
     " FROM unnest($1::bigint[], $2::text[]) AS u(c1, c2)"),
]


@pytest.mark.parametrize("sql,want", BATCHES)
def test_a_batch_is_arrays_on_postgresql(catalog, sql, want):
    made = catalog(f"-- name: a\n-- in: $1 x int, $2 y text\n-- batch\n{sql}")["a"]
    assert made["postgresql"] == want
    assert "unnest" not in made["sqlite"] and "?1" in made["sqlite"]


def test_a_batch_may_place_its_rows_itself(catalog):
    made = catalog("-- name: a\n-- in: $1 x int\n-- batch\nDELETE FROM t WHERE a = $1;\n"
                   "-- name: a\n-- for: postgresql\n-- in: $1 x int\n-- batch\n"
                   "DELETE FROM t USING @ROWS@ WHERE a = u.c1;\n")
    assert made["a"]["postgresql"] == "DELETE FROM t USING unnest($1::bigint[]) AS u(c1) WHERE a = u.c1"


def test_migrations_are_in_order_and_by_dialect(migrate):
    made = migrate({
        "0002_more.sql": "ALTER TABLE t ADD x @INT@; -- why\n",
        "0001_first.sql": "-- About.\nCREATE TABLE t(a @INT@) @PLAIN@;\n"
                          "-- only: sqlite\nCREATE TABLE s(a TEXT);\n-- end\n"
                          "-- only: postgresql\nCREATE SEQUENCE q;\n-- end",
    })
    assert re.findall(r"version = (\d+)", made) == ["1", "2", "0"]
    assert '.text = "CREATE TABLE t(a INTEGER) STRICT;\\n"\n        "CREATE TABLE s(a TEXT);" }, { 0 } }' in made
    assert '.text = "CREATE TABLE t(a BIGINT) ;\\n"\n        "CREATE SEQUENCE q;" }, { 0 } }' in made
    assert "why" not in made and "About" not in made


def test_a_migration_may_be_for_each_table_of_a_family(tmp_path):
    path = tmp_path / "0001_a.sql"
    path.write_text("CREATE TABLE t(a @INT@);\n-- each: done\nALTER TABLE done_@SLOT@ ADD x @INT@;\n-- end\n"
                    "-- each: done postgresql\nCREATE INDEX i_@SLOT@ ON done_@SLOT@(x);\n-- end\nDROP TABLE t;\n")
    assert gen_sql.migration(path, "sqlite") == [
        (None, "CREATE TABLE t(a INTEGER);"), ("done", "ALTER TABLE done_@SLOT@ ADD x INTEGER;"), (None, "DROP TABLE t;")]
    assert gen_sql.migration(path, "postgresql") == [
        (None, "CREATE TABLE t(a BIGINT);"), ("done", "ALTER TABLE done_@SLOT@ ADD x BIGINT;"),
        ("done", "CREATE INDEX i_@SLOT@ ON done_@SLOT@(x);"), (None, "DROP TABLE t;")]


COLUMNS = """-- columns doc: num, id,
--      trail
-- columns done: @doc@, ended_us
-- columns sum: n = count(*), top = max(d.num)
-- name: a
-- out: @done@, more
SELECT @d.done@, 1 FROM done d;
-- name: b
-- out: which, id
SELECT u.at, d.id FROM unnest(@x.doc@) AS u;
-- name: c
-- out: @sum@
SELECT @sum@ FROM doc d;
-- name: d
INSERT INTO doc(@doc@) SELECT @doc@ FROM done;
-- name: e
-- out: num, age_us
DELETE FROM t WHERE a IN (SELECT num FROM doc) RETURNING num, @NOW_US@ - at;
"""


def test_columns_are_named_and_shared(catalog, tmp_path):
    made = catalog(COLUMNS)
    assert made["a"]["sqlite"] == "SELECT d.num, d.id, d.trail, d.ended_us, 1 FROM done d"
    assert made["c"]["sqlite"] == "SELECT count(*) AS n, max(d.num) AS top FROM doc d"
    assert made["d"]["sqlite"] == "INSERT INTO doc(num, id, trail) SELECT num, id, trail FROM done"
    paths = [tmp_path / "0.sql"]
    assert dict(gen_sql.constants(gen_sql.load(paths), gen_sql.columns_of_groups(paths))) == {
        "DOC_NUM": 0, "DOC_ID": 1, "DOC_TRAIL": 2, "DONE_ENDED_US": 3, "SUM_N": 0, "SUM_TOP": 1,
        "A_MORE": 4, "B_WHICH": 0, "B_ID": 1, "E_NUM": 0, "E_AGE_US": 1}


RESULTS = [
    ("SELECT a, (SELECT b FROM c), f(d, e) FROM t", ["a", "(SELECT b FROM c)", "f(d, e)"]),
    ("WITH q AS (SELECT x FROM y) SELECT a, b FROM q", ["a", "b"]),
    ("WITH q AS (DELETE FROM y RETURNING z) INSERT INTO t(a) SELECT z FROM q", []),
    ("UPDATE t SET a = 1 WHERE b = 2 RETURNING a, t.b", ["a", "t.b"]),
    ("SELECT 1", ["1"]),
    ("SELECT count(*) FROM t FOR UPDATE", ["count(*)"]),
    ("DELETE FROM t", []),
    ("SELECT * FROM t", None),
    ("(SELECT a FROM t) UNION ALL (SELECT b FROM t)", None),
]


@pytest.mark.parametrize("sql,want", RESULTS)
def test_what_a_text_returns(sql, want):
    assert gen_sql.result_list(sql) == want


def test_quotes_and_backslashes_survive_as_c():
    assert gen_sql.c_text('say "\\n"\nend') == '"say \\"\\\\n\\"\\n"\n        "end"'
    assert gen_sql.c_text(None) == "NULL"


# ---- bad input

BAD = [
    ("SELECT 0;\n-- name: a\nSELECT 1;", "text before the first"),
    ("-- name: a b\nSELECT 1;", "a name has small letters"),
    ("-- name: Upper\nSELECT 1;", "a name has small letters"),
    ("-- name:\nSELECT 1;", "a name has small letters"),
    ("-- name: a", "has no text"),
    ("-- name: a\n-- only a comment\n", "has no text"),
    ("-- name: a\nSELECT 1; SELECT 2;", "more than one statement"),
    ("-- name: a\n-- inn: $1 x int\nSELECT $1;", "unknown `-- inn:`"),
    ("-- name: a\n-- onyl: sqlite\nSELECT 1;", "unknown `-- onyl:`"),
    ("-- name: a\n-- for: oracle\nSELECT 1;", "not 'oracle'"),
    ("-- name: a\n-- only: mysql\nSELECT 1;", "not 'mysql'"),
    ("-- name: a\n-- only:\nSELECT 1;", "names one dialect"),
    ("-- name: a\n-- only: sqlite\n-- only: postgresql\nSELECT 1;", "names one dialect"),
    ("-- name: a\n-- in: $1 x\nSELECT $1;", "declared as `$1 name type`, not `$1 x`"),
    ("-- name: a\n-- in: $2 x int\nSELECT $2;", "declared as `$1 name type`, not `$2 x int`"),
    ("-- name: a\n-- in: $1 x int $2 y int\nSELECT $1, $2;", "declared as `$1 name type`"),
    ("-- name: a\n-- in: $1 x float\nSELECT $1;", "no type of int, text, bytes"),
    ("-- name: a\nSELECT $1;", "uses parameters [1], declares 0"),
    ("-- name: a\n-- in: $1 x int, $2 y int\nSELECT $2;", "uses parameters [2], declares 2"),
    ("-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;", "stands here twice"),
    ("-- name: a\n-- for: sqlite\nSELECT 1;", "nothing for postgresql"),
    ("-- name: a\n-- in: $1 x int\nSELECT $1;\n-- name: a\n-- for: sqlite\nSELECT 1;", "takes other parameters"),
    ("-- name: a\n-- in: $1 x int\n-- batch\nSELECT $1;\n-- name: a\n-- for: postgresql\n-- in: $1 x int\nSELECT $1;",
     "takes other parameters"),
    ("-- name: a\nSELECT @WAT@;", "unknown tokens {'@WAT@'}"),
    ("-- name: a\nSELECT b, c, d, e FROM t;", "returns 4 columns and names none"),
    ("-- name: a\n-- out: b\nSELECT b, c FROM t;", "returns 2 columns, `out:` has 1"),
    ("-- name: a\n-- out: b, d\nSELECT b, t.c FROM t;", "column `t.c` is called `d`"),
    ("-- name: a\n-- out: b, d\nSELECT b, 1 + 2 AS c FROM t;", "column `1 + 2 AS c` is called `d`"),
    ("-- name: a\n-- out: what there is\nSELECT 1;", "names of columns, not `what there is`"),
    ("-- name: a\n-- out: b, b\nSELECT b, b FROM t;", "names a column twice"),
    ("-- columns x: b\n-- name: a\n-- out: c, @x@\nSELECT c, b FROM t;", "stands first"),
    ("-- columns x: b\n-- columns x: c\n-- name: a\nSELECT 1;", "these columns stand here twice"),
    ("-- columns x: b c\n-- name: a\nSELECT 1;", "not `b c`"),
    ("-- name: a\n-- out: b\nSELECT b FROM t;\n-- name: a\n-- for: sqlite\n-- out: c\nSELECT c FROM t;",
     "returns other columns"),
    ("-- name: a\n-- in: $1 x int\n-- batch\nDELETE FROM t WHERE a = $1;", "needs a text `for: postgresql`"),
    ("-- name: a\n-- in: $1 x int\n-- batch\nINSERT INTO t(a) VALUES ($1) ON CONFLICT(a) DO UPDATE SET b = $1;",
     "excluded.COLUMN"),
]


@pytest.mark.parametrize("text,complaint", BAD)
def test_bad_statements_are_named(catalog, text, complaint):
    with pytest.raises(SystemExit) as end:
        catalog(text)
    assert complaint in end.value.code
    assert "0.sql" in end.value.code


BAD_MIGRATIONS = [
    ({"first.sql": "SELECT 1;"}, "named 0001_what.sql"),
    ({"0000_zero.sql": "SELECT 1;"}, "version 0"),
    ({"0001_a.sql": "SELECT 1;", "0001_b.sql": "SELECT 2;"}, "version 1 already"),
    ({"0001_a.sql": "-- only: sqlite\nSELECT 1;\n"}, "do not match"),
    ({"0001_a.sql": "SELECT 1;\n-- end\n"}, "do not match"),
    ({"0001_a.sql": "-- only: sqlite\n-- only: postgresql\nSELECT 1;\n-- end\n"}, "do not match"),
    ({"0001_a.sql": "-- only: oracle\nSELECT 1;\n-- end\n"}, "no dialect oracle"),
    ({"0001_a.sql": "CREATE TABLE t(a @WAT@);"}, "unknown tokens ['@WAT@']"),
    ({"0001_a.sql": "DROP TABLE done_@SLOT@;"}, "unknown tokens ['@SLOT@']"),
    ({"0001_a.sql": "-- each: doc\nDROP TABLE doc_@SLOT@;\n-- end\n"}, "no family of tables doc"),
    ({"0001_a.sql": "-- each: done\nDROP TABLE t;\n-- end\n"}, "has @SLOT@ in it"),
    ({"0001_a.sql": "-- each: done\nDROP TABLE done_@SLOT@;\n"}, "do not match"),
]


@pytest.mark.parametrize("files,complaint", BAD_MIGRATIONS)
def test_bad_migrations_are_named(migrate, files, complaint):
    with pytest.raises(SystemExit) as end:
        migrate(files)
    assert complaint in end.value.code


def test_bad_input_leaves_no_half_catalogue(tmp_path):
    (tmp_path / "a.sql").write_text("-- name: a\nSELECT @WAT@;")
    end = subprocess.run(["/usr/bin/python3", ROOT / "tools/gen_sql.py", "-o", tmp_path, tmp_path / "a.sql"],
                         capture_output=True, text=True, check=False)
    assert end.returncode == 1 and "unknown tokens" in end.stderr and "Traceback" not in end.stderr
    assert not list(tmp_path.glob("sql_catalog*"))


# ---- the house's own

def test_every_statement_of_the_house_is_good_sqlite():
    """Against the schema, as SQLite itself sees it; numbered tables stand for all of them."""
    schema = sorted((ROOT / "src/store/sql/schema").glob("*.sql"))
    table = gen_sql.load(sorted((ROOT / "src/store/sql").glob("*.sql")))
    texts = {name: gen_sql.for_dialect(entries, "sqlite") for name, entries in table.items()}
    db = sqlite3.connect(":memory:")
    db.create_function("now_us", 0, lambda: 0)
    for path in schema:
        for family, text in gen_sql.migration(path, "sqlite"):
            if family is None:  # there are no numbered tables yet
                db.executescript(text)
    made = [text for text in texts.values() if text and text.startswith("CREATE TABLE")]
    for text in made:
        for slot in ("1", "1000000"):  # what has no day has a table with a number of its own
            db.execute(text.replace("@SLOT@", slot))
    for name, text in texts.items():
        if text is not None and not text.startswith(("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA")):
            types = next(iter(table[name].values()))["types"]
            db.execute("EXPLAIN " + text.replace("@SLOT@", "1"), [None] * len(types))
