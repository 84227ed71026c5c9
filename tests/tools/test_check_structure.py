"""A rule that cannot fail is no rule: each check sees a tree that breaks it."""
import subprocess

import check_structure
import gen_events
import pytest
import sources
import symbols


@pytest.fixture(name="tree")
def fixture_tree(tmp_path):
    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path
    return write


def found(check, root):
    return [f"{p.relative_to(root)}:{n}: {text}" for p, n, text in check(root)]


LAYERS = [
    ("base", "core/x.h", False), ("core", "base/x.h", True), ("core", "store/x.h", False),
    ("store", "core/x.h", True), ("store", "router/x.h", False), ("gateway", "store/x.h", False),
    ("gateway", "base/x.h", True), ("delivery", "engine/x.h", False), ("service", "core/x.h", True),
    ("engine", "store/x.h", True), ("engine", "gateway/x.h", True), ("engine", "content/x.h", False),
    ("job", "engine/x.h", True), ("engine", "job/x.h", False), ("admin", "job/x.h", True),
    ("job", "admin/x.h", False), ("app", "admin/x.h", True), ("admin", "app/x.h", False),
    ("extract", "core/x.h", True), ("content", "store/x.h", True), ("router", "extract/x.h", False),
    ("core", "core/y.h", True), ("core", "sql_catalog.h", True), ("base", "../core/x.h", False),
]


@pytest.mark.parametrize("folder,include,good", LAYERS)
def test_layers(tree, folder, include, good):
    root = tree({f"src/{folder}/a.c": f'\n#include "{include}"\n'})
    assert (found(check_structure.check_layers, root) == []) == good


def test_layers_unknown_folder(tree):
    root = tree({"src/misc/a.c": "\n", "src/connectors.def": ""})
    assert found(check_structure.check_layers, root) == [
        "src/misc/a.c:1: misc/ is not a room of the design (tools/rooms.py)"]


def test_file_size(tree):
    root = tree({"src/base/a.c": "\n" * 800, "src/base/b.c": "\n" * 801, "tools/c.py": "\n" * 801,
                 "tools/d": "#!/usr/bin/python3\n" + "\n" * 801, "tools/e": "#!/bin/sh\n" * 900,
                 "src/base/README.md": "\n" * 61})
    assert [f.split(":")[0] for f in found(check_structure.check_file_size, root)] == [
        "src/base/b.c", "tools/c.py", "tools/d", "src/base/README.md"]


# proves: S10
def test_sql_is_not_made_of_text(tree):
    root = tree({
        "src/store/a.c": 'x(db, "SELECT 1 FROM doc WHERE num = $1");\n/* "SELECT %s" */\n',
        "src/store/b.c": '\nbuf_printf(&text, "SELECT * FROM doc WHERE name = \'%s\'", name);\n',
        "src/admin/c.c": 'snprintf(t, n, "DELETE FROM %s", table);\nprintf("%s: selected", x);\n',
        "src/store/backup/move.c": 'buf_printf(&text, "SELECT count(*) FROM %s", t->name);\n'})
    assert [f.partition(": SQL")[0] for f in found(check_structure.check_sql_texts, root)] == [
        "src/admin/c.c:1", "src/store/b.c:2"]


def test_function_length(tree):
    def function(name, lines):
        return f"static int {name}(int a,\n    int b)\n{{\n" + "    a++;\n" * (lines - 2) + "}\n"
    root = tree({
        "src/base/a.c": function("fits", 100) + "\nstruct s {\n" + "int a;\n" * 200 + "};\n"
                        + function("long_one", 101),
        "tools/b.py": "def fits():\n" + "    a()\n" * 99 + "def longer():\n" + "    a()\n" * 100})
    assert found(check_structure.check_function_length, root) == [
        "src/base/a.c:308: long_one() has 101 lines, at most 100",
        "tools/b.py:101: longer() has 101 lines, at most 100"]


BANNED = [
    ("strcpy(a, b);", False), ("  sprintf (a, b);", False), ("atoi(z)", False),
    ("snprintf(a, 1, b);", True), ("my_strcpy(a);", True), ("/* strcpy(a) */", True),
    ('puts("strcpy(a)");', True), ("// gets(a)", True), ("t = time(NULL);", False),
    ("clock_time(NULL)", True), ("x->time(1)", True), ("x.rename(1)", True), ("rename(a, b)", False),
    ("renameat2(a)", False), ("sleep(1)", False), ("char c = '\"'; strcat(a, b);", False),
]


@pytest.mark.parametrize("line,good", BANNED)
def test_banned(tree, line, good):
    root = tree({"src/core/a.c": "\n" + line + "\n"})
    bad = found(check_structure.check_banned, root)
    assert (bad == []) == good
    assert all(b.startswith("src/core/a.c:2: ") for b in bad)


def test_banned_has_its_places(tree):
    root = tree({"src/base/clock.c": "time(NULL); nanosleep(a, b);", "src/base/file.c": "rename(a);",
                 "tests/unit/a.c": "time(NULL);"})
    assert found(check_structure.check_banned, root) == []
    root = tree({"src/base/file.c": "time(NULL);", "tests/unit/a.c": "strcpy(a, b);",
                 "docs/a.md": "TO" + "DO: write"})
    assert len(found(check_structure.check_banned, root)) == 3


SQL = """-- name: take
-- in: $1 a
SELECT 1;

-- name: size
SELECT 2;

-- name: size
-- for:  postgresql
SELECT 3;
"""


def test_sql(tree):
    root = tree({"src/store/sql/a.sql": SQL, "src/store/a.c": "run(SQL_TAKE); run(SQL_SIZE);"})
    assert found(check_structure.check_sql, root) == []
    root = tree({"src/store/a.c": "run(SQL_SIZE); /* SQL_TAKE */",
                 "src/store/sql/b.sql": "\n-- name: size\nSELECT 4;\n"})
    assert found(check_structure.check_sql, root) == [
        "src/store/sql/a.sql:1: nobody uses SQL_TAKE",
        "src/store/sql/b.sql:2: statement size is there twice"]


CALLS = """
static bool helper(void)
{
    return run(SQL_TAKE);
}

bool a_read(void)
{
    return helper();
}
"""


@pytest.mark.parametrize("use,good", [
    ("int main(void)\n{\n    a_read();\n}\n", True),
    ("static const struct verb v = { .run = a_read };\n", True),
    ("#define READ() a_read()\n", True),
    ("bool a_read(void);\n", False),
    ("static void b_read(void)\n{\n    a_read();\n}\n", False),
])
def test_sql_of_functions_that_nothing_reaches(tree, use, good):
    root = tree({"src/store/sql/a.sql": "-- name: take\nSELECT 1;\n", "src/store/a.c": CALLS, "src/store/b.c": use})
    assert (found(check_structure.check_sql, root) == []) == good


def test_globals(tree, monkeypatch):
    root = tree({"src/base/a.c": "int a_used(void) { return 1; }\nint a_kept(void) { return 2; }\n"
                                 "int a_lost = 3;\nstatic int own = 4;\nint *a_own(void) { return &own; }\n",
                 "src/app/main.c": "int a_used(void), *a_own(void);\n"
                                   "int main(void) { return a_used() + *a_own(); }\n"})
    for name, target in (("base/a.c", "engine"), ("app/main.c", "waybill"), ("base/a.c", "gone")):
        made = root / f"build/debug/CMakeFiles/{target}.dir/src/{name}.o"
        made.parent.mkdir(parents=True)
        subprocess.run(["cc", "-c", "-o", made, root / "src" / name], check=True)
    monkeypatch.setattr(symbols, "KEPT", {"main": "", "a_kept": "", "a_used": ""})
    assert [text.partition(":")[0] for text in (f[2] for f in check_structure.check_globals(root))] == [
        "no other file of the product uses a_lost", "a_used is used by another file, or gone"]
    monkeypatch.setattr(symbols, "KEPT", {"main": "", "a_kept": "", "a_lost": ""})
    monkeypatch.setattr(symbols, "of_libraries", lambda program: {"main", "a_used", "other"})
    assert [f[2] for f in check_structure.check_globals(root)] == [
        "a_used is a name of a library that the program links, too: give it another one"]
    assert symbols.read(root / "build/debug").arrows == {("app/main.c", "base/a.c"): {"a_used", "a_own"}}


def test_connectors(tree):
    root = tree({"src/gateway/http_in.c": ""})
    assert found(check_structure.check_connectors, root) == []  # no table yet
    root = tree({"src/connectors.def": "GATEWAY(http)\nSERVICE(split) /* x */\nENDPOINT(file)\nJOB(note)\n",
                 "src/service/split.c": "", "src/delivery/file_out.c": "", "src/job/note_job.c": ""})
    assert found(check_structure.check_connectors, root) == []
    root = tree({"src/connectors.def": "SERVICE(split)\nSERVICE(split)\nENDPOINT(ftp)\n"})
    assert found(check_structure.check_connectors, root) == [
        "src/connectors.def:2: SERVICE(split) is there twice",
        "src/connectors.def:3: src/delivery/ftp_out.c does not exist",
        "src/gateway/http_in.c:1: not in src/connectors.def",
        "src/delivery/file_out.c:1: not in src/connectors.def",
        "src/job/note_job.c:1: not in src/connectors.def"]


def test_events(tree):
    root = tree({
        "src/engine/a.c": '/* log_event(LOG_INFO, "no.comment") */\n'
                          'log_event(LOG_WARN, "task.retry", kv_int("n", 1));\n'
                          'log_event(LOG_INFO,\n          "node.started");\n'
                          'log_event(ok ? LOG_INFO : LOG_WARN, "link.plan");\n'
                          'void g(void)\n{\n    enum log_level level = LOG_ERROR;\n}\n\n'
                          'void f(void)\n{\n    enum log_level level = LOG_INFO;\n\n    if (odd)\n        level = LOG_WARN;\n'
                          '    log_event(level, "task.end");\n}\n',
        "src/base/log.h": "#define log_event(level, name, ...) log_emit((level), (name))\n"})
    assert found(gen_events.problems, root) == [
        "docs/events.md:1: differs from the source: run tools/gen_events.py --write"]
    root = tree({"docs/events.md": gen_events.render(root)})
    assert found(gen_events.problems, root) == []
    page = (root / "docs/events.md").read_text()
    assert "| `task.retry` | warn | src/engine/a.c |" in page and "no.comment" not in page
    assert "| `link.plan` | info, warn |" in page and "| `task.end` | info, warn |" in page
    root = tree({"src/engine/b.c": 'log_event(LOG_WARN, "Retry");\nlog_event(LOG_WARN, name);\n'})
    assert found(gen_events.problems, root) == [
        'src/engine/b.c:1: event "Retry" is not noun.verb',
        "src/engine/b.c:2: the event name must be a literal, so that it can be listed",
        "docs/events.md:1: differs from the source: run tools/gen_events.py --write"]


def test_strip_c_keeps_lines_in_place():
    text = 'a /* x\ny */ b "/* no */" \'"\' // z\nc'
    assert sources.strip_c(text) == 'a \n b "" \'\'  \nc'
    assert sources.strip_c(text, strings=False) == 'a \n b "/* no */" \'"\'  \nc'
