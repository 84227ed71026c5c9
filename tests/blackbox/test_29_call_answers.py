"""The step `call` with `answer`: what the service answers is a document of its own as well.

An order of acme is sent to a service; the chain goes on with its answer, and the same answer goes back to acme.
"""
import contextlib
import hashlib
import http.client
import json
import pathlib
import sys
import threading

import pytest
from running_node import run_program

from test_29_calls import SECONDS, SOON, Service, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
systems: {{ acme: {{}}, hub: {{}}, tax: {{}}, other: {{}} }}
types: {{ order: {{}}, reply: {{}}, late: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "value:hub", type: "value:order" }} }}
  back: {{ kind: http, auth: none, answers: "json:/answers",
          extract: {{ sender: "json:/from", receiver: "value:acme", type: "value:late" }} }}
endpoints:
  hub-api: {{ kind: http, url: "{url}/hub" }}
  acme-api: {{ kind: http, url: "{url}/acme" }}
routes:
  - name: orders
    when: {{ type: order }}
    do:
      - replace: {{ find: "z", with: "a" }}
      - call: {{ url: "{service}/ask", system: tax, answer: {{ type: reply{answer} }} }}
{more}
      - deliver: hub-api
  - {{ name: replies, when: {{ type: [reply, late], receiver: acme }}, do: [ {{ deliver: acme-api }} ] }}
"""


def shout(request):
    return 200, request["body"].upper(), [("Content-Type", "text/x-loud")]


@pytest.fixture
def world(make_node):
    """make(answer): a node that runs, the service and the receiver of hub and acme."""
    with contextlib.ExitStack() as ends:
        def make(answer, options="", more="", **settings):
            service, receiver = ends.enter_context(Service(answer)), Receiver()
            receiver.listen()
            ends.callback(receiver.stop_listening)
            node = make_node(config=CONFIG.format(url=receiver.url(""), service=service.url, more=more.format(service=service.url),
                                                  answer=options and ", " + options), **settings)
            node.start()
            return node, service, receiver
        yield make


def look(node, doc):
    return node.show(doc, "state type sender receiver size contentType answerOf { id } error { code message }"
                          " children { items { id } } timeline { stage outcome what message }")


def await_state(node, doc, *states):
    return node.await_state(doc, *states, look=look, seconds=SECONDS)


def answers_to(node, doc):
    return [d["id"] for d in look(node, doc)["children"]["items"]]


def only_answer(node, doc):
    found = wait_for(lambda: answers_to(node, doc), node)
    assert len(found) == 1, found
    return found[0]


def says(seen, text):
    return any(text in (line["message"] or "") for line in seen["timeline"])


def overdue(node):
    return {a["object"]: a for a in node.graphql("{ alerts { code object count message } }")["alerts"]
            if a["code"] == "unanswered"}.get("orders:2")


@BOTH
def test_the_answer_goes_on_and_goes_back(world):
    node, service, receiver = world(shout)
    doc = node.accept("in", "banzai")
    assert says(await_state(node, doc, "delivered"), "the answer is a document of its own")
    seen = await_state(node, only_answer(node, doc), "delivered")
    assert (seen["sender"], seen["receiver"], seen["type"]) == ("tax", "acme", "reply")
    assert seen["answerOf"] == {"id": doc} and seen["contentType"] == "text/x-loud"
    for path in ("/hub", "/acme"):
        assert [r["body"] for r in receiver.wait_for(1, path=path)] == ["BANAAI"]
    assert service.count() == 1 and node.cli("doctor").returncode == 0


@BOTH
@pytest.mark.parametrize("size", [100 << 10, 5 << 20])
def test_large_answers(world, size):
    """Neither the step nor the document needs them in memory."""
    answer = (b"0123456789abcdef" * ((size >> 4) + 1))[:size]
    node, _, receiver = world(lambda _: (200, answer))
    doc = node.accept("in", "a")
    await_state(node, doc, "delivered")
    assert await_state(node, only_answer(node, doc), "delivered")["size"] == size
    for path in ("/hub", "/acme"):
        (came,) = receiver.wait_for(1, path=path)
        assert came["sha256"] == hashlib.sha256(answer).hexdigest()
    assert node.cli("doctor").returncode == 0


@BOTH
@pytest.mark.parametrize("size", [6, 200 << 10])
def test_a_later_step_that_fails_makes_it_once(world, size):
    """No run but the last makes a document; it is of the answer that was kept, also after a restart."""
    well = threading.Event()

    def answer(request):
        if request["path"] == "/second":
            return (200, b"done") if well.is_set() else (500, b"not yet")
        return 200, b"x" * size, [("Content-Type", "text/x-kept")]

    node, service, receiver = world(
        answer, more="      - call: {{ url: '{service}/second', breaker: {{ failures: 1000 }}, %s }}" %
        SOON.replace("{", "{{").replace("}", "}}"))

    def tries():
        return sum(r["path"] == "/second" for r in service.seen)

    doc = node.accept("in", "a")
    wait_for(lambda: tries() >= 3, node)
    assert not answers_to(node, doc)
    node.restart()
    before = tries()
    wait_for(lambda: tries() >= before + 2, node)
    assert not answers_to(node, doc)
    well.set()
    await_state(node, doc, "delivered")
    seen = await_state(node, only_answer(node, doc), "delivered")
    assert (seen["size"], seen["contentType"]) == (size, "text/x-kept")
    assert service.keys()[f"{doc}:call:2"] == 1
    assert len(receiver.wait_for(1, path="/acme")) == 1 and node.cli("doctor").returncode == 0


def test_a_dead_letter_has_none(world):
    """The outcome of its next run decides."""
    well = threading.Event()

    def answer(request):
        if request["path"] == "/second":
            return (200, b"done") if well.is_set() else (422, b"no")
        return shout(request)

    node, _, _ = world(answer, more="      - call: {{ url: '{service}/second' }}")
    doc = node.accept("in", "a")
    await_state(node, doc, "dead")
    assert not answers_to(node, doc)
    well.set()
    node.cli("docs", "retry", doc)
    await_state(node, doc, "delivered")
    await_state(node, only_answer(node, doc), "delivered")


@BOTH
@pytest.mark.parametrize("point", ["call.answered", "answers.written", "settle.written"])
def test_a_killed_node_makes_it_once(world, point):
    node, service, receiver = world(shout, environment={"WAYBILL_FAULT": f"{point}:kill:1"})
    with contextlib.suppress(http.client.HTTPException, OSError):  # it may die before it has answered
        node.post("in", "a")
    assert node.ended(SECONDS) != 0
    node.environment.clear()
    node.start()
    (doc,) = [d for d in node.documents() if look(node, d)["answerOf"] is None]
    await_state(node, doc, "delivered")
    await_state(node, only_answer(node, doc), "delivered")
    assert list(service.keys()) == [f"{doc}:call:2"] and len(receiver.wait_for(1, path="/acme")) == 1


@BOTH
@pytest.mark.proves("PR17")
def test_a_later_answer_of_the_system(world):
    """202: the chain goes on with it, and the answer is still to come, from the system alone."""
    node, _, _ = world(lambda r: (202, b"queued"), options="within: 1s")
    docs = [node.accept("in", f"a{n}") for n in range(2)]
    for doc in docs:
        assert says(await_state(node, doc, "delivered"), "an answer is awaited until")
        assert not answers_to(node, doc)
    node.kill()
    node.start()
    wait_for(lambda: (overdue(node) or {}).get("count") == 2, node)

    def answer_of(sender, value):
        late = node.accept("back", json.dumps({"from": sender, "answers": value}))
        return await_state(node, late, "delivered")["answerOf"]

    for value in (docs[0], f"{docs[0]}:call:2", f"{docs[0]}:call:1"):
        assert answer_of("other", value) is None
    assert answer_of("tax", f"{docs[0]}:call:1") is None
    assert overdue(node)["count"] == 2
    assert answer_of("tax", docs[0]) == {"id": docs[0]}
    assert answer_of("tax", f"{docs[1]}:call:2") == {"id": docs[1]}
    wait_for(lambda: not overdue(node), node)
    assert node.cli("doctor").returncode == 0


def test_an_answer_beyond_most(world):
    """The chain goes on: `most` of the step is another limit."""
    node, _, receiver = world(lambda _: (200, b"x" * 100), options="most: 99")
    doc = node.accept("in", "a")
    assert says(await_state(node, doc, "delivered"), "the answer is larger than 99 bytes")
    assert not answers_to(node, doc) and len(receiver.wait_for(1, path="/hub")) == 1
    wait_for(lambda: overdue(node), node)


def test_within_needs_a_system(tmp_path):
    file = tmp_path / "waybill.yaml"
    text = CONFIG.format(url="http://a.example", service="http://a.example", more="", answer=", within: 1h")
    file.write_text(text)
    assert run_program("check", str(file)).returncode == 0
    file.write_text(text.replace("system: tax, ", ""))
    got = run_program("check", str(file))
    assert got.returncode != 0 and "add `system: NAME` to the step" in got.stdout + got.stderr
    file.write_text(text.replace("system: tax, ", "system: nobody, "))
    got = run_program("check", str(file))
    assert got.returncode != 0 and "nobody" in got.stdout + got.stderr
