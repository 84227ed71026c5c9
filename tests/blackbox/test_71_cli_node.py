"""The verbs that ask a node, against a real one, on each store."""
import hashlib
import json
import re

import pytest

from running_node import clean_environment

DONE, NO, UNREACHABLE, DENIED = 0, 1, 69, 77
pytestmark = pytest.mark.stores("sqlite", "postgres")


def ok(got):
    """What it printed, if it worked."""
    assert got.returncode == DONE, got.stderr
    return got.stdout


def objects(text):
    """The lines of --json."""
    return [json.loads(line) for line in text.splitlines()]


def test_first_steps(node, tmp_path):
    body = b"<Order number='4711'/>\n"
    (tmp_path / "o.xml").write_bytes(body)
    key = objects(ok(node.cli("key", "add", "orders", "--title", "Acme", "--json")))[0]
    assert key["gateway"] == "orders"
    sent = node.cli("send", "orders", tmp_path / "o.xml", "--header", "X-Sender: acme",
                    "--name", "o.xml", "--token", key["key"])
    ident = ok(sent).strip()
    shown = objects(ok(node.cli("docs", "show", ident, "--json")))[0]
    assert shown["id"] == ident and shown["gateway"] == "orders" and shown["name"] == "o.xml"
    assert shown["size"] == len(body) and shown["contentType"] == "application/xml"
    assert shown["sha256"] == hashlib.sha256(body).hexdigest()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", shown["received"])
    assert shown["timeline"]
    assert ident in ok(node.cli("docs", "show", ident))
    assert ok(node.cli("docs", "payload", ident, text=False)) == body
    ok(node.cli("docs", "payload", ident, "-o", tmp_path / "got"))
    assert (tmp_path / "got").read_bytes() == body
    assert [k["id"] for k in objects(ok(node.cli("key", "ls", "--json")))] == [key["id"]]


def test_keys_open_and_close(node):
    key = objects(ok(node.cli("key", "add", "orders", "--json")))[0]
    assert node.cli("send", "orders", "--token", "nonsense", stdin="x").returncode == DENIED
    ok(node.cli("send", "orders", "--token", key["key"], stdin="x"))
    assert node.cli("docs", "ls", "--token", key["key"]).returncode == DENIED
    ok(node.cli("key", "rm", key["id"]))
    assert node.cli("key", "rm", key["id"]).returncode == NO
    assert node.cli("send", "orders", "--token", key["key"], stdin="x").returncode == DENIED
    assert node.cli("key", "add", "no-such-gateway").returncode == NO


def test_send_twice_with_one_key(node):
    first = ok(node.cli("send", "open", "--key", "a", stdin="one"))
    assert ok(node.cli("send", "open", "--key", "a", stdin="one")) == first
    assert ok(node.cli("send", "open", "--key", "b", stdin="one")) != first
    assert node.cli("send", "open", "--key", "a", stdin="other").returncode == NO
    assert len(objects(ok(node.cli("docs", "ls", "--json")))) == 2


def test_send_to_nowhere(node):
    got = node.cli("send", "no-such-gateway", stdin="x")
    assert got.returncode == NO and "404" in got.stderr


def test_docs_ls_pages_and_filters(node):
    ids = [node.post("open", b"x", {"Waybill-Name": f"n{i}"}).json["document"]
           for i in range(130)]
    newest_first = ids[::-1]
    listed = objects(ok(node.cli("docs", "ls", "--json", "--limit", "1000")))
    assert [d["id"] for d in listed] == newest_first
    assert len(objects(ok(node.cli("docs", "ls", "--json")))) == 50
    named = objects(ok(node.cli("docs", "ls", "--json", "--name", "n7")))
    assert [d["id"] for d in named] == [ids[7]]
    assert objects(ok(node.cli("docs", "ls", "--json", "--gateway", "orders"))) == []
    assert objects(ok(node.cli("docs", "ls", "--json", "--until", "1h"))) == []
    since = objects(ok(node.cli("docs", "ls", "--json", "--since", "1h", "--limit", "999")))
    assert len(since) == 130
    middle = listed[60]["received"]
    later = objects(ok(node.cli("docs", "ls", "--json", "--since", middle, "--limit", "999")))
    assert {d["id"] for d in listed[:61]} <= {d["id"] for d in later}
    assert all(d["received"] >= middle for d in later)
    lines = ok(node.cli("docs", "ls", "--limit", "3")).splitlines()
    assert [line.split()[0] for line in lines] == ["ID", *newest_first[:3]]


def test_docs_that_are_not_there(node):
    ident = "01890a5d-ac96-774b-bcce-b302099a8057"
    assert node.cli("docs", "show", ident).returncode == NO
    assert node.cli("docs", "payload", ident).returncode == NO
    assert node.cli("docs", "show", "nonsense").returncode == NO


def test_versions_of_the_configuration(node, tmp_path):
    live = objects(ok(node.cli("config", "show", "--json")))[0]
    assert live["version"] == 1 and live["live"]
    text = ok(node.cli("config", "export"))
    assert text == live["text"] and "node:" not in text
    assert node.cli("config", "diff", "file", node.config_file).returncode == DONE

    (tmp_path / "new.yaml").write_text(
        node.config_file.read_text() + "  more: { kind: http, auth: none, extract: "
        '{ sender: "value:acme", receiver: "value:hub", type: "value:order" } }\n')
    assert node.cli("config", "diff", "file", tmp_path / "new.yaml").returncode == NO
    applied = ok(node.cli("apply", tmp_path / "new.yaml", "--note", "more"))
    assert applied.splitlines()[-1] == "version 2 is live"  # warnings stand before it
    ok(node.cli("send", "more", stdin="x"))
    got = node.cli("config", "diff", "1", "2")
    assert got.returncode == NO and re.search(r"^\+.*more:", got.stdout, re.M)
    assert node.cli("config", "diff", "2", "2").returncode == DONE

    # `more` goes, and what came through it may still wait to be routed
    assert ok(node.cli("config", "revert", "1", "--yes")).splitlines()[-1] == "version 3 is live"
    assert node.cli("config", "diff", "1", "3").returncode == DONE
    history = objects(ok(node.cli("config", "history", "--json")))
    assert [(v["version"], v["live"]) for v in history] == [(3, True), (2, False), (1, False)]
    assert history[1]["note"] == "more"
    assert node.cli("config", "show", "99").returncode == NO
    node.restart()
    assert objects(ok(node.cli("config", "show", "--json")))[0]["version"] == 3


def test_apply_tells_the_problems(node, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("gateways:\n  open: { kindd: http }\n")
    got = node.cli("apply", bad)
    assert got.returncode == NO and re.search(rf"^{re.escape(str(bad))}:2:\d+: ", got.stdout, re.M)
    assert objects(ok(node.cli("config", "show", "--json")))[0]["version"] == 1
    checked = node.cli("check", bad)
    place = re.compile(r":\d+:\d+: .*")
    assert checked.returncode == NO
    assert place.findall(got.stdout) == place.findall(checked.stdout)


def test_doctor_finds_nothing(node):
    for n in range(20):
        assert node.post("open", b"x" * (n + 1)).status == 202
    assert ok(node.cli("doctor")).splitlines()[-1].endswith("all ok")
    checks = objects(ok(node.cli("doctor", "--json")))
    assert checks and all(c["ok"] for c in checks)


def test_what_was_sent_is_there_after_a_crash(node):
    ids = [ok(node.cli("send", "open", stdin=str(n))).strip() for n in range(3)]
    node.kill()
    assert node.cli("docs", "ls").returncode == UNREACHABLE
    node.start()
    for n, ident in enumerate(ids):
        assert ok(node.cli("docs", "payload", ident)) == str(n)
    ok(node.cli("doctor"))


def test_a_wrong_token(node, tmp_path):
    got = node.cli("docs", "ls", "--token", "wrong")
    assert got.returncode == DENIED and "--token" in got.stderr
    got = node.cli("docs", "ls", env=clean_environment(), cwd=tmp_path)
    assert got.returncode == DENIED and "there is none" in got.stderr
    ok(node.cli("docs", "ls", env=clean_environment()))  # ./data/token
