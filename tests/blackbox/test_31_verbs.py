"""Verbs of the command line that the contract names: drain, rotate, hash, help of kinds, --json."""
import base64
import json
import time

import pytest

from wire import Wire, head

DONE, NO, USAGE = 0, 1, 2

CONFIG = """\
systems: {{ hub: {{ limits: {{ concurrency: 2 }} }} }}
types: {{ order: {{}} }}
gateways:
  in:   {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
  keys: {{ kind: http, auth: key, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in", retry: {{ first: 1ms, most: 1ms }}, headers: {{ X-Token: "${{secret:token}}" }} }}
routes:
  - {{ name: orders, when: {{ type: order }}, do: [ {{ deliver: api }} ] }}
"""


def start(make_node, receiver, **settings):
    one = make_node(config=CONFIG.format(url=receiver.url("")), **settings)
    one.start()
    return one


@pytest.fixture
def node(make_node, receiver):  # pylint: disable=function-redefined
    return start(make_node, receiver, options="name: north")


def state(node, doc):
    return node.show(doc, "state")


def told(got):
    assert got.returncode == DONE, got.stderr
    return [json.loads(line) for line in got.stdout.splitlines()]


def await_202(node):
    until = time.monotonic() + 20
    while (answer := node.post("in", "{}")).status != 202:
        assert time.monotonic() < until, answer.body
        time.sleep(0.05)
    return answer.json["document"]


def test_a_node_is_drained_and_resumed(node, receiver):
    """It ends what it sends, begins nothing more, refuses senders, and says so; also over a restart."""
    node.cli("secret", "add", "token", stdin="one")
    receiver.behave("/in", "late", 2)
    docs = [node.accept("in", "{}") for _ in range(30)]
    receiver.wait_for(2, path="/in")
    got = node.cli("node", "drain", "north", "--reason", "new kernel")
    assert got.returncode == DONE and "may be stopped" in got.stdout, got.stderr
    sent = len(receiver.requests("/in"))
    assert sent < len(docs) and node.post("in", "{}").status == 503
    assert sum(state(node, doc)["state"] == "delivered" for doc in docs) == sent
    (one,) = told(node.cli("node", "ls", "--json"))
    assert one["drain"] == "drained" and [(p["what"], p["reason"]) for p in one["pauses"]] == [("drain", "new kernel")]
    node.restart()
    assert [n["drain"] for n in told(node.cli("node", "ls", "--json")) if n["state"] == "alive"] == ["drained"]
    receiver.behave("/in", "ok")
    assert node.cli("node", "resume", "north").returncode == DONE
    for doc in docs:
        node.await_state(doc, "delivered", look=state)
    node.await_state(await_202(node), "delivered", look=state)
    assert [n["drain"] for n in told(node.cli("node", "ls", "--json")) if n["state"] == "alive"] == [None]
    assert node.cli("node", "drain", "nowhere").returncode == NO
    assert node.cli("node", "drain").returncode == USAGE


def test_a_node_is_not_drained_while_an_upload_is_read(node, receiver):
    """What was admitted before is read to its end and stored; only then the node may be stopped."""
    node.cli("secret", "add", "token", stdin="one")
    with Wire(node) as w:
        w.send(head("/in/in", "Content-Length: 4", "Expect: 100-continue"))
        assert w.answer().status == 100
        w.send("{ ")
        got = node.cli("node", "drain", "north", "--for", "4")
        assert got.returncode == NO and "still works" in got.stderr, got.stdout
        assert [n["drain"] for n in told(node.cli("node", "ls", "--json"))] == ["draining"]
        w.send(" }")
        answer = w.answer()
    assert answer.status == 202
    assert node.cli("node", "drain", "north").returncode == DONE
    assert node.cli("node", "resume", "north").returncode == DONE
    node.await_state(json.loads(answer.body)["document"], "delivered", look=state)


@pytest.mark.stores("postgres")
def test_others_take_over_what_a_drained_node_leaves(make_node, receiver):
    north = start(make_node, receiver, options="name: north")
    south = start(make_node, receiver, options="name: south")
    south.cli("secret", "add", "token", stdin="one")
    receiver.behave("/in", "late", 1)
    docs = [north.accept("in", "{}") for _ in range(12)]
    receiver.wait_for(1, path="/in")
    got = south.cli("node", "drain", "north")  # asked of the other one
    assert got.returncode == DONE, got.stderr
    receiver.behave("/in", "ok")
    for doc in docs:
        south.await_state(doc, "delivered", look=state, seconds=60)
    assert sorted(receiver.keys().values()) == [1] * len(docs)


def test_a_key_is_rotated(node):
    key, name = node.add_key("keys")
    used = {"Authorization": f"Bearer {key}"}
    assert node.post("keys", "{}", used).status == 202
    got = node.cli("key", "rotate", name)
    assert got.returncode == DONE and "old one has ended" in got.stderr, got.stderr
    new = {"Authorization": f"Bearer {got.stdout.strip()}"}
    assert (node.post("keys", "{}", new).status, node.post("keys", "{}", used).status) == (202, 401)
    (listed,) = told(node.cli("key", "ls", "--json"))
    assert listed["gateway"] == "keys" and listed["id"] != name
    (both,) = told(node.cli("key", "rotate", listed["id"], "--keep-old", "--json"))
    assert node.post("keys", "{}", new).status == 202
    assert node.post("keys", "{}", {"Authorization": f"Bearer {both['key']}"}).status == 202
    assert node.cli("key", "rotate", name).returncode == NO


def test_a_key_of_the_admin_api_is_rotated(node):
    (old,) = told(node.cli("key", "add", "--admin", "--title", "eye", "--role", "viewer", "--expires", "90d", "--json"))
    (new,) = told(node.cli("key", "rotate", old["id"], "--admin", "--json"))
    assert node.get("/documents/nix", token=new["key"]).status == 404
    assert node.get("/documents/nix", token=old["key"]).status == 401
    (listed,) = told(node.cli("key", "ls", "--admin", "--json"))
    assert (listed["title"], listed["roles"]) == ("eye #2", ["viewer"]) and listed["expires"] is not None


def test_a_secret_is_rotated(node, receiver):
    """Only one that is there; what is sent from then on has the new value."""
    assert node.cli("secret", "rotate", "token", stdin="two").returncode == NO
    assert node.cli("secret", "add", "token", stdin="one").returncode == DONE
    node.await_state(node.accept("in", "{}"), "delivered", look=state)
    assert node.cli("secret", "rotate", "token", stdin="two\n").returncode == DONE
    node.await_state(node.accept("in", "{}"), "delivered", look=state)
    assert [r["headers"]["x-token"] for r in receiver.requests("/in")] == ["one", "two"]


def test_a_hash_opens_a_gateway(make_node, program):
    """For a gateway with `auth: basic`; the password is not on the command line, and no node is asked."""
    got = program("hash", stdin="open sesame\n")
    assert got.returncode == DONE and got.stdout.startswith("$argon2id$"), got.stderr
    (line,) = told(program("hash", "-", "--json", stdin="open sesame"))
    assert line["hash"] != got.stdout.strip()
    assert program("hash", stdin="").returncode == NO
    node = make_node(config="systems: { hub: {} }\ngateways:\n  in: { kind: http, auth: basic, users: { ann: "
                            f"'{got.stdout.strip()}' }}, extract: {{ receiver: 'value:hub', type: 'value:x' }} }}\n")
    node.start()
    for password, status in (("open sesame", 202), ("open", 401)):
        login = base64.b64encode(f"ann:{password}".encode()).decode()
        assert node.post("in", "{}", {"Authorization": f"Basic {login}"}).status == status


@pytest.mark.parametrize("what", ["service replace", "service jq", "gateway http", "gateway sftp", "endpoint file"])
def test_help_tells_the_keys_of_a_kind(program, what):
    got = program("help", *what.split())
    assert got.returncode == DONE and got.stdout.startswith(what) and "keys" in got.stdout
    assert program("help", what.split()[0], "nix").returncode == USAGE


def test_every_verb_that_prints_has_json(program):
    """All but those that run a node or print bytes."""
    verbs = [line.split()[0] for line in program("help").stdout.splitlines()
             if line.startswith("  ") and line[2].isalpha()]
    others = {"demo", "serve", "help", "fault-points"}
    assert {"hash", "restore", "migrate", "node", "key"} <= set(verbs)
    for verb in set(verbs) - others:
        assert "--json" in program("help", verb).stdout, verb


def test_a_restore_tells_in_json(node, program, tmp_path):
    node.cli("backup", tmp_path / "copy")
    node.stop()
    (checked,) = told(program("restore", tmp_path / "copy", "--check", "--json"))
    assert checked["restored"] is False and checked["store"] == "sqlite" and checked["files"] > 0
    (made,) = told(program("restore", tmp_path / "copy", "--data", tmp_path / "new", "--json"))
    assert made["restored"] is True and made["bytes"] == checked["bytes"]
