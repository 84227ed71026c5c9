#!/usr/bin/python3
"""Which test proves which row of docs/failures.md.

    tools/traceability.py [--report | --strict] [--open]

A test names its rows in a comment, `proves: IN1 IN2`, above it or inside it, or with
the marker @pytest.mark.proves("IN1", "IN2").  Naming a row that does not exist is an
error.  The list "Proven today" in docs/failures.md holds the rows that finished work
promises: without a test they are reported, and with --strict they are an error.  --open
lists the other rows without a test as well.
"""
import argparse
import collections
import pathlib
import re
import sys

import sources

PAGE = "docs/failures.md"
ROW = re.compile(r"^\| ([A-Z]{2}\d+) \|", re.M)
ID = re.compile(r"\b[A-Z]{2}\d+\b")
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


def test_at(lines, at):
    """The test that line `at` speaks of: the one below it, else the one around it."""
    for i in range(at, len(lines)):
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
        lines = text.split("\n")
        for pattern in (COMMENT, MARKER):
            for m in pattern.finditer(text):
                line = sources.line_of(text, m.start())
                test = test_at(lines, line - 1)
                for word in re.split(r"[\s,\"']+", m.group(1).strip(" .,\"'\n")):
                    yield Claim(word, path, line, test)


def check(root, strict):
    """(problems, table): the table maps each row to the tests that prove it."""
    page = pathlib.Path(root, PAGE)
    known, promised = rows(page)
    table = {row: [] for row in known}
    problems = [(page, 1, f"row {row} stands there twice")
                for row, n in collections.Counter(known).items() if n > 1]
    problems += [(page, 1, f"proven today names {row}, which is no row")
                 for row in promised if row not in table]
    for claim in claims(root):
        if claim.row not in table:
            problems.append((claim.path, claim.line, f'proves "{claim.row}": no such row'))
            continue
        name = claim.path.relative_to(root).as_posix() + (f"::{claim.test}" if claim.test else "")
        if name not in table[claim.row]:
            table[claim.row].append(name)
    if strict:
        problems += [(page, 1, f"{row} is said to be proven and no test names it")
                     for row in unproven(root, table)]
    return problems, table


def unproven(root, table):
    """Rows that are promised and have no test."""
    return [row for row in rows(pathlib.Path(root, PAGE))[1] if not table.get(row)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="promised rows without a test pass")
    parser.add_argument("--strict", action="store_true", help="promised rows need a test")
    parser.add_argument("--open", action="store_true", help="list rows without a test as well")
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[1]
    problems, table = check(root, args.strict and not args.report)
    promised = rows(root / PAGE)[1]
    for row, tests in table.items():
        if tests or row in promised or args.open:
            print(f"{row:<5} {'*' if row in promised else ' '} {tests[0] if tests else '-'}")
            for test in tests[1:]:
                print(f"        {test}")
    done = sum(bool(t) for t in table.values())
    print(f"{len(table)} rows, {done} with a test; * promised: {len(promised)}, "
          f"without a test: {' '.join(unproven(root, table)) or 'none'}")
    for path, line, text in problems:
        print(f"{path.relative_to(root)}:{line}: {text}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
