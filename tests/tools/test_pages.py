"""Paths that our pages name exist."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [p for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/README.md"))]
NAMED = re.compile(r"`((?:src|tests|tools|docs|console|examples)/[\w./*-]*)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_paths_exist(page):
    missing = [name for name in NAMED.findall(page.read_text())
               if "NN" not in name and not list(ROOT.glob(name.rstrip("/")))]
    assert missing == []


def test_where_to_change_what_is_a_table_of_files():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.partition("## Where to change what")[2].partition("\n## ")[0]
    rows = [line for line in table.split("\n") if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) >= 20
    assert [row for row in rows if "`" not in row.split("|")[2]] == []
