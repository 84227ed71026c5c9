"""A proposed configuration over past documents: what would be different, and nothing is sent."""
import concurrent.futures
import http.client
import json
import time
import urllib.parse

import pytest

BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO, USAGE = 0, 1, 2
MANY = 2000

CONFIG = """\
systems: {{ acme: {{}}, hub: {{}}, archive: {{}} }}
types: {{ order: {{}}, note: {{}}, claim: {{}}, junk: {{}} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type",
               attributes: {{ po: "json:/po" }} }}
  other: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "value:hub",
           type: "value:note" }} }}
endpoints:
  hub:   {{ kind: file, path: "{folder}/hub", name: "${{id}}.json" }}
  shelf: {{ kind: file, system: archive, path: "{folder}/shelf", name: "${{id}}.json" }}
routes:
  - name: orders
    when: {{ type: order }}
    do: [ {{ deliver: shelf }}, {{ replace: {{ find: "_", with: "-" }} }}, {{ deliver: hub }} ]
  - name: notes
    when: {{ type: note }}
    do: [ {{ deliver: hub }} ]
  - name: junk
    when: {{ type: junk }}
    do: [ {{ drop: {{ reason: "nobody reads it" }} }} ]
"""
NOTES = '  - name: notes\n    when: { type: note }\n    do: [ { deliver: hub } ]\n'


class World:
    """A node, what it runs with, and proposals made of that."""

    def __init__(self, node, folder):
        self.node, self.folder = node, folder
        self.config = CONFIG.format(folder=folder)

    def changed(self, *pairs):
        """The configuration with texts replaced; each must be there."""
        text = self.config
        for old, new in pairs:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return text

    def apply(self, text):
        got = self.node.cli("apply", "-", stdin=text)
        assert got.returncode == DONE, got.stdout + got.stderr

    def rehearse(self, text, *options):
        """The documents that would be different by id, and the sum."""
        got = self.node.cli("rehearse", "-", "--json", *options, stdin=text)
        assert got.returncode in (DONE, NO) and got.stdout, got.stdout + got.stderr
        *found, last = [json.loads(line) for line in got.stdout.splitlines()]
        assert "sum" in last, got.stderr
        assert (got.returncode == NO) == bool(found), got.stdout
        assert last["sum"]["different"] == len(found)
        return {d["id"]: d for d in found}, last["sum"]

    def send(self, kind="note", gateway="in", **more):
        body = more.pop("body", None) or json.dumps(
            {"from": "acme", "to": "hub", "type": kind, "text": "a_b", "po": "1", **more})
        answer = self.node.post(gateway, body, {"Waybill-Name": "n.json"})
        assert answer.status == 202, answer.body
        return answer.json["document"]

    def one(self, doc):
        return self.node.graphql("query($id: ID!) { document(id: $id) { state config route type"
                                 " error { code } } }", id=doc)["document"]

    def await_state(self, doc, *states, seconds=30):
        until = time.monotonic() + seconds
        while (seen := self.one(doc))["state"] not in states:
            assert time.monotonic() < until, f"still {seen}\n{self.node.tail()}"
            time.sleep(0.02)
        return seen

    def await_all(self, count, seconds=60):
        """Until nothing is on its way."""
        until = time.monotonic() + seconds
        while (done := self.node.metrics()["waybill_documents_ended_total"]) < count:
            assert time.monotonic() < until, f"{done} of {count}\n{self.node.tail()}"
            time.sleep(0.05)

    def await_mishaps(self, count, seconds=30):
        """Until what went wrong so far is written: that happens once a second."""
        until = time.monotonic() + seconds
        while len(self.node.graphql("{ mishaps { code } }")["mishaps"]) < count:
            assert time.monotonic() < until, self.node.tail()
            time.sleep(0.05)

    def traces(self):
        """Everything that a rehearsal must leave as it is."""
        sent = sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*"))
        history = self.node.graphql("{ configHistory { version sha256 } }")
        metrics = {name: value for name, value in self.node.metrics().items()
                   if name.startswith(("waybill_documents", "waybill_deliveries"))}
        mishaps = self.node.graphql("{ mishaps { code object count } }")
        return sent, history, metrics, mishaps, len(self.node.documents())


@pytest.fixture
def world(make_node, tmp_path):
    folder = tmp_path / "out"
    for name in ("hub", "shelf", "new"):
        (folder / name).mkdir(parents=True)
    node = make_node(config=CONFIG.format(folder=folder))
    node.start()
    return World(node, folder)


def send_many(node, bodies):
    """Over a few connections; the ids in the order of the bodies."""
    where = urllib.parse.urlsplit(node.url)

    def send(some):
        connection, ids = http.client.HTTPConnection(where.hostname, where.port, timeout=60), []
        for body in some:
            connection.request("POST", "/in/in", json.dumps(body))
            answer = connection.getresponse()
            assert answer.status == 202, answer.read()
            ids.append(json.loads(answer.read())["document"])
        connection.close()
        return ids

    share = (len(bodies) + 7) // 8
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        parts = pool.map(send, [bodies[i:i + share] for i in range(0, len(bodies), share)])
        return [one for part in parts for one in part]


# -- one changed route

@BOTH
@pytest.mark.proves("XC8")
def test_exactly_the_affected_documents(world):
    """One route of a few is changed: those that take it are told, all of them and no other."""
    kinds = ["note", "order", "junk", "note"]
    bodies = [{"from": "acme", "to": "hub", "type": kinds[i % 4], "text": f"t_{i}", "po": str(i % 7)}
              for i in range(MANY)]
    ids = send_many(world.node, bodies)
    world.await_all(MANY)
    before = world.traces()
    proposal = world.changed(
        ("systems: { acme: {},", "systems: { acme: {}, fresh: {},"),
        ("endpoints:\n", 'endpoints:\n  new: { kind: file, system: fresh, path: "%s/new" }\n'
         % world.folder),
        (NOTES, NOTES.replace("deliver: hub", "deliver: new").replace(
            "type: note", "type: note, attributes: { po: 3 }") + NOTES.replace("notes", "rest")))
    found, total = world.rehearse(proposal)
    affected = {doc for doc, body in zip(ids, bodies) if body["type"] == "note"}
    moved = {doc for doc, body in zip(ids, bodies) if body["type"] == "note" and body["po"] == "3"}
    assert set(found) == affected
    for doc, d in found.items():
        if doc in moved:
            assert d["kinds"] == ["delivered"]
            assert d["would"]["deliveries"] == [{"endpoint": "new", "system": "fresh"}]
        else:
            assert d["kinds"] == ["routed"] and d["would"]["route"] == "rest"
        assert d["was"]["deliveries"] == [{"endpoint": "hub", "system": "hub"}]
    assert total["looked"] == MANY and total["left"] == 0
    assert total["kinds"] == {"delivered": len(moved), "routed": len(affected) - len(moved)}
    assert total["changes"]["delivery + new of fresh"] == len(moved)
    assert world.rehearse(world.config) == ({}, {**total, "different": 0, "kinds": {}, "changes": {}})
    assert world.traces() == before
    assert world.node.cli("doctor").returncode == DONE


# -- how they differ

def test_who_saw_other_bytes_is_in_the_audit_log(world):
    docs = [world.send("order"), world.send("order"), world.send("note")]
    world.await_all(3)
    found, _ = world.rehearse(world.changed(('with: "-"', 'with: "+"')))
    assert set(found) == set(docs[:2])
    for doc in docs:
        got = world.node.cli("audit", "ls", "--object", doc, "--json")
        assert got.returncode == DONE, got.stderr
        seen = [json.loads(line) for line in got.stdout.splitlines()]
        assert [(s["action"], s["object"]) for s in seen] == [("payloadView", doc)] * (doc in found)


def payload_views(node):
    got = node.cli("audit", "ls", "--action", "payloadView", "--limit", "10000", "--json")
    assert got.returncode == DONE, got.stderr
    return [json.loads(line)["object"] for line in got.stdout.splitlines()]


@BOTH
def test_a_store_that_commits_slowly(world):
    """Who saw which bytes is one commit per portion, however many documents differ: one for each
    exceeded the time of a request on a busy machine, and the rehearsal ended without its sum."""
    bodies = [{"from": "acme", "to": "hub", "type": kind, "text": f"t_{i}", "po": str(i)}
              for i in range(200) for kind in ("order", "note")]
    ids = send_many(world.node, bodies)
    world.await_all(len(ids))
    world.node.stop()
    world.node.environment["WAYBILL_FAULT"] = "group.begun:delay_ms:40"
    world.node.start()
    found, total = world.rehearse(world.changed(
        ('with: "-"', 'with: "+"'), ("name: notes", "name: letters")))
    orders = [doc for doc, body in zip(ids, bodies) if body["type"] == "order"]
    assert total["kinds"] == {"transformed": len(orders), "routed": len(ids) - len(orders)}
    assert sorted(payload_views(world.node)) == sorted(orders), "those whose bytes were shown"


@BOTH
def test_transformed(world):
    """Other bytes for the same endpoint, with what differs in them."""
    doc, note = world.send("order"), world.send("note")
    world.await_all(2)
    found, total = world.rehearse(world.changed(('with: "-"', 'with: "+"')))
    assert set(found) == {doc} and note not in found
    assert found[doc]["kinds"] == ["transformed"] and total["kinds"] == {"transformed": 1}
    [payload] = found[doc]["payloads"]
    assert payload["endpoint"] == "hub" and payload["wasSize"] == payload["wouldSize"]
    assert '-{"from": "acme"' in payload["diff"] and '"a-b"' in payload["diff"]
    assert '+{"from": "acme"' in payload["diff"] and '"a+b"' in payload["diff"]
    # a step that comes, and one that goes
    found, _ = world.rehearse(world.changed(("- name: notes\n    when: { type: note }\n    do: [ ",
                                             "- name: notes\n    when: { type: note }\n    do: [ "
                                             '{ replace: { find: "a_b", with: "" } }, ')))
    assert set(found) == {note} and found[note]["kinds"] == ["transformed"]
    found, _ = world.rehearse(world.changed(('{ replace: { find: "_", with: "-" } }, ', "")))
    assert set(found) == {doc} and found[doc]["kinds"] == ["transformed"]
    # one that changes nothing
    assert world.rehearse(world.changed(
        ('find: "_", with: "-" } }, ', 'find: "_", with: "-" } }, '
         '{ replace: { find: "zzz", with: "y" } }, ')))[0] == {}


def test_long_lines_and_bytes_that_are_no_text(world):
    """One long line is compared piece by piece; what is no text is only counted."""
    rows = ",".join(f'"row_{i}"' for i in range(300))
    long = world.send("order", body='{"from":"acme","to":"hub","type":"order","po":"1","rows":[%s]}' % rows)
    odd = world.send("note", "other", body=b"\x00\xff_\x01" * 100)
    world.await_all(2)
    found, _ = world.rehearse(world.changed(
        ('find: "_", with: "-"', 'find: "row_77\\"", with: "ROW_77\\""'),
        ("- name: notes\n    when: { type: note }\n    do: [ ",
         '- name: notes\n    when: { type: note }\n    do: [ { replace: { find: "_", with: "-" } }, ')))
    [payload] = found[long]["payloads"]
    assert payload["cut"] and len(payload["diff"]) <= 4096
    assert '\n-"row-1",\n' in payload["diff"] or '\n-"row-0",\n' in payload["diff"]
    assert found[odd]["payloads"] == [{"endpoint": "hub", "system": "hub", "wasSize": 400,
                                       "wouldSize": 400, "diff": None, "cut": False}]


@BOTH
def test_rejected_accepted_dropped(world):
    """What would die, what would not die any more, what ends without a delivery."""
    note, junk, claim = world.send("note"), world.send("junk"), world.send("claim")
    world.await_state(note, "delivered")
    world.await_state(junk, "done")
    assert world.await_state(claim, "dead")["error"]["code"] == "no_route"
    world.await_mishaps(1)
    before = world.traces()
    found, total = world.rehearse(world.changed(
        (NOTES, NOTES.replace("type: note", "type: claim")),
        ('{ drop: { reason: "nobody reads it" } }', "{ deliver: shelf }")))
    assert set(found) == {note, junk, claim} and total["left"] == 0
    assert found[note]["kinds"] == ["rejected"] and found[note]["was"]["error"] is None
    assert found[note]["would"]["error"]["code"] == "no_route"
    assert found[claim]["kinds"] == ["accepted"] and found[claim]["would"]["error"] is None
    assert found[claim]["would"]["deliveries"] == [{"endpoint": "hub", "system": "hub"}]
    assert found[junk]["kinds"] == ["delivered"]
    assert "nobody reads it" in found[junk]["was"]["message"]
    # dead before and after, of something else
    found, _ = world.rehearse(world.changed(("systems: { acme: {}, hub: {}, archive: {} }",
                                             "systems: { hub: {}, archive: {} }"),
                                            ('sender: "value:acme"', 'sender: "value:hub"')))
    assert {d["would"]["error"]["code"] for d in found.values()} == {"unknown_system"}
    assert {"rejected"} == {k for d in found.values() for k in d["kinds"]}
    assert set(found) == {note, junk, claim}
    assert world.traces() == before


def test_refused_at_the_door(world):
    """Its gateway is gone, or takes only smaller ones."""
    small, large = world.send("note", "other"), world.send("note", text="x" * 5000)
    world.await_all(2)
    config = world.changed(("  in:\n    kind: http\n", "  in:\n    kind: http\n    limits: { size: 2 KiB }\n"))
    found, total = world.rehearse(config)
    assert set(found) == {large} and total["kinds"] == {"rejected": 1}
    assert found[large]["would"]["error"]["code"] == "refused"
    assert "larger than gateway in takes" in found[large]["would"]["error"]["message"]
    found, _ = world.rehearse(world.changed(("  other: {", "  another: {")))
    assert set(found) == {small} and "no gateway other" in found[small]["would"]["error"]["message"]


def test_extracted(world):
    """Other facts, the same way."""
    doc, other = world.send("note", po="77"), world.send("note", "other")
    world.await_all(2)
    found, _ = world.rehearse(world.changed(('po: "json:/po"', 'po: "json:/text"')))
    assert set(found) == {doc} and other not in found and found[doc]["kinds"] == ["extracted"]
    assert found[doc]["would"]["attributes"] == [{"name": "po", "value": "a_b"}]
    got = world.node.cli("rehearse", "-", stdin=world.changed(('po: "json:/po"', 'po: "json:/text"')))
    assert "attribute   - po=77\n  attribute   + po=a_b\n" in got.stdout, got.stdout


def test_an_endpoint_that_is_defined_differently(world):
    """By the same name to another place: those that go there; a longer timeout is no difference."""
    note, order = world.send("note"), world.send("order")
    world.await_all(2)
    found, _ = world.rehearse(world.changed(('/shelf", name: "${id}.json"', '/new", name: "${id}.json"')))
    assert set(found) == {order} and note not in found
    assert found[order]["kinds"] == ["delivered"] and found[order]["redefined"] == ["shelf"]
    text = world.changed(("  hub:   { kind: file, ", "  hub:   { kind: file, timeout: 77s, "),
                         ('/shelf", name: "${id}.json"', '/shelf", "name": \'${id}.json\''))
    assert world.rehearse(text)[0] == {}
    got = world.node.cli("rehearse", "-", stdin=world.changed(('/hub", name', '/new", name')))
    assert "  endpoint    hub is defined differently\n" in got.stdout
    assert "        2  endpoint hub is defined differently\n" in got.stdout


# -- compared with what

@BOTH
def test_against_what_happened_or_the_live_version(world):
    """An older version ran: by default that is what counts."""
    doc = world.send("note")
    world.await_all(1)
    newer = world.changed((NOTES, NOTES.replace("deliver: hub", "deliver: shelf")))
    world.apply(newer)
    found, _ = world.rehearse(newer)
    assert set(found) == {doc} and found[doc]["was"]["config"] == 1
    assert world.rehearse(newer, "--against", "live")[0] == {}
    assert world.rehearse(world.config)[0] == {}
    found, _ = world.rehearse(world.config, "--against", "live")
    assert found[doc]["was"]["config"] == 2 and found[doc]["kinds"] == ["delivered"]


@BOTH
def test_facts_that_were_kept_are_kept(world):
    """It died at the router; a newer version, which would extract something else, had a way for it."""
    doc = world.send("claim")
    world.await_state(doc, "dead")
    newer = world.changed(('type: "json:/type"', 'type: "value:junk"'),
                          (NOTES, NOTES + NOTES.replace("notes", "claims").replace(
                              "type: note", "type: claim")))
    world.apply(newer)
    seen = world.await_state(doc, "delivered")
    assert seen["type"] == "claim" and seen["route"] == "claims" and seen["config"] == 2
    assert world.rehearse(newer)[0] == {}
    found, _ = world.rehearse(newer.replace("name: claims", "name: others"))
    assert found[doc]["kinds"] == ["routed"] and found[doc]["would"]["type"] == "claim"


# -- portions, choices, failures

@BOTH
def test_portions(world):
    """Small portions come to the same, and each document comes once."""
    ids = send_many(world.node, [{"from": "acme", "to": "hub", "type": "note", "po": str(i)}
                                 for i in range(50)])
    world.await_all(50)
    text = world.changed((NOTES, NOTES.replace("deliver: hub", "deliver: shelf")))
    seen, after, looked = [], None, 0
    while True:
        page = world.node.graphql(
            "query($t: String!, $a: String) { rehearsePast(text: $t, most: 7, after: $a)"
            " { looked left next differences { id } } }", t=text, a=after)["rehearsePast"]
        seen += [d["id"] for d in page["differences"]]
        looked += page["looked"]
        assert page["looked"] <= 7 and page["left"] == 0
        after = page["next"]
        if after is None:
            break
    assert looked == 50 and sorted(seen) == sorted(ids)


def test_choices(world):
    """--limit, --since, --until, --gateway, --sum."""
    first, second = world.send("note"), world.send("note", "other")
    world.await_all(2)
    text = world.changed((NOTES, NOTES.replace("deliver: hub", "deliver: shelf")))
    assert set(world.rehearse(text)[0]) == {first, second}
    assert set(world.rehearse(text, "--limit", "1")[0]) == {second}
    assert set(world.rehearse(text, "--gateway", "in")[0]) == {first}
    assert world.rehearse(text, "--gateway", "nothing")[1]["looked"] == 0
    assert world.rehearse(text, "--until", "1h")[1]["looked"] == 0
    assert world.rehearse(text, "--since", "2099-01-01")[1]["looked"] == 0
    got = world.node.cli("rehearse", "-", "--limit", "1", stdin=text)
    assert got.returncode == NO and "there are older ones" in got.stderr
    assert second in got.stdout and "  delivery    - hub of hub\n  delivery    + shelf of archive\n" in got.stdout
    got = world.node.cli("rehearse", "-", "--sum", stdin=text)
    assert first not in got.stdout
    assert "2 documents looked at, 2 would come out differently\n        2  delivered\n" in got.stdout
    got = world.node.cli("rehearse", "-", stdin=world.config)
    assert got.returncode == DONE
    assert got.stdout == "2 documents looked at, 0 would come out differently\n"
    assert world.node.cli("rehearse", "-", "--against", "x", stdin=text).returncode == USAGE


def test_a_proposal_with_problems(world):
    """What `apply` would refuse is refused, with its place, and nothing is rehearsed."""
    world.send("note")
    before = world.traces()
    file = world.folder.parent / "new.yaml"
    file.write_text(world.changed(("deliver: hub } ]\n  - name: notes", "deliver: nowhere } ]\n  - name: notes")))
    got = world.node.cli("rehearse", file)
    assert got.returncode == NO and "nothing was rehearsed" in got.stderr
    assert f"{file}:" in got.stdout and "nowhere" in got.stdout
    file.write_text(world.changed(('path: "%s/hub"' % world.folder, 'path: "${env:NOT_THERE}"')))
    got = world.node.cli("rehearse", file)
    assert got.returncode == NO and "NOT_THERE" in got.stdout
    assert world.node.cli("rehearse", "/not/there").returncode == 74
    world.await_all(1)
    assert world.traces()[1] == before[1]


def test_bytes_that_are_gone(world):
    """A payload that cannot be read is named; the others are rehearsed."""
    good = world.send("note")
    world.await_all(1)
    bad = world.send("note", text="y" * 2_000_000)  # a file of its own
    world.await_all(2)
    [file] = [p for p in (world.node.data / "large").rglob("*") if p.is_file()]
    file.write_bytes(file.read_bytes()[:-100] + b"z" * 100)
    text = world.changed((NOTES, NOTES.replace("[ {", '[ { replace: { find: "_", with: "" } }, {')))
    found, total = world.rehearse(text)
    assert set(found) == {good} and total["left"] == 1 and total["looked"] == 2
    assert total["leftSome"][0]["id"] == bad and total["leftSome"][0]["message"]
    file.unlink()
    found, total = world.rehearse(text)
    assert set(found) == {good} and total["left"] == 1
    got = world.node.cli("rehearse", "-", "--sum", stdin=text)
    assert f"1 could not be rehearsed, such as\n  {bad}: " in got.stdout


@BOTH
def test_large_documents(world):
    """Larger than what is kept in memory: the same questions, the same answers."""
    doc = world.send("order", text=("x" * 1999 + "_") * 900)
    world.await_all(1)
    assert world.rehearse(world.config)[0] == {}
    found, _ = world.rehearse(world.changed(('with: "-"', 'with: ""')))
    [payload] = found[doc]["payloads"]
    assert payload["wasSize"] - payload["wouldSize"] == 900 and payload["diff"] is None
    found, _ = world.rehearse(world.changed(('{ replace: { find: "_", with: "-" } }, ', "")))
    assert found[doc]["kinds"] == ["transformed"]
    found, _ = world.rehearse(world.changed(('find: "_", with: "-"', 'find: "#", with: "-"')))
    assert found[doc]["kinds"] == ["transformed"]


def test_while_documents_come_in(world):
    """What comes later is not looked at; what is on its way is rehearsed like the rest."""
    node = world.node
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        coming = pool.submit(send_many, node, [{"from": "acme", "to": "hub", "type": "note"}] * 400)
        while not coming.done():
            found, total = world.rehearse(world.config)
            assert found == {} and total["left"] == 0
        ids = coming.result()
    world.await_all(400)
    assert world.rehearse(world.config)[1]["looked"] == len(ids)
