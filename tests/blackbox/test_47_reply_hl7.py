"""`reply: receiver` over MLLP: the acknowledgement is the answer of the receiver, or follows from what became of it."""
import concurrent.futures

import pytest

from mllp import SECONDS, Peer, frame, message
from peers import free_port
from rig.receiver import Receiver as WebReceiver
from running_node import Node
from test_43_mllp_out import Receiver, ack
from wire import wait_until

CONFIG = """\
systems: { lab: {}, ehr: {} }
types: { direct: {}, asked: {}, web: {}, odd: {}, response: {} }
gateways:
  hl7:   { kind: mllp, listen: "127.0.0.1:@port", reply: receiver, wait: 1m, @find }
  hasty: { kind: mllp, listen: "127.0.0.1:@hasty", reply: receiver, wait: 300ms, @find }
  http:  { kind: http, auth: none, reply: receiver, wait: 1m, @find }
endpoints:
  far:   { kind: mllp, address: "@far", retry: { first: 20ms, most: 50ms }, breaker: { failures: 1000, rejections: 0 } }
  asked: { kind: mllp, address: "@far", answer: { type: response } }
  web:   { kind: http, url: "@url/web", breaker: { rejections: 0 } }
  shelf: { kind: file, system: lab, path: "@folder/shelf" }
routes:
  - { name: direct, when: { type: direct }, do: [ { deliver: far } ] }
  - { name: asked, when: { type: asked }, do: [ { deliver: asked } ] }
  - { name: web, when: { type: web }, do: [ { deliver: web } ] }
  - { name: response, when: { type: response }, do: [ { deliver: shelf } ] }
""".replace("@find", 'extract: { sender: "value:lab", receiver: "value:ehr", type: "hl7:NTE-3" }')
RESPONSE = b"MSH|^~\\&|EHR|C|LAB|H|2026||RSP^K11|9|P|2.5\rMSA|AA|@\rQAK|1|OK\rPID|1||4711\r"


class Place:
    def __init__(self, node, far, web, ports, folder):
        self.node, self.far, self.web, self.folder = node, far, web, folder
        self.port, self.hasty = ports

    def ask(self, control, kind, port=None):
        with Peer(port or self.port) as peer:
            return peer.ask(message(control, kind))

    def raw(self, control, kind):
        """The acknowledgement byte for byte, which need not be one of ours."""
        with Peer(self.port) as peer:
            peer.send(frame(message(control, kind)))
            while b"\x1c\r" not in peer.bytes:
                assert peer.read(), peer.bytes
            return peer.bytes

    def await_waiting(self, count):
        wait_until(lambda: self.node.metrics()["waybill_intake_waiting"] == count, SECONDS)

    def document_of(self, control):
        """The newest document with this control id."""
        return next(doc for doc in self.node.documents()
                    if f"|{control}|".encode() in self.node.get(f"/documents/{doc}/payload").body)


@pytest.fixture(name="place", scope="module")
def one_place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hl7")
    (folder / "node").mkdir()
    ports = free_port(), free_port()
    far = Receiver()
    with WebReceiver() as web:
        text = CONFIG
        for name, value in (("@port", ports[0]), ("@hasty", ports[1]), ("@far", far.address), ("@url", web.url("")),
                            ("@folder", folder)):
            text = text.replace(name, str(value))
        node = Node(folder / "node", config=text, options="limits: { replies: 2 }")
        node.start()
        try:
            yield Place(node, far, web, ports, folder)
        finally:
            node.stop()
            far.close()


@pytest.fixture(autouse=True)
def usual(place):
    place.far.behave = ack
    place.web.behave("/web", "ok")
    yield
    place.await_waiting(0)


def look(node, doc):
    return node.show(doc, "state")


@pytest.mark.smoke
@pytest.mark.parametrize("code", ["AA", "CA", "AR"])
def test_the_sender_gets_the_acknowledgement_of_the_receiver(place, code):
    place.far.behave = lambda body: ack(body, code, text="|said by the receiver")
    control = f"own-{code}"
    assert place.raw(control, "direct") == ack(message(control, "direct"), code, text="|said by the receiver")


def test_a_query_gets_its_response_which_may_be_a_document_too(place):
    place.far.behave = lambda body: frame(RESPONSE.replace(b"@", body.split(b"|")[9]))
    assert place.raw("query", "direct") == frame(RESPONSE.replace(b"@", b"query"))
    assert place.raw("kept", "asked") == frame(RESPONSE.replace(b"@", b"kept"))
    wait_until(lambda: (place.folder / "shelf").exists() and any((place.folder / "shelf").iterdir()), SECONDS)
    response, = (place.folder / "shelf").iterdir()
    assert response.read_bytes() == RESPONSE.replace(b"@", b"kept")


def test_it_waits_while_the_receiver_has_errors(place):
    before = len(place.far.messages)
    place.far.behave = lambda body: ack(body, "AE" if len(place.far.messages) < before + 3 else "AA", text="|now")
    got = place.ask("errors", "direct")
    assert (got.code, got.control, got.message) == ("AA", "errors", "now")
    assert len(place.far.messages) == before + 3


def test_other_answers_become_our_own_acknowledgement(place):
    assert (place.ask("w1", "web").code, place.ask("w1", "web").message) == ("AA", None)
    place.web.behave("/web", "typed", 200, "application/hl7-v2", "MSH|^~\\&|a|b|c|d|2026||ACK|1|P|2.5\rMSA|AR|another\r")
    got = place.ask("w2", "web")
    assert (got.code, got.control) == ("AA", "w2"), "an acknowledgement of another message was passed on"
    place.web.behave("/web", "status", 400)
    got = place.ask("w3", "web")
    assert got.code == "AR" and place.document_of("w3") in got.message
    got = place.ask("w4", "odd")
    assert got.code == "AE" and place.document_of("w4") in got.message and "no_route" in got.message


def test_nothing_within_wait_is_an_error_and_the_same_message_gets_the_answer(place):
    place.far.behave = lambda body: ack(body, "AE")
    got = place.ask("late", "direct", place.hasty)
    doc = place.document_of("late")
    assert got.code == "AE" and doc in got.message
    place.far.behave = lambda body: ack(body, "AA", text="|at last")
    place.node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    again = place.ask("late", "direct", place.hasty)
    assert (again.code, again.message) == ("AA", "at last")
    assert len([m for m in place.far.messages if b"|late|" in m and m == message("late", "direct")]) >= 2


def test_messages_of_a_connection_wait_one_by_one(place):
    place.far.behave = lambda body: ack(body, "AE")
    with Peer(place.port) as peer:
        peer.send(frame(message("first", "direct")), frame(message("second", "direct")))
        place.await_waiting(1)
        assert not any(b"|second|" in m for m in place.far.messages)
        place.far.behave = ack
        assert [peer.ack().control, peer.ack().control] == ["first", "second"]


def test_too_many_that_wait_get_an_error_and_nothing_is_stored(place):
    place.far.behave = lambda body: ack(body, "AE")
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(place.ask, f"full-{n}", "direct") for n in range(2)]
        place.await_waiting(2)
        before = len(place.node.documents())
        got = place.ask("full", "direct")
        assert got.code == "AE" and "wait" in got.message and len(place.node.documents()) == before
        place.far.behave = ack
        assert [w.result(SECONDS).code for w in waiting] == ["AA", "AA"]


def test_over_http_the_answer_has_a_status_of_ours(place):
    body = message("bridge", "direct")
    got = place.node.request("POST", "/in/http", body, {"Content-Type": "application/hl7-v2"}, timeout=SECONDS)
    assert (got.status, got.headers["Content-Type"]) == (200, "application/hl7-v2")
    assert frame(got.body) == ack(body)
    place.far.behave = lambda body: ack(body, "AR")
    got = place.node.request("POST", "/in/http", message("no", "direct"), timeout=SECONDS)
    assert got.status == 422 and b"MSA|AR|no" in got.body


def test_a_sender_that_leaves_gives_its_place_back_when_the_receiver_answers(place):
    place.far.behave = lambda body: ack(body, "AE")
    with Peer(place.port) as peer:
        peer.send(frame(message("gone", "direct")))
        wait_until(lambda: message("gone", "direct") in place.far.messages, SECONDS)
    place.far.behave = ack
    place.node.await_state(place.document_of("gone"), "delivered", look=look, seconds=SECONDS)
