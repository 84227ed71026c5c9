"""`reply: receiver`: the document is stored, and the sender gets the answer of the receiver."""
import concurrent.futures
import contextlib

import pytest

from rig.receiver import Receiver
from running_node import Node
from wire import Wire, head, wait_until

POSTGRES = pytest.mark.stores("postgres")
SECONDS = 60
PLACES = 3
CUT = 64 << 10
CONFIG = """\
systems: { acme: {}, hub: {} }
types: { order: {}, dying: {}, quiet: {}, shelved: {}, dropped: {}, two: {}, odd: {} }
gateways:
  in:    { kind: http, auth: none, reply: receiver, wait: 1m, @find }
  quick: { kind: http, auth: none, reply: receiver, wait: 300ms, @find }
  keyed: { kind: http, reply: receiver, @find }
endpoints:
  api:   { kind: http, url: "@url/api", retry: { first: 20ms, most: 50ms }, outcome: { 500: rejected },
           breaker: { failures: 1000, rejections: 0 } }
  dying: { kind: http, url: "@url/dying", retry: { first: 1ms, most: 1ms, for: 5ms }, breaker: { failures: 1000 } }
  quiet: { kind: http, url: "@url/quiet", keep: { answers: none } }
  other: { kind: http, url: "@url/other" }
  shelf: { kind: file, system: hub, path: "@folder/shelf" }
routes:
  - { name: orders, when: { type: order }, do: [ { deliver: api } ] }
  - { name: dying, when: { type: dying }, do: [ { deliver: dying } ] }
  - { name: quiet, when: { type: quiet }, do: [ { deliver: quiet } ] }
  - { name: shelved, when: { type: shelved }, do: [ { deliver: shelf } ] }
  - { name: dropped, when: { type: dropped }, do: [ { drop: "not wanted" } ] }
  - { name: two, when: { type: two }, do: [ { deliver: [api, other] } ] }
""".replace("@find", 'extract: { sender: "value:acme", receiver: "value:hub", type: "header:X-Type" }')
WAITING = "waybill_intake_waiting"


def config_of(receiver, folder):
    return CONFIG.replace("@url", receiver.url("")).replace("@folder", str(folder))


class Place:
    """A node, its receiver, and threads for requests that wait."""

    def __init__(self, node, receiver, threads):
        self.node, self.receiver, self.threads = node, receiver, threads

    def send(self, kind="order", body=b"x", gateway="in", **headers):
        fields = {"X-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.node.request("POST", f"/in/{gateway}", body, fields, timeout=SECONDS)

    def later(self, *args, **named):
        """The same on a thread of its own."""
        return self.threads.submit(self.send, *args, **named)

    def await_waiting(self, count):
        wait_until(lambda: self.node.metrics()[WAITING] == count, SECONDS, f"{count} requests wait")


@contextlib.contextmanager
def place_of(node, receiver):
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        yield Place(node, receiver, threads)


@pytest.fixture(name="shared", scope="module")
def shared_node(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reply")
    (folder / "node").mkdir()
    with Receiver() as receiver:
        node = Node(folder / "node", config=config_of(receiver, folder),
                    options=f"limits: {{ replies: {PLACES} }}")
        node.start()
        try:
            with place_of(node, receiver) as place:
                yield place
        finally:
            node.stop()


@pytest.fixture(name="place")
def clean_place(shared):
    """The node of all tests, with a receiver that takes everything."""
    for path in ("/api", "/dying", "/quiet", "/other"):
        shared.receiver.behave(path, "ok")
    yield shared
    shared.await_waiting(0)


def look(node, doc):
    return node.show(doc, "state timeline { stage outcome message }")


def id_in(answer):
    assert answer.headers["Waybill-Document"]
    return answer.headers["Waybill-Document"]


def error_of(answer):
    """The id and the code of one of our own answers."""
    assert answer.json["document"] == id_in(answer), answer.body
    return answer.json["error"]["code"]


@pytest.mark.smoke
@pytest.mark.parametrize("status, ctype, body", [
    (200, "text/plain; charset=utf-8", "grüezi"),
    (201, "application/json", '{"order": 7}'),
    (400, "application/problem+json", '{"title": "no such article"}'),
    (422, "text/html", "<p>no</p>"),
    (500, "text/plain", "broken"),
    (202, "text/plain", ""),
])
def test_the_sender_gets_status_type_and_bytes(place, status, ctype, body):
    place.receiver.behave("/api", "typed", status, ctype, body)
    answer = place.send()
    assert (answer.status, answer.body) == (status, body.encode())
    if body:
        assert answer.headers["Content-Type"] == ctype
    seen = place.node.await_state(id_in(answer), "delivered" if status < 300 else "dead", look=look)
    assert not [line for line in seen["timeline"] if "caller gone" in (line["message"] or "")]
    assert "Idempotent-Replay" not in answer.headers and "Waybill-Answer-Cut" not in answer.headers


def test_no_content_and_long_answers(place):
    place.receiver.behave("/api", "status", 204)
    answer = place.send()
    assert answer.status == 204 and answer.body == b""
    words = "0123456789" * 10000
    place.receiver.behave("/api", "typed", 200, "text/plain", words)
    answer = place.send()
    assert answer.status == 200 and answer.body == words[:CUT].encode()
    assert answer.headers["Waybill-Answer-Cut"] == str(len(words))
    place.receiver.behave("/quiet", "typed", 201, "text/plain", "secret")
    answer = place.send("quiet")  # `keep: { answers: none }` keeps none, so there is none to give
    assert (answer.status, answer.body) == (201, b"")


def test_it_waits_for_the_attempt_that_ends_it(place):
    place.receiver.behave("/api", "typed", 200, "text/plain", "at last")
    place.receiver.behave("/api", "status", 503, times=3)
    answer = place.send()
    assert (answer.status, answer.body) == (200, b"at last")


def test_of_several_deliveries_the_first_answers(place):
    place.receiver.behave("/api", "typed", 201, "text/plain", "first")
    place.receiver.behave("/other", "status", 204)
    answer = place.send("two")
    assert (answer.status, answer.body) == (201, b"first")


def test_what_has_no_answer(place):
    shelved = place.send("shelved")
    assert shelved.status == 200 and shelved.json == {"document": id_in(shelved)}
    dropped = place.send("dropped")
    assert dropped.status == 202 and dropped.json == {"document": id_in(dropped)}


def test_a_dead_letter_is_502_with_its_reason(place):
    lost = place.send("odd")
    assert lost.status == 502 and error_of(lost) == "no_route"
    place.receiver.behave("/dying", "status", 503)
    dead = place.send("dying")
    assert dead.status == 502 and error_of(dead) == "retries_exhausted" and "503" in dead.json["error"]["message"]
    assert place.node.await_state(id_in(dead), "dead", look=look)
    place.receiver.behave("/api", "redirect", 302)
    elsewhere = place.send()  # a redirection is not for the sender
    assert elsewhere.status == 502 and error_of(elsewhere) == "rejected"


def test_after_wait_it_is_504_and_the_document_goes_on(place):
    place.receiver.behave("/api", "status", 503)
    late = place.send(gateway="quick", Idempotency_Key="late")
    assert late.status == 504 and error_of(late) == "no_answer_yet"
    assert late.headers["Location"] == f"/documents/{id_in(late)}"
    place.receiver.behave("/api", "typed", 201, "text/plain", "made")
    place.node.await_state(id_in(late), "delivered", look=look, seconds=SECONDS)
    again = place.send(gateway="quick", Idempotency_Key="late")  # the kept answer
    assert (again.status, again.body, id_in(again)) == (201, b"made", id_in(late))
    assert again.headers["Idempotent-Replay"] == "true"
    assert len([r for r in place.receiver.requests("/api") if r["body"] == "x"
                and r["headers"]["waybill-document"] == id_in(late) and r["name"] == "typed"]) == 1


def test_a_repeated_key_waits_with_the_first(place):
    place.receiver.behave("/api", "status", 503)
    first = place.later(Idempotency_Key="twice")
    place.await_waiting(1)
    second = place.later(Idempotency_Key="twice")
    place.await_waiting(2)
    other = place.send(body=b"y", Idempotency_Key="twice")
    assert other.status == 422  # needs no place
    place.receiver.behave("/api", "typed", 200, "text/plain", "both")
    both = [first.result(SECONDS), second.result(SECONDS)]
    assert [(a.status, a.body) for a in both] == [(200, b"both")] * 2 and id_in(both[0]) == id_in(both[1])
    assert sorted("Idempotent-Replay" in a.headers for a in both) == [False, True]


def test_too_many_that_wait_are_refused_before_anything_is_stored(place):
    place.receiver.behave("/api", "status", 503)
    before = len(place.node.documents()) + PLACES
    waiting = [place.later() for _ in range(PLACES)]
    place.await_waiting(PLACES)
    wait_until(lambda: len(place.node.documents()) == before, SECONDS, "all are stored")
    refused = place.send()
    assert refused.status == 503 and refused.json["error"]["code"] == "too_many_waiting"
    assert int(refused.headers["Retry-After"]) > 0
    assert len(place.node.documents()) == before
    place.receiver.behave("/api", "ok")
    assert [w.result(SECONDS).status for w in waiting] == [200] * PLACES
    place.await_waiting(0)
    assert place.send().status == 200


def test_the_sender_may_go_away(place):
    place.receiver.behave("/api", "status", 503)
    with Wire(place.node) as wire:
        wire.send(head("/in/in", "X-Type: order", "Content-Length: 4"), b"gone")
        wait_until(lambda: [r for r in place.receiver.requests("/api") if r["body"] == "gone"], SECONDS)
        doc = place.node.documents()[0]
    place.receiver.behave("/api", "ok")
    place.node.await_state(doc, "delivered", look=look, seconds=SECONDS)


def test_who_may_send_is_as_ever(place):
    assert place.send(gateway="keyed").status == 401
    key, _ = place.node.add_key("keyed")
    assert place.send(gateway="keyed", Authorization=f"Bearer {key}").status == 200
    assert place.send(gateway="keyed", Authorization="Bearer wrong").status == 401


@pytest.mark.proves("IN8")
def test_after_a_crash_the_document_goes_on_and_says_caller_gone(make_node, receiver, tmp_path):
    receiver.behave("/api", "status", 503)
    node = make_node(config=config_of(receiver, tmp_path))
    node.start()
    with Wire(node, timeout=SECONDS) as wire:
        wire.send(head("/in/in", "X-Type: order", "Content-Length: 1"), b"x")
        receiver.wait_for(2, seconds=SECONDS)
        wait_until(lambda: node.metrics()[WAITING] == 1, SECONDS)
        doc = node.documents()[0]
        node.kill()
        assert wire.is_closed()  # the sender sees the end of the connection
    node.start()
    receiver.behave("/api", "typed", 200, "text/plain", "taken")
    seen = node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    gone = [line for line in seen["timeline"] if (line["message"] or "").startswith("caller gone")]
    assert len(gone) == 1 and gone[0]["stage"] == "recovery", seen
    assert len([r for r in receiver.requests("/api") if r["name"] == "typed"]) == 1
    assert len(node.documents()) == 1


@pytest.mark.proves("IN8")
def test_a_node_that_stops_answers_those_who_wait(make_node, receiver, tmp_path):
    receiver.behave("/api", "status", 503)
    node = make_node(config=config_of(receiver, tmp_path))
    node.start()
    with place_of(node, receiver) as place:
        waiting = place.later()
        place.await_waiting(1)
        assert node.stop() == 0
        answer = waiting.result(SECONDS)
    assert answer.status == 504 and error_of(answer) == "stopping"
    receiver.behave("/api", "ok")
    node.start()
    node.await_state(id_in(answer), "delivered", look=look, seconds=SECONDS)


@POSTGRES
def test_it_does_not_matter_which_node_delivers(make_node, receiver, tmp_path):
    text = config_of(receiver, tmp_path).replace('/api", ', '/api", area: dmz, ')
    inner, outer = (make_node(config=text, options=f"area: {area}") for area in ("internal", "dmz"))
    inner.start()
    receiver.behave("/api", "typed", 201, "application/json", '{"by": "the other"}')
    with place_of(inner, receiver) as place:
        waiting = [place.later(body=b"%d" % n) for n in range(5)]
        place.await_waiting(5)
        assert receiver.requests() == []
        outer.start()
        answers = [w.result(SECONDS) for w in waiting]
        assert [(a.status, a.json) for a in answers] == [(201, {"by": "the other"})] * 5
        assert len({id_in(a) for a in answers}) == 5
        receiver.behave("/api", "status", 422, None, "no")
        assert place.send().status == 422
    assert inner.metrics()['waybill_deliveries_total{outcome="delivered"}'] == 0
    assert outer.metrics()['waybill_deliveries_total{outcome="delivered"}'] == 5


def test_without_reply_receiver_wait_is_a_mistake(program, tmp_path):
    file = tmp_path / "waybill.yaml"
    file.write_text("gateways: { a: { kind: http, wait: 5s } }\n")
    done = program("check", file)
    assert done.returncode != 0 and "only used with `reply: receiver`" in done.stdout + done.stderr
