"""Setting documents going again, on a node that runs: retry, cancel, dead letters, traces."""
import json
import time

import pytest

BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO = 0, 1

CONFIG = """\
systems: {{ acme: {{}}, hub: {{ ids: ["H1"] }}, archive: {{}} }}
types: {{ order: {{}}, note: {{}} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type",
               attributes: {{ po: "json:/po" }} }}
endpoints:
  api:   {{ kind: http, url: "{url}/in", timeout: 30s, retry: {{ first: 1h, most: 1h, for: 3d }},
           breaker: {{ failures: 3, wait: 1h }} }}
  shelf: {{ kind: file, system: archive, path: "{folder}/shelf", name: "${{id}}.json" }}
routes:
  - name: orders
    when: {{ type: order }}
    do: [ {{ deliver: shelf }}, {{ replace: {{ find: "_", with: "-" }} }}, {{ deliver: api }} ]
"""


@pytest.fixture
def node(make_node, receiver, tmp_path):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=receiver.url(""), folder=tmp_path))
    one.start()
    return one


def send(node, kind="order", **more):
    body = json.dumps({"from": "acme", "to": "hub", "type": kind, "text": "a_b", "po": "1", **more})
    return node.accept("in", body)


def objects(got):
    return [json.loads(line) for line in got.stdout.splitlines()]


def show(node, doc):
    got = node.cli("docs", "show", doc, "--json")
    assert got.returncode == DONE, got.stderr
    return objects(got)[0]


def await_state(node, doc, *states, seconds=20):
    return node.await_state(doc, *states, look=show, seconds=seconds)


def states(seen):
    return {d["endpoint"]: d["state"] for d in seen["deliveries"]}


@BOTH
def test_a_rejected_delivery_is_retried(node, receiver):
    receiver.behave("/in", "status", 422)
    doc = send(node)
    seen = await_state(node, doc, "dead")
    assert seen["error"]["code"] == "rejected" and seen["route"] == "orders"
    assert seen["attributes"] == [{"name": "po", "value": "1"}]
    assert states(seen) == {"shelf": "delivered", "api": "dead"}
    dead, = [d for d in seen["deliveries"] if d["state"] == "dead"]
    assert dead["status"] == 422 and dead["id"] == f"{doc}.api" and dead["system"] == "hub"
    people = node.cli("docs", "show", doc).stdout
    assert "remedy        its receiver refused it" in people
    letter, = objects(node.cli("dead", "ls", "--json"))
    assert letter["document"] == doc and letter["delivery"] == f"{doc}.api"
    assert letter["endpoint"] == "api" and letter["receiver"] == "hub"

    receiver.behave("/in", "ok")
    got = node.cli("docs", "retry", doc)
    assert got.returncode == DONE and "1 delivery is ready again: api" in got.stdout
    seen = await_state(node, doc, "delivered")
    assert states(seen) == {"shelf": "delivered", "api": "delivered"}
    assert receiver.keys() == {f"{doc}.api": 2}
    assert [t["outcome"] for t in seen["timeline"] if t["stage"] == "operator"] == ["again"]
    assert objects(node.cli("dead", "ls", "--json")) == []
    got = node.cli("docs", "retry", doc)
    assert got.returncode == NO and "--again starts it again" in got.stdout


@BOTH
def test_what_was_delivered_goes_again_when_asked(node, receiver, tmp_path):
    doc = send(node)
    await_state(node, doc, "delivered")
    (tmp_path / "shelf" / f"{doc}.json").unlink()  # a file that is there is not replaced
    assert node.cli("docs", "retry", doc, "--again").returncode == DONE
    receiver.wait_for(2)
    seen = await_state(node, doc, "delivered")
    assert receiver.keys() == {f"{doc}.api": 1, f"{doc}.api.again1": 1}
    assert seen["again"] == 1


@BOTH
def test_a_document_that_waits_is_cancelled(node, receiver):
    receiver.behave("/in", "status", 503)
    doc = send(node)
    seen = await_state(node, doc, "retrying")
    assert states(seen) == {"shelf": "delivered", "api": "retrying"}
    assert [d["due"] for d in seen["deliveries"] if d["endpoint"] == "api"] != [None]
    got = node.cli("docs", "cancel", doc)
    assert got.returncode == DONE and "1 delivery is cancelled: api" in got.stdout
    seen = show(node, doc)
    assert seen["state"] == "delivered" and states(seen) == {"shelf": "delivered", "api": "cancelled"}
    assert node.cli("docs", "cancel", doc).returncode == NO


def test_held_is_told_with_its_reason(node, receiver):
    receiver.stop_listening()
    docs = [send(node) for _ in range(6)]
    until = time.monotonic() + 20
    while True:
        held = objects(node.cli("docs", "ls", "--state", "held", "--json"))
        if held or time.monotonic() > until:
            break
        time.sleep(0.1)
    assert held and held[0]["id"] in docs, node.tail()
    api = [d for d in show(node, held[0]["id"])["deliveries"] if d["endpoint"] == "api"][0]
    assert api["state"] == "held" and api["held"] == ["breaker"]
    endpoint = [e for e in node.graphql("{ endpoints { name kind system breaker since until } }")["endpoints"]
                if e["name"] == "api"][0]
    assert endpoint["breaker"] == "open" and endpoint["kind"] == "http" and endpoint["until"]
    until = time.monotonic() + 10
    while not node.graphql("{ mishaps { code object count } }")["mishaps"]:
        assert time.monotonic() < until
        time.sleep(0.2)


@BOTH
def test_the_trace_and_the_bytes_of_a_step(node, receiver):
    doc = send(node)
    await_state(node, doc, "delivered")
    receiver.behave("/in", "status", 422)
    kept = send(node)
    await_state(node, kept, "dead")
    lines = objects(node.cli("docs", "trace", kept, "--json"))
    assert [t["stage"] for t in lines][:2] == ["accept", "extract"]
    assert {"route", "step", "delivery"} <= {t["stage"] for t in lines}
    stored, = [t["bytes"] for t in lines if t["bytes"]]
    assert stored["stage"] == 1
    got = node.cli("docs", "payload", kept, "--stage", "1")
    assert got.returncode == DONE and json.loads(got.stdout)["text"] == "a-b"
    assert json.loads(node.cli("docs", "payload", kept).stdout)["text"] == "a_b"
    got = node.cli("docs", "payload", kept, "--stage", "2")
    assert got.returncode == NO and "(404)" in got.stderr
    for wrong in ("0", "x", "-1", ""):
        assert node.get(f"/documents/{kept}/payload?stage={wrong}", node.token).status == 400
    people = node.cli("docs", "trace", kept).stdout.splitlines()
    assert people[0].split()[:3] == ["TIME", "NODE", "STAGE"] and len(people) == len(lines) + 1


@BOTH
@pytest.mark.proves("DL3", "RO3")
def test_dead_letters_in_groups_and_in_bulk(node, receiver, tmp_path):
    for n in range(30):
        send(node, "note", po=str(n % 3))
    strange = [send(node, to="mars") for _ in range(3)]
    for doc in strange:
        await_state(node, doc, "dead")
    until = time.monotonic() + 20
    while sum(g["count"] for g in objects(node.cli("dead", "ls", "--by", "reason", "--json"))) < 33:
        assert time.monotonic() < until
        time.sleep(0.1)
    groups = objects(node.cli("dead", "ls", "--by", "receiver", "--json"))
    assert [(g["key"], g["code"], g["count"]) for g in groups] == [
        ("hub", "no_route", 30), ("mars", "unknown_system", 3)]
    assert [g["key"] for g in objects(node.cli("dead", "ls", "--by", "type", "--json"))] == ["note", "order"]
    assert len(objects(node.cli("dead", "ls", "--receiver", "mars", "--json"))) == 3
    assert len(objects(node.cli("docs", "ls", "--receiver", "mars", "--json"))) == 3
    assert len(objects(node.cli("dead", "ls", "--where", "po=2", "--json"))) == 10
    assert len(objects(node.cli("docs", "ls", "--type", "note", "--where", "po=2", "--json"))) == 10
    assert len(objects(node.cli("docs", "ls", "--error", "unknown_system", "--json"))) == 3
    got = node.cli("dead", "discard", "--receiver", "mars", "--yes")
    assert got.returncode == DONE and got.stdout == "3 dead letters discarded\n"
    assert {show(node, doc)["state"] for doc in strange} == {"cancelled"}
    got = node.cli("dead", "retry", "--type", "note", "--yes", "--json")
    assert objects(got) == [{"count": 30, "done": 30, "skipped": 0}]
    until = time.monotonic() + 20
    while len(objects(node.cli("dead", "ls", "--json", "--limit", "100"))) < 30:  # they die again
        assert time.monotonic() < until
        time.sleep(0.1)
    config = CONFIG.format(url=receiver.url(""), folder=tmp_path)
    (tmp_path / "more.yaml").write_text(config + "  - name: notes\n    when: { type: note }\n"
                                        "    do: [ { deliver: api } ]\n")
    assert node.cli("apply", tmp_path / "more.yaml").returncode == DONE
    assert len(receiver.wait_for(30)) == 30
    until = time.monotonic() + 20
    while objects(node.cli("dead", "ls", "--json")):
        assert time.monotonic() < until
        time.sleep(0.1)
    report = node.cli("doctor")
    assert report.returncode == DONE, report.stdout


REROUTED = """\
systems: {{ acme: {{}}, hub: {{}}, archive: {{}} }}
types: {{ envelope: {{}}, inner: {{}} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "value:acme", receiver: "value:hub", type: "value:envelope" }}
endpoints:
  api:   {{ kind: http, url: "{url}/in" }}
  shelf: {{ kind: file, system: archive, path: "{folder}/shelf", name: "${{id}}.json" }}
routes:
  - name: open
    when: {{ type: envelope }}
    do: [ {{ deliver: shelf }}, {{ replace: {{ find: "_", with: "-" }} }}, {{ route: {{ type: "json:/inner" }} }} ]
"""


@BOTH
@pytest.mark.proves("RO3")
def test_what_a_step_routed_elsewhere_starts_again_with_its_first_route(make_node, receiver, tmp_path):
    config = REROUTED.format(url=receiver.url(""), folder=tmp_path)
    node = make_node(config=config)
    node.start()
    doc = node.accept("in", json.dumps({"inner": "inner", "text": "a_b"}))
    await_state(node, doc, "dead")
    assert show(node, doc)["type"] == "inner" and not list((tmp_path / "shelf").iterdir())
    (tmp_path / "more.yaml").write_text(config + "  - { name: in, when: { type: inner }, do: [ { deliver: api } ] }\n")
    assert node.cli("apply", tmp_path / "more.yaml").returncode == DONE
    await_state(node, doc, "delivered")
    assert [json.loads(r["body"])["text"] for r in receiver.wait_for(1)] == ["a-b"]
    shelved = list((tmp_path / "shelf").iterdir())
    assert [json.loads(p.read_text())["text"] for p in shelved] == ["a_b"]
    shelved[0].unlink()
    assert node.cli("docs", "retry", doc, "--again", "--yes").returncode == DONE
    assert [json.loads(r["body"])["text"] for r in receiver.wait_for(2)] == ["a-b", "a-b"]
    await_state(node, doc, "delivered")


def test_send_dry_stores_nothing(node, receiver, tmp_path):
    def dry(gateway="in", **more):
        body = {"from": "acme", "to": "H1", "type": "order", "po": "7", **more}
        (tmp_path / "o.json").write_text(json.dumps(body))
        return node.cli("send", gateway, tmp_path / "o.json", "--dry", "--json")

    got = dry()
    assert got.returncode == DONE, got.stderr
    found, = objects(got)
    assert (found["sender"], found["receiver"], found["type"]) == ("acme", "hub", "order")
    assert found["route"] == "orders" and found["steps"] == ["replace"] and found["error"] is None
    assert found["deliveries"] == [{"endpoint": "shelf", "system": "archive"},
                                   {"endpoint": "api", "system": "hub"}]
    assert found["attributes"] == [{"name": "po", "value": "7"}] and found["config"] == 1
    got = dry(type="note")
    assert got.returncode == NO and objects(got)[0]["error"]["code"] == "no_route"
    got = dry(to="mars")
    assert got.returncode == NO and objects(got)[0]["error"]["code"] == "unknown_system"
    assert objects(got)[0]["receiver"] == "mars"
    got = dry("nowhere")
    assert got.returncode == NO and "there is no gateway nowhere" in got.stderr
    assert objects(node.cli("docs", "ls", "--json")) == [] and receiver.requests() == []
    assert node.graphql("{ mishaps { code } }")["mishaps"] == []


def test_ids_that_are_not_there(node):
    got = node.cli("docs", "retry", "nonsense", "0199e4c0-0000-7000-8000-000000000000", "--json")
    assert got.returncode == NO
    assert [r["result"] for r in objects(got)] == ["unknown", "unknown"]
