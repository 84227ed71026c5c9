"""What receivers answer is kept with the document: which answers, how much of them, who sees them."""
import hashlib
import json
import time

import pytest

BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO, FORBIDDEN = 0, 1, 77
KEPT = 65536

CONFIG = """\
systems: {{ acme: {{}}, hub: {{}}, archive: {{}} }}
types: {{ order: {{}}, told: {{}}, silent: {{}}, often: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type" }} }}
endpoints:
  usual: {{ kind: http, url: "{url}/usual", breaker: {{ failures: 1000 }} }}
  all:   {{ kind: http, url: "{url}/all" }}
  none:  {{ kind: http, url: "{url}/none" }}
  often: {{ kind: http, url: "{url}/often", retry: {{ first: 1ms, most: 1ms }}, breaker: {{ failures: 1000 }} }}
  shelf: {{ kind: file, system: archive, path: "{folder}/shelf", name: "${{id}}.json" }}
routes:
  - {{ name: orders, when: {{ type: order }}, do: [ {{ deliver: [usual, shelf] }} ] }}
  - {{ name: told, when: {{ type: told }}, do: [ {{ deliver: all }} ] }}
  - {{ name: silent, when: {{ type: silent }}, do: [ {{ deliver: none }} ] }}
  - {{ name: often, when: {{ type: often }}, do: [ {{ deliver: often }} ] }}
"""
FIELDS = ("state deliveries { id endpoint system state message"
          " answer { attempt status contentType size kept sha256 } }")


@pytest.fixture
def node(make_node, receiver, tmp_path):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=receiver.url(""), folder=tmp_path))
    one.start()
    return one


@pytest.fixture
def choosy(make_node, receiver, tmp_path):
    """A node whose endpoints `all` and `none` keep what their names say."""
    text = CONFIG.replace('/all" }}', '/all", keep: {{ answers: all }} }}')
    text = text.replace('/none" }}', '/none", keep: {{ answers: none }} }}')
    one = make_node(config=text.format(url=receiver.url(""), folder=tmp_path))
    one.start()
    return one


def send(node, kind="order"):
    return node.accept("in", json.dumps({"from": "acme", "to": "hub", "type": kind}))


def look(node, doc):
    return node.show(doc, FIELDS)


def glance(node, doc):
    """What a program that keeps no answers shows, too."""
    return node.show(doc, "state deliveries { id endpoint system message }")


def delivery(seen, endpoint):
    return next(d for d in seen["deliveries"] if d["endpoint"] == endpoint)


def answer_text(node, doc, endpoint):
    shown = node.graphql("query($id: ID!, $d: String!) { document(id: $id) { answer(delivery: $d)"
                         " { text size truncated stage } } }", id=doc, d=endpoint)["document"]["answer"]
    return shown and shown["text"]


@pytest.mark.proves("DE7")
@BOTH
def test_a_refusal_is_kept_whole(node, receiver):
    """More than a message has room for; shown by API, CLI and download, and found by what it says."""
    words = "the order 4711 is closed; " + "x" * 3000
    receiver.behave("/usual", "status", 422, None, words)
    doc = send(node)
    node.await_state(doc, "dead", look=glance)
    got = node.cli("docs", "payload", doc, "--answer", "usual")
    assert (got.returncode, got.stdout) == (DONE, words), got.stderr
    seen = look(node, doc)
    one = delivery(seen, "usual")
    assert one["answer"] == {"attempt": 1, "status": 422, "contentType": None, "size": len(words),
                             "kept": len(words), "sha256": hashlib.sha256(words.encode()).hexdigest()}
    assert delivery(seen, "shelf")["answer"] is None
    assert answer_text(node, doc, "usual") == words
    assert answer_text(node, doc, one["id"]) == words
    assert answer_text(node, doc, "shelf") is None
    assert "--answer usual" in node.cli("docs", "show", doc).stdout
    found = node.cli("docs", "ls", "--error", "order 4711 is CLOSED", "--json")
    assert [json.loads(line)["id"] for line in found.stdout.splitlines()] == [doc]


@BOTH
def test_no_more_than_64_kib_of_it(node, receiver):
    receiver.behave("/usual", "status", 400, None, "y" * 100000)
    doc = send(node)
    node.await_state(doc, "dead", look=glance)
    assert node.cli("docs", "payload", doc, "--answer", "usual").stdout == "y" * KEPT
    answer = delivery(look(node, doc), "usual")["answer"]
    assert (answer["size"], answer["kept"]) == (100000, KEPT)
    assert answer_text(node, doc, "usual") == "y" * KEPT


@BOTH
def test_which_answers_are_kept(choosy, receiver):
    """`all`: also of a delivered document, which has ended; `none`: not even a refusal; else failures."""
    receiver.behave("/all", "status", 200, None, "booked as 8842")
    receiver.behave("/none", "status", 400, None, "no")
    told, silent, usual = send(choosy, "told"), send(choosy, "silent"), send(choosy)
    assert delivery(choosy.await_state(told, "delivered", look=look), "all")["answer"]["kept"] == 14
    assert answer_text(choosy, told, "all") == "booked as 8842"
    refused = delivery(choosy.await_state(silent, "dead", look=look), "none")
    assert refused["answer"] is None and "answered 400: no" in refused["message"]
    assert delivery(choosy.await_state(usual, "delivered", look=look), "usual")["answer"] is None
    assert choosy.cli("docs", "payload", usual, "--answer", "usual").returncode == NO


@BOTH
def test_deliveries_of_ended_documents_keep_id_and_system(node, receiver):
    doc = send(node)
    seen = node.await_state(doc, "delivered", look=glance)
    assert {(d["id"], d["system"]) for d in seen["deliveries"]} == \
        {(f"{doc}.usual", "hub"), (f"{doc}.shelf", "archive")}
    assert receiver.requests("/usual")[0]["headers"]["idempotency-key"] == f"{doc}.usual"


@BOTH
def test_an_answer_that_repeats_itself_is_kept_once(node, receiver):
    """And one that does not, as often as there is room; the last words always."""
    receiver.behave("/often", "status", 503, None, "first words", times=1)
    receiver.behave("/often", "status", 503, None, "not yet", times=6)
    doc = send(node, "often")
    receiver.wait_for(3, path="/often")
    receiver.behave("/often", "status", 418, None, "last words")
    node.await_state(doc, "dead", look=glance)
    assert answer_text(node, doc, "often") == "last words"
    stages = node.show(doc, "stages { stage } timeline { stage attempt bytes { stage } }")
    assert len(stages["stages"]) == 1 and all(line["bytes"] is None for line in stages["timeline"])
    assert delivery(look(node, doc), "often")["answer"]["status"] == 418


def test_what_a_page_says_without_its_tags(node, receiver):
    """The message is for people: the text of a fault or a page."""
    receiver.behave("/usual", "status", 400, None,
                    "<?xml version='1.0'?><e:Envelope><e:Body><e:Fault><faultcode>e:Client</faultcode>"
                    "<faultstring>no such\n  customer &lt;77&gt;</faultstring></e:Fault></e:Body></e:Envelope>")
    one = delivery(node.await_state(send(node), "dead", look=glance), "usual")
    assert one["message"] == "the receiver answered 400: e:Client no such customer <77>"


def test_answers_need_the_rights_of_contents(node, receiver):
    """With `see` one learns that there is an answer; its bytes take `payload` and `download`, and are noted."""
    receiver.behave("/usual", "status", 400, None, "a word for its receiver only")
    doc = send(node)
    node.await_state(doc, "dead", look=glance)
    node.graphql('mutation { roleAdd(name: "looker", rights: [see]) { name } }')
    key = node.graphql('mutation { adminKeyAdd(title: "looker", roles: ["looker"]) { key } }')["adminKeyAdd"]["key"]
    asked = node.request("POST", "/graphql", json.dumps(
        {"query": f'{{ document(id: "{doc}") {{ deliveries {{ answer {{ status }} }} answer(delivery: "usual")'
                  " { text } } }"}), {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
    assert "a word for" not in asked.body.decode() and "payload" in asked.json["errors"][0]["message"]
    assert node.get(f"/documents/{doc}/payload?answer=usual", token=key).status == 403
    assert node.get(f"/documents/{doc}/payload?answer=usual", token=node.token).status == 200
    assert answer_text(node, doc, "usual") == "a word for its receiver only"
    lines = node.graphql('{ audit(first: 20) { items { action object after } } }')["audit"]["items"]
    assert any(line["action"] == "payloadDownload" and '"answer":"usual"' in (line["after"] or "") and
               line["object"] == doc for line in lines)
    assert any(line["action"] == "payloadView" and line["object"] == doc for line in lines)


@BOTH
def test_answers_go_with_their_document(node, receiver):
    """A store that was restarted has them; the checks of the store find nothing amiss."""
    receiver.behave("/usual", "status", 400, None, "kept over a restart")
    doc = send(node)
    node.await_state(doc, "dead", look=glance)
    node.restart()
    assert answer_text(node, doc, "usual") == "kept over a restart"
    until = time.monotonic() + 20
    while (got := node.cli("doctor")).returncode != DONE:
        assert time.monotonic() < until, got.stdout + got.stderr
        time.sleep(0.2)
