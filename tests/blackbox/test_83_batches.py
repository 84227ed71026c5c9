"""Batches: documents join, a batch closes, becomes a document, and its members fare as it does.

A document is {"to": SYSTEM, "n": N, ...}; the route of its receiver lets it join the batch of that name.
"""
import datetime
import io
import json
import time
import xml.etree.ElementTree as ET
import zipfile

import pytest

from moved_clock import MovedClock

BOTH = pytest.mark.stores("sqlite", "postgres")
LOOKED_AT = 150  # seconds: after a slow look at dead letters the node rests for a minute


def config(url, batches, more="", steps=None):
    """One system, route and endpoint for each batch."""
    text = "systems:\n  shop: {}\n" + "".join(f"  {name}: {{}}\n" for name in batches)
    text += 'types: { "*": {} }\n'
    text += ('gateways:\n  in: { kind: http, auth: none, extract: { receiver: "json:/to", sender: "value:shop",'
             ' type: "value:order" } }\n'
             '  raw: { kind: http, auth: none, extract: { receiver: "header:x-to", sender: "value:shop" } }\n')
    text += "endpoints:\n" + "".join(
        f"  to-{name}: {{ kind: http, url: '{url}/in/{name}', timeout: 5s,"
        " retry: { first: 100ms, most: 300ms, for: 60s }, breaker: { failures: 50, wait: 100ms } }\n"
        for name in batches)
    text += "batches:\n" + "".join(f"  {name}: {{ {rule}, do: [ {{ deliver: to-{name} }} ] }}\n"
                                   for name, rule in batches.items())
    text += "routes:\n" + "".join(
        f"  - {{ name: {name}, when: {{ receiver: {name} }}, do: [ {(steps or {}).get(name, '')} {{ batch: {name} }} ] }}\n"
        for name in batches)
    return text + more


def send(node, to, n, **more):
    return node.accept("in", json.dumps({"to": to, "n": n, **more}))


def send_raw(node, to, body, **headers):
    return node.accept("raw", body, headers={"x-to": to, **headers})


def await_that(node, what, seconds=90):
    until = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < until, f"still {found!r}\n{node.tail(12)}"
        time.sleep(0.05)


def state(node, doc):
    found = node.graphql("query($id: ID!) { document(id: $id) { state error { code message } } }", id=doc)["document"]
    return found["state"]


def await_state(node, doc, want, seconds=90):
    await_that(node, lambda: state(node, doc) == want, seconds)


def bodies(receiver, name):
    return [r["body"] for r in receiver.requests(f"/in/{name}")]


@BOTH
def test_a_batch_closes_by_count_and_is_sent_as_one(make_node, receiver):
    node = make_node(config=config(receiver.url(""), {"nightly": "count: 3, join: json"}))
    node.start()
    docs = [send(node, "nightly", n) for n in range(3)]
    await_that(node, lambda: bodies(receiver, "nightly"))
    assert sorted(x["n"] for x in json.loads(bodies(receiver, "nightly")[0])) == [0, 1, 2]
    for doc in docs:
        await_state(node, doc, "done")
    assert len(bodies(receiver, "nightly")) == 1
    assert healthy(node)


def healthy(node):
    checks = node.graphql("{ doctor { ok checks { name ok message } } }")["doctor"]
    assert checks["ok"], checks
    return True


def close(node, name, count=None):
    """Close it by hand; with `count` wait until one with so many members is open."""
    if count is not None:
        await_that(node, lambda: sum(b["count"] for b in batches(node, name) if b["state"] == "open") == count)
    result = node.cli("batches", "close", name)
    assert result.returncode == 0, result.stderr
    return int(result.stdout.split()[0])


def batches(node, name=None, ended=False):
    return node.graphql("query($name: String, $ended: Boolean) { batches(name: $name, ended: $ended, first: 200) {"
                        " batches { id name route receiver part state count bytes closes closed why closedBy slot"
                        " document memberIds error { code message } } } }", name=name, ended=ended)["batches"]["batches"]


def payload(node, doc):
    result = node.cli("docs", "payload", doc, text=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def built(node, name, count=1):
    """The documents that batches of this name became, oldest first."""
    return await_that(node, lambda: (lambda d: len(d) >= count and d)(
        [b["document"] for b in reversed(batches(node, name, True)) if b["document"]]))


def numbers(text):
    return sorted(json.loads(line)["n"] for line in text.splitlines() if line.startswith("{"))


TEXT = ("count: 1000, join: text, header: \"HEAD ${batch} ${count} ${receiver}\\n\", separator: \"\\n\","
        " footer: \"\\nFOOT ${date}\\n\"")


def test_every_form_of_joining(make_node, receiver):
    node = make_node(config=config(receiver.url(""), {
        "text": TEXT, "json": "count: 1000, join: json, root: orders", "xml": "count: 1000, join: xml, root: Orders",
        "zip": "count: 1000, join: zip", "each": "count: 1000, join: each"}))
    node.start()
    for n in range(3):
        for name in ("text", "json", "each"):
            send(node, name, n)
        send_raw(node, "xml", f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- no -->\n<O n="{n}">ä<b/></O>\n'.encode())
        send_raw(node, "zip", f"file {n}".encode(), **{"X-Name": f"a/../{n}.txt"})
    for name in ("text", "json", "xml", "zip", "each"):
        assert close(node, name, 3) == 1
    lines = payload(node, built(node, "text")[0]).decode()
    assert lines.startswith("HEAD text 3 text\n{") and numbers(lines) == [0, 1, 2]
    assert lines.splitlines()[-1].startswith("FOOT 20") and len(lines.splitlines()) == 5
    assert sorted(x["n"] for x in json.loads(payload(node, built(node, "json")[0]))["orders"]) == [0, 1, 2]
    root = ET.fromstring(payload(node, built(node, "xml")[0]))
    assert root.tag == "Orders" and sorted(o.get("n") for o in root) == ["0", "1", "2"] and root[0].text == "ä"
    with zipfile.ZipFile(io.BytesIO(payload(node, built(node, "zip")[0]))) as z:
        assert z.testzip() is None and len(set(z.namelist())) == 3 and not any("/" in n for n in z.namelist())
        assert sorted(z.read(n).decode() for n in z.namelist()) == ["file 0", "file 1", "file 2"]
    await_that(node, lambda: len(bodies(receiver, "each")) == 3)
    assert sorted(json.loads(b)["n"] for b in bodies(receiver, "each")) == [0, 1, 2]
    await_that(node, lambda: not batches(node))
    assert healthy(node)


@pytest.mark.proves("BA7")
def test_a_batch_per_receiver_part_and_size(make_node, receiver):
    """What is too large for one batch makes two, and one document alone may be larger."""
    node = make_node(config=config(receiver.url(""), {
        "by": "count: 1000, by: \"${part}\"", "size": "count: 1000, bytes: 100", "age": "age: 1s"}).replace(
            'type: "value:order" }', 'type: "value:order", attributes: { part: ["json:/part", "value:none"] } }'))
    node.start()
    for n in range(4):
        send(node, "by", n, part="ab"[n % 2])
    for n, more in enumerate(({}, {"pad": "x" * 300}, {})):
        send(node, "size", n, **more)
        await_that(node, lambda: sum(b["count"] for b in batches(node, "size", True)) == n + 1)  # pylint: disable=cell-var-from-loop
    send(node, "age", 0)
    await_that(node, lambda: len(bodies(receiver, "age")) == 1)
    await_that(node, lambda: len(bodies(receiver, "size")) == 2)
    assert [b["count"] for b in batches(node, "size", True)] == [1, 1, 1]
    await_that(node, lambda: sorted((b["part"], b["count"]) for b in batches(node, "by")) == [("a", 2), ("b", 2)])
    assert close(node, "by") == 2 and close(node, "by") == 0
    await_that(node, lambda: len(bodies(receiver, "by")) == 2)
    assert {b["why"] for b in batches(node, "by", True)} == {"hand"}
    assert {b["closedBy"] for b in batches(node, "by", True)} == {"admin"}
    assert healthy(node)


@BOTH
@pytest.mark.proves("BA1", "BA3")
def test_members_fare_as_their_batch_does(make_node, receiver):
    node = make_node(config=config(receiver.url(""), {"b": "count: 2"}))
    node.start()
    receiver.behave("/in/b", "status", 503)
    docs = [send(node, "b", n) for n in range(2)]
    for doc in docs:
        await_state(node, doc, "retrying")
    receiver.behave("/in/b", "status", 400)
    for doc in docs:
        await_state(node, doc, "dead")
    batch = built(node, "b")[0]
    assert state(node, batch) == "dead"
    letters = node.graphql("{ deadLetters { items { document } } }")["deadLetters"]["items"]
    assert [x["document"] for x in letters] == [batch]
    refused = node.cli("docs", "retry", docs[0])
    assert batch in refused.stdout + refused.stderr
    receiver.behave("/in/b", "ok")
    assert node.cli("docs", "retry", batch).returncode == 0
    for doc in docs:
        await_state(node, doc, "done")
    assert state(node, batch) == "delivered" and healthy(node)


@BOTH
@pytest.mark.proves("BA1", "BA3")
def test_members_are_in_doubt_with_their_batch(make_node, receiver):
    """Nobody knows whether it arrived: it is sent again when a person says so, and then as the same one."""
    node = make_node(config=config(receiver.url(""), {"b": "count: 2"}).replace("  b: {}\n", "  b: { in_doubt: hold }\n"))
    node.start()
    receiver.behave("/in/b", "close", times=1)
    docs = [send(node, "b", n) for n in range(2)]
    for doc in docs:
        await_state(node, doc, "in_doubt")
    batch = built(node, "b")[0]
    assert state(node, batch) == "in_doubt"
    assert node.cli("docs", "resolve", docs[0], "--resend").returncode == 1, "a member has no delivery of its own"
    assert [state(node, doc) for doc in docs] == ["in_doubt"] * 2 and len(bodies(receiver, "b")) == 1
    assert node.cli("docs", "resolve", batch, "--resend").returncode == 0
    for doc in docs:
        await_state(node, doc, "done")
    assert receiver.keys() == {f"{batch}.to-b": 2} and len(set(bodies(receiver, "b"))) == 1
    assert state(node, batch) == "delivered" and healthy(node)


def test_members_are_kept_as_long_as_their_types_say(make_node, receiver):
    """They lie in the table of the day on which they may go, also when a batch ended them."""
    node = make_node(config=config(receiver.url(""), {"b": "count: 2"}).replace('"value:order"', '"json:/type"').replace(
        '"*": {}', 'invoice: { retention: 3650d }, "*": { retention: 10d }'))
    node.start()
    docs = [send(node, "b", 0, type="invoice"), send(node, "b", 1, type="note")]
    for doc in docs:
        await_state(node, doc, "done")
    import sqlite3  # pylint: disable=import-outside-toplevel
    days = {}
    with sqlite3.connect(f"file:{node.data}/waybill.db?mode=ro", uri=True) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'done_[0-9]*'").fetchall():
            for (size,) in db.execute(f"SELECT size FROM {table} WHERE gateway = (SELECT id FROM word WHERE name = 'in')"):
                days[size] = int(table.split("_")[1])
    today = int(time.time()) // 86400
    invoice, note = (len(json.dumps({"to": "b", "n": 0, "type": t})) for t in ("invoice", "note"))
    assert days[invoice] - today >= 3650 and 10 <= days[note] - today < 45, days


POINTS = ["batch.joined:kill:2", "batch.frozen:kill:1", "batch.claimed:kill:1", "batch.read:kill:2", "batch.built:kill:1",
          "batch.stored:kill:1", "batch.closed:kill:1", "batch.ending:kill:1", "batch.ended:kill:1"]


@pytest.mark.proves("BA2", "BA3")
@pytest.mark.parametrize("fault", POINTS)
def test_killed_at_every_step(make_node, receiver, fault):
    node = make_node(config=config(receiver.url(""), {"b": "count: 1000, join: text, separator: \"\\n\""}))
    node.environment["WAYBILL_FAULT"] = fault
    node.start()
    sent = []
    for n in range(6):  # a group may hold several: the node may be gone before the last
        try:
            sent.append((send(node, "b", n), n))
        except OSError:
            break
        time.sleep(0.02)
    if "joined" not in fault:
        await_that(node, lambda: sum(b["count"] for b in batches(node, "b")) == 6)
        try:
            node.graphql("mutation { batchClose(name: \"b\") }")
        except (OSError, AssertionError):
            pass  # it died of it
    assert node.ended() != 0
    del node.environment["WAYBILL_FAULT"]
    node.start()
    await_that(node, lambda: sum(b["count"] for b in batches(node, "b", True)) >= len(sent))
    node.graphql("mutation { batchClose(name: \"b\") }")
    for doc, _ in sent:
        await_state(node, doc, "done")
    seen = {}
    for doc in built(node, "b"):
        seen[doc] = numbers(payload(node, doc).decode())
    assert {n for _, n in sent} <= set(sum(seen.values(), [])), seen
    assert sorted(sum(seen.values(), [])) == sorted(set(sum(seen.values(), []))), seen
    assert {r["headers"]["idempotency-key"].split(".")[0] for r in receiver.requests("/in/b")} == set(seen)
    assert healthy(node)


@BOTH
@pytest.mark.proves("BA4")
def test_documents_that_arrive_while_it_closes(make_node, receiver):
    node = make_node(config=config(receiver.url(""), {"b": "count: 7, join: text, separator: \"\\n\""}))
    node.start()
    for n in range(100):
        send(node, "b", n)
        if n % 9 == 0:
            node.graphql("mutation { batchClose(name: \"b\") }")
    await_that(node, lambda: sum(b["count"] for b in batches(node, "b", True)) == 100)
    node.graphql("mutation { batchClose(name: \"b\") }")
    await_that(node, lambda: not batches(node, "b"))
    seen = sum((numbers(payload(node, doc).decode()) for doc in built(node, "b")), [])
    assert sorted(seen) == list(range(100))
    assert all(b["count"] <= 7 for b in batches(node, "b", True)) and healthy(node)


@pytest.mark.proves("BA6")
def test_a_bad_member_steps_aside(make_node, receiver):
    node = make_node(config=config(receiver.url(""), {"json": "count: 1000, join: json",
                                                      "all": "count: 1000, join: json, bad: all"}))
    node.start()
    good, bad = send_raw(node, "json", b'{"n":1}'), send_raw(node, "json", b'{"n":1')
    await_state(node, bad, "dead")
    assert close(node, "json", 1) == 1
    await_state(node, good, "done")
    assert json.loads(payload(node, built(node, "json")[0])) == [{"n": 1}]

    docs = [send_raw(node, "all", b'{"n":1}'), send_raw(node, "all", b'{"n":')]
    assert close(node, "all", 2) == 1
    for doc in docs:
        await_state(node, doc, "dead")
    assert docs[1] in batches(node, "all")[0]["error"]["message"]
    assert node.cli("docs", "cancel", docs[1]).returncode == 0
    node.graphql("mutation { batchClose(name: \"all\") }")
    await_state(node, docs[0], "done")
    assert state(node, docs[1]) == "cancelled"
    assert json.loads(payload(node, built(node, "all")[0])) == [{"n": 1}] and healthy(node)


def test_what_has_deliveries_joins_no_batch(make_node, receiver):
    """A `route` step leads from a `deliver` to a `batch`: it is a dead letter, and nothing was sent."""
    url = receiver.url("")
    node = make_node(config=config(url, {"b": "count: 1"}).replace(
        "systems:\n", "systems:\n  first: {}\n").replace("endpoints:\n", f"endpoints:\n  early: {{ kind: http, url: '{url}/in/early' }}\n")
        + '  - { name: first, when: { receiver: first }, do: [ { deliver: early }, { route: { receiver: "value:b" } } ] }\n')
    node.start()
    doc = send(node, "first", 0)
    await_state(node, doc, "dead")
    found = node.graphql("query($id: ID!) { document(id: $id) { error { code message } deliveries { id } } }", id=doc)["document"]
    assert found["error"]["code"] == "service_failed" and "`do` of the batch" in found["error"]["message"]
    assert found["deliveries"] == [] and not batches(node, "b", True)
    good = send(node, "b", 1)
    await_state(node, good, "done")
    assert not bodies(receiver, "early") and len(bodies(receiver, "b")) == 1 and healthy(node)


@BOTH
def test_the_document_of_a_batch_goes_on_from_one_that_joins_nothing(make_node, receiver):
    """a and x become documents, which join b and y; those let them go on: one is delivered, one comes back to x."""
    text = config(receiver.url(""), {"a": "count: 2, join: json", "b": "count: 1, join: each",
                                     "x": "count: 1, join: json", "y": "count: 1, join: each"})
    for name, to in (("a", "b"), ("x", "y"), ("y", "x")):
        text = text.replace(f"{{ deliver: to-{name} }}", f'{{ route: {{ receiver: "value:{to}" }} }}')
    node = make_node(config=text)
    node.start()
    docs = [send(node, "a", n) for n in range(2)]
    for doc in docs:
        await_state(node, doc, "done")
    assert [sorted(x["n"] for x in json.loads(b)) for b in bodies(receiver, "b")] == [[0, 1]]
    assert state(node, built(node, "a")[0]) == "delivered" and len(batches(node, "b", True)) == 1
    send(node, "x", 0)
    circle = built(node, "x")[0]
    await_state(node, circle, "dead")
    assert node.show(circle, "error { code }")["error"]["code"] == "loop"
    assert len(batches(node, "x", True)) == len(batches(node, "y", True)) == 1 and healthy(node)


@BOTH
@pytest.mark.proves("RO9")
@pytest.mark.parametrize("join", ["json", "each"])
def test_batches_that_lead_into_each_other_come_to_an_end(make_node, receiver, join):
    """What a becomes joins b, and what b becomes joins a, in new documents or as the same one."""
    text = config(receiver.url(""), {"a": f"count: 1, join: {join}", "b": f"count: 1, join: {join}"})
    for name, to in (("a", "b"), ("b", "a")):
        text = text.replace(f"{{ deliver: to-{name} }}", f'{{ route: {{ receiver: "value:{to}" }} }}')
    node = make_node(config=text)
    node.start()
    doc = send(node, "a", 0)
    last = doc if join == "each" else built(node, "b", 8)[-1]
    await_state(node, last, "dead")
    found = node.show(last, "error { code message }")["error"]
    assert found["code"] == "loop" and "lead into each other" in found["message"], found
    assert len(batches(node, "a", True)) == len(batches(node, "b", True)) == 8 and healthy(node)


def test_what_was_changed_joins_none_that_lets_it_go_on_as_it_came(make_node, receiver):
    """A `route` step hides a step that changed it from the check of the configuration."""
    node = make_node(config=config(receiver.url(""), {"each": "count: 1, join: each"}).replace(
        "systems:\n", "systems:\n  first: {}\n")
        + '  - { name: first, when: { receiver: first },'
          ' do: [ { replace: { find: "7", with: "8" } }, { route: { receiver: "value:each" } } ] }\n')
    node.start()
    changed, same = send(node, "first", 7), send(node, "first", 5)
    await_state(node, changed, "dead")
    found = node.show(changed, "error { code message }")["error"]
    assert found["code"] == "service_failed" and "step replace, which changed it" in found["message"], found
    await_state(node, same, "delivered")
    assert [json.loads(b)["n"] for b in bodies(receiver, "each")] == [5] and healthy(node)


@BOTH
def test_a_member_goes_on_by_itself_as_what_it_joined(make_node, receiver):
    """A `route` step gave it its receiver before it joined."""
    node = make_node(config=config(receiver.url(""), {"each": "count: 2, join: each"}).replace(
        "systems:\n", "systems:\n  first: {}\n")
        + '  - { name: first, when: { receiver: first }, do: [ { route: { receiver: "value:each" } } ] }\n')
    node.start()
    docs = [send(node, "first", n) for n in range(2)]
    for doc in docs:
        await_state(node, doc, "delivered")
        assert node.show(doc, "receiver")["receiver"] == "each"
    assert len(bodies(receiver, "each")) == 2 and healthy(node)


@BOTH
@pytest.mark.proves("BA3")
def test_many_members_end_a_part_at_a_time(make_node, receiver):
    """Whoever ends them has other duties between two parts: here, to build another batch."""
    count = 1400  # in seven parts
    node = make_node(config=config(receiver.url(""), {"large": f"count: {count}, join: json", "small": "count: 1"}))
    node.environment["WAYBILL_FAULT"] = "batch.ended:delay_ms:3000"
    node.start()
    docs = [send(node, "large", n) for n in range(count)]
    await_that(node, lambda: any(state(node, doc) == "done" for doc in docs[::100]))
    small = send(node, "small", 0)
    built(node, "small")
    assert batches(node, "large")[0]["state"] == "closed"
    for doc in (docs[0], docs[-1], small):
        await_state(node, doc, "done", 150)
    assert len(bodies(receiver, "large")) == 1 and healthy(node)


def open_alerts(node):
    return [(a["code"], a["count"]) for a in node.graphql("{ alerts { code count } }")["alerts"]]


@BOTH
@pytest.mark.proves("BA6", "DL2")
def test_a_batch_that_cannot_be_built_waits_for_a_person(make_node, receiver):
    """It is one alert, and one thing that waits, whatever members it has."""
    node = make_node(config=config(receiver.url(""), {"all": "count: 1000, join: json, bad: all"}, "alerts: { disk: off }\n"))
    node.start()
    docs = [send_raw(node, "all", body) for body in (b'{"n":1}', b'{"n":2}', b'{"n":')]
    assert close(node, "all", 3) == 1
    for doc in docs:
        await_state(node, doc, "dead")
    await_that(node, lambda: open_alerts(node) == [("dead_letters", 1)], LOOKED_AT)
    assert node.metrics()["waybill_dead_letters"] == 1
    told = node.wait_event("dead.wait")
    assert told["count"] == 1 and "batches ls" in told["hint"]
    assert node.cli("docs", "cancel", docs[2]).returncode == 0
    node.graphql("mutation { batchClose(name: \"all\") }")
    for doc in docs[:2]:
        await_state(node, doc, "done")
    await_that(node, lambda: not open_alerts(node), LOOKED_AT)
    assert node.metrics()["waybill_dead_letters"] == 0


@BOTH
@pytest.mark.proves("BA6")
def test_a_member_that_is_damaged_steps_aside(make_node, receiver):
    node = make_node(config=config(receiver.url(""), {"b": "count: 1000, join: text, separator: \"\\n\""}))
    node.start()
    docs = [send(node, "b", n) for n in range(3)]
    await_that(node, lambda: sum(b["count"] for b in batches(node, "b")) == 3)
    damage(node, docs[1])
    assert close(node, "b") == 1
    await_state(node, docs[1], "dead")
    for doc in (docs[0], docs[2]):
        await_state(node, doc, "done")
    assert numbers(payload(node, built(node, "b")[0]).decode()) == [0, 2]


def damage(node, doc):
    """Other bytes where its payload is."""
    if node.store:
        import subprocess  # pylint: disable=import-outside-toplevel
        subprocess.run(["psql", node.store, "-qc", "DO $$ DECLARE d record; BEGIN"
                        " SELECT num, pos INTO d FROM doc ORDER BY num OFFSET 1 LIMIT 1;"
                        " EXECUTE format('UPDATE payload_%s SET bytes = %L WHERE num = %s', d.pos, 'x', d.num);"
                        " END $$"], check=True, capture_output=True)
        return
    import sqlite3  # pylint: disable=import-outside-toplevel
    with sqlite3.connect(f"file:{node.data}/waybill.db?mode=ro", uri=True) as db:
        db.execute("SELECT seg, pos FROM doc ORDER BY num LIMIT 1 OFFSET 1").fetchone()
    needle = b'"n": 1}'
    for file in (node.data / "payload").rglob("*"):
        if file.is_file() and needle in file.read_bytes():
            at = file.read_bytes().index(needle)
            with open(file, "r+b") as f:
                f.seek(at)
                f.write(b'"n": 9}')


@BOTH
@pytest.mark.proves("BA8")
def test_one_member_of_a_sent_batch_is_sent_again(make_node, receiver):
    node = make_node(config=config(receiver.url(""), {"b": "count: 3, join: text, separator: \"\\n\""}))
    node.start()
    docs = [send(node, "b", n) for n in range(3)]
    for doc in docs:
        await_state(node, doc, "done")
    first = built(node, "b")[0]
    assert node.cli("docs", "retry", "--again", docs[1]).returncode == 0
    second = built(node, "b", 2)[1]
    await_state(node, second, "delivered")
    await_state(node, docs[1], "done")
    assert numbers(payload(node, second).decode()) == [1] and second != first
    assert [b["why"] for b in batches(node, "b", True)] == ["again", "count"] and healthy(node)


@pytest.mark.proves("RE1")
def test_a_member_of_an_open_batch_stays_and_may_leave(make_node, receiver):
    node = make_node(config=config(receiver.url(""), {"b": "count: 1000, at: \"0 0 1 1 *\""}))
    node.start()
    docs = [send(node, "b", n) for n in range(2)]
    for doc in docs:
        await_state(node, doc, "active")
    found = batches(node, "b")[0]
    assert found["state"] == "open" and found["memberIds"] == docs and found["closes"].endswith("-01-01T00:00:00.000000Z")
    node.restart()
    assert batches(node, "b")[0]["count"] == 2 and healthy(node)
    refused = node.cli("docs", "discard", docs[0])
    assert "it is not dead: it waits in batch b, which is open" in refused.stdout + refused.stderr, refused
    assert state(node, docs[0]) == "active" and batches(node, "b")[0]["count"] == 2
    assert node.cli("docs", "cancel", docs[0]).returncode == 0
    await_state(node, docs[0], "cancelled")
    assert batches(node, "b")[0]["count"] == 1
    shown = node.cli("batches", "show", "b").stdout
    assert docs[1] in shown and docs[0] not in shown
    assert "open" in node.cli("batches", "ls").stdout
    assert node.cli("docs", "cancel", docs[1]).returncode == 0
    assert not batches(node, "b") and healthy(node)


@pytest.mark.proves("BA5", "BA7")
def test_times_that_were_missed_and_empty_ones(make_node, receiver, tmp_path):
    clock = MovedClock(tmp_path)
    base = 1800 - time.time() % 3600  # in the middle of an hour, so that none begins while the test looks
    clock.by(base)
    node = make_node(environment=clock.environment, config=config(receiver.url(""), {
        "one": "at: \"0 * * * *\", join: text, separator: \"\\n\"",
        "each": "at: \"0 * * * *\", join: text, missed: each, empty: send, header: \"${count}\\n\", receiver: each"}))
    node.start()
    for name in ("one", "each"):
        send(node, name, 0)
    await_that(node, lambda: len(batches(node)) == 2)
    node.stop()
    clock.by(base + 3 * 3600)
    node.start()
    await_that(node, lambda: len(bodies(receiver, "each")) == 3)
    await_that(node, lambda: len(bodies(receiver, "one")) == 1)
    assert sorted(b.splitlines()[0] for b in bodies(receiver, "each")) == ["0", "0", "1"]
    slots = {b["slot"] for b in batches(node, "each", True)}
    assert len(slots) == 3 and all(":00:00" in s for s in slots)
    clock.by(base + 2 * 3600)  # back: nothing comes twice
    node.restart()
    send(node, "one", 1)
    await_that(node, lambda: [b["count"] for b in batches(node, "one")] == [1])
    clock.by(base + 3 * 3600)
    node.restart()
    assert [b["state"] for b in batches(node, "one")] == ["open"] and len(bodies(receiver, "one")) == 1
    clock.by(base + 4 * 3600)
    await_that(node, lambda: len(bodies(receiver, "one")) == 2)
    clock.by(base + 5 * 3600)  # nothing waits: the one is passed over, the other is sent empty
    await_that(node, lambda: len(bodies(receiver, "each")) == 5)
    send(node, "one", 2)
    await_that(node, lambda: [b["count"] for b in batches(node, "one")] == [1])
    clock.by(base + 6 * 3600)
    await_that(node, lambda: len(bodies(receiver, "one")) == 3)
    found = batches(node, "one", True)
    slots = [datetime.datetime.fromisoformat(b["slot"].rstrip("Z")) for b in reversed(found)]
    assert slots[1] - slots[0] == datetime.timedelta(hours=1) and slots[2] > slots[1], slots
    assert [b["count"] for b in found] == [1, 1, 1] and healthy(node)


@BOTH
def test_a_large_batch(make_node, receiver):
    """More than a segment entry: it is streamed, and bytes that steps changed are those that join."""
    node = make_node(config=config(receiver.url(""), {"b": "count: 5, join: text, separator: \"\\n\""},
                                   steps={"b": "{ replace: { find: x, with: yy } },"}))
    node.start()
    docs = [send(node, "b", n, pad="x" * 400_000) for n in range(5)]
    for doc in docs:
        await_state(node, doc, "done")
    text = payload(node, built(node, "b")[0]).decode()
    assert numbers(text) == [0, 1, 2, 3, 4] and text.count("yy") == 5 * 400_000 and "x" not in text
    assert healthy(node)


def test_a_batch_that_is_not_configured_any_more(make_node, receiver):
    node = make_node(config=config(receiver.url(""), {"b": "count: 1000, age: 1h"}))
    node.start()
    doc = send(node, "b", 0)
    await_state(node, doc, "active")
    answer = node.graphql("mutation($text: String!) { configApply(text: $text) { version { version } problems { message } } }",
                          text=config(receiver.url(""), {"b": "count: 5", "c": "count: 5"}).replace("  b: { count: 5,", "  d: { count: 5,")
                          .replace("batch: b", "batch: d"))
    assert answer["configApply"]["version"], answer
    await_state(node, doc, "done")
    assert numbers(bodies(receiver, "b")[0]) == [0] and healthy(node)
