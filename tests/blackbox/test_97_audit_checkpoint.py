"""The audit log: heads that are signed and kept elsewhere, who was refused, names nobody gets, and how much one
principal may ask for."""
import json
import os
import pathlib
import sqlite3
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402
from test_87_rights import await_so, codes, make_role, somebody  # noqa: E402
from test_88_login import PASSWORD, Browser, add_user, first_link, first_user  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO, USAGE, DENIED = 0, 1, 2, 77


def lines(node, **given):
    """What the log has, the newest first."""
    return node.graphql("query($f: AuditFilter) { audit(filter: $f, first: 200) { items { seq actor kind address action"
                        " object after reason } } }", f=given)["audit"]["items"]


def checkpoint(node, *options):
    got = node.cli("audit", "checkpoint", *options)
    assert got.returncode == DONE, got.stderr
    return got.stdout


def verify(node, *options):
    return node.cli("audit", "verify", *options)


# ---- checkpoints -------------------------------------------------------------------------------


@BOTH
@pytest.mark.smoke
@pytest.mark.proves("S11")
def test_a_checkpoint_is_signed_and_verified(node, tmp_path):
    kept = tmp_path / "kept.checkpoint"
    assert checkpoint(node, "--out", str(kept)) == ""
    text = kept.read_text()
    assert text.startswith("waybill audit checkpoint 1\nhead ") and text.count("\n") == 5
    good = verify(node, "--checkpoint", str(kept))
    assert good.returncode == DONE and "ok" in good.stdout, good.stderr
    line = lines(node, action="auditCheckpoint")[0]
    assert line["object"] == text.split("\n")[1][len("head "):] and text.split("\n")[3][len("key "):] in line["after"]

    # The log goes on, and the checkpoint stays good; also through the standard input, and after a restart.
    node.graphql('mutation { secretAdd(name: "s", value: "v") { name } }')
    node.restart()
    assert verify(node, "--checkpoint", str(kept)).returncode == DONE
    assert node.cli("audit", "verify", "--checkpoint", "-", stdin=text).returncode == DONE
    # A file that is there is not replaced: it is evidence.
    again = node.cli("audit", "checkpoint", "--out", str(kept))
    assert again.returncode != DONE and kept.read_text() == text


def test_the_environment_names_the_key_of_checkpoints(make_node, tmp_path):
    """Outside of the folders that the node uses for documents."""
    key = tmp_path / "keys" / "audit.key"
    key.parent.mkdir()
    key.write_text(os.urandom(32).hex() + "\n")
    key.chmod(0o600)
    node = make_node(environment={"WAYBILL_AUDIT_KEY_FILE": str(key)}, options="folders: [.]")
    node.start()
    (tmp_path / "kept").write_text(checkpoint(node))
    assert not (node.data / "audit.key").exists()
    assert verify(node, "--checkpoint", str(tmp_path / "kept")).returncode == DONE


def test_a_changed_or_foreign_checkpoint_is_refused(node, make_node, tmp_path):
    text = checkpoint(node)
    for old, new in (("head 1", "head 2"), ("head", "Head"), ("checkpoint 1", "checkpoint 2"), ("key ", "key 0"),
                     ("time 2", "time 1"), ("signature ", "signature 00")):
        wrong = tmp_path / "wrong"
        assert old in text
        wrong.write_text(text.replace(old, new, 1))
        got = verify(node, "--checkpoint", str(wrong))
        assert got.returncode == NO and got.stdout == "", (old, got.stdout)
    assert verify(node, "--checkpoint", str(tmp_path / "nix")).returncode not in (DONE, NO)
    # A good signature with a key that is not the node's says nothing, unless the key is given.
    other = make_node()
    other.start()
    foreign = tmp_path / "foreign"
    foreign.write_text(checkpoint(other))
    got = verify(node, "--checkpoint", str(foreign))
    assert got.returncode == NO and "--key" in got.stderr
    kept = tmp_path / "kept"
    kept.write_text(text)
    key = text.split("\n")[3][len("key "):]
    assert verify(node, "--checkpoint", str(kept), "--key", key).returncode == DONE
    assert verify(node, "--checkpoint", str(kept), "--key", "0" * 64).returncode == NO
    assert verify(node, "--checkpoint", str(kept), "--head", "1:00").returncode == USAGE


@pytest.mark.stores("sqlite")
@pytest.mark.proves("S11")
def test_a_log_that_was_written_anew_does_not_fit_its_checkpoint(node, tmp_path):
    """The whole chain is made again, consistently: only a head that is kept elsewhere tells."""
    node.graphql('mutation { secretAdd(name: "evidence", value: "v") { name } }')
    kept = tmp_path / "kept"
    checkpoint(node, "--out", str(kept))
    node.stop()
    with sqlite3.connect(node.data / "waybill.db") as db:
        rewrite(db)
    node.start()
    assert verify(node).returncode == DONE, "the new chain is whole"
    got = verify(node, "--checkpoint", str(kept))
    assert got.returncode == NO and "written anew" in got.stdout, got.stdout


def rewrite(db):
    """Takes the word `evidence` out of every line and makes all hashes again, as docs/audit.md says they are made."""
    import hashlib  # pylint: disable=import-outside-toplevel
    before = bytes(32)
    columns = ("actor", "kind", "address", "action", "object", "was", "became", "reason")
    rows = db.execute(f"SELECT seq, time_us, {', '.join(columns)} FROM audit ORDER BY seq").fetchall()
    for seq, at, *texts in rows:
        texts = [t.replace("evidence", "nothing") for t in texts]
        said = f"waybill audit 1 {seq} {at}".encode()
        for t in texts:
            said += f" {len(t.encode())}:".encode() + t.encode()
        after = hashlib.sha256(said + before).digest()
        db.execute("UPDATE audit SET object = ?, became = ?, prev = ?, hash = ? WHERE seq = ?",
                   (texts[4], texts[6], before, after, seq))
        before = after
    assert any("evidence" in "".join(r[2:]) for r in rows)


def test_a_broken_log_is_not_signed(node):
    node.graphql('mutation { secretAdd(name: "evidence", value: "v") { name } }')
    node.stop()
    with sqlite3.connect(node.data / "waybill.db") as db:
        db.execute("UPDATE audit SET object = 'x' WHERE seq = 1")
    node.start()
    got = node.cli("audit", "checkpoint")
    assert got.returncode != DONE and "broken" in got.stderr, got.stderr


def test_a_webhook_gets_the_checkpoint(node):
    with Receiver() as far:
        assert checkpoint(node, "--webhook", far.url("/keep")) == ""
        got = far.wait_for(1)[0]["body"]
        assert got.startswith("waybill audit checkpoint 1\n")
        assert node.cli("audit", "verify", "--checkpoint", "-", stdin=got).returncode == DONE
        far.behave("/keep", "status", 500)
        assert node.cli("audit", "checkpoint", "--webhook", far.url("/keep")).returncode != DONE
    assert node.cli("audit", "checkpoint", "--webhook", "file:///etc/passwd").returncode != DONE


@pytest.mark.proves("S7")
def test_signing_needs_the_right_and_the_key_stays_in_its_file(node):
    assert codes(somebody(node, "operator").ask("mutation { auditCheckpoint { text } }")) == {"forbidden"}
    text = somebody(node, "auditor").data("mutation { auditCheckpoint { text key } }")["auditCheckpoint"]
    assert text["key"] in text["text"]
    key = node.data / "audit.key"
    assert key.stat().st_mode & 0o077 == 0
    assert all(key.read_text().strip().encode() not in p.read_bytes() for p in node.data.rglob("waybill.db*"))
    key.chmod(0o644)
    got = node.cli("audit", "checkpoint")
    assert got.returncode != DONE and "chmod 600" in got.stderr


# ---- who was refused ---------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("S1")
def test_failed_logins_and_refusals_are_lines(node):
    first_user(node)
    assert Browser(node).login("root", "wrong").status == 401
    await_so(lambda: lines(node, action="loginRefused"))
    line = lines(node, action="loginRefused")[0]
    assert (line["actor"], line["object"], line["kind"]) == ("root", "root", "none") and line["address"] == "127.0.0.1"
    assert json.loads(line["after"])["count"] == 1

    assert node.get("/documents/nix", token="wbk_nobody_knows").status == 401
    await_so(lambda: lines(node, action="credentialRefused"))
    viewer = somebody(node, "viewer", title="eye")
    assert codes(viewer.ask("{ users { name } }")) == {"forbidden"}
    assert viewer.post("/documents?gateway=open", b"x").status == 403
    await_so(lambda: len(lines(node, action="forbidden")) >= 2)
    seen = {(line["actor"], line["kind"], line["object"]) for line in lines(node, action="forbidden")}
    assert seen == {("key eye", "key", "Query.users"), ("key eye", "key", "documents")}
    assert node.cli("audit", "verify").returncode == DONE


@pytest.mark.config("gateways: { in: { kind: http }, other: { kind: http } }\n")
def test_keys_that_are_refused_at_a_gateway_are_lines(node):
    key = node.cli("key", "add", "other", "--title", "t").stdout.strip()
    assert node.post("in", b"x", {"Authorization": "Bearer wbk_a_b"}).status == 401
    assert node.post("in", b"x", {"Authorization": f"Bearer {key}"}).status == 403
    assert node.post("in", b"x").status == 401
    await_so(lambda: len(lines(node, action="keyRefused")) >= 2)
    seen = {(line["actor"], line["object"]) for line in lines(node, action="keyRefused")}
    assert seen == {("nobody", "in"), (key.split("_")[1], "in")}, "a key of another gateway is named, a stranger is not"
    assert "wbk_a_b" not in json.dumps(lines(node))


@pytest.mark.proves("S5")
def test_a_flood_of_failures_is_summed_up(node):
    """Thousands of tries are a few lines, and none has what a stranger typed as a user's name."""
    first_user(node)
    before = len(lines(node))

    def storm(n):
        for i in range(300):
            node.request("POST", "/graphql", '{"query": "{ me { name } }"}',
                         {"Content-Type": "application/json", "Authorization": f"Bearer wbk_{n}x{i}_secret"})
            if i % 10 == 0:
                Browser(node).login(f"my-password-{n}-{i}", "wrong")
    storms = [threading.Thread(target=storm, args=(n,)) for n in range(4)]
    for s in storms:
        s.start()
    for s in storms:
        s.join()
    await_so(lambda: len(lines(node, action="credentialRefused")) >= 1)
    node.restart()  # what is still in memory is written
    after = lines(node)
    assert len(after) - before < 20, len(after) - before
    count = sum(json.loads(line["after"])["count"] for line in after if line["action"] == "credentialRefused")
    assert count == 1200, count
    assert sum(json.loads(line["after"])["count"] for line in after if line["action"] == "loginRefused") == 120
    assert "my-password" not in json.dumps(after)


# ---- names, and how much one may ask for -------------------------------------------------------


@BOTH
def test_names_of_the_program_are_nobodys(node):
    link = first_link(node)
    for name in ("admin", "node", "retention", "token", "system"):
        assert Browser(node).post(link, {"user": name, "password": PASSWORD}).status == 400, name
        done = node.cli("user", "add", name, "--role", "viewer")
        assert done.returncode == NO and "reserved" in done.stderr, (name, done.stderr)
    assert add_user(node, "administrator", "viewer").ask("{ me { name } }").status == 200


def test_one_principal_does_not_use_all_of_a_node(node):
    """Many requests at once that each keep a thread busy are refused after a while, with the time to wait; others and
    the holder of the token are answered."""
    reader = somebody(node, "admin", title="greedy")
    other = somebody(node, "admin", title="modest")
    heavy = "{ " + " ".join(f"a{i}: doctor {{ ok }}" for i in range(40)) + " }"
    refused, over = [], threading.Event()

    def pull():
        until = time.monotonic() + 240
        while not over.is_set() and time.monotonic() < until:
            got = node.request("POST", "/graphql", json.dumps({"query": heavy}), {
                "Content-Type": "application/json", "Authorization": f"Bearer {reader.key}"}, timeout=120)
            if got.status == 429:
                refused.append(got)
                over.set()
    pulls = [threading.Thread(target=pull) for _ in range(12)]
    for p in pulls:
        p.start()
    for p in pulls:
        p.join()
    assert refused, "a dozen streams at once were never refused"
    assert int(refused[0].headers["Retry-After"]) >= 1
    assert refused[0].json["errors"][0]["extensions"]["code"] == "limit"
    assert other.data("{ me { name } }")["me"]["name"] == "key modest"
    assert node.graphql("{ me { name } }")["me"]["name"] == "admin"
    await_so(lambda: node.request("POST", "/graphql", '{"query": "{ me { name } }"}', {
        "Content-Type": "application/json", "Authorization": f"Bearer {reader.key}"}).status == 200)
