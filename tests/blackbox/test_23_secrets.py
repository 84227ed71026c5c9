"""Secrets: kept, named in a configuration, and never shown again."""
import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest

from running_node import BINARY, clean_environment

DONE, NO, USAGE, IO = 0, 1, 2, 74
VALUE = "hunter2-correct-horse"
BOTH = pytest.mark.stores("sqlite", "postgres")
WITH_SECRET = """\
systems:
  hub: {}
types:
  "*": {}
gateways:
  open: { kind: http, auth: none }
endpoints:
  hub-api:
    kind: http
    url: https://hub.example/in
    system: hub
    headers:
      Authorization: "Bearer ${secret:hub}"
"""


def ok(got):
    assert got.returncode == DONE, got.stdout + got.stderr
    return got.stdout


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def secrets(node):
    return {s["name"]: s for s in objects(ok(node.cli("secret", "ls", "--json")))}


def add(node, name="hub", value=VALUE):
    return ok(node.cli("secret", "add", name, stdin=value))


def everything_said(node, *outputs):
    """What anybody could read: outputs, the log, every file of the node's folder."""
    log = json.dumps(node.events) + "\n".join(node.stray)
    files = b"".join(p.read_bytes() for p in node.folder.rglob("*") if p.is_file())
    return log.encode() + files + "".join(outputs).encode()


# ---- kept, listed, removed ---------------------------------------------------------------------


@BOTH
def test_a_value_goes_in_and_never_comes_out(node, tmp_path):
    file = tmp_path / "value"
    file.write_text(VALUE + "\n")
    said = [add(node, "from-stdin", VALUE + "\n"), ok(node.cli("secret", "add", "from-file", file)),
            ok(node.cli("secret", "add", "dash", "-", stdin=VALUE)),
            ok(node.cli("secret", "ls")), ok(node.cli("secret", "ls", "--json")),
            ok(node.cli("secret", "add", "other", "--json", stdin="another value"))]
    kept = secrets(node)
    assert sorted(kept) == ["dash", "from-file", "from-stdin", "other"]
    assert set(kept["other"]) == {"name", "fingerprint", "made", "by"}
    # Equal values of two names cannot be told: else a value could be guessed under another name.
    assert len({s["fingerprint"] for s in kept.values()}) == 4
    assert "from-stdin" in said[3] and kept["dash"]["fingerprint"] in said[3]
    # One line end is left out, so all three ways give the same value.
    add(node, "dash", VALUE + "\n")
    assert secrets(node)["dash"]["fingerprint"] == kept["dash"]["fingerprint"]
    ok(node.cli("secret", "add", "dash", file))
    assert secrets(node)["dash"]["fingerprint"] == kept["dash"]["fingerprint"]

    before = kept["other"]["fingerprint"]
    add(node, "other", "changed")
    assert secrets(node)["other"]["fingerprint"] != before

    assert ok(node.cli("secret", "rm", "other")) == "secret other is removed\n"
    gone = node.cli("secret", "rm", "other")
    assert gone.returncode == NO and "there is no secret other" in gone.stderr
    assert "other" not in secrets(node)

    node.restart()
    assert sorted(secrets(node)) == ["dash", "from-file", "from-stdin"]
    node.stop()
    assert VALUE.encode() not in everything_said(node, *said)
    assert any(e["event"] == "secret.add" and e["name"] == "from-file" for e in node.events)
    assert any(e["event"] == "secret.remove" and e["name"] == "other" for e in node.events)


def test_the_api_has_no_way_to_read_a_value(node):
    add(node)
    fields = node.graphql('{ __type(name: "Secret") { fields { name } } }')["__type"]["fields"]
    assert {f["name"] for f in fields} == {"name", "fingerprint", "made", "by"}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"}
    for query in ('mutation { secretAdd(name: "x", value: ["s3cr3tvalue"]) { name } }',
                  'mutation { secretAdd(name: "not a name", value: "s3cr3tvalue") { name } }',
                  'mutation { secretAdd(nam: "x", value: "s3cr3tvalue") { name } }',
                  'mutation { secretAdd(name: "x", value: "s3cr3tvalue", more: 1) { name } }',
                  'mutation { secretAdd(name: "x", value: "s3cr3tvalue" { name } }'):
        answer = node.request("POST", "/graphql", json.dumps({"query": query}), headers)
        assert answer.json["errors"], query
        assert b"s3cr3tvalue" not in answer.body, query
    assert sorted(secrets(node)) == ["hub"] and "s3cr3tvalue" not in json.dumps(node.events)
    assert node.request("POST", "/graphql", json.dumps({"query": "{ secrets { name } }"}),
                        {"Content-Type": "application/json"}).status == 401


def test_what_is_no_secret(node, tmp_path):
    large = tmp_path / "large"
    large.write_text("x" * (64 * 1024 + 1))
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    for args, stdin, code, says in ((["x"], "", NO, "empty"), (["x"], "\n", NO, "empty"),
                                    (["x", large], None, NO, "64 KiB"),
                                    (["x", binary], None, NO, "UTF-8"),
                                    (["not a name"], "v", NO, "name"),
                                    (["x", VALUE], None, IO, "cannot read"),
                                    ([], None, USAGE, "usage"),
                                    (["x", "f", "v"], None, USAGE, "usage")):
        got = node.cli("secret", "add", *args, stdin=stdin)
        assert got.returncode == code and says in got.stderr, (args, got.stderr)
    assert not secrets(node)
    large.write_text("x" * (64 * 1024) + "\n")
    ok(node.cli("secret", "add", "large", large))


def read_until(fd, text, seconds=20):
    got, deadline = b"", time.monotonic() + seconds
    while text not in got:
        assert time.monotonic() < deadline, got
        if select.select([fd], [], [], 0.1)[0]:
            try:
                more = os.read(fd, 4096)
            except OSError:  # the other side is gone
                more = b""
            if not more:
                return got
            got += more
    return got


def take_terminal():
    os.open(os.ttyname(0), os.O_RDWR)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests that run in the background ignore it


@pytest.mark.parametrize("end", ["line", "interrupt"])
def test_a_terminal_is_asked_without_echo(node, end):
    master, slave = pty.openpty()
    with subprocess.Popen([str(BINARY), "secret", "add", "typed", "--url", node.url],
                          stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                          preexec_fn=take_terminal,
                          env=clean_environment(WAYBILL_DATA=node.data)) as program:
        os.close(slave)
        try:
            shown = read_until(master, b"(not shown): ")
            os.write(master, VALUE.encode() + (b"\n" if end == "line" else b"\x03"))
            shown += read_until(master, b"fingerprint" if end == "line" else b"nothing of this")
            code = program.wait(20)
        finally:
            program.kill()
    os.close(master)
    assert b"value of typed (not shown)" in shown and VALUE.encode() not in shown
    if end == "line":
        assert code == DONE and "typed" in secrets(node)
    else:
        assert code == -2 and "typed" not in secrets(node)


# ---- named in a configuration --------------------------------------------------------------------


@BOTH
@pytest.mark.config('gateways:\n  open: { kind: http, auth: none }\n')
def test_a_configuration_waits_for_its_secrets(node, tmp_path):
    file = tmp_path / "new.yaml"
    file.write_text(WITH_SECRET)
    assert node.cli("check", file).returncode == DONE  # a file alone cannot know
    refused = node.cli("apply", file)
    assert refused.returncode == NO
    assert f"{file}:13:22: there is no secret `hub`\n    waybill secret add hub\n" in refused.stdout
    assert objects(ok(node.cli("config", "show", "--json")))[0]["version"] == 1

    add(node)
    assert "version 2 is live" in ok(node.cli("apply", file))
    kept = node.cli("secret", "rm", "hub")
    assert kept.returncode == NO and "line 13" in kept.stderr
    add(node, "hub", "a new value")  # to change it is always fine
    ok(node.cli("config", "revert", "1"))
    ok(node.cli("secret", "rm", "hub"))
    refused = node.cli("config", "revert", "2")
    assert refused.returncode == NO and "waybill secret add hub" in refused.stdout
    shown = ok(node.cli("config", "show", "2"))
    assert "${secret:hub}" in shown and VALUE not in shown


@pytest.mark.config(WITH_SECRET)
def test_a_first_start_does_not_fail_for_a_secret(node):
    warned = node.wait_event("config.warn", what="there is no secret `hub`")
    assert warned["line"] == 13
    assert node.post("open", b"x").status == 202
    add(node)
    seen = len(node.events)
    node.restart()
    assert not [e for e in node.events[seen:] if "secret" in e.get("what", "")]


# ---- the key file ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.config('gateways:\n  open: { kind: http, auth: none }\n')
def test_a_wrong_key_file(node, tmp_path):
    key = node.data / "secret.key"
    file = tmp_path / "new.yaml"
    file.write_text(WITH_SECRET)
    assert not key.exists()
    add(node)
    assert key.stat().st_mode & 0o777 == 0o600
    ok(node.cli("apply", file))
    right = key.read_text()

    def refusal(text, mode=0o600):
        """What apply says with this key file; the node runs on with the version it has."""
        key.write_text(text)
        key.chmod(mode)
        got = node.cli("apply", file)
        assert got.returncode == NO and f"{file}:13:22:" in got.stdout, got.stdout + got.stderr
        assert right.strip() not in got.stdout and node.post("open", b"x").status == 202
        return got.stdout

    assert "another key" in refusal("00" * 32 + "\n")
    assert "64 hex digits" in refusal("nonsense\n")
    assert "chmod 600" in refusal(right, 0o644)
    key.unlink()
    missing = node.cli("secret", "add", "more", stdin="v")
    assert missing.returncode == NO and "secret.key is missing" in missing.stderr
    assert not key.exists()  # a new one would open nothing

    key.write_text("00" * 32)
    key.chmod(0o600)
    node.restart()  # the version in force stays; what it cannot open is told
    assert any("another key" in e.get("what", "") for e in node.events)
    assert node.post("open", b"x").status == 202
    key.write_text(right)
    seen = len(node.events)
    node.restart()
    assert not [e for e in node.events[seen:] if "key" in e.get("what", "")]
    assert "version 3 is live" in ok(node.cli("apply", file))
    log = json.dumps(node.events)
    assert right.strip() not in log and VALUE not in log


@pytest.mark.config('gateways:\n  open: { kind: http, auth: none }\n')
def test_the_environment_names_the_key_file(make_node, tmp_path):
    key = tmp_path / "shared.key"
    node = make_node(environment={"WAYBILL_SECRET_KEY_FILE": key})
    node.start()
    got = node.cli("secret", "add", "x", stdin="v")
    assert got.returncode == NO and str(key) in got.stderr
    key.write_text(os.urandom(32).hex() + "\n")
    key.chmod(0o600)
    add(node)
    assert not (node.data / "secret.key").exists()


@pytest.mark.stores("postgres")
@pytest.mark.config('gateways:\n  open: { kind: http, auth: none }\n')
def test_nodes_share_secrets_through_one_key_file(make_node, tmp_path):
    key, file = tmp_path / "shared.key", tmp_path / "new.yaml"
    key.write_text(os.urandom(32).hex() + "\n")
    key.chmod(0o600)
    file.write_text(WITH_SECRET)
    one, two, stranger = (make_node(environment={"WAYBILL_SECRET_KEY_FILE": key}),
                          make_node(environment={"WAYBILL_SECRET_KEY_FILE": key}), make_node())
    for each in (one, two, stranger):
        each.start()
    add(one)
    assert "another key" in node_says(stranger, file) or "key file" in node_says(stranger, file)
    ok(two.cli("apply", file))
    warned = stranger.wait_event("config.warn", line=13)
    assert "key file" in warned["what"] and VALUE not in json.dumps(stranger.events)


def node_says(node, file):
    got = node.cli("apply", file)
    assert got.returncode == NO
    return got.stdout
