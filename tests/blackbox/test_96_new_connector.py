"""A connector is one file and one line: four are added to a copy of the tree, with the very commands
of CONTRIBUTING.md; a document runs through three of them, and the fourth by itself."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

from running_node import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import check_structure  # noqa: E402

BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD", ROOT / "build" / "debug"))
SECONDS = 30
HERE = pathlib.Path(__file__).parent / "new_connector"
CONFIG = """
systems: { hub: {} }
types: { note: {} }
gateways:
  hello: { kind: greeting, text: good morning, every: 100ms,
           extract: { sender: "value:hub", receiver: "value:hub", type: "value:note" } }
endpoints:
  news: { kind: board, path: PATH }
routes:
  - { name: all, do: [ { shout: "!!" }, { deliver: news } ] }
"""


def commands(title):
    """What CONTRIBUTING says to type, for the build that is being tested."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text[text.index(f"## {title}\n"):]
    return re.search(r"```sh\n(.*?)```", section, re.S).group(1).replace("debug", BUILD.name)


def run(command, folder, **env):
    return subprocess.run(command, cwd=folder, env=dict(os.environ, **env), capture_output=True, text=True,
                          check=False)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tree with them, built; objects that do not change come from the build."""
    copy = tmp_path_factory.mktemp("new") / "tree"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(
        "build", ".git", "__pycache__", "node_modules", "*.pyc"))
    (copy / "build").mkdir()
    for name in ("deps", "console"):
        (copy / "build" / name).symlink_to(ROOT / "build" / name)
    made = run(["sh", "-e", "-c", commands("Add a connector in ten minutes")], copy, REUSE_ROOT=str(ROOT), REUSE_BUILD=str(BUILD),
               CMAKE_C_COMPILER_LAUNCHER=str(HERE / "reuse_objects"))
    assert made.returncode == 0, made.stdout[-4000:] + made.stderr[-4000:]
    return copy


def changes(copy):
    """Files of the copy that are new, and lines that were added to others."""
    new, lines = [], []
    for path in sorted(p for p in copy.glob("src/**/*") if p.is_file()):
        before = ROOT / path.relative_to(copy)
        if not before.exists():
            new.append(path.name)
        elif before.read_bytes() != path.read_bytes():
            lines += path.read_text().splitlines()[len(before.read_text().splitlines()):]
    return new, lines


def test_each_is_one_file_and_one_line(tree):
    assert changes(tree) == (["board_out.c", "greeting_in.c", "tally_job.c", "shout.c"],
                             ["GATEWAY(greeting)", "SERVICE(shout)", "ENDPOINT(board)", "JOB(tally)"])
    assert not list(check_structure.check_layers(tree))


def test_each_keeps_the_contract(tree):
    got = run([tree / "build" / BUILD.name / "test_registry"], tree)
    assert got.returncode == 0, got.stdout


def test_help_and_check_know_them(tree, tmp_path):
    waybill = tree / "build" / BUILD.name / "waybill"
    for role, kind, word in (("gateway", "greeting", "what the document says"),
                             ("service", "shout", "what stands behind it"),
                             ("endpoint", "board", "the file"),
                             ("job", "tally", "how much it counts")):
        every = run([waybill, "help", role], tree).stdout
        assert re.search(rf"^  {kind} ", every.partition("planned")[0], re.M), every
        assert word in run([waybill, "help", role, kind], tree).stdout
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    got = run([waybill, "check", file], tree)
    assert got.returncode == 0 and "warning" not in got.stdout, got.stdout
    file.write_text(CONFIG.replace("text: good morning", "txt: good morning").replace("kind: board", "kind: bord"))
    got = run([waybill, "check", file], tree)
    assert got.returncode == 1
    for said in ("gateway `hello` needs `text`", "did you mean `text`?", "did you mean `board`?",
                 "allowed: http, file, ", ", board; planned: "):
        assert said in got.stdout


def test_the_reference_page_has_them(tree):
    page = (tree / "docs" / "configuration.md").read_text()
    before = (ROOT / "docs" / "configuration.md").read_text()
    for words in ("what the document says", "what stands behind it", "how much it counts", "### job `tally`"):
        assert words in page and words not in before, words


def test_a_service_is_tried_and_tested(tree):
    got = run(["sh", "-e", "-c", commands("Add a service")], tree)
    assert (got.returncode, got.stdout) == (0, "GOOD MORNING!!1 passed\n"), got.stdout + got.stderr


def test_a_document_runs_through_them(tree, make_node, tmp_path):
    news = tmp_path / "news.txt"
    node = make_node(config=CONFIG.replace("PATH", str(news)),
                     command=(str(tree / "build" / BUILD.name / "waybill"),))
    node.start()
    deadline = time.monotonic() + SECONDS
    while not (news.exists() and news.read_text() == "GOOD MORNING!!"):
        assert time.monotonic() < deadline, node.tail()
        time.sleep(0.05)
    assert len(node.cli("docs", "ls", "--json").stdout.splitlines()) == 1  # however often it was looked


def test_a_job_of_the_new_kind_runs(tree, make_node):
    node = make_node(config="jobs: { count: { kind: tally, by: 2, every: 50ms } }\n",
                     command=(str(tree / "build" / BUILD.name / "waybill"),))
    node.start()
    deadline = time.monotonic() + SECONDS
    while node.metrics()['waybill_job_runs_total{kind="tally",outcome="done"}'] < 3:
        assert time.monotonic() < deadline, node.tail()
        time.sleep(0.05)
    assert "job.fail" not in [e["event"] for e in node.events]
    console = node.graphql("{ connectors { role kind summary runs options { name type default about } } jobs { items { name kind } } }")
    assert console["jobs"]["items"] == [{"name": "count", "kind": "tally"}]
    form, = [c for c in console["connectors"] if c["kind"] == "tally"]  # from which the console draws it
    assert (form["role"], form["summary"], form["runs"]) == ("job", "count", True)
    assert {"name": "by", "type": "number", "default": "1", "about": "how much it counts at once"} in form["options"]
    assert {"every", "retry.first", "log"} <= {o["name"] for o in form["options"]}  # and what all jobs have
