"""Limits that count: concurrency over all nodes; rates of callers; connections that are kept free."""
import contextlib
import http.server
import threading

import pytest

from wire import Wire, head, wait_until

POSTGRES = pytest.mark.stores("postgres")
SECONDS = 60

CONFIG = """\
systems:
  hub: {{ limits: {{ concurrency: {most} }} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub" }} }}
endpoints:
  api: {{ kind: http, url: "{url}", timeout: 120s, retry: {{ first: 50ms, most: 100ms }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


class Crowd:
    """A receiver that counts how many requests it has at once, and answers `free` of them."""

    def __init__(self):
        crowd = self
        self.lock = threading.Condition()
        self.now = self.most = self.done = self.free = 0
        self.open = False

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                crowd.visit()
                with contextlib.suppress(OSError):
                    self.send_response(200)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/in"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def visit(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.lock.wait_for(lambda: self.open or self.free > 0)
            self.free -= not self.open
            self.now -= 1
            self.done += 1

    def let(self, count=None):
        """Answer so many; None: all from now on."""
        with self.lock:
            self.open = count is None
            self.free += count or 0
            self.lock.notify_all()

    def close(self):
        self.let()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def crowd():
    one = Crowd()
    yield one
    one.close()


@pytest.fixture
def nodes(make_node, crowd):
    def start(most, count=2):
        made = [make_node(config=CONFIG.format(url=crowd.url, most=most)) for _ in range(count)]
        for one in made:
            one.start()
        return made
    yield start
    crowd.let()  # or their stop would wait for the sends


def delivered(node):
    page = node.graphql('{ documents(first: 200, filter: { state: "delivered" }) { items { id } } }')
    return len(page["documents"]["items"])


@POSTGRES
def test_concurrency_is_that_of_all_nodes(nodes, crowd):
    """Both nodes have more than enough to send; the receiver never gets more than its limit."""
    both = nodes(most=4)
    for i in range(20):
        for one in both:
            one.accept("in", b"%d" % i)
    wait_until(lambda: crowd.now == 4, SECONDS, "all slots are used")
    for n in range(1, 6):
        crowd.let(4)
        wait_until(lambda n=n: crowd.done == 4 * n and crowd.now == 4, SECONDS, "the next four")
    crowd.let()
    wait_until(lambda: delivered(both[0]) == 40, SECONDS, "all are delivered")
    assert crowd.most == 4


@POSTGRES
def test_a_node_without_slots_parks_for_the_other(nodes, crowd):
    """With a concurrency of one the node that has the slot sends what both took in."""
    one, two = nodes(most=1)
    one.accept("in", b"first")
    wait_until(lambda: crowd.now == 1, SECONDS, "the slot is used")
    for i in range(5):
        two.accept("in", b"%d" % i)
    crowd.let()
    wait_until(lambda: delivered(one) == 6, SECONDS, "all are delivered")
    assert crowd.most == 1


@POSTGRES
def test_slots_go_where_the_work_is(nodes, crowd):
    """A node gives back what it does not use."""
    one, two = nodes(most=4)
    one.accept("in", b"first")
    wait_until(lambda: crowd.now == 1, SECONDS, "it is being sent")
    for i in range(6):
        two.accept("in", b"%d" % i)
    wait_until(lambda: crowd.now == 4, SECONDS, "the other node uses the rest")
    crowd.let()
    wait_until(lambda: delivered(one) == 7, SECONDS, "all are delivered")
    assert crowd.most == 4


@POSTGRES
def test_the_slots_of_a_dead_node_come_back(nodes, crowd):
    one, two = nodes(most=2)
    for i in range(2):
        one.accept("in", b"%d" % i)
    wait_until(lambda: crowd.now == 2, SECONDS, "the slots are used")
    one.kill()
    one.start()  # proves that its predecessor is gone; else its lease would have to end
    two.accept("in", b"another")
    crowd.let()
    wait_until(lambda: delivered(two) == 3, SECONDS, "the other node goes on")


@POSTGRES
def test_a_node_that_cannot_send_takes_no_slots(make_node, crowd):
    """It stores what only nodes of another area may send, and leaves the only slot to them."""
    config = CONFIG.format(url=crowd.url, most=1).replace("kind: http, url", "kind: http, area: internal, url")
    crowd.let()
    outer = make_node(config=config, options="area: dmz")
    outer.start()
    for i in range(3):
        outer.accept("in", b"%d" % i)
    inner = make_node(config=config, options="area: internal")
    inner.start()
    wait_until(lambda: delivered(inner) == 3, SECONDS, "the node of the area sends them")
    assert crowd.most == 1


@pytest.mark.stores("sqlite", "postgres")
def test_a_single_node_has_them_all(nodes, crowd):
    node, = nodes(most=5, count=1)
    for i in range(8):
        node.accept("in", b"%d" % i)
    wait_until(lambda: crowd.now == 5, SECONDS, "all slots are used")
    crowd.let()
    wait_until(lambda: delivered(node) == 8, SECONDS, "all are delivered")
    assert crowd.most == 5


# ---- callers --------------------------------------------------------------------------------------


def one_caller_of_two(node, gateway):
    greedy, other = ({"Authorization": f"Bearer {node.add_key(gateway)[0]}"} for _ in range(2))
    wait_until(lambda: node.post(gateway, b"x", other).status != 401, what="the key is known")
    answers = [node.post(gateway, b"x", greedy) for _ in range(4)]
    assert [a.status for a in answers] == [202, 202, 429, 429]
    assert answers[2].json["error"]["code"] == "rate_limit"
    assert int(answers[2].headers["Retry-After"]) > 60
    assert node.post(gateway, b"x", other).status == 202  # its second: it has a rate of its own
    assert node.post(gateway, b"x", other).status == 429


@pytest.mark.config("gateways: { each: { kind: http, auth: key, limits: { rate: 2/h, burst: 2 } } }\n")
def test_a_rate_is_that_of_one_caller(node):
    one_caller_of_two(node, "each")


@pytest.mark.config("gateways: { all: { kind: http, auth: key, limits: { rate: 2/h, burst: 2, total: 100/s } } }\n")
def test_a_rate_is_that_of_one_caller_beside_a_total(node):
    one_caller_of_two(node, "all")


@pytest.mark.config("gateways: { all: { kind: http, auth: none, limits: { total: 2/h } } }\n")
def test_a_total_is_that_of_all_callers(node):
    assert node.post("all", b"x").status == 202
    refused = node.post("all", b"x")
    assert refused.status == 503 and refused.json["error"]["code"] == "total_limit"
    assert int(refused.headers["Retry-After"]) > 60


# ---- connections ----------------------------------------------------------------------------------


OPEN = pytest.mark.config("gateways: { open: { kind: http, auth: none } }\n")
FEW = pytest.mark.node_options("limits: { connections: 20 }")


@OPEN
@FEW
def test_silent_connections_give_way(node):
    """So many that say nothing: whoever has something to say gets through."""
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(Wire(node))
        for _ in range(5):
            with Wire(node) as w:
                w.send(head("/in/open", "Content-Length: 1"), b"x")
                assert w.answer().status == 202
        assert node.metrics()['waybill_http_refused_total{reason="silent_connection"}'] >= 5


@OPEN
@FEW
@pytest.mark.proves("XC3")
def test_people_and_probes_get_through(node):
    """All connections are taken by senders in the middle of their documents."""
    with contextlib.ExitStack() as stack:
        for _ in range(20):  # each is asked to go on: no longer one that may give way
            w = stack.enter_context(Wire(node)).send(head("/in/open", "Content-Length: 9", "Expect: 100-continue"))
            assert w.read() and w.bytes.startswith(b"HTTP/1.1 100 ")
            w.send(b"x")
        with Wire(node) as w:
            w.send(head("/in/open", "Content-Length: 1"), b"x")
            got = w.answer()
            assert got.status == 503 and got.code == "too_many_connections"
        assert node.get("/healthz").status == 200
        assert node.get("/readyz").status == 200
        assert node.graphql("{ about { version } }")["about"]["version"]
        assert node.cli("docs", "ls").returncode == 0
