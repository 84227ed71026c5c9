"""While it is sent: a document is found, shown and counted during its first send, on every node."""
import contextlib
import http.server
import json
import threading

import pytest

from test_87_rights import make_role, somebody
from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
SECONDS = 60

CONFIG = """\
systems:
  acme: {{}}
  hub:  {{}}
  shop: {{}}
types:
  order: {{ search: {{ po: "json:/po" }} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type" }}
endpoints:
  api: {{ kind: http, url: "{url}", timeout: 120s, retry: {{ first: 50ms, most: 100ms }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


class Gate:
    """A receiver that answers when it is told to."""

    def __init__(self):
        gate = self
        self.came, self.open, self.status = [], threading.Event(), 200

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                gate.came.append(self.rfile.read(int(self.headers["Content-Length"])))
                gate.open.wait()
                with contextlib.suppress(OSError):
                    self.send_response(gate.status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/in"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def close(self):
        self.open.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def gate():
    one = Gate()
    yield one
    one.close()


@pytest.fixture
def node(make_node, gate):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=gate.url))
    one.start()
    yield one
    gate.open.set()  # or its stop would wait for the send


def send(node, gate, **more):
    """A document that is being sent; its id."""
    before = len(gate.came)
    doc = node.accept("in", json.dumps({"from": "acme", "to": "hub", "type": "order", "po": "4711", **more}))
    wait_until(lambda: len(gate.came) > before, SECONDS, "the send")
    return doc


def listed(node, *filters):
    got = node.cli("docs", "ls", "--json", *filters)
    assert got.returncode == 0, got.stderr
    return [json.loads(line) for line in got.stdout.splitlines()]


def ids(node, *filters):
    return [d["id"] for d in listed(node, *filters)]


def system(node, name="hub"):
    return node.graphql("query($n: String!) { system(name: $n) { waiting retrying sending } }", n=name)["system"]


def endpoint(node):
    found, = node.graphql("{ endpoints { active waiting } }")["endpoints"]
    return found


def is_known(node, doc):
    return doc in ids(node, "--receiver", "hub", "--state", "active")


@BOTH
def test_it_is_found_while_it_is_sent(node, gate):
    doc = send(node, gate)
    wait_until(lambda: is_known(node, doc), SECONDS, "it is found by its receiver and state")
    one, = listed(node, "--receiver", "hub")
    assert (one["sender"], one["receiver"], one["type"], one["state"]) == ("acme", "hub", "order", "active")
    for found in (["--sender", "acme"], ["--type", "order"], ["--where", "po=4711"], ["--state", "active"]):
        assert ids(node, *found) == [doc], found
    for other in (["--receiver", "shop"], ["--state", "received"], ["--where", "po=1"]):
        assert ids(node, *other) == [], other
    gate.open.set()
    wait_until(lambda: ids(node, "--receiver", "hub", "--state", "delivered") == [doc], SECONDS, "delivered")
    assert ids(node, "--state", "active") == []


@BOTH
def test_its_delivery_is_shown_while_it_is_sent(node, gate):
    doc = send(node, gate)
    fields = "state sender receiver type deliveries { id state endpoint system attempts }"
    wait_until(lambda: node.show(doc, fields)["deliveries"], SECONDS, "the delivery is shown")
    seen = node.show(doc, fields)
    assert seen["state"] == "active"
    assert seen["deliveries"] == [{"id": f"{doc}.api", "state": "sending", "endpoint": "api", "system": "hub",
                                   "attempts": 1}]
    gate.open.set()
    wait_until(lambda: node.show(doc, "state")["state"] == "delivered", SECONDS, "delivered")
    assert [d["state"] for d in node.show(doc, fields)["deliveries"]] == ["delivered"]


@BOTH
def test_people_with_a_right_for_its_system_see_it(node, gate):
    make_role(node, "hub-desk", {"see", "hold"}, ["hub"])
    make_role(node, "shop-desk", {"see", "hold"}, ["shop"])
    desk, other = somebody(node, "hub-desk"), somebody(node, "shop-desk")
    query = "{ documents(first: 10) { items { id state } } }"
    doc = send(node, gate)
    wait_until(lambda: desk.data(query)["documents"]["items"] == [{"id": doc, "state": "active"}], SECONDS, "seen")
    assert other.data(query)["documents"]["items"] == []
    assert desk.data("query($id: ID!) { document(id: $id) { receiver } }", id=doc)["document"] == {"receiver": "hub"}
    placed = desk.data('mutation { holdAdd(system: "hub", reason: "test", until: "2099-01-01T00:00:00Z")'
                       " { sending hold { sending } } }")["holdAdd"]
    assert placed["sending"] == [f"{doc}.api"]


@BOTH
def test_it_is_counted_while_it_is_sent(node, gate):
    send(node, gate)
    wait_until(lambda: system(node)["sending"] == 1, SECONDS, "it is counted")
    assert system(node) == {"waiting": 0, "retrying": 0, "sending": 1}
    assert endpoint(node) == {"active": 1, "waiting": 0}
    held, = [json.loads(line) for line in
             node.cli("hold", "add", "hub", "--reason", "test", "--until", "1h", "--json").stdout.splitlines()]
    assert held["hold"]["sending"] == 1
    gate.open.set()
    wait_until(lambda: system(node)["sending"] == 0, SECONDS, "it is over")


@BOTH
def test_a_second_attempt_is_shown_too(node, gate):
    """A delivery that has a row: it is being sent, and counted once."""
    gate.status = 503
    gate.open.set()
    doc = send(node, gate)
    gate.open.clear()
    before = len(gate.came)
    wait_until(lambda: len(gate.came) > before, SECONDS, "another attempt")
    look = "deliveries { state }"
    wait_until(lambda: node.show(doc, look)["deliveries"] == [{"state": "sending"}], SECONDS, "it is shown so")
    wait_until(lambda: system(node)["sending"] == 1, SECONDS, "it is counted")
    assert system(node) == {"waiting": 0, "retrying": 0, "sending": 1}
    gate.status = 200
    gate.open.set()
    wait_until(lambda: ids(node, "--state", "delivered") == [doc], SECONDS, "delivered")


@POSTGRES
def test_another_node_knows_it(make_node, gate):
    one, two = (make_node(config=CONFIG.format(url=gate.url)) for _ in range(2))
    one.start()
    two.start()
    doc = send(one, gate)
    wait_until(lambda: is_known(two, doc), SECONDS, "the other node finds it")
    wait_until(lambda: endpoint(two)["active"] == 1, SECONDS, "the other node counts it")
    assert system(two)["sending"] == 1
    one.kill()  # its claim is rescued, and what it noted does not stay
    wait_until(lambda: len(gate.came) == 2, SECONDS, "the other node sends it")
    assert is_known(two, doc)
    gate.open.set()
    wait_until(lambda: ids(two, "--state", "delivered") == [doc], SECONDS, "delivered")
    wait_until(lambda: system(two)["sending"] == 0, SECONDS, "nothing is left")


@BOTH
def test_it_is_found_after_a_crash(make_node, gate):
    node = make_node(config=CONFIG.format(url=gate.url))  # pylint: disable=redefined-outer-name
    node.start()
    doc = send(node, gate)
    wait_until(lambda: is_known(node, doc), SECONDS, "it is found")
    node.kill()
    node.start()
    assert is_known(node, doc)
    wait_until(lambda: len(gate.came) == 2, SECONDS, "it is sent again")
    gate.open.set()
    wait_until(lambda: ids(node, "--receiver", "hub", "--state", "delivered") == [doc], SECONDS, "delivered")


@BOTH
def test_it_is_found_while_its_steps_run(make_node, gate):
    """It hangs behind the extraction; nothing is routed, processed or sent."""
    node = make_node(config=CONFIG.format(url=gate.url),  # pylint: disable=redefined-outer-name
                     environment={"WAYBILL_FAULT": "road.route:hang_on:4711"})
    node.start()
    doc = node.accept("in", json.dumps({"from": "acme", "to": "hub", "type": "order", "po": "4711"}))
    wait_until(lambda: is_known(node, doc), SECONDS, "it is found by its receiver and state")
    for found in (["--sender", "acme"], ["--type", "order"], ["--where", "po=4711"], ["--state", "active"]):
        assert ids(node, *found) == [doc], found
    assert ids(node, "--state", "received") == []
    make_role(node, "hub-desk", {"see"}, ["hub"])
    seen = somebody(node, "hub-desk").data("{ documents(first: 10) { items { id state receiver } } }")
    assert seen["documents"]["items"] == [{"id": doc, "state": "active", "receiver": "hub"}]
    assert node.show(doc, "state deliveries { state }") == {"state": "active", "deliveries": []}
    node.kill()
    node.environment.pop("WAYBILL_FAULT")
    node.start()
    assert is_known(node, doc)
    gate.open.set()
    wait_until(lambda: ids(node, "--receiver", "hub", "--state", "delivered") == [doc], SECONDS, "delivered")
    assert len(gate.came) == 1
