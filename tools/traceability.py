#!/usr/bin/python3
"""Which test proves which row of docs/failures.md and of docs/security.md.

    tools/traceability.py [--report] [--open]

A test names its rows in a comment, `proves: IN1 IN2`, above it or inside it, or with
the marker @pytest.mark.proves("IN1", "IN2").  Naming a row that does not exist is an
error.  The list "Proven today" of a page holds the rows that finished work promises.
Each needs a test of its own: one function that names at most OWN_MOST rows.  A test that
names more shows that they hold together, and would hardly fail for the lack of one of
them.  A promised row without is an error; with --report it is only listed.  --open lists
the other rows without a test as well.
"""
import argparse
import ast
import collections
import pathlib
import re
import sys

import sources

PAGES = ("docs/failures.md", "docs/security.md")
OWN_MOST = 3  # rows
ROW = re.compile(r"^\| ((?:[A-Z]{2}|S)\d+) \|", re.M)
ID = re.compile(r"\b(?:[A-Z]{2}|S)\d+\b")
COMMENT = re.compile(r"\bproves:[ \t]*([^\n*\"']*)")
MARKER = re.compile(r"@?pytest\.mark\.proves\(([^)]*)\)", re.S)
TEST_C = re.compile(r"^TEST\((\w+)\)")
TEST_PY = re.compile(r"^\s*(?:async )?def (test_\w+)")
PASS_OVER = re.compile(r"^\s*(?:#|@|//|/?\*)")  # what may stand between a comment and its test

Claim = collections.namedtuple("Claim", "row path line test")


def rows(page):
    """The row ids in the order of the page, and those listed as proven today."""
    text = sources.read(page)
    known = ROW.findall(text)
    section = re.search(r"^## Proven today\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return known, ID.findall(section.group(1)) if section else []


def decorated(path, text):
    """For each line of a decorator, which may go over several lines, the Python test below it."""
    found = {}
    for node in ast.walk(ast.parse(text)) if sources.is_python(path) else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            first = min([d.lineno for d in node.decorator_list], default=node.lineno)
            found.update({line - 1: node.name for line in range(first, node.lineno)})
    return found


def test_at(lines, at, known):
    """The test that line `at` speaks of: the one below it, else the one around it."""
    for i in range(at, len(lines)):
        if i in known:
            return known[i]
        m = TEST_C.match(lines[i]) or TEST_PY.match(lines[i])
        if m:
            return m.group(1)
        if i > at and not PASS_OVER.match(lines[i]):
            break
    for i in range(at, -1, -1):
        m = TEST_C.match(lines[i]) or TEST_PY.match(lines[i])
        if m:
            return m.group(1)
    return None


def claims(root):
    """Everything that tests say they prove."""
    for path in sources.files(root, "tests"):
        text = sources.read(path)
        lines, known = text.split("\n"), decorated(path, text)
        for pattern in (COMMENT, MARKER):
            for m in pattern.finditer(text):
                line = sources.line_of(text, m.start())
                test = test_at(lines, line - 1, known)
                for word in re.split(r"[\s,\"']+", m.group(1).strip(" .,\"'\n")):
                    yield Claim(word, path, line, test)


def pages(root):
    return [page for page in (pathlib.Path(root, name) for name in PAGES) if page.exists()]


def promised_rows(root):
    return [row for page in pages(root) for row in rows(page)[1]]


def empty_table(root):
    """(problems, table): a place for each row of the pages."""
    problems, table = [], {}
    for page in pages(root):
        known, promised = rows(page)
        problems += [(page, 1, f"row {row} stands there twice")
                     for row, n in collections.Counter(known).items() if n > 1 or row in table]
        table.update({row: [] for row in known})
        problems += [(page, 1, f"proven today names {row}, which is no row")
                     for row in promised if row not in known]
    return problems, table


def check(root, strict=True):
    """(problems, table): the table maps each row to the tests that prove it."""
    problems, table = empty_table(root)
    for claim in claims(root) if table else ():
        if claim.row not in table:
            problems.append((claim.path, claim.line, f'proves "{claim.row}": no such row'))
            continue
        name = claim.path.relative_to(root).as_posix() + (f"::{claim.test}" if claim.test else "")
        if name not in table[claim.row]:
            table[claim.row].append(name)
    if strict:
        problems += [(page, 1, f"{row} is said to be proven and has no test of its own")
                     for page in pages(root) for row in rows(page)[1] if row in unproven(root, table)]
    return problems, table


def unproven(root, table):
    """Rows that are promised and have no test of their own."""
    width = collections.Counter(test for tests in table.values() for test in tests)
    return [row for row in promised_rows(root)
            if not any("::" in test and width[test] <= OWN_MOST for test in table.get(row, []))]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="promised rows without a test pass")
    parser.add_argument("--open", action="store_true", help="list rows without a test as well")
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[1]
    problems, table = check(root, not args.report)
    promised = promised_rows(root)
    for row, tests in table.items():
        if tests or row in promised or args.open:
            print(f"{row:<5} {'*' if row in promised else ' '} {tests[0] if tests else '-'}")
            for test in tests[1:]:
                print(f"        {test}")
    done = sum(bool(t) for t in table.values())
    print(f"{len(table)} rows, {done} with a test; * promised: {len(promised)}, "
          f"without a test of their own: {' '.join(unproven(root, table)) or 'none'}")
    for path, line, text in problems:
        print(f"{path.relative_to(root)}:{line}: {text}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
