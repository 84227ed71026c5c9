"""The stored configuration is the truth: versions, and how they are made and compared."""
import contextlib
import hashlib
import json
import re
import sqlite3
import time

import pytest

from test_87_rights import make_role, somebody
from wire import at_once, wait_until

DONE, NO = 0, 1
BOTH = pytest.mark.stores("sqlite", "postgres")
CONFIG = """\
# the first
gateways:
  open: { kind: http, auth: none }
"""
pytestmark = pytest.mark.config(CONFIG)


def ok(got):
    assert got.returncode == DONE, got.stdout + got.stderr
    return got.stdout


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def live(node):
    return objects(ok(node.cli("config", "show", "--json")))[0]


def versions(node):
    return [v["version"] for v in objects(ok(node.cli("config", "history", "--json")))]


def gateway(name, more=""):
    return f"  {name}: {{ kind: http, auth: none{more} }}\n"


# ---- the file and the store ----------------------------------------------------------------------


@pytest.mark.proves("S8")
@BOTH
def test_the_file_is_version_one_and_then_it_is_not_asked(node):
    first = live(node)
    assert first["version"] == 1 and first["live"] and first["text"] == CONFIG
    assert not [e for e in node.events if e["event"] == "config.differ"]
    node.restart()
    assert versions(node) == [1]
    assert not [e for e in node.events if e["event"] == "config.differ"]

    node.stop()
    node.write_config(CONFIG + gateway("more"))
    node.start()
    warned = node.wait_event("config.differ")
    assert warned["level"] == "warn" and warned["version"] == 1 and "apply" in warned["hint"]
    assert versions(node) == [1] and node.post("more", b"x").status == 404
    differs = node.cli("config", "diff", "file", node.config_file)
    assert differs.returncode == NO and re.search(r"^\+  more:", differs.stdout, re.M)
    ok(node.cli("apply", node.config_file))
    assert node.post("more", b"x").status == 202
    assert node.cli("config", "diff", "file", node.config_file).returncode == DONE
    seen = len(node.events)
    node.restart()
    assert not [e for e in node.events[seen:] if e["event"] == "config.differ"]
    assert node.post("more", b"x").status == 202


@BOTH
@pytest.mark.proves("XC8")
def test_the_life_of_versions(node, tmp_path):
    file = tmp_path / "new.yaml"
    file.write_text(CONFIG + gateway("two"))
    assert "version 2 is live" in ok(node.cli("apply", file, "--note", "a second gateway"))
    file.write_text(CONFIG + gateway("two") + gateway("three"))
    ok(node.cli("apply", file))
    for name in ("open", "two", "three"):
        assert node.post(name, b"x").status == 202

    history = objects(ok(node.cli("config", "history", "--json")))
    assert [v["version"] for v in history] == [3, 2, 1]
    assert [v["live"] for v in history] == [True, False, False]
    assert history[1]["note"] == "a second gateway"
    assert len({v["sha256"] for v in history}) == 3
    assert objects(ok(node.cli("config", "show", "2", "--json")))[0]["text"] == CONFIG + gateway("two")
    assert ok(node.cli("config", "export", "2")) == CONFIG + gateway("two")
    assert ok(node.cli("config", "export")) == file.read_text()

    diff = node.cli("config", "diff", "1", "3")
    assert diff.returncode == NO
    assert [line for line in diff.stdout.splitlines() if re.match(r"[+-] ", line)] == [
        "+" + gateway("two").rstrip("\n"), "+" + gateway("three").rstrip("\n")]
    back = node.cli("config", "diff", "3", "1").stdout
    assert re.search(r"^-  two:", back, re.M) and re.search(r"^-  three:", back, re.M)

    ok(node.cli("config", "revert", "1", "--yes"))
    assert live(node)["version"] == 4 and live(node)["text"] == CONFIG
    assert node.post("two", b"x").status == 404 and node.post("open", b"x").status == 202
    assert node.cli("config", "diff", "1", "4").returncode == DONE
    for missing in (("show", "9"), ("diff", "1", "9"), ("revert", "9"), ("export", "9")):
        assert node.cli("config", *missing).returncode == NO, missing
    assert versions(node) == [4, 3, 2, 1]
    node.kill()
    node.start()
    assert live(node)["version"] == 4


@BOTH
def test_a_document_keeps_the_version_it_came_under(node, tmp_path):
    first = node.post("open", b"x").json["document"]
    (tmp_path / "new.yaml").write_text(CONFIG + gateway("two"))
    ok(node.cli("apply", tmp_path / "new.yaml", "--yes"))
    second = node.post("open", b"x").json["document"]
    asked = "query($i: ID!) { document(id: $i) { config } }"
    assert node.graphql(asked, i=first)["document"]["config"] == 1
    assert node.graphql(asked, i=second)["document"]["config"] == 2


@BOTH
def test_what_is_applied_is_in_force_at_once(node, tmp_path):
    """Also what changes for a gateway that exists, on connections that are open."""
    file = tmp_path / "new.yaml"
    file.write_text(CONFIG.replace("auth: none }", "auth: none, limits: { size: 10 } }"))
    ok(node.cli("apply", file, "--yes"))
    assert node.post("open", b"x" * 11).status == 413 and node.post("open", b"x" * 10).status == 202
    file.write_text(CONFIG.replace("auth: none", "auth: key"))
    ok(node.cli("apply", file, "--yes"))
    assert node.post("open", b"x").status == 401
    key, _ = node.add_key("open")
    sent = {"Authorization": f"Bearer {key}"}
    assert node.post("open", b"x", sent).status == 202
    file.write_text("gateways:\n" + gateway("other"))
    ok(node.cli("apply", file, "--yes"))
    assert node.post("open", b"x", sent).status == 404
    ok(node.cli("config", "revert", "3", "--yes"))  # the key is still there
    assert node.post("open", b"x", sent).status == 202
    assert len(node.documents()) == 3


# ---- problems ---------------------------------------------------------------------------------------


@BOTH
def test_a_problem_changes_nothing(node, tmp_path):
    file = tmp_path / "bad.yaml"
    for text, words in (("gateways:\n  open: { kindd: http }\n", ["kindd", "kind"]),
                        ("gateways:\n  open: { kind: htpt }\n", ["htpt", "http"]),
                        ("gatewys:\n  open: { kind: http }\n", ["gatewys", "gateways"]),
                        ("gateways: [\n", ["yaml"]),
                        ("gateways:\n  open: { kind: http, limits: { size: 5 parsecs } }\n", ["parsecs"]),
                        ("routes:\n  - { name: r, do: [ { deliver: nowhere } ] }\n", ["nowhere"])):
        file.write_text(text)
        got = node.cli("apply", file)
        assert got.returncode == NO, text
        told = [line for line in got.stdout.splitlines() if line.startswith(f"{file}:")]
        assert told and all(re.match(rf"{re.escape(str(file))}:\d+:\d+: ", line) for line in told)
        if words != ["yaml"]:
            assert all(word in got.stdout for word in words), got.stdout
        assert "nothing was changed" in got.stdout + got.stderr
        checked = node.cli("check", file)
        assert checked.returncode == NO and told[0] in checked.stdout
    assert versions(node) == [1] and node.post("open", b"x").status == 202
    file.write_bytes(b"gateways:\n  \xff: { kind: http }\n")
    assert node.cli("apply", file).returncode == NO
    assert node.cli("apply", tmp_path / "missing.yaml").returncode == 74
    assert versions(node) == [1]


def test_the_place_of_a_problem(program, tmp_path):
    file = tmp_path / "w.yaml"
    file.write_text("# comment\nsystems:\n  acme:\n    title: Acme\n    windoww: { days: mon-fri }\n")
    got = program("check", file)
    assert got.returncode == NO
    assert f"{file}:5:5: " in got.stdout and "`window`" in got.stdout
    got = program("check", file, "--json")
    (problem,) = objects(got.stdout)
    assert problem["line"] == 5 and problem["column"] == 5 and "windoww" in problem["message"]


def test_what_does_not_fit_the_node(make_node, tmp_path):
    """A gateway without a key is for the loopback address only, in a version as in a file."""
    node = make_node(options="listen: 0.0.0.0:0\ninsecure: true")
    code, said = node.refuse()
    assert code == 1 and "none" in said and "loopback" in said
    node.write_config("gateways:\n  orders: { kind: http, auth: key }\n")
    node.start()
    node.url = node.url.replace("0.0.0.0", "127.0.0.1")
    (tmp_path / "new.yaml").write_text(CONFIG)
    got = node.cli("apply", tmp_path / "new.yaml")
    assert got.returncode == NO and "loopback" in got.stdout
    assert versions(node) == [1]


# ---- parts that nothing runs yet ------------------------------------------------------------------------


WHOLE = """\
systems:
  acme: { title: Acme Corp, ids: ["0012345678"] }
  hub:  { limits: { concurrency: 8, rate: 50/s } }
types: { order: { search: { po: "xml:/Order/@number" } }, "*": {} }
gateways:
  open:
    kind: http
    auth: none
    extract: { sender: "value:acme", receiver: "value:hub", type: "value:order" }
  drop: { kind: file, path: ./inbox, every: 2s, after: delete, extract: hl7 }
endpoints:
  out: { kind: file, system: hub, path: ./outbox, name: "${id}.xml" }
routes:
  - name: orders
    when: { receiver: hub }
    do: [ { deliver: out } ]
jobs:
  nightly: { kind: call, url: "https://erp.example/close", at: "0 2 * * *" }
stores:
  main: { driver: dir }
"""


@pytest.mark.config(WHOLE)
def test_parts_that_are_not_run_are_kept_and_named_once(node):
    warned = [e for e in node.events if e["event"] == "config.warn"]
    texts = [e["what"] for e in warned]
    assert warned and all(e["level"] == "warn" and e["line"] > 0 for e in warned)
    assert [t for t in texts if "stores" in t]
    assert len(texts) == len(set(texts))
    assert live(node)["text"] == WHOLE
    assert node.post("open", b"x").status == 202 and node.post("drop", b"x").status == 404
    time.sleep(1.2)  # the keeper looks at the configuration; it does not repeat itself
    assert len([e for e in node.events if e["event"] == "config.warn"]) == len(warned)


def test_apply_tells_what_is_not_run(node, tmp_path):
    (tmp_path / "whole.yaml").write_text(WHOLE)
    got = node.cli("apply", tmp_path / "whole.yaml")
    assert got.returncode == DONE and "version 2 is live" in got.stdout
    assert re.search(rf"^{re.escape(str(tmp_path))}/whole.yaml:\d+:\d+: warning: ", got.stdout, re.M)
    assert live(node)["text"] == WHOLE


def test_the_node_part_is_no_part_of_a_version(node):
    assert "node:" in node.config_file.read_text()
    assert "node:" not in live(node)["text"] and str(node.data) not in live(node)["text"]
    ok(node.cli("apply", node.config_file))
    assert live(node)["version"] == 2 and "node:" not in live(node)["text"]


# ---- several at once -------------------------------------------------------------------------------------


@BOTH
def test_applies_at_the_same_time(node, tmp_path):
    def apply(i):
        file = tmp_path / f"{i}.yaml"
        file.write_text(CONFIG + gateway(f"g{i}"))
        return node.cli("apply", file)

    got = at_once(6, apply)
    won = [g for g in got if g.returncode == DONE]
    assert won and all("meanwhile" in g.stderr for g in got if g.returncode != DONE)
    assert versions(node) == list(range(len(won) + 1, 0, -1))
    text = live(node)["text"]
    for i in range(6):
        assert node.post(f"g{i}", b"x").status == (202 if f"g{i}:" in text else 404)


# ---- who may log in --------------------------------------------------------------------------------------


AUTH = """\
auth:
  oidc:
    issuer: https://{name}.example
    client_id: waybill
    redirect: https://waybill.example/oidc/callback
    roles: {{ them: [admin] }}
"""
APPLY = "mutation($t: String!) { configApply(text: $t) { version { version } problems { message } } }"


def builder(node):
    """Who may configure, and manages no users."""
    make_role(node, "builder", {"configure"})
    return somebody(node, "builder")


def refusal(answer):
    return answer["errors"][0]["extensions"]["code"], answer["errors"][0]["message"]


@BOTH
@pytest.mark.proves("ME5")
def test_who_manages_no_users_changes_no_auth(node):
    one = builder(node)
    assert refusal(one.ask(APPLY, t=CONFIG + AUTH.format(name="mine")))[0] == "forbidden"
    assert one.data(APPLY, t=CONFIG + gateway("two"))["configApply"]["version"]["version"] == 2
    assert node.graphql(APPLY, t=CONFIG + AUTH.format(name="ours"))["configApply"]["problems"] == []
    for text in (CONFIG, CONFIG + AUTH.format(name="mine"), CONFIG + AUTH.format(name="ours") + "    title: Us\n"):
        code, message = refusal(one.ask(APPLY, t=text))
        assert code == "forbidden" and "`users`" in message
    assert refusal(one.ask("mutation { configRevert(version: 1) { version { version } } }"))[0] == "forbidden"
    assert one.data(APPLY, t=CONFIG + gateway("two") + AUTH.format(name="ours"))["configApply"]["problems"] == []
    assert one.data(APPLY, t="auth: [")["configApply"]["problems"]
    assert versions(node) == [4, 3, 2, 1]


@pytest.mark.proves("ME5")
def test_auth_is_that_of_the_newest_version_and_not_of_the_one_in_force(node):
    """The newest one may be one that this program does not understand, or did not see yet."""
    one = builder(node)
    newer = CONFIG + AUTH.format(name="ours") + "novelty: 1\n"
    with contextlib.closing(sqlite3.connect(node.data / "waybill.db", timeout=30)) as db, db:
        db.execute("INSERT INTO config(version, made_us, made_by, sha256, body) VALUES (2, 1, 'newer', ?, ?)",
                   (hashlib.sha256(newer.encode()).digest(), newer))
    assert refusal(one.ask(APPLY, t=CONFIG + gateway("two")))[0] == "forbidden"
    assert versions(node) == [2, 1]
    mended = one.data(APPLY, t=CONFIG + gateway("two") + AUTH.format(name="ours"))["configApply"]
    assert mended == {"version": {"version": 3}, "problems": []} and node.post("two", b"x").status == 202


@pytest.mark.proves("ME5")
def test_a_version_that_comes_between_is_not_overwritten(make_node):
    """What was compared with one version does not take the place of another, which may say more."""
    node = make_node(environment={"WAYBILL_FAULT": "group.begun:delay_ms:700"})
    node.start()
    one = builder(node)
    ours = CONFIG + AUTH.format(name="ours")

    def apply(i):
        if i == 0:
            return node.graphql(APPLY, t=ours)
        time.sleep(0.3)  # the other one is being written
        return one.ask(APPLY, t=CONFIG + gateway("two"))

    code, message = refusal(at_once(2, apply)[1])
    assert (code, "apply again" in message) in (("unavailable", True), ("forbidden", False)), message
    assert live(node)["text"] == ours and versions(node) == [2, 1]


@pytest.mark.stores("postgres")
def test_every_node_follows(make_node, tmp_path):
    """Within a second, on a machine that has the time."""
    one, two = make_node(), make_node()
    one.start()
    two.start()
    assert versions(two) == [1]
    (tmp_path / "new.yaml").write_text(CONFIG + gateway("more"))
    ok(one.cli("apply", tmp_path / "new.yaml", "--yes"))
    wait_until(lambda: two.post("more", b"x").status == 202, 15, "following")
    key, ident = one.add_key("open")
    del key
    (tmp_path / "keyed.yaml").write_text(CONFIG.replace("none", "key"))
    ok(two.cli("apply", tmp_path / "keyed.yaml", "--yes"))
    wait_until(lambda: one.post("open", b"x").status == 401, 15, "following")
    key, ident = two.add_key("open")
    sent = {"Authorization": f"Bearer {key}"}
    wait_until(lambda: one.post("open", b"x", sent).status == 202, 15, "following")
    assert one.graphql("mutation($i: ID!) { keyRemove(id: $i) }", i=ident)["keyRemove"]
    wait_until(lambda: two.post("open", b"x", sent).status == 401, 15, "following")
    assert versions(one) == versions(two) == [3, 2, 1]
