"""Extraction keeps what it found when one field fails: the dead letter is found, grouped and in somebody's scope;
a retry extracts anew."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from test_87_rights import await_so, make_role, somebody  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
CONFIG = """\
systems: {{ acme: {{}}, erp: {{}}, hub: {{}} }}
types: {{ order: {{ search: {{ po: "json:/po" }} }}, "*": {{}} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/{type}", attributes: {{ part: "json:/part" }} }}
endpoints:
  hub: {{ kind: file, path: "{folder}/hub", name: "${{id}}.json" }}
routes:
  - {{ name: all, do: [ {{ deliver: hub }} ] }}
"""
FIELDS = "state sender receiver type error { code message } attributes { name value }"


@pytest.fixture
def node(make_node):
    one = make_node(config=CONFIG.format(folder=".", type="type"))
    (one.folder / "hub").mkdir()
    one.start()
    return one


def send(node, **paper):
    got = node.post("in", json.dumps(paper))
    assert got.status == 202
    doc = got.json["document"]
    return doc, node.await_state(doc, "dead", "delivered", look=lambda n, d: n.show(d, FIELDS))


@BOTH
@pytest.mark.smoke
@pytest.mark.proves("EX5")
def test_a_dead_letter_has_what_was_found(node):
    doc, seen = send(node, **{"from": "acme", "to": "hub", "part": "7"})
    assert seen["state"] == "dead" and seen["error"]["code"] == "extract_failed"
    assert "type" in seen["error"]["message"]
    assert (seen["sender"], seen["receiver"], seen["type"]) == ("acme", "hub", None)
    assert seen["attributes"] == [{"name": "part", "value": "7"}]

    # It is found, grouped, and seen by those with rights for its systems.
    found = node.graphql('{ documents(filter: { sender: "acme" }) { items { id } } }')["documents"]["items"]
    assert [d["id"] for d in found] == [doc]
    found = node.graphql('{ documents(filter: { where: [{ name: "part", value: "7" }] }) { items { id } } }')["documents"]
    assert [d["id"] for d in found["items"]] == [doc]
    groups = node.graphql("{ deadGroups(by: reason_receiver) { code receiver } }")["deadGroups"]
    assert groups == [{"code": "extract_failed", "receiver": "hub"}]
    make_role(node, "desk", {"see"}, ["acme"])
    make_role(node, "other", {"see"}, ["erp"])
    ask = "query($id: ID!) { document(id: $id) { state } }"
    assert somebody(node, "desk").data(ask, id=doc)["document"] == {"state": "dead"}
    assert somebody(node, "other").data(ask, id=doc)["document"] is None


@BOTH
def test_a_retry_extracts_anew(node):
    """What was found of it is no reason to begin at the router with the half of it."""
    doc, seen = send(node, **{"from": "acme", "to": "hub", "kind": "order", "po": "1"})
    assert seen["error"]["code"] == "extract_failed"
    for way in ("auto", "route"):
        told = node.graphql("mutation($id: ID!, $f: RetryFrom) { retry(ids: [$id], from: $f) { result message } }",
                            id=doc, f=way)["retry"][0]
        assert told["result"] == "done" and "at extraction" in told["message"], told
        await_so(lambda: node.show(doc, "state")["state"] == "dead")
        assert node.show(doc, FIELDS)["error"]["code"] == "extract_failed"
    applied = node.cli("apply", "-", stdin=CONFIG.format(folder=".", type="kind"))
    assert applied.returncode == 0, applied.stderr
    node.graphql("mutation($id: ID!) { retry(ids: [$id]) { result } }", id=doc)
    seen = node.await_state(doc, "delivered", look=lambda n, d: n.show(d, FIELDS))
    assert seen["type"] == "order" and {"name": "po", "value": "1"} in seen["attributes"]


def test_any_field_may_fail_and_an_unknown_name_is_kept(node):
    _, seen = send(node, **{"to": "hub", "type": "order", "po": "4711"})
    assert seen["error"]["code"] == "extract_failed" and "sender" in seen["error"]["message"]
    assert (seen["sender"], seen["receiver"], seen["type"]) == (None, "hub", "order")
    assert {"name": "po", "value": "4711"} in seen["attributes"], "attributes of the type's search, too"
    _, seen = send(node, **{"from": "nobody", "to": "hub"})
    assert seen["error"]["code"] == "extract_failed" and seen["sender"] == "nobody" and seen["receiver"] == "hub"
    _, seen = send(node, **{"from": "acme", "to": {"no": "text"}, "type": "order"})
    assert (seen["sender"], seen["receiver"], seen["type"]) == ("acme", None, "order")


def test_a_rehearsal_finds_no_difference_where_there_is_none(node):
    send(node, **{"from": "acme", "to": "hub"})
    text = node.graphql("{ config { text } }")["config"]["text"]
    past = node.graphql("query($t: String!) { rehearsePast(text: $t) { looked left differences { kinds } } }", t=text)
    assert past["rehearsePast"] == {"looked": 1, "left": 0, "differences": []}
