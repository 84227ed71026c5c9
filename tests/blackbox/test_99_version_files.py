"""Files that steps name belong to a version: read when it is made, stored with it, used from there."""
import base64
import hashlib
import json
import os
import signal

import pytest

from running_node import run_program
from test_87_rights import make_role, somebody

DONE, NO = 0, 1
BOTH = pytest.mark.stores("sqlite", "postgres")
CONFIG = """\
systems: { hub: {} }
types: { "*": {} }
gateways:
  one: { kind: http, auth: none, extract: { receiver: "value:hub", type: "value:order" } }
endpoints:
  out: { kind: http, system: hub, url: "http://127.0.0.1:1/" }
routes:
  - name: checked
    when: { type: order }
    do:
      - validate: { json: schemas/order.json }
      - deliver: out
"""
FIRST, SECOND = '{ "type": "object" }\n', '{ "type": "array" }\n'
PATH = "schemas/order.json"
FILES = "{ config(version: %s) { files { path size sha256 text base64 } } }"
APPLY = ("mutation($t: String!, $f: [ConfigFileInput!]) { configApply(text: $t, files: $f) { version { version }"
         " problems { line column message hint } } }")


def ok(got):
    assert got.returncode == DONE, got.stdout + got.stderr
    return got.stdout


def write(node, text, path=PATH):
    """A file beside the configuration of the node."""
    to = node.folder / path
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(text if isinstance(text, bytes) else text.encode())


def files(node, version="null"):
    return node.graphql(FILES % version)["config"]["files"]


def texts(node, version="null"):
    return {f["path"]: f["text"] for f in files(node, version)}


def versions(node):
    return [v["version"] for v in node.graphql("{ configHistory { version } }")["configHistory"]]


@pytest.fixture
def node(make_node):
    one = make_node(config=CONFIG)
    write(one, FIRST)
    one.start()
    return one


@BOTH
def test_a_file_belongs_to_the_version_it_was_applied_with(node, make_node, store):
    assert texts(node) == {PATH: FIRST}
    got = files(node)[0]
    assert got["size"] == len(FIRST) and got["sha256"] == hashlib.sha256(FIRST.encode()).hexdigest()
    assert base64.b64decode(got["base64"]).decode() == FIRST

    write(node, SECOND)                       # edited: nothing changes ...
    node.restart()
    assert versions(node) == [1] and texts(node) == {PATH: FIRST}
    assert [e for e in node.events if e["event"] == "config.differ"]

    shown = node.cli("config", "diff", "file", node.config_file)
    assert shown.returncode == NO
    assert f"--- version 1: {PATH}" in shown.stdout and '-{ "type": "object" }' in shown.stdout
    assert '+{ "type": "array" }' in shown.stdout
    ok(node.cli("apply", node.config_file))   # ... before the next version
    assert versions(node) == [2, 1]
    assert texts(node) == {PATH: SECOND} and texts(node, 1) == {PATH: FIRST}
    assert "no difference" in ok(node.cli("config", "diff", "file", node.config_file))

    shown = node.cli("config", "diff", 1, 2)  # only the file differs
    assert shown.returncode == NO and f"+++ version 2: {PATH}" in shown.stdout
    assert "routes" not in shown.stdout
    ok(node.cli("config", "revert", 1))
    assert versions(node) == [3, 2, 1] and texts(node) == {PATH: FIRST}
    assert "no difference" in ok(node.cli("config", "diff", 1, 3))
    audit = ok(node.cli("audit", "ls", "--json"))
    assert ", files sha256 " in audit and "array" not in audit
    assert "version-files" in ok(node.cli("doctor"))

    if store is None:
        return
    other = make_node(config=CONFIG)          # another node has no such file, and needs none
    other.start()
    assert texts(other) == {PATH: FIRST} and texts(other, 2) == {PATH: SECOND}
    assert not [e for e in other.events if e["event"] == "config.warn" and "is missing" in e["what"]]


def test_what_cannot_be_read_is_refused_with_its_place(node):
    place = CONFIG.splitlines().index("      - validate: { json: schemas/order.json }") + 1
    shift = len(node.config_file.read_text().splitlines()) - len(CONFIG.splitlines())
    os.unlink(node.folder / PATH)
    for got in (node.cli("check", node.config_file), node.cli("apply", node.config_file),
                node.cli("rehearse", node.config_file), node.cli("config", "diff", "file", node.config_file)):
        said = got.stdout + got.stderr
        assert got.returncode == NO and f"{node.config_file}:{place + shift}:" in said, said
        assert f"the file `{PATH}` cannot be read: No such file" in said
    assert versions(node) == [1]
    ok(node.cli("apply", node.config_file, "--keep-files"))
    assert versions(node) == [2, 1] and texts(node) == {PATH: FIRST}

    write(node, b"{}" + b" " * ((1 << 20) - 2))
    ok(node.cli("apply", node.config_file))
    write(node, b"{}" + b" " * ((1 << 20) - 1))
    got = node.cli("check", node.config_file)
    assert got.returncode == NO and f"the file `{PATH}` is too large" in got.stdout and "1 MiB" in got.stdout
    os.unlink(node.folder / PATH)
    (node.folder / PATH).mkdir()
    assert "it is not a file" in node.cli("check", node.config_file).stdout


def test_a_path_does_not_lead_out_of_the_folder(node, tmp_path):
    (tmp_path / "secret").write_text("hush")
    os.symlink(tmp_path / "secret", node.folder / "link")
    os.symlink(node.folder / PATH, node.folder / "near")
    for path, why in (("/etc/passwd", "not valid"), ("../secret", "not valid"), ("schemas/../../secret", "not valid"),
                      ("link", "leads out of the folder"), ("data/token", "lies in the data folder")):
        node.write_config(CONFIG.replace(PATH, path))
        for verb in ("check", "apply"):
            got = node.cli(verb, node.config_file)
            said = got.stdout + got.stderr
            assert got.returncode == NO, said
            assert why in said or f"`json` cannot be `{path}`" in said, said
            assert "hush" not in said
    assert versions(node) == [1]
    node.write_config(CONFIG.replace(PATH, "./near"))
    ok(node.cli("apply", node.config_file))     # as in a container, where mounted files are links
    assert texts(node) == {"./near": FIRST}


@pytest.mark.proves("S13")
def test_the_api_takes_what_is_sent_and_never_reads_the_disk(node):
    write(node, SECOND, "schemas/other.json")
    text = CONFIG.replace(PATH, "schemas/other.json")
    got = node.graphql(APPLY, t=text)["configApply"]
    assert got["version"] is None and "the file `schemas/other.json` is missing" in got["problems"][0]["message"]
    assert got["problems"][0]["line"] == 11
    got = node.graphql(APPLY, t=text, f=[{"path": "schemas/other.json", "text": FIRST}])["configApply"]
    assert got["version"]["version"] == 2 and texts(node) == {"schemas/other.json": FIRST}
    # What is not sent stays; what is not named is not stored.
    got = node.graphql(APPLY, t=text + "# edited\n", f=[{"path": "unused", "text": "x"}])["configApply"]
    assert got["version"]["version"] == 3 and texts(node) == {"schemas/other.json": FIRST}
    raw = ('<?xml version="1.0" encoding="UTF-16"?><xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
           '<xs:element name="ä"/></xs:schema>').encode("utf-16")      # no text in UTF-8
    got = node.graphql(APPLY, t=text.replace("json:", "xml:"), f=[{
        "path": "schemas/other.json", "base64": base64.b64encode(raw).decode()}])["configApply"]
    assert got["version"]["version"] == 4
    assert files(node)[0]["text"] is None and base64.b64decode(files(node)[0]["base64"]) == raw
    assert f"# 21 and {len(raw)} bytes" in node.cli("config", "diff", 3, 4).stdout


@pytest.mark.parametrize("sent, why", [
    ([{"path": "a", "text": "x"}, {"path": "a", "text": "y"}], "is sent twice"),
    ([{"path": "a"}], "either `text` or `base64`"),
    ([{"path": "a", "text": "x", "base64": "eA=="}], "either `text` or `base64`"),
    ([{"path": "../a", "text": "x"}], "`path` of file 1"),
    ([{"path": "a" * 5000, "text": "x"}], "`path` of file 1"),
    ([{"path": "a", "base64": "!"}], "not base64"),
    ([{"path": f"f{i}", "text": ""} for i in range(1001)], "at most 1000 files"),
])
def test_what_is_sent_is_checked(node, sent, why):
    answer = node.request("POST", "/graphql", json.dumps({"query": APPLY, "variables": {"t": CONFIG, "f": sent}}),
                          {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"})
    assert why in answer.json["errors"][0]["message"], answer.json
    assert versions(node) == [1]


def test_a_file_over_the_limit_is_a_problem(node):
    got = node.graphql(APPLY, t=CONFIG, f=[{"path": PATH, "text": "x" * ((1 << 20) + 1)}])["configApply"]
    assert "is too large" in got["problems"][0]["message"] and versions(node) == [1]


@pytest.mark.parametrize("kind", ["text", "base64"])
def test_one_value_that_stands_for_many_files_is_counted_each_time(node, kind):
    """A request of less than a megabyte, which would be more than the node has memory for."""
    value = "QUJD" * 170_000
    listed = ", ".join(f'{{ path: "f{n}", {kind}: $v }}' for n in range(300))
    query = (f"mutation($t: String!, $v: String!) {{ configApply(text: $t, files: [{listed}])"
             " { version { version } } }")
    answer = node.request("POST", "/graphql", json.dumps({"query": query, "variables": {"t": CONFIG, "v": value}}),
                          {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"})
    assert "the files of a version have at most 8 MiB" in answer.json["errors"][0]["message"], answer.json
    assert versions(node) == [1]


def test_files_take_the_right_to_configure(node):
    make_role(node, "watch", ["see"])
    make_role(node, "change", ["configure"])
    query = "{ config { files { text } } }"
    answers = [node.request("POST", "/graphql", json.dumps({"query": query}), {
        "Content-Type": "application/json", "Authorization": f"Bearer {somebody(node, role).key}"}).json
        for role in ("watch", "change")]
    assert answers[0]["errors"] and FIRST not in json.dumps(answers[0])
    assert answers[1]["data"]["config"]["files"] == [{"text": FIRST}]


def test_the_text_of_a_version_is_exported_with_its_files(node, tmp_path):
    write(node, SECOND)
    ok(node.cli("apply", node.config_file))
    to = tmp_path / "out"
    text = ok(node.cli("config", "export", 1, "--files", to))
    (to / "waybill.yaml").write_text(text)
    assert (to / PATH).read_text() == FIRST
    again = node.cli("config", "export", 2, "--files", to)
    assert again.returncode != DONE and (to / PATH).read_text() == FIRST     # nothing is replaced
    ok(node.cli("apply", to / "waybill.yaml"))
    assert texts(node) == {PATH: FIRST} and versions(node) == [3, 2, 1]
    assert f": {PATH}" in ok(node.cli("config", "show"))


@pytest.mark.parametrize("missing", [False, True])
def test_the_first_version_needs_its_files(make_node, missing):
    one = make_node(config=CONFIG)
    if missing:
        assert one.refuse()[0] != 0
        assert [e for e in one.events if e["event"] == "config.refuse" and PATH in e["why"] and e["line"] > 10]
        return
    write(one, FIRST)
    one.start()
    assert texts(one) == {PATH: FIRST}


def test_a_file_that_is_the_truth_brings_its_files(make_node):
    one = make_node(config=CONFIG, options="config: file")
    write(one, FIRST)
    one.start()

    def hang_up():
        seen = len(one.events)
        one.process.send_signal(signal.SIGHUP)
        one.wait_event("node.reload", 60, since=seen)
        return one.events[seen:]

    assert not [e for e in hang_up() if e["event"] == "config.apply"] and versions(one) == [1]
    write(one, SECOND)
    assert [e["version"] for e in hang_up() if e["event"] == "config.apply"] == [2]
    assert texts(one) == {PATH: SECOND} and texts(one, 1) == {PATH: FIRST}
    os.unlink(one.folder / PATH)
    assert [e for e in hang_up() if e["event"] == "config.refuse" and "cannot be read" in e["why"]]
    assert versions(one) == [2, 1] and texts(one) == {PATH: SECOND}
    write(one, FIRST)
    one.restart()
    assert versions(one) == [3, 2, 1] and texts(one) == {PATH: FIRST}


def test_a_backup_has_the_files(node, make_node, tmp_path):
    write(node, SECOND)
    ok(node.cli("apply", node.config_file))
    ok(node.cli("backup", tmp_path / "b"))
    other = make_node(config=CONFIG)                    # no file beside it
    ok(run_program("restore", tmp_path / "b", "--data", other.data))
    other.start()
    assert texts(other) == {PATH: SECOND} and texts(other, 1) == {PATH: FIRST}


@pytest.mark.stores("postgres")
def test_a_store_that_moves_takes_the_files_along(make_node, store):
    raw = bytes(range(256)) * 1000
    one = make_node(config=CONFIG, store=None)
    write(one, raw)
    one.start()
    one.stop()
    ok(run_program("migrate", "--data", one.data, "--store", store))
    two = make_node(config=CONFIG, data=one.data)
    two.start()
    assert base64.b64decode(files(two)[0]["base64"]) == raw
    assert "version-files" in ok(two.cli("doctor"))


SCRIPT = """\
systems: {{ hub: {{}} }}
types: {{ "*": {{}} }}
gateways:
  one: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api: {{ kind: http, system: hub, url: "{url}/in" }}
services:
  mark: {{ lua: {{ file: mark.lua, limits: {{ time: 60s }} }} }}
routes:
  - {{ name: orders, when: {{ type: order }}, do: [ mark, replace: {{ find: x, with: y }}, deliver: api ] }}
"""


def sent(receiver, count):
    return [got["body"] for got in receiver.wait_for(count, 60)]


@pytest.mark.proves("PR16")
@BOTH
def test_a_script_runs_as_it_was_when_its_version_was_made(make_node, receiver, store):
    one = make_node(config=SCRIPT.format(url=receiver.url("")))
    write(one, 'return doc.bytes .. " first"\n', "mark.lua")
    one.start()
    early = one.accept("one", b"x")
    assert sent(receiver, 1) == ["y first"]

    write(one, 'return doc.bytes .. " second"\n', "mark.lua")     # nothing changes ...
    one.accept("one", b"x")
    assert sent(receiver, 2)[1] == "y first"
    shown = one.cli("rehearse", one.config_file)                   # ... what would is seen
    assert shown.returncode == NO and "2 would come out differently" in shown.stdout, shown.stdout
    ok(one.cli("apply", one.config_file))
    one.accept("one", b"x")
    assert sent(receiver, 3)[2] == "y second"
    # What was processed before is computed again as it was then.
    assert ok(one.cli("docs", "payload", early, "--stage", "1")) == "x first"

    if store is not None:                                          # another node has no file at all
        other = make_node(config=SCRIPT.format(url=receiver.url("")))
        other.start()
        other.accept("one", b"x")
        assert sent(receiver, 4)[3] == "y second"
    ok(one.cli("config", "revert", 1))
    one.accept("one", b"x")
    assert sent(receiver, 5 if store is not None else 4)[-1] == "y first"


def test_a_mistake_in_a_script_is_refused(make_node, receiver):
    one = make_node(config=SCRIPT.format(url=receiver.url("")))
    write(one, "return doc.bytes\n", "mark.lua")
    one.start()
    write(one, "return (\n", "mark.lua")
    got = one.cli("apply", one.config_file)
    assert got.returncode == NO and "`file` mark.lua: line 2, column 1: " in got.stdout, got.stdout
    assert versions(one) == [1]
    one.stop()
    got = one.cli("check", one.config_file, "--offline")           # no node is needed
    line = one.config_file.read_text().splitlines().index(
        "  mark: { lua: { file: mark.lua, limits: { time: 60s } } }") + 1
    assert got.returncode == NO and f"waybill.yaml:{line}:" in got.stdout
    assert "`file` mark.lua: line 2, column 1: " in got.stdout and got.stdout.count("mark.lua") == 1
    write(one, "return doc.bytes\n", "mark.lua")
    ok(one.cli("check", one.config_file, "--offline"))
