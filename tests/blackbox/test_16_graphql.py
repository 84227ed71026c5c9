"""POST /graphql: who may ask, what is refused, and lists that miss nothing."""
import json
import threading
import time

import pytest

from wire import Wire, head

BOTH = pytest.mark.stores("sqlite", "postgres")
CONFIG = """\
gateways:
  open:  { kind: http, auth: none }
  other: { kind: http, auth: none }
  orders: { kind: http, auth: key }
"""
pytestmark = pytest.mark.config(CONFIG)


def ask(node, query, variables=None, **fields):
    """The whole answer, errors and all."""
    body = {"query": query, **fields}
    if variables is not None:
        body["variables"] = variables
    return node.request("POST", "/graphql", json.dumps(body),
                        {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"})


def errors(node, query, variables=None, **fields):
    got = ask(node, query, variables, **fields)
    told = got.json["errors"]
    assert told and all(e["message"] for e in told), got.body
    return told


# ---- who may ask -----------------------------------------------------------------------------------


@pytest.mark.proves("S1")
def test_only_the_admin_token_opens_it(node):
    key, _ = node.add_key("orders")
    body = json.dumps({"query": "{ keys { id } }"})
    for token in (None, "nonsense", key, node.token[:-1], node.token + "x", ""):
        fields = {"Content-Type": "application/json"}
        if token is not None:
            fields["Authorization"] = f"Bearer {token}"
        got = node.request("POST", "/graphql", body, fields)
        assert got.status == 401 and "WWW-Authenticate" in got.headers, token
        assert b"keys" not in got.body
    with Wire(node) as w:  # before a byte of the question
        w.send(head("/graphql", "Content-Length: 1000000", "Content-Type: application/json"))
        assert w.answer().status == 401
    for method in ("GET", "PUT", "DELETE"):
        got = node.request(method, "/graphql", body, {"Authorization": f"Bearer {node.token}"})
        assert got.status == 405 and got.headers["Allow"] == "POST"


# ---- questions that are refused ------------------------------------------------------------------------


def test_bodies_that_are_no_question(node):
    sent = {"Authorization": f"Bearer {node.token}"}

    def status(body, kind="application/json"):
        return node.request("POST", "/graphql", body, {**sent, "Content-Type": kind}).status

    assert status(b"{}") == 400
    assert status(b"") == 400
    assert status(b"nonsense") == 400
    assert status(b"[]") == 400
    assert status(b'{"query": 5}') == 400
    assert status(b'{"query": "{ keys { id } }", "variables": 5}') == 400
    assert status(b'\xff\xfe{"query": "{ keys { id } }"}') == 400
    assert status(b"[" * 100_000) == 400
    assert status(b'{"query": "{ keys { id } }"}', "text/plain") == 415
    assert status(b'{"query": "{ keys { id } }"}', "application/json; charset=utf-8") == 200
    huge = b'{"query": "' + b" " * (32 << 20) + b'"}'
    try:
        assert status(huge) == 413
    except OSError:
        pass  # it stopped listening
    assert node.request("GET", "/healthz").status == 200


@pytest.mark.proves("S2")
def test_errors_have_places(node):
    told = errors(node, "{\n  keys { id nonsense }\n}")
    assert "nonsense" in told[0]["message"] and told[0]["locations"] == [{"line": 2, "column": 13}]
    for query in ("{", "{ keys }", "{ nonsense }", "{ keys { id } } }", "query A { keys { id } } query B { keys { id } }",
                  "{ document { id } }", "{ document(id: 5.5) { id } }", "{ documents(nonsense: 1) { next } }",
                  "query($a: Nonsense) { keys { id } }", "query($a: ID!) { document(id: $a) { id } }",
                  "fragment F on Key { id ...F } { keys { ...F } }", "mutation { keys { id } }",
                  "subscription { keys { id } }", '{ documents(filter: { since: "yesterday" }) { next } }',
                  "{ documents(first: 0) { next } }", "{ documents(first: 100000) { next } }",
                  '{ documents(after: "nonsense") { next } }', 'mutation { keyAdd(gateway: "nowhere") { id } }',
                  "mutation { configRevert(version: 99) { version { version } } }"):
        errors(node, query)
    errors(node, "query A { keys { id } }", operationName="B")
    assert ask(node, "query A { keys { id } } query B { nodes { id } }", operationName="A").status == 200
    assert node.graphql("{ keys { id } }") == {"keys": []}  # none of it did anything


def test_limits_of_a_question(node):
    deep = "{ __schema { types " + "{ ofType " * 40 + "{ name }" + " }" * 40 + " } }"
    errors(node, deep)
    errors(node, "{ " + " ".join(f"a{i}: keys {{ id }}" for i in range(2000)) + " }")
    errors(node, "{ keys { id } } " + "#" * 200_000)
    wide = " ".join(f"a{i}: documents(first: 200) {{ items {{ id timeline {{ time }} }} }}" for i in range(50))
    errors(node, "{ " + wide + " }")
    assert node.graphql("{ a: keys { id } b: keys { i: id } }") == {"a": [], "b": []}


def test_unknown_things_are_null(node):
    for ident in ("01a1dd5b-8b22-7ff4-8000-000000070052", "nonsense", "", "x" * 10_000):
        assert node.graphql("query($i: ID!) { document(id: $i) { id } }", i=ident) == {"document": None}
    assert node.graphql("{ config(version: 99) { text } }") == {"config": None}
    assert node.graphql('mutation { keyRemove(id: "nonsense") }') == {"keyRemove": False}


@BOTH
@pytest.mark.proves("S10")
def test_words_of_a_question_are_never_sql(node):
    """Every text of a filter goes to the database as it is: it finds nothing, and nothing breaks."""
    assert node.post("open", b"x", {"Waybill-Name": "plain"}).status == 202
    texts = ("' OR 1=1 --", "'; DROP TABLE doc; --", "plain' UNION SELECT 1 --", "\\", "$1", "?1", "%s", "%", "_____")
    for text in texts:
        for field in ("name", "sender", "receiver", "type", "gateway", "message"):
            found = ask(node, "query($f: DocumentFilter) { documents(filter: $f) { items { id } } }", {"f": {field: text}})
            assert found.status in (200, 400), (field, text)
            assert "errors" in found.json or found.json["data"]["documents"]["items"] == [], (field, text)
        assert node.graphql("query($i: ID!) { document(id: $i) { id } }", i=text) == {"document": None}
    assert len(node.documents()) == 1 and node.cli("doctor").returncode == 0


@BOTH
@pytest.mark.proves("S12")
def test_texts_have_no_control_characters(node):
    """Of a variable as of the question itself; lines and tabs are texts."""
    title = "mutation($t: String!) { keyAdd(gateway: \"orders\", title: $t) { id } }"
    for text in ("a\0b", "\x1b[2J", "a\x07", "\x7f"):
        assert "errors" in ask(node, title, {"t": text}).json, text
        assert "errors" in ask(node, title.replace("$t)", json.dumps(text) + ")")
                               .replace("($t: String!)", "")).json, text
        assert "errors" in ask(node, "query($i: ID!) { document(id: $i) { id } }", {"i": text}).json, text
    assert node.graphql("{ keys { title } }") == {"keys": []}
    assert node.graphql(title, t="two\nlines\tand é")["keyAdd"]["id"]
    assert node.graphql("{ keys { title } }") == {"keys": [{"title": "two\nlines\tand é"}]}


# ---- documents ---------------------------------------------------------------------------------------------


def page(node, first=50, after=None, **where):
    return node.graphql("query($f: DocumentFilter, $n: Int, $a: String) { documents(filter: $f, first: $n,"
                        " after: $a) { items { id name gateway } next } }", f=where, n=first, a=after)["documents"]


def walk(node, first, **where):
    """All pages; the ids in their order."""
    found, after = [], None
    while True:
        got = page(node, first, after, **where)
        found += [d["id"] for d in got["items"]]
        after = got["next"]
        if after is None:
            return found
        assert len(got["items"]) <= first


@BOTH
def test_pages_without_gaps_or_doubles(node):
    """Over 450 documents, also while others come in."""
    ids = []
    with Wire(node) as w:
        for n in range(450):
            w.send(head(f"/in/{'open' if n % 3 else 'other'}", f"Waybill-Name: n{n}", "Content-Length: 1"), b"x")
        for _ in range(450):
            ids.append(json.loads(w.answer().body)["document"])
    newest_first = ids[::-1]
    for first in (1, 7, 50, 200):
        assert walk(node, first) == newest_first, first
        if first > 1:
            assert walk(node, first, gateway="other") == [i for n, i in enumerate(ids) if n % 3 == 0][::-1]
    assert page(node, 50)["next"] is not None

    stop = threading.Event()

    def send():
        while not stop.is_set():
            assert node.post("open", b"y").status == 202

    thread = threading.Thread(target=send)
    thread.start()
    try:
        for _ in range(3):
            seen = walk(node, 40)
            assert len(seen) == len(set(seen)) and set(ids) <= set(seen)
            assert seen == sorted(seen, key=seen.index) and seen[-450:] == newest_first
    finally:
        stop.set()
        thread.join()
    node.kill()
    node.start()
    assert walk(node, 200)[-450:] == newest_first


@BOTH
def test_filters(node):
    before = time.time()
    first = node.post("open", b"x", {"Waybill-Name": "a.xml"}).json["document"]
    second = node.post("other", b"x", {"Waybill-Name": "b.xml"}).json["document"]
    time.sleep(0.02)
    middle = node.graphql("query($i: ID!) { document(id: $i) { received } }", i=second)["document"]["received"]
    third = node.post("open", b"x").json["document"]
    assert walk(node, 50) == [third, second, first]
    assert walk(node, 50, gateway="open") == [third, first]
    assert walk(node, 50, gateway="nowhere") == []
    assert walk(node, 50, name="b.xml") == [second]
    assert walk(node, 50, gateway="open", name="b.xml") == []
    assert walk(node, 50, state="received") == [third, second, first]
    assert walk(node, 50, state="dead") == []
    assert walk(node, 50, since=middle) == [third, second]
    assert walk(node, 50, until=middle) == [first]
    assert walk(node, 50, since=middle, until=middle) == []
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(before - 1))
    assert walk(node, 50, since=stamp) == [third, second, first] and walk(node, 50, until=stamp) == []
    assert walk(node, 50, sender="acme") == walk(node, 50, receiver="x") == walk(node, 50, type="x") == []
    assert walk(node, 50, error="loop") == []


@BOTH
def test_a_document_as_it_is_shown(node):
    key, key_id = node.add_key("orders")
    ident = node.post("orders", b"hello", {"Authorization": f"Bearer {key}", "Content-Type": "text/plain",
                                           "Waybill-Name": "h\u00e9.txt".encode()}).json["document"]
    got = node.graphql("query($i: ID!) { document(id: $i) { id gateway sender receiver type state size sha256 name"
                       " contentType received updated error { code message } config caller"
                       " timeline { time node stage outcome duration message } } }", i=ident)["document"]
    plain = node.get(f"/documents/{ident}").json
    assert {k: got[k] for k in plain} == plain
    assert got["caller"] and got["config"] == 1 and got["contentType"] == "text/plain"
    assert got["timeline"][0]["stage"] == "accept" and got["timeline"][0]["time"] == got["received"]
    assert got["sender"] is got["error"] is None and key_id not in (None, "")


def test_keys_are_shown_without_their_secret(node):
    made = node.graphql('mutation { keyAdd(gateway: "orders", title: "Acme \\"1\\"") { id gateway key } }')["keyAdd"]
    assert made["gateway"] == "orders" and made["id"] in made["key"]
    shown = node.graphql("{ keys { id gateway title made } }")["keys"]
    assert len(shown) == 1 and shown[0]["id"] == made["id"] and shown[0]["title"] == 'Acme "1"'
    assert made["key"].rpartition("_")[2] not in json.dumps(shown)
    assert node.graphql("mutation($i: ID!) { keyRemove(id: $i) }", i=made["id"])["keyRemove"] is True
    assert node.graphql("{ keys { id } }") == {"keys": []}
