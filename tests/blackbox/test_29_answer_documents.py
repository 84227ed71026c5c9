"""Answers of receivers that become documents, answers that come later, and what is overdue.

An order goes from acme to hub; what hub answers goes back to acme as a document of type `reply`.
"""
import contextlib
import hashlib
import http.client
import json
import time

import pytest

from test_87_rights import Somebody, make_role, somebody

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
systems: {{ acme: {{}}, hub: {{{policy}}}, other: {{}} }}
types:
  order: {{ search: {{ number: "json:/number" }} }}
  reply: {{}}
  late: {{}}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type" }} }}
  back: {{ kind: http, auth: none, answers: ["json:/answers", "json:/number"],
          extract: {{ sender: "json:/from", receiver: "json:/to", type: "value:late" }} }}
endpoints:
  hub-api: {{ kind: http, url: "{url}/hub", timeout: 20s, retry: {{ first: 20ms, most: 100ms }}, breaker: {{ failures: 1000 }},
             answer: {{ type: reply{answer} }} }}
  acme-api: {{ kind: http, url: "{url}/acme" }}
routes:
  - {{ name: orders, when: {{ type: order }}, do: [ {{ deliver: hub-api }} ] }}
  - {{ name: replies, when: {{ type: reply, receiver: acme }}, do: [ {{ deliver: acme-api }} ] }}
  - {{ name: late, when: {{ type: late }}, do: [ {{ deliver: acme-api }} ] }}
"""


@pytest.fixture
def make(make_node, receiver):
    """A node that runs, with more keys of `answer`, or a policy of hub."""
    def one(answer="", policy="", **settings):
        made = make_node(config=CONFIG.format(url=receiver.url(""), answer=answer and ", " + answer, policy=policy),
                         **settings)
        made.start()
        return made
    return one


def send(node, number=4711, **more):
    return node.accept("in", json.dumps({"from": "acme", "to": "hub", "type": "order", "number": number, **more}))


def send_to_its_death(node):
    """A fault kills the node, perhaps before it has answered; it starts again without the fault."""
    with contextlib.suppress(http.client.HTTPException, OSError):
        send(node)
    assert node.ended(timeout=60) != 0
    node.environment.clear()
    node.start()
    return node.documents()[-1]


def look(node, doc):
    return node.show(doc, "state type sender receiver size answerOf { id }"
                          " error { code message } children { items { id } }"
                          " timeline { stage outcome what message }")


def await_state(node, doc, *states, seconds=60):
    return node.await_state(doc, *states, look=look, seconds=seconds)


def wait(condition, seconds=60):
    until = time.monotonic() + seconds
    while not (seen := condition()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return seen


def answers_to(node, doc):
    return [d["id"] for d in node.show(doc, "children { items { id } }")["children"]["items"]]


def only_answer(node, doc):
    """The one document that answers this one."""
    found = wait(lambda: answers_to(node, doc))
    assert len(found) == 1, found
    return found[0]


def says(seen, text):
    return any(text in (line["message"] or "") for line in seen["timeline"])


def open_alerts(node):
    return {(a["code"], a["object"]): a for a in node.graphql("{ alerts { code object count message } }")["alerts"]}


# ---- the answer of the attempt ----

@BOTH
@pytest.mark.smoke
def test_an_answer_goes_back_to_the_sender(make, receiver):
    node = make()
    receiver.behave("/hub", "status", 200, None, '{"booked": true}')
    doc = send(node)
    assert says(await_state(node, doc, "delivered"), "the answer is a document of its own")
    answer = only_answer(node, doc)
    seen = await_state(node, answer, "delivered")
    assert (seen["sender"], seen["receiver"], seen["type"]) == ("hub", "acme", "reply")
    assert seen["answerOf"] == {"id": doc} and says(seen, f"it answers document {doc}")
    assert [r["body"] for r in receiver.wait_for(1, path="/acme")] == ['{"booked": true}']
    assert f"answer to {doc}" in " ".join(node.cli("docs", "show", answer).stdout.split())


@BOTH
def test_extract_says_otherwise(make, receiver):
    """What the answer itself says comes before what it has from the document; a mistake costs the answer alone."""
    node = make('extract: { receiver: "json:/for", attributes: { number: "json:/number" } }')
    receiver.behave("/hub", "status", 200, None, '{"for": "other", "number": 9}')
    doc = send(node)
    seen = await_state(node, only_answer(node, doc), "dead")  # no route leads to other
    assert seen["receiver"] == "other" and seen["error"]["code"] == "no_route"
    found = json.loads(node.cli("docs", "ls", "--where", "number=9", "--json").stdout.splitlines()[0])
    assert found["id"] == answers_to(node, doc)[0]
    receiver.behave("/hub", "status", 200, None, "no JSON")
    doc = send(node)
    await_state(node, doc, "delivered")
    assert await_state(node, only_answer(node, doc), "dead")["error"]["code"] == "extract_failed"


@BOTH
def test_a_large_answer_is_stored_piece_by_piece(make, receiver):
    node = make()
    receiver.behave("/hub", "huge", 24)
    doc = send(node)
    answer = only_answer(node, doc)
    seen = await_state(node, answer, "delivered")
    assert seen["size"] == 24 << 20
    last = receiver.wait_for(1, path="/acme")[0]
    assert last["sha256"] == hashlib.sha256(b"x" * (24 << 20)).hexdigest()
    assert node.cli("doctor").returncode == 0


@BOTH
def test_between_memory_and_a_segment(make, receiver):
    """Larger than what is kept in memory, smaller than what is read at once."""
    node = make()
    body = "".join(f"{n:07d}\n" for n in range(25000))
    receiver.behave("/hub", "status", 200, None, body)
    answer = only_answer(node, send(node))
    assert await_state(node, answer, "delivered")["size"] == 200000
    assert receiver.wait_for(1, path="/acme")[0]["sha256"] == hashlib.sha256(body.encode()).hexdigest()


@BOTH
def test_an_answer_that_is_too_large_costs_no_delivery(make, receiver):
    """The receiver has the document: it is delivered; the answer is missing, and a person hears of it."""
    node = make("most: 100 KiB")
    receiver.behave("/hub", "huge", 1024)
    doc = send(node)
    assert says(await_state(node, doc, "delivered"), "larger than 102400 bytes")
    node.wait_event("answer.drop", document=doc)
    assert not answers_to(node, doc) and len(receiver.requests("/hub")) == 1
    alert = wait(lambda: open_alerts(node).get(("unanswered", "hub-api")))
    assert f"{doc}.hub-api" in alert["message"]


def test_an_answer_without_an_end_is_in_doubt(make, receiver):
    """It is cut off when the time is over, and sent again under the same key, as without `answer`."""
    node = make(answer='most: 1 GiB')
    receiver.behave("/hub", "chunked_no_end", times=1)
    doc = send(node)
    await_state(node, doc, "delivered")
    assert list(receiver.keys().values()) and receiver.keys()[f"{doc}.hub-api"] == 2
    assert only_answer(node, doc)


@BOTH
def test_an_empty_answer_makes_no_document(make, receiver):
    node = make()
    receiver.behave("/hub", "status", 204, None, "")
    doc = send(node)
    assert says(await_state(node, doc, "delivered"), "the answer is empty: no document is made of it")
    assert not answers_to(node, doc)
    receiver.behave("/hub", "status", 422, None, "no")
    doc = send(node)
    await_state(node, doc, "dead")
    assert not answers_to(node, doc)


def test_the_key_of_the_sender_does_not_bind_the_answer(make_node, receiver):
    """A key for acme sends in the name of nobody else; hub answers all the same, and acme's key does not see it."""
    text = CONFIG.format(url=receiver.url(""), answer="", policy="").replace(
        "in: { kind: http, auth: none", "in: { kind: http, auth: key")
    node = make_node(config=text)
    node.start()
    made = node.graphql("mutation { keyAdd(gateway: \"in\", systems: [\"acme\"]) { id key } }")["keyAdd"]["key"]
    receiver.behave("/hub", "status", 200, None, "yes")
    headers = {"Authorization": f"Bearer {made}"}
    doc = node.accept("in", json.dumps({"from": "acme", "to": "hub", "type": "order", "number": 1}), headers)
    answer = only_answer(node, doc)
    await_state(node, answer, "delivered")
    assert node.request("GET", f"/documents/{doc}", headers=headers).status == 200
    assert node.request("GET", f"/documents/{answer}", headers=headers).status == 404


@pytest.mark.proves("RO9")
def test_answers_that_answer_each_other_end_as_a_loop(make_node, receiver):
    text = CONFIG.format(url=receiver.url(""), answer="", policy="")
    text = text.replace('acme-api: { kind: http, url: "' + receiver.url("") + '/acme" }',
                        'acme-api: { kind: http, url: "' + receiver.url("") + '/acme", answer: { type: order } }')
    node = make_node(config=text)
    node.start()
    for path in ("/hub", "/acme"):
        receiver.behave(path, "status", 200, None, '{"again": true}')
    one, generation = send(node), 0
    while generation < 16:
        one = only_answer(node, one)
        generation += 1
    seen = await_state(node, one, "dead")
    assert seen["error"]["code"] == "loop", seen
    assert len(receiver.requests()) == 16


# ---- crashes ----

@BOTH
@pytest.mark.proves("PR17")
@pytest.mark.parametrize("point", ["answer.taken", "answers.written", "answer.stored", "parts.committed"])
def test_a_killed_node_makes_the_answer_once(make, receiver, point):
    """The outcome and the answer are one commit: before it neither is there, and the order goes out again."""
    large = point == "answer.stored"
    receiver.behave("/hub", *(("huge", 2) if large else ("status", 200, None, "yes")))
    node = make(environment={"WAYBILL_FAULT": f"{point}:kill:1"})
    doc = send_to_its_death(node)
    await_state(node, doc, "delivered")
    answer = only_answer(node, doc)
    await_state(node, answer, "delivered")
    assert receiver.keys()[f"{doc}.hub-api"] == (1 if point == "parts.committed" else 2)
    assert len(answers_to(node, doc)) == 1 and len(node.documents()) == 2
    assert node.cli("doctor").returncode == 0


@BOTH
def test_a_system_that_holds_is_in_doubt_and_has_no_answer(make, receiver):
    receiver.behave("/hub", "status", 200, None, "yes")
    node = make(policy=" in_doubt: hold ", environment={"WAYBILL_FAULT": "answers.written:kill:1"})
    doc = send_to_its_death(node)
    await_state(node, doc, "in_doubt")
    assert not answers_to(node, doc) and receiver.keys() == {f"{doc}.hub-api": 1}


# ---- answers that come later ----

def answer_later(node, doc, sender="hub", **more):
    return node.accept("back", json.dumps({"from": sender, "to": "acme", "answers": doc, **more}))


def overdue(node):
    return open_alerts(node).get(("unanswered", "hub-api"))


@BOTH
@pytest.mark.proves("PR17")
def test_a_later_answer_is_awaited_over_a_restart(make, receiver):
    """202: the answer is still to come; the timer is in the store; the answer ends it."""
    node = make("within: 1s")
    receiver.behave("/hub", "status", 202, None, '{"queued": true}')
    docs = [send(node, number=n) for n in range(3)]
    for doc in docs:
        assert says(await_state(node, doc, "delivered"), "an answer is awaited until")
        assert not answers_to(node, doc)
    node.kill()
    node.start()
    assert wait(lambda: overdue(node))["count"] == 3
    by_id, by_delivery = answer_later(node, docs[0]), answer_later(node, f"{docs[1]}.hub-api")
    by_attribute = node.accept("back", json.dumps({"from": "hub", "to": "acme", "number": 2}))
    for doc, answer in zip(docs, (by_id, by_delivery, by_attribute)):
        seen = await_state(node, answer, "delivered")
        assert seen["answerOf"] == {"id": doc} and says(seen, "it answers `"), seen
    wait(lambda: not overdue(node))
    assert node.cli("doctor").returncode == 0


@BOTH
def test_an_answer_in_time_raises_nothing(make, receiver):
    node = make("within: 1h")
    receiver.behave("/hub", "status", 204, None, "")
    doc = send(node)
    await_state(node, doc, "delivered")
    answer = answer_later(node, doc)
    assert await_state(node, answer, "delivered")["answerOf"] == {"id": doc}
    assert not overdue(node)


@BOTH
def test_only_the_receiver_may_answer(make, receiver):
    """Another system ends no wait and finds out nothing: what it sends goes its way by itself."""
    node = make("within: 1s")
    receiver.behave("/hub", "status", 202, None, "")
    doc = send(node)
    await_state(node, doc, "delivered")
    for value in (doc, f"{doc}.hub-api", "0198c0de-0000-7000-8000-000000000000", "nothing like it"):
        seen = await_state(node, answer_later(node, value, sender="other"), "delivered")
        assert seen["answerOf"] is None and says(seen, "nothing that was sent to other has this id or value")
    wrong = await_state(node, answer_later(node, f"{doc}.acme-api"), "delivered")
    assert wrong["answerOf"] is None
    assert wait(lambda: overdue(node))["count"] == 1
    silent = node.accept("back", json.dumps({"from": "hub", "to": "acme"}))
    assert not says(await_state(node, silent, "delivered"), "it answers")


@BOTH
def test_an_answer_that_overtakes_the_outcome_is_linked(make, receiver):
    """It is here before what it answers is committed."""
    node = make("within: 1h", environment={"WAYBILL_FAULT": "settle.written:delay_ms:700"})
    receiver.behave("/hub", "status", 204, None, "")
    doc = send(node)
    receiver.wait_for(1, path="/hub")
    answer = answer_later(node, doc)
    assert await_state(node, answer, "delivered")["answerOf"] == {"id": doc}


@pytest.mark.stores("postgres")
def test_two_nodes_raise_one_alert(make, receiver):
    first = make("within: 1s")
    second = make("within: 1s")
    receiver.behave("/hub", "status", 202, None, "")
    doc = send(first)
    await_state(first, doc, "delivered")
    wait(lambda: overdue(second))
    answer_later(second, doc)
    wait(lambda: not overdue(first))
    told = wait(lambda: [e["event"] for n in (first, second) for e in list(n.events)
                         if e.get("event") in ("alert.raise", "alert.clear") and e["code"] == "unanswered"][1:])
    assert told == ["alert.clear"], told
    assert len([a for a in first.graphql("{ alerts(cleared: true) { code } }")["alerts"]
                if a["code"] == "unanswered"]) == 1


def test_whoever_sees_the_system_sees_its_alert(make_node, receiver):
    text = CONFIG.format(url=receiver.url(""), answer=", within: 1s", policy="").replace(
        "hub-api: { kind: http,", "hub-api: { kind: http, system: hub,")
    node = make_node(config=text)
    node.start()
    receiver.behave("/hub", "status", 202, None, "")
    await_state(node, send(node), "delivered")
    wait(lambda: overdue(node))
    make_role(node, "desk", {"see"}, ["hub"])
    make_role(node, "else", {"see"}, ["other"])
    ask = "{ alerts { code } }"
    assert somebody(node, "desk").data(ask)["alerts"] == [{"code": "unanswered"}]
    assert somebody(node, "else").data(ask)["alerts"] == []
    assert Somebody(node, node.token).data(ask)["alerts"]
