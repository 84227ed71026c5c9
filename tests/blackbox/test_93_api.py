"""The admin API for people who look: about, systems, gateways, routes, flow, series, payloads and
their stages, dead letters in groups, checks of configurations, tables of options."""
import base64
import contextlib
import hashlib
import http.client
import json
import pathlib
import sqlite3
import sys
import urllib.parse

import pytest

import wire

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
location: {{ name: Plant North, environment: production, colour: red }}
systems:
  acme: {{ title: Acme Corp, ids: [ ACME, "4711" ] }}
  hub:
    title: Hub
    limits: {{ concurrency: 4, rate: 100/s }}
    window: [ {{ days: mon-fri, open: "08:00", close: "18:00", zone: Europe/Berlin }},
              {{ days: [ sat, sun ] }}, {{ }} ]
    in_doubt: hold
  closed: {{ order: receiver }}
types:
  order: {{ title: Purchase order, search: {{ po: "json:/po" }} }}
  "*": {{}}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type" }}
  drop: {{ kind: file, path: ./in, every: 1h, title: Files }}
endpoints:
  api: {{ kind: http, url: "{url}/in", timeout: 5s, retry: {{ first: 50ms, most: 100ms, for: 1s }} }}
  archive: {{ kind: file, path: ./out, system: closed }}
routes:
  - {{ name: orders, title: Orders, when: {{ receiver: hub, type: order }},
       do: [ {{ replace: {{ find: apple, with: pear }} }}, {{ deliver: [ api, archive ] }} ] }}
  - {{ name: rest, when: {{ receiver: [ hub, closed ] }}, do: [ {{ deliver: api }} ] }}
"""


@pytest.fixture(name="far")
def far_fixture():
    with Receiver() as r:
        yield r


@pytest.fixture(name="node")
def node_fixture(far, make_node):
    node = make_node(config=CONFIG.format(url=far.url("")))
    (node.folder / "in").mkdir()
    (node.folder / "out").mkdir()
    node.start()
    return node


def send(node, body=None, **what):
    answer = node.post("in", body if body is not None else json.dumps(what).encode())
    assert answer.status == 202, answer.body
    return answer.json["document"]


def state_of(node, doc):
    return node.graphql("query($i: ID!) { document(id: $i) { state } }", i=doc)["document"]["state"]


def wait_until(true, what):
    wire.wait_until(true, 30, what)


def ask(node, query, token=None, **variables):
    """The whole answer, with errors."""
    return node.request(
        "POST", "/graphql", json.dumps({"query": query, "variables": variables}),
        {"Content-Type": "application/json", "Authorization": f"Bearer {token or node.token}"}).json


def place_of(text, line):
    return text.splitlines()[line - 1]


def test_about_and_what_the_configuration_has(node):
    a = node.graphql("""{ about { version node host area location environment colour store started now
        config pauses { what } } health { reasons troubles diskFree diskReserve certificates { of } } }""")
    about = a["about"]
    assert about["location"] == "Plant North" and about["environment"] == "production"
    assert about["colour"] == "red" and about["config"] == 1 and about["pauses"] == []
    assert about["store"] == "sqlite" and about["started"] <= about["now"]
    assert a["health"]["reasons"] == [] and a["health"]["diskFree"] > a["health"]["diskReserve"] > 0
    node.graphql('mutation { nodePause(what: [delivery], reason: "stocktaking") { id } }')
    paused = node.graphql("{ about { pauses { what reason everywhere } } }")["about"]["pauses"]
    assert paused == [{"what": "delivery", "reason": "stocktaking", "everywhere": True}]
    node.graphql("mutation { nodeResume { id } }")

    got = node.graphql("""{ gateways { name title kind auth path every accepted lastReceived broken line }
        routes { name title sender receiver type steps endpoints broken line }
        types { name title search line } config { text } }""")
    text = got["config"]["text"]
    for kind in ("gateways", "routes", "types"):
        for thing in got[kind]:
            assert thing["name"] in place_of(text, thing.pop("line"))
    assert got["gateways"] == [
        {"name": "in", "title": None, "kind": "http", "auth": "none", "path": "/in/in", "every": None,
         "accepted": 0, "lastReceived": None, "broken": None},
        {"name": "drop", "title": "Files", "kind": "file", "auth": None, "path": "./in", "every": "1h",
         "accepted": 0, "lastReceived": None, "broken": None}]
    assert got["routes"] == [
        {"name": "orders", "title": "Orders", "sender": [], "receiver": ["hub"], "type": ["order"],
         "steps": ["replace", "deliver"], "endpoints": ["api", "archive"], "broken": None},
        {"name": "rest", "title": None, "sender": [], "receiver": ["hub", "closed"], "type": [],
         "steps": ["deliver"], "endpoints": ["api"], "broken": None}]
    assert got["types"] == [{"name": "order", "title": "Purchase order", "search": ["po"]},
                            {"name": "*", "title": None, "search": []}]


def test_systems(node):
    query = """query($a: String) { systems(first: 2, after: $a) { next items { name title ids held waiting
        retrying order inDoubt limits { concurrency rate } window { texts open changes broken }
        holds { id reason state } line } } }"""
    placed = node.graphql('mutation { holdAdd(system: "closed", reason: "stocktaking", owner: "ann") '
                          '{ hold { id } } }')["holdAdd"]["hold"]["id"]
    first = node.graphql(query)["systems"]
    assert [s["name"] for s in first["items"]] == ["acme", "closed"] and first["next"] == "closed"
    acme, closed = first["items"]
    assert acme["ids"] == ["ACME", "4711"] and acme["title"] == "Acme Corp" and acme["window"] is None
    assert acme["limits"] == {"concurrency": 16, "rate": None} and acme["order"] == "none"
    assert closed["holds"] == [{"id": placed, "reason": "stocktaking", "state": "active"}]
    assert closed["held"] == ["hold"] and closed["order"] == "receiver"
    last = node.graphql(query, a=first["next"])["systems"]
    assert last["next"] is None
    [hub] = last["items"]
    assert hub["limits"] == {"concurrency": 4, "rate": "100/s"} and hub["inDoubt"] == "hold"
    assert hub["window"]["texts"] == ["mon-fri 08:00-18:00 Europe/Berlin", "sat,sun 00:00-24:00 UTC",
                                      "daily 00:00-24:00 UTC"]
    assert hub["window"]["open"] is True and hub["window"]["broken"] is None
    one = node.graphql('{ system(name: "hub") { title limits { rate } holds { id } } }')["system"]
    assert one == {"title": "Hub", "limits": {"rate": "100/s"}, "holds": []}
    assert node.graphql('{ system(name: "nobody") { title } }')["system"] is None


@BOTH
def test_payloads_and_their_stages(node, store):
    assert node.graphql("{ about { store } }")["about"]["store"] == ("postgresql" if store else "sqlite")
    body = json.dumps({"from": "acme", "to": "hub", "type": "order", "what": "an apple äöü"},
                      ensure_ascii=False).encode()
    doc = send(node, body)
    wait_until(lambda: state_of(node, doc) == "delivered", "it to be delivered")
    query = """query($i: ID!, $s: Int, $as: PayloadAs, $f: Long, $l: Int) { document(id: $i) {
        stages { stage name size sha256 }
        payload(stage: $s, as: $as, from: $f, length: $l) { stage size sha256 from bytes text truncated
            isText } } }"""

    def part(stage=0, kind="text", at=0, length=65536):
        return node.graphql(query, i=doc, s=stage, **{"as": kind, "f": at, "l": length})["document"]

    got = part()
    changed = body.replace(b"apple", b"pear")
    assert got["stages"] == [
        {"stage": 0, "name": "in", "size": len(body), "sha256": hashlib.sha256(body).hexdigest()},
        {"stage": 1, "name": "replace", "size": len(changed),
         "sha256": hashlib.sha256(changed).hexdigest()}]
    assert got["payload"] == {"stage": 0, "size": len(body), "sha256": got["stages"][0]["sha256"],
                              "from": 0, "bytes": len(body), "text": body.decode(),
                              "truncated": False, "isText": True}
    assert part(stage=1)["payload"]["text"] == changed.decode()
    assert part(stage=2)["payload"] is None and part(stage=-1)["payload"] is None
    assert bytes.fromhex(part(kind="hex", at=5, length=7)["payload"]["text"]) == body[5:12]
    assert base64.b64decode(part(kind="base64")["payload"]["text"]) == body
    inside = body.index("ä".encode()) + 1  # a character is not cut: the next part begins with it
    cut = part(length=inside)["payload"]
    assert cut["truncated"] and cut["text"] == body[:inside - 1].decode() and cut["bytes"] == inside - 1
    assert part(at=cut["bytes"])["payload"]["text"] == body[inside - 1:].decode()
    assert part(at=len(body) + 10)["payload"]["bytes"] == 0
    for wrong in ({"length": 0}, {"length": (1 << 20) + 1}, {"at": -1}):
        v = {"i": doc, "s": 0, "as": "text", "f": wrong.get("at", 0), "l": wrong.get("length", 1)}
        assert ask(node, query, **v)["errors"]

    raw = bytes(range(256)) * 20
    doc = send(node, raw)
    wait_until(lambda: state_of(node, doc) == "dead", "it to be dead")
    got = part()["payload"]
    assert got["isText"] is False and got["size"] == len(raw) and "\ufffd" in got["text"]
    assert base64.b64decode(part(kind="base64")["payload"]["text"]) == raw


def test_dead_letters_by_reason_and_receiver(node, far):
    far.behave("/in", "status", 422)
    docs = []
    for n, to in enumerate(("hub", "closed", "hub", "nobody")):  # one by one: they die in this order
        docs.append(send(node, **{"from": "acme", "to": to, "type": "note", "n": n}))
        wait_until(lambda: state_of(node, docs[-1]) == "dead", "it to be dead")
    groups = node.graphql("{ deadGroups(by: reason_receiver) { key code receiver count sample } }")
    found = {(g["code"], g["receiver"]): g for g in groups["deadGroups"]}
    assert set(found) == {("rejected", "hub"), ("rejected", "closed"), ("unknown_system", "nobody")}
    assert all(g["key"] == g["code"] for g in groups["deadGroups"])
    assert groups["deadGroups"][0]["count"] == 2 and found[("rejected", "hub")]["sample"] == docs[2]
    assert found[("unknown_system", "nobody")]["sample"] == docs[3]
    by = node.graphql("{ deadGroups(by: reason) { key receiver sample } }")["deadGroups"]
    assert by[0]["key"] == "rejected" and by[0]["receiver"] is None and by[0]["sample"] == docs[2]


def test_numbers_over_time_and_the_map(node, far):
    for n in range(5):
        send(node, **{"from": "acme", "to": "hub", "type": "order", "n": n})

    def total(name):
        values = node.graphql("query($n: [SeriesName!]) { series(names: $n) { name step values } }",
                              n=[name])["series"]
        assert [v["name"] for v in values] == [name] and values[0]["step"] == 10
        return sum(v or 0 for v in values[0]["values"])

    wait_until(lambda: total("accepted") == 5, "five to be counted")
    wait_until(lambda: total("delivered") == 10, "ten deliveries to be counted")
    far.behave("/in", "status", 503)
    late = send(node, **{"from": "acme", "to": "hub", "type": "note"})
    wait_until(lambda: total("dead") == 1 and state_of(node, late) == "dead", "one to die")
    assert total("retrying") > 0
    coarse = node.graphql("{ series(step: 60) { name step from values } }")["series"]
    assert len(coarse) == 5 and all(len(s["values"]) == 1440 for s in coarse)
    since = node.graphql('query($s: Time) { series(since: $s) { from values } }',
                         s=node.graphql("{ about { started } }")["about"]["started"])["series"]
    assert all(len(s["values"]) < 30 for s in since)
    assert ask(node, "{ series(step: 7) { name } }")["errors"]

    edges = {(e["from"], e["to"]): e for e in
             node.graphql("{ flow { from to perMinute trouble } }")["flow"]}
    assert {("gateway:in", "route:orders"), ("gateway:in", "route:rest"), ("route:orders", "endpoint:api"),
            ("route:orders", "endpoint:archive"), ("route:rest", "endpoint:api"),
            ("endpoint:api", "system:hub"), ("endpoint:archive", "system:closed"),
            ("endpoint:api", "system:closed")} == set(edges)
    assert 0 <= edges[("gateway:in", "route:orders")]["perMinute"] <= 5
    assert 0 <= edges[("endpoint:archive", "system:closed")]["perMinute"] <= 5
    assert edges[("endpoint:api", "system:hub")]["trouble"]
    assert edges[("endpoint:archive", "system:closed")]["trouble"] is None
    node.restart()  # counts are gone, the ways are known
    again = {(e["from"], e["to"]) for e in node.graphql("{ flow { from to } }")["flow"]}
    assert again == set(edges)


def test_checks_and_tables_of_options(node):
    query = "query($t: String!) { configCheck(text: $t) { problems { line message hint } warnings { line } } }"
    text = node.graphql("{ config { text } }")["config"]["text"]
    assert node.graphql(query, t=text)["configCheck"] == {"problems": [], "warnings": []}
    wrong = node.graphql(query, t=text.replace("colour: red", "colour: pink"))["configCheck"]
    assert wrong["problems"][0]["line"] == 1 and "pink" in wrong["problems"][0]["message"]
    assert node.graphql("{ config { version } }")["config"]["version"] == 1

    all_of = node.graphql("""{ connectors { role kind summary runs options { name type required default about
        form values list oneOf } } }""")["connectors"]
    by = {(c["role"], c["kind"]): {o["name"]: o for o in c["options"]} for c in all_of}
    assert by[("gateway", "file")]["path"]["required"] is True
    assert by[("gateway", "file")]["every"]["default"] == "10s"
    assert by[("gateway", "http")]["auth"]["values"] == ["key", "basic", "none", "hmac"]
    assert by[("gateway", "http")]["limits.size"]["type"] == "size"
    assert by[("gateway", "http")]["users.*"]["type"] == "password hash"
    assert by[("gateway", "http")]["reply"]["values"] == ["ack", "soap", "receiver"]
    assert by[("system", "system")]["ids"] | {"about": ""} == {
        "name": "ids", "type": "text", "required": False, "default": None, "about": "", "form": "a text",
        "values": [], "list": True, "oneOf": False}
    assert by[("route", "route")]["when.receiver"]["type"] == "system"
    assert {c["kind"] for c in all_of if c["role"] == "step" and c["runs"]} >= {"replace", "deliver", "drop"}
    assert not [c for c in all_of if c["role"] == "endpoint" and c["kind"] == "content"][0]["runs"]
    assert by[("job", "call")]["url"]["required"] and not by[("job", "call")]["at"]["required"]
    assert all(by[("job", "call")][name]["oneOf"] for name in ("at", "every", "once"))
    assert by[("job", "call")]["timeout"]["default"] == "30s"   # its own, in place of that of all jobs
    assert by[("job", "note")]["timeout"]["default"] == "1h"
    assert by[("job", "note")]["at"]["type"] == "schedule or time of day" and by[("job", "note")]["at"]["list"]


@BOTH
def test_a_change_under_an_id_is_done_once(node):
    add = """mutation($c: ID, $r: String!) { holdAdd(system: "hub", reason: $r, owner: "ann", client: $c)
        { hold { id reason made } sending } }"""
    first = node.graphql(add, c="hold-1", r="stocktaking")
    assert node.graphql(add, c="hold-1", r="stocktaking") == first
    assert len(node.graphql("{ holds { id } }")["holds"]) == 1
    other = ask(node, add, c="hold-1", r="another")
    assert other["data"] is None and other["errors"][0]["extensions"]["code"] == "refused"
    assert ask(node, add, c="x" * 101, r="long")["errors"][0]["extensions"]["code"] == "limit"
    assert node.graphql(add, c="hold-2", r="stocktaking") != first
    assert len(node.graphql("{ holds { id } }")["holds"]) == 2

    failed = 'mutation { holdAdd(system: "nobody", reason: "x", owner: "ann", client: "f") { sending } }'
    for _ in range(2):  # nothing was done: it may be asked again
        assert "there is no system" in ask(node, failed)["errors"][0]["message"]

    key = 'mutation { keyAdd(gateway: "in", title: "t", client: "k") { id key } }'
    assert node.graphql(key)["keyAdd"]["key"]
    again = ask(node, key)  # a secret is shown once
    assert again["data"] is None and "not kept" in again["errors"][0]["message"]
    assert len(node.graphql("{ keys { id } }")["keys"]) == 1

    doc = send(node, **{"from": "acme", "to": "nobody", "type": "note"})
    wait_until(lambda: state_of(node, doc) == "dead", "it to be dead")
    discard = "mutation($i: ID!) { discard(ids: [$i], client: \"d\") { result message } }"
    done = node.graphql(discard, i=doc)
    assert done["discard"][0]["result"] == "done"
    node.restart()  # also by another process
    assert node.graphql(discard, i=doc) == done
    assert node.graphql(add, c="hold-1", r="stocktaking") == first


@contextlib.contextmanager
def without(node, table):
    """What reads the table fails, and goes on when it is back."""
    def rename(old, new):
        with contextlib.closing(sqlite3.connect(node.data / "waybill.db", timeout=30)) as db:
            db.execute(f"ALTER TABLE {old} RENAME TO {new}")
    rename(table, "away")
    yield
    rename("away", table)


@pytest.mark.parametrize("table, change, said, look", [
    ("pause", 'holdAdd(system: "hub", reason: "x", owner: "ann", client: "c") { sending }',
     "hold 1 is placed", "holds { id }"),
    ("part", 'keyAdd(gateway: "in", client: "c") { id }', "is made", "keys { id }"),
    ("login_session", 'userAdd(name: "ann", roles: ["viewer"], client: "c") { link }',
     "the user is added", "users { name }"),
])
def test_a_change_that_fails_behind_its_commit_is_not_done_again(node, table, change, said, look):
    with without(node, table):
        error = ask(node, f"mutation {{ {change} }}")["errors"][0]
    assert error["extensions"]["code"] == "uncertain" and said in error["message"], error
    again = ask(node, f"mutation {{ {change} }}")["errors"][0]
    assert again["extensions"]["code"] == "unavailable" and "same client id" in again["message"], again
    assert len(node.graphql(f"{{ {look} }}")[look.split()[0]]) == 1


def test_a_change_whose_end_nobody_knows_is_not_done_again(node):
    """As after a crash between a change and the note that it was done."""
    add = """mutation($c: ID) { holdAdd(system: "hub", reason: "x", owner: "ann", client: $c) { sending } }"""
    for client in ("now", "long ago"):
        node.graphql(add, c=client)
    node.stop()
    with contextlib.closing(sqlite3.connect(node.data / "waybill.db")) as db:
        db.execute("UPDATE once SET done = 0, answer = NULL")
        db.execute("UPDATE once SET made_us = made_us - 3600000000 WHERE client = 'long ago'")
        db.execute("UPDATE once SET made_us = made_us + 3600000000 WHERE client = 'now'")
        db.commit()
    node.start()
    codes = [ask(node, add, c=c)["errors"][0]["extensions"]["code"] for c in ("now", "long ago")]
    assert codes == ["unavailable", "uncertain"]
    assert len(node.graphql("{ holds { id } }")["holds"]) == 2


@pytest.mark.proves("IN10")
def test_a_question_that_is_too_large_is_refused_before_it_is_read(node):
    def ask_for(size, **more):
        where = urllib.parse.urlsplit(node.url)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=30)
        connection.putrequest("POST", "/graphql")
        for name, value in {"Authorization": f"Bearer {node.token}", "Content-Type": "application/json",
                            "Content-Length": size, **more}.items():
            connection.putheader(name, str(value))
        connection.endheaders()
        answer = connection.getresponse()
        got = answer.status, json.loads(answer.read())
        connection.close()
        return got

    for size, more in ((10 << 20, {"Expect": "100-continue"}), (1 << 30, {})):
        status, said = ask_for(size, **more)
        assert status == 413 and said["errors"][0]["extensions"]["code"] == "limit"
    body = b'{"query": "{ about { version } } #' + b"x" * (10 << 20) + b'"}'
    got = node.request("POST", "/graphql", body, {"Authorization": f"Bearer {node.token}",
                                                  "Content-Type": "application/json"})
    assert got.status == 413 and got.json["errors"][0]["extensions"]["code"] == "limit"


def test_who_sees_some_systems_only(node):
    mine, other = [send(node, **{"from": "acme", "to": to, "type": "note"}) for to in ("hub", "closed")]
    for doc in (mine, other):
        wait_until(lambda d=doc: state_of(node, d) == "delivered", "it to be delivered")
    node.graphql('mutation { roleAdd(name: "hubs", rights: [see, payload], systems: ["hub"]) { name } }')
    key = node.graphql('mutation { adminKeyAdd(title: "k", roles: ["hubs"]) { key } }')["adminKeyAdd"]["key"]
    got = ask(node, """query($m: ID!, $o: ID!) { about { version location } systems { items { name } next }
        gateways { name } routes { name } types { name } flow { from to } series { name }
        mine: document(id: $m) { stages { stage } payload { isText } }
        other: document(id: $o) { payload { text } } health { reasons } }""", token=key, m=mine, o=other)
    said = got["data"]
    assert said is None and [e["extensions"]["code"] for e in got["errors"]] == ["forbidden"]  # health
    said = ask(node, """query($m: ID!, $o: ID!) { about { version location } systems { items { name } next }
        gateways { name } routes { name } flow { from to } series { name }
        mine: document(id: $m) { stages { stage } payload { isText } }
        other: document(id: $o) { payload { text } } }""", token=key, m=mine, o=other)["data"]
    assert said["about"]["location"] == "Plant North"
    assert said["systems"] == {"items": [{"name": "hub"}], "next": None}
    assert said["gateways"] == [] and said["series"] == [] and said["other"] is None
    assert [r["name"] for r in said["routes"]] == ["orders", "rest"]
    assert said["flow"] == [{"from": "endpoint:api", "to": "system:hub"}]
    assert said["mine"]["payload"] == {"isText": True}
