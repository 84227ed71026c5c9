"""Who sends: a gateway's key may be bound to systems, addresses and a time; nobody sends in the name of others,
neither with a key nor by hand."""
import base64
import json
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from moved_clock import MovedClock  # noqa: E402
from running_node import run_program  # noqa: E402
from test_87_rights import await_so, make_role, somebody  # noqa: E402
from wire import Wire  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO, USAGE = 0, 1, 2
CONFIG = """\
systems: {{ acme: {{ ids: ["0012"] }}, erp: {{}}, hub: {{}} }}
types: {{ "*": {{}} }}
gateways:
  in:
    kind: http
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "value:order", attributes: {{ po: "json:/po" }} }}
  mute: {{ kind: http, extract: {{ receiver: "json:/to", type: "value:order" }} }}
  later: {{ kind: http, extract: {{ receiver: "json:/to", type: "value:later" }} }}
  ours: {{ kind: http, extract: {{ sender: "json:/from", receiver: "json:/to", type: "value:ours" }} }}
endpoints:
  hub: {{ kind: file, path: "{folder}/hub", name: "${{id}}.json" }}
routes:
  - {{ name: later, when: {{ type: later }}, do: [ {{ route: {{ sender: "json:/from", type: "value:order" }} }} ] }}
  - {{ name: ours, when: {{ type: ours }}, do: [ {{ route: {{ sender: "value:hub", type: "value:order" }} }} ] }}
  - {{ name: all, do: [ {{ deliver: hub }} ] }}
"""


@pytest.fixture
def node(make_node):
    one = make_node(config=CONFIG.format(folder="."))
    (one.folder / "hub").mkdir()
    one.start()
    return one


def key_of(node, *options, gateway="in"):
    got = node.cli("key", "add", gateway, *options)
    assert got.returncode == DONE, got.stderr
    return got.stdout.strip()


def post(node, key, sender="acme", gateway="in", **headers):
    return node.post(gateway, json.dumps({"from": sender, "to": "hub", "po": "4711"}),
                     {"Authorization": f"Bearer {key}", **headers})


def ended(node, doc):
    return node.await_state(doc, "delivered", "dead", look=lambda n, d: n.show(
        d, "state sender receiver error { code message } attributes { name value }"))


def send(node, key, sender="acme", gateway="in"):
    got = post(node, key, sender, gateway)
    assert got.status == 202, got.body
    return ended(node, got.json["document"]) | {"id": got.json["document"]}


def keys(node):
    return {k["title"]: k for k in node.graphql("{ keys { id title systems from expires used } }")["keys"]}


# ---- bound to systems --------------------------------------------------------------------------


@BOTH
@pytest.mark.smoke
@pytest.mark.proves("S7")
def test_a_bound_key_sends_in_no_other_name(node):
    key, free = key_of(node, "--system", "acme", "--title", "bound"), key_of(node, "--title", "free")
    assert send(node, key)["state"] == "delivered"
    assert send(node, key, "0012")["state"] == "delivered", "an id of its system"
    assert send(node, free, "erp")["state"] == "delivered"
    forged = send(node, key, "erp")
    assert forged["state"] == "dead" and forged["error"]["code"] == "forbidden_sender", forged
    assert "erp" in forged["error"]["message"] and "acme" in forged["error"]["message"]
    # It is found and grouped like any other dead letter.
    assert (forged["sender"], forged["receiver"]) == ("erp", "hub")
    groups = node.graphql("{ deadGroups { code count } }")["deadGroups"]
    assert groups == [{"code": "forbidden_sender", "count": 1}]
    assert keys(node)["bound"]["systems"] == ["acme"] and keys(node)["free"]["systems"] == []


@BOTH
def test_neither_a_retry_nor_a_removed_key_gets_around_it(node):
    key = key_of(node, "--system", "acme", "--title", "bound")
    forged = send(node, key, "erp")["id"]
    node.graphql("mutation($id: ID!) { keyRemove(id: $id) }", id=keys(node)["bound"]["id"])
    for way in ("auto", "extract", "route"):
        got = node.graphql("mutation($id: ID!, $f: RetryFrom) { retry(ids: [$id], from: $f) { result } }",
                           id=forged, f=way)["retry"]
        assert got[0]["result"] == "done", got
        await_so(lambda: node.show(forged, "state")["state"] == "dead")
        assert ended(node, forged)["error"]["code"] == "forbidden_sender", way
    node.restart()
    assert ended(node, forged)["error"]["code"] == "forbidden_sender"
    # A person who may send for erp decides that it is right, and makes an edit of it.
    made = node.graphql("mutation($id: ID!, $p: String!) { documentEdit(id: $id, payload: $p) { result id message } }",
                        id=forged, p=base64.b64encode(b'{"from":"erp","to":"hub"}').decode())["documentEdit"]
    assert made["result"] == "done", made
    assert ended(node, made["id"])["state"] == "delivered"


def test_a_sender_cannot_unbind_itself(node):
    """The binding is stored beside the header fields; a field of the same name changes nothing."""
    key = key_of(node, "--system", "acme")
    for name in ("senders", "Senders"):
        got = post(node, key, "erp", **{name: "erp"})
        assert ended(node, got.json["document"])["error"]["code"] == "forbidden_sender"
    with Wire(node) as wire:
        wire.send(f"POST /in/in HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n:senders: erp\r\n"
                  "Content-Length: 2\r\n\r\n{}")
        assert wire.answer().status == 400
    two = key_of(node, "--system", "acme", "--system", "erp")
    assert send(node, two, "erp")["state"] == "delivered"
    assert send(node, two, "hub")["error"]["code"] == "forbidden_sender"
    mute = key_of(node, "--system", "acme", gateway="mute")
    assert send(node, mute, gateway="mute")["state"] == "delivered", "it claims no sender"


@pytest.mark.proves("S7")
def test_a_step_that_finds_a_sender_does_not_get_around_it(node):
    """What a later step reads in the document is the word of who sent it; what the configuration says is not."""
    key = key_of(node, "--system", "acme", gateway="later")
    assert send(node, key, gateway="later")["sender"] == "acme"
    forged = send(node, key, "erp", gateway="later")
    assert forged["state"] == "dead" and forged["error"]["code"] == "forbidden_sender", forged
    assert send(node, key_of(node, gateway="later"), "erp", gateway="later")["state"] == "delivered"
    named = send(node, key_of(node, "--system", "acme", gateway="ours"), gateway="ours")
    assert (named["state"], named["sender"]) == ("delivered", "hub"), named


def test_a_rehearsal_knows_the_binding(node):
    send(node, key_of(node, "--system", "acme"), "acme")
    text = node.graphql("{ config { text } }")["config"]["text"]
    past = node.graphql("query($t: String!) { rehearsePast(text: $t) { differences { would { error { code } } } } }",
                        t=text.replace("json:/from", "value:erp"))["rehearsePast"]["differences"]
    assert [d["would"]["error"]["code"] for d in past] == ["forbidden_sender"]


# ---- addresses, time, last use -----------------------------------------------------------------


@BOTH
def test_a_key_works_from_its_addresses(node):
    near = key_of(node, "--from", "127.0.0.0/8", "--from", "::1", "--title", "near")
    far = key_of(node, "--from", "192.0.2.0/24", "--title", "far")
    doc = send(node, near)["id"]
    refused = post(node, far)
    assert refused.status == 403 and refused.json["error"]["code"] == "other_address"
    assert node.get(f"/documents/{doc}", token=near).status == 200
    assert node.get(f"/documents/{doc}", token=far).status == 401
    assert keys(node)["far"]["from"] == ["192.0.2.0/24"] and keys(node)["far"]["used"] is None


def test_a_key_expires(make_node, tmp_path):
    clock = MovedClock(tmp_path)
    node = make_node(config=CONFIG.format(folder="."), environment=clock.environment)
    (node.folder / "hub").mkdir()
    node.start()
    short, long = key_of(node, "--expires", "1h", "--title", "short"), key_of(node)
    doc = send(node, short)["id"]
    clock.by(2 * 3600)
    refused = post(node, short)
    assert refused.status == 401 and "expired" in refused.json["error"]["message"]
    assert node.get(f"/documents/{doc}", token=short).status == 401
    assert post(node, long).status == 202
    assert keys(node)["short"]["expires"] is not None


@BOTH
def test_the_last_use_is_shown(node):
    """Without a write for each document: it is noted by the minute, and what is left when the node stops."""
    key = key_of(node, "--title", "used")
    assert keys(node)["used"]["used"] is None
    began = time.time()
    send(node, key)
    await_so(lambda: keys(node)["used"]["used"] is not None)
    first = keys(node)["used"]["used"]
    for _ in range(20):
        assert post(node, key).status == 202
    assert keys(node)["used"]["used"] == first, "within the same minute, unless this machine is very slow" \
        if time.time() - began < 50 else None
    node.restart()
    assert keys(node)["used"]["used"] > first
    assert node.cli("key", "ls").stdout.splitlines()[0].split()[:4] == ["ID", "GATEWAY", "SYSTEMS", "FROM"]


def test_what_is_no_binding_is_refused(node):
    for options in (("--system", "nix"), ("--from", "10.1.2.3/8"), ("--from", "nowhere"), ("--from", "1.2.3.4/33")):
        assert node.cli("key", "add", "in", *options).returncode == NO, options
    for options in (("--expires", "nix"), ("--role", "viewer")):
        assert node.cli("key", "add", "in", *options).returncode == USAGE, options
    assert node.cli("key", "add", "--admin", "--title", "t", "--role", "viewer", "--system", "acme").returncode == USAGE
    key_of(node, "--system", "acme", "--from", "10.0.0.0/8", "--expires", "90d", "--title", "turns")
    before = keys(node)["turns"]
    assert node.cli("key", "rotate", before["id"]).returncode == DONE
    after = keys(node)["turns"]
    assert {k: v for k, v in after.items() if k not in ("id", "used")} == \
        {k: v for k, v in before.items() if k not in ("id", "used")} and after["id"] != before["id"]


@pytest.mark.stores("postgres")
def test_a_backup_and_a_move_keep_the_binding(make_node, store):
    config = CONFIG.format(folder=".")
    one = make_node(config=config, store=None)
    (one.folder / "hub").mkdir()
    one.start()
    key = key_of(one, "--system", "acme", "--from", "127.0.0.1", "--expires", "90d", "--title", "kept")
    send(one, key)
    await_so(lambda: keys(one)["kept"]["used"] is not None)
    line = one.graphql('{ audit(filter: { action: "keyAdd" }) { items { after } } }')["audit"]["items"][0]
    assert "acme" in line["after"] and "127.0.0.1" in line["after"]
    assert one.cli("backup", str(one.folder / "saved")).returncode == DONE
    before = keys(one)["kept"]
    one.stop()

    two = make_node(config=config, store=None)
    got = run_program("restore", one.folder / "saved", "--data", two.data)
    assert got.returncode == DONE, got.stderr
    two.start()
    assert keys(two)["kept"] == before
    two.stop()
    got = run_program("migrate", "--data", one.data, "--store", store)
    assert got.returncode == DONE, got.stderr
    three = make_node(config=config, data=one.data)
    (three.folder / "hub").mkdir()
    three.start()
    assert {**keys(three)["kept"], "used": None} == {**before, "used": None}
    assert send(three, key, "erp")["error"]["code"] == "forbidden_sender"


# ---- by hand -----------------------------------------------------------------------------------

EDIT = "mutation($id: ID!, $p: String!, $f: EditFrom, $m: DocumentMetadata) { documentEdit(id: $id, payload: $p," \
       " as: beside, from: $f, metadata: $m) { result id message } }"
SEND = "mutation($p: String!, $m: DocumentMetadata!) { documentSend(gateway: \"in\", payload: $p, metadata: $m)" \
       " { result id message } }"


@BOTH
def test_by_hand_the_sender_must_be_in_scope(node):
    """The desk of the receiver sees what it gets, and does not write in the name of those who send it."""
    doc = send(node, key_of(node), "acme")["id"]
    make_role(node, "desk", {"see", "payload", "edit"}, ["hub"])
    desk = somebody(node, "desk")
    assert desk.data("query($id: ID!) { document(id: $id) { sender } }", id=doc)["document"]["sender"] == "acme"

    def paper(sender):
        return base64.b64encode(json.dumps({"from": sender, "to": "hub"}).encode()).decode()
    for got in (desk.data(EDIT, id=doc, p=paper("acme"), f="gateway")["documentEdit"],
                desk.data(EDIT, id=doc, p=paper("acme"), f="router", m={})["documentEdit"],
                desk.data(SEND, p=paper("acme"), m={"sender": "acme", "receiver": "hub", "type": "order"})["documentSend"],
                desk.data(SEND, p=paper("acme"), m={"receiver": "hub", "type": "order"})["documentSend"]):
        assert got["result"] == "nothing" and got["id"] is None and "sender" in got["message"], got
    http = desk.post("/documents?gateway=in", b"x", **{"Waybill-Sender": "acme", "Waybill-Receiver": "hub"})
    assert http.status == 409, http.body
    assert desk.ask("query($p: String!) { rehearse(gateway: \"in\", payload: $p) { route } }",
                    p=paper("acme"))["errors"][0]["extensions"]["code"] == "forbidden"
    own = desk.data(SEND, p=paper("hub"), m={"sender": "hub", "receiver": "acme", "type": "order"})["documentSend"]
    assert own["result"] == "done", own
