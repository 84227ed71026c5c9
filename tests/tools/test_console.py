"""The web console without a browser: types, questions, what it must not do, how large it is."""
import gzip
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "console" / "src").rglob("*.ts*"))
SCRIPT_MOST = 80 * 1000  # bytes in gzip, of any page
LINES_MOST = 400


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The files as the binary embeds them."""
    folder = tmp_path_factory.mktemp("console")
    run(ROOT / "tools" / "build_console", folder)
    return folder


def run(*command, **options):
    got = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True, timeout=280,
                         check=False, **options)
    assert got.returncode == 0, got.stdout + got.stderr


def test_types():
    run(ROOT / "tools" / "build_console", "--check")


def test_what_only_computes(built):
    del built  # it fetched the packages of the console
    run(ROOT / "tools" / "fetch_npm", "tests/console", "build/tests-console")
    run("node", "--test", "tests/console/units.test.mjs", env={
        **os.environ, "CONSOLE_MODULES": str(ROOT / "build/console/node_modules"),
        "WAYBILL_MODULES": str(ROOT / "build/tests-console/node_modules")})


def test_every_question_is_asked():
    text = "".join(p.read_text() for p in SOURCES if p.name != "api.ts")
    asked = "".join(p.read_text() for p in SOURCES if p.name == "api.ts")
    for name in re.findall(r"^export const (\w+) = query", asked, re.M):
        assert re.search(rf"\b{name}\b", text), f"nobody asks {name}"


@pytest.mark.parametrize("what, pattern", [
    ("markup from a text", r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment"),
    ("code from a text", r"\beval\(|new Function|javascript:"),
    ("a style in the markup", r"""\sstyle=["']|setAttribute\(["']style"""),
    ("another host", r"""["'`](https?:)?//(?!\s|host/)"""),
])
def test_never(what, pattern):
    for path in SOURCES:
        for n, line in enumerate(path.read_text().split("\n"), 1):
            if not line.lstrip().startswith("//"):
                assert not re.search(pattern, line), f"{path.relative_to(ROOT)}:{n}: {what}"


def test_files_are_small():
    for path in SOURCES:
        n = path.read_text().count("\n")
        assert n <= LINES_MOST or path.name in ("api.ts", "types.ts"), f"{path.relative_to(ROOT)} has {n} lines"


def scripts_of(folder, first):
    """A script and all that it needs at once, by name."""
    found, left = set(), [first]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += re.findall(r'(?:from|import)\s*"\./([^"]+\.js)"', (folder / name).read_text())
    return found


def test_scripts_are_small(built):
    """What the first page loads, and with any of the parts that come later."""
    size = {p.name: len(gzip.compress(p.read_bytes(), 9)) for p in built.glob("*.js")}
    start = scripts_of(built, next(n for n in size if n.startswith("app-")))
    for name in size:
        total = sum(size[n] for n in start | scripts_of(built, name))
        assert total < SCRIPT_MOST, f"with {name} it is {total} bytes in gzip"
    assert sum(size.values()) < 1.4 * SCRIPT_MOST  # all pages: nobody loads that at once
