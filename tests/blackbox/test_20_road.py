"""The road: extract, route, steps, deliver; what becomes of documents, and what is seen of it."""
import hashlib
import json
import time

import pytest

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
systems:
  acme:    {{ title: Acme, ids: ["0012", "ZZ:ACME"] }}
  hub:     {{ title: Hub, limits: {{ concurrency: 4 }} }}
  archive: {{ title: Archive }}
types: {{ order: {{}}, invoice: {{}}, junk: {{}}, envelope: {{}} }}
gateways:
  in:
    kind: http
    auth: none
    extract:
      sender: "json:/from"
      receiver: "json:/to"
      type: "json:/type"
      attributes: {{ region: "json:/region" }}
endpoints:
  hub-api: {{ kind: http, url: "{url}/in", timeout: 30s, retry: {{ first: 50ms, most: 200ms, for: 1h }},
             breaker: {{ failures: 3, wait: 300ms }} }}
  shelf:   {{ kind: file, system: archive, path: "{folder}/shelf", name: "${{sender}}/${{id}}.json" }}
routes:
  - name: orders
    when: {{ type: order }}
    do:
      - deliver: shelf
      - replace: {{ find: "_", with: "-" }}
      - deliver: hub-api
  - name: invoices
    when: {{ type: invoice, region: north }}
    do: [ {{ deliver: hub-api }} ]
  - name: junk
    when: {{ type: junk }}
    do: [ {{ drop: "nobody wants it" }} ]
  - name: envelope
    when: {{ type: envelope }}
    do: [ {{ route: {{ type: "json:/inner" }} }} ]
"""


@pytest.fixture
def road(make_node, receiver, tmp_path):
    """A node with routes to the receiver and to a folder."""
    node = make_node(config=CONFIG.format(url=receiver.url(""), folder=tmp_path))
    node.shelf = tmp_path / "shelf"
    node.start()
    return node


def document(kind="order", **more):
    return json.dumps({"from": "0012", "to": "hub", "type": kind, "text": "a_b", **more})


def send(node, body):
    return node.accept("in", body)


def look(node, doc):
    return node.show(doc, "state sender receiver type error { code message } timeline { stage outcome message }")


def await_state(node, doc, *states, seconds=90):
    return node.await_state(doc, *states, look=look, seconds=seconds)


# ---- what becomes of a document --------------------------------------------------------------------

@BOTH
def test_a_document_is_delivered_to_each_endpoint(road, receiver):
    doc = send(road, document())
    seen = await_state(road, doc, "delivered")
    assert (seen["sender"], seen["receiver"], seen["type"]) == ("acme", "hub", "order")
    got, = receiver.wait_for(1)
    assert got["headers"]["waybill-document"] == doc
    assert got["headers"]["waybill-sender"] == "acme"
    assert got["headers"]["waybill-receiver"] == "hub"
    assert got["headers"]["waybill-type"] == "order"
    assert got["headers"]["idempotency-key"] == f"{doc}.hub-api"
    assert got["headers"]["traceparent"].startswith("00-" + doc.replace("-", ""))
    assert json.loads(got["body"])["text"] == "a-b"                      # after the step
    stored = (road.shelf / "acme" / f"{doc}.json").read_text()
    assert json.loads(stored)["text"] == "a_b"                           # before it
    stages = [(t["stage"], t["outcome"]) for t in seen["timeline"]]
    assert ("route", "done") in stages and ("step", "done") in stages
    assert stages.count(("delivery", "delivered")) == 2


@BOTH
def test_a_document_that_is_dropped_is_done(road):
    seen = await_state(road, send(road, document("junk")), "done")
    assert any("nobody wants it" in (t["message"] or "") for t in seen["timeline"])


@pytest.mark.proves("RO3")
@BOTH
def test_no_route_is_a_dead_letter_that_names_the_triple(road):
    seen = await_state(road, send(road, document("invoice", region="south")), "dead")
    assert seen["error"]["code"] == "no_route"
    assert "sender acme, receiver hub, type invoice" in seen["error"]["message"]


def test_an_unlisted_type_is_a_dead_letter(road):
    seen = await_state(road, send(road, document("letter")), "dead")
    assert seen["error"]["code"] == "no_route" and "`letter` is not listed" in seen["error"]["message"]


def test_an_unknown_system_is_a_dead_letter(road):
    seen = await_state(road, send(road, document(to="nowhere")), "dead")
    assert seen["error"]["code"] == "unknown_system" and "`nowhere`" in seen["error"]["message"]


@pytest.mark.proves("EX5")
def test_what_cannot_be_read_is_a_dead_letter_with_its_place(road):
    seen = await_state(road, send(road, '{"from": "0012", "to": '), "dead")
    assert seen["error"]["code"] == "extract_failed"
    assert "byte" in seen["error"]["message"]


def test_attributes_choose_a_route(road, receiver):
    await_state(road, send(road, document("invoice", region="north")), "delivered")
    assert len(receiver.requests()) == 1


@pytest.mark.proves("RO4")
def test_a_step_that_finds_no_new_type_is_a_dead_letter(road, receiver):
    """It keeps what it was known by, so that it is found, and a corrected one starts again."""
    seen = await_state(road, send(road, document("envelope")), "dead")
    assert seen["error"]["code"] == "extract_failed" and "type" in seen["error"]["message"], seen
    assert (seen["sender"], seen["receiver"], seen["type"]) == ("acme", "hub", "envelope")
    assert not receiver.requests()


@pytest.mark.proves("RO9")
def test_a_circle_of_routes_ends(road):
    seen = await_state(road, send(road, document("envelope", inner="envelope")), "dead")
    assert seen["error"]["code"] == "loop"


def test_a_step_sends_it_back_to_the_router(road, receiver):
    await_state(road, send(road, document("envelope", inner="invoice", region="north")), "delivered")
    assert receiver.requests()[0]["headers"]["waybill-type"] == "invoice"


@BOTH
def test_a_large_document_goes_whole(road, receiver):
    body = document(padding="x" * (6 << 20))
    doc = send(road, body)
    await_state(road, doc, "delivered", seconds=60)
    wanted = hashlib.sha256(body.replace("_", "-").encode()).hexdigest()
    assert receiver.requests()[0]["sha256"] == wanted
    assert (road.shelf / "acme" / f"{doc}.json").read_bytes() == body.encode()


@pytest.mark.proves("EX10")
@pytest.mark.parametrize("then", ["route", "order"])
def test_a_large_document_is_asked_again_behind_a_step(make_node, receiver, tmp_path, then):
    """A step reads all of it; who asks it then looks at its beginning, as before."""
    text = CONFIG.format(url=receiver.url(""), folder=tmp_path)
    if then == "order":
        text = text.replace("hub:     {", 'hub:     { order: key, order_by: "json:/from",')
    else:
        text = text.replace('do: [ { route: { type: "json:/inner" } } ]',
                            'do: [ { replace: { find: "_", with: "+" } }, { route: { type: "json:/inner" } } ]')
    node = make_node(config=text)
    node.shelf = tmp_path / "shelf"
    node.start()
    kind = "order" if then == "order" else "envelope"
    doc = send(node, document(kind, inner="invoice", region="north", padding="x" * (6 << 20)))
    await_state(node, doc, "delivered", seconds=60)
    assert receiver.requests()[0]["headers"]["waybill-type"] == ("order" if then == "order" else "invoice")
    if then == "route":
        late = send(node, document(kind, padding="x" * (6 << 20), inner="invoice", region="north"))
        error = await_state(node, late, "dead", seconds=60)["error"]
        assert error["code"] == "budget" and "`json:/inner` is not in the first 4194304 bytes" in error["message"], error


@BOTH
@pytest.mark.parametrize("size", [10, 3 << 20])
def test_the_bytes_that_were_sent_stay_with_it(road, receiver, size):
    doc = send(road, document(padding="x" * size))
    await_state(road, doc, "delivered", seconds=60)
    sent = receiver.requests()[0]["sha256"]
    got = [road.get(f"/documents/{doc}/payload?stage={n}") for n in range(6)]
    kept = {hashlib.sha256(a.body).hexdigest() for a in got if a.status == 200}
    assert kept == {sent}, [a.status for a in got]


@BOTH
def test_again_sends_what_was_delivered_and_what_waits(road, receiver):
    receiver.stop_listening()
    doc = send(road, document())
    await_state(road, doc, "held", "retrying")       # the shelf has it, the hub has not
    for taken in (road.shelf / "acme").iterdir():
        taken.unlink()
    until = time.monotonic() + 20
    while road.cli("docs", "retry", doc, "--again").returncode != 0:  # it is being tried
        assert time.monotonic() < until
    receiver.listen()
    await_state(road, doc, "delivered")
    assert len(list((road.shelf / "acme").iterdir())) == 1
    assert len(receiver.requests()) >= 1


# ---- again ------------------------------------------------------------------------------------------

@BOTH
def test_a_receiver_that_says_later_gets_it_later_under_the_same_key(road, receiver):
    receiver.behave("/in", "status", 503, times=2)
    doc = send(road, document())
    await_state(road, doc, "delivered")
    assert receiver.keys() == {f"{doc}.hub-api": 3}
    assert {json.loads(r["body"])["text"] for r in receiver.requests()} == {"a-b"}
    assert len(list((road.shelf / "acme").iterdir())) == 1  # the other one was not sent again


@pytest.mark.proves("DE5")
@BOTH
def test_deliveries_wait_while_a_receiver_is_gone_and_go_when_it_is_back(road, receiver):
    receiver.stop_listening()
    docs = [send(road, document(n=n)) for n in range(20)]
    road.wait_event("endpoint.open", endpoint="hub-api")
    states = {look(road, d)["state"] for d in docs}
    assert states <= {"held", "retrying", "active", "received"}, states  # received: on its way
    receiver.listen()
    for doc in docs:
        await_state(road, doc, "delivered")
    assert {f"{d}.hub-api" for d in docs} == set(receiver.keys())
    road.wait_event("endpoint.close", endpoint="hub-api")


@BOTH
def test_what_waits_survives_a_crash(road, receiver):
    receiver.stop_listening()
    docs = [send(road, document(n=n)) for n in range(10)]
    road.wait_event("endpoint.open")
    road.kill()
    receiver.listen()
    road.start()
    for doc in docs:
        await_state(road, doc, "delivered")
    assert {f"{d}.hub-api" for d in docs} == set(receiver.keys())


@pytest.mark.proves("DE9", "DE10", "DE11")
def test_what_was_on_its_way_at_a_crash_is_sent_again_and_says_so(road, receiver):
    receiver.behave("/in", "no_answer")
    doc = send(road, document())
    receiver.wait_for(1)
    road.kill()
    receiver.behave("/in", "ok")
    road.start()
    seen = await_state(road, doc, "delivered")
    assert receiver.keys() == {f"{doc}.hub-api": 2}
    assert any("sent before a crash: unknown" in (t["message"] or "") for t in seen["timeline"])


@BOTH
def test_a_stop_in_good_order_finishes_what_is_on_its_way(road, receiver):
    receiver.behave("/in", "late", 1, times=1)
    doc = send(road, document())
    receiver.wait_for(1)
    assert road.stop() == 0
    road.start()
    seen = await_state(road, doc, "delivered")
    assert receiver.keys() == {f"{doc}.hub-api": 1}
    assert not any("crash" in (t["message"] or "") for t in seen["timeline"])


# ---- configuration ------------------------------------------------------------------------------------

@pytest.mark.proves("RO3")
@BOTH
def test_a_new_route_re_drives_the_dead_letters_it_answers(road, receiver, tmp_path):
    doc = send(road, document("invoice", region="south"))
    other = send(road, document("letter"))
    unknown = send(road, document("invoice", region="north", to="GLN-7"))
    await_state(road, doc, "dead")
    await_state(road, unknown, "dead")
    text = CONFIG.format(url=receiver.url(""), folder=tmp_path)
    text = text.replace(", region: north }", ", receiver: hub }").replace("hub:     {", 'hub:     { ids: ["GLN-7"],')
    road.write_config(text)
    assert road.cli("apply", road.config_file).returncode == 0
    seen = await_state(road, doc, "delivered")
    await_state(road, unknown, "delivered")
    assert any(t["stage"] == "operator" or "version 2" in (t["message"] or "")
               for t in seen["timeline"]), seen
    assert look(road, other)["state"] == "dead"


@pytest.mark.proves("RO10")
def test_a_document_runs_with_the_version_it_was_accepted_under(road, receiver, tmp_path):
    receiver.behave("/in", "late", 1)
    first = send(road, document())
    text = CONFIG.format(url=receiver.url(""), folder=tmp_path).replace('with: "-"', 'with: "+"')
    road.write_config(text)
    assert road.cli("apply", road.config_file).returncode == 0
    second = send(road, document())
    for doc in (first, second):
        await_state(road, doc, "delivered")
    texts = {r["headers"]["waybill-document"]: json.loads(r["body"])["text"]
             for r in receiver.requests()}
    assert texts == {first: "a-b", second: "a+b"}


@pytest.mark.proves("RO12")
def test_an_endpoint_that_is_gone_holds_its_deliveries(road, receiver, tmp_path):
    receiver.stop_listening()
    doc = send(road, document())
    await_state(road, doc, "held", "retrying")
    whole = CONFIG.format(url=receiver.url(""), folder=tmp_path)
    lines = whole.replace("      - deliver: hub-api\n", "").replace("{ deliver: hub-api }", "{ drop: x }")
    without = "".join(line + "\n" for line in lines.splitlines()
                      if "hub-api:" not in line and "breaker:" not in line)
    road.write_config(without)
    done = road.cli("apply", road.config_file, "--yes")
    assert done.returncode == 0, done.stderr
    receiver.listen()
    time.sleep(1.5)
    assert receiver.requests() == []
    road.write_config(whole)
    assert road.cli("apply", road.config_file).returncode == 0
    await_state(road, doc, "delivered")


def test_without_routes_documents_rest_until_there_are_some(make_node, receiver, tmp_path):
    whole = CONFIG.format(url=receiver.url(""), folder=tmp_path)
    node = make_node(config=whole[:whole.index("routes:")])
    node.start()
    doc = send(node, document())
    time.sleep(0.3)
    assert look(node, doc)["state"] == "received"
    node.write_config(whole)
    assert node.cli("apply", node.config_file).returncode == 0
    await_state(node, doc, "delivered")


# ---- what is seen ---------------------------------------------------------------------------------------

@pytest.mark.proves("XC6")
def test_one_line_per_document_and_run_with_its_stages(road):
    doc = send(road, document())
    await_state(road, doc, "delivered")
    road.wait_event("document.run", document=doc)
    lines = [e for e in road.events if e.get("document") == doc]
    assert [e["event"] for e in lines] == ["document.run"]
    for stage in ("extract", "route orders", "step replace", "delivery hub-api", "delivery shelf"):
        assert stage in lines[0]["stages"]


def test_counters_follow(road, receiver):
    receiver.behave("/in", "status", 400, times=1)
    await_state(road, send(road, document()), "dead")
    await_state(road, send(road, document()), "delivered")
    await_state(road, send(road, document("letter")), "dead")
    m = road.metrics()
    assert m['waybill_deliveries_total{outcome="delivered"}'] == 3
    assert m['waybill_deliveries_total{outcome="dead"}'] == 1
    assert m["waybill_documents_dead_total"] == 1


@BOTH
def test_the_doctor_is_content(road, receiver):
    receiver.behave("/in", "status", 400, times=1)
    await_state(road, send(road, document()), "dead")
    await_state(road, send(road, document("letter")), "dead")
    receiver.stop_listening()
    for _ in range(8):
        send(road, document())
    road.wait_event("endpoint.open")
    done = road.cli("doctor")
    assert done.returncode == 0, done.stdout
