"""The step `call`: an HTTP service changes a document within its chain.

The service is a real HTTP server of the test: a function gives the answer to each request.
"""
import collections
import contextlib
import hashlib
import http.client
import http.server
import json
import pathlib
import sys
import threading
import time

import pytest
from running_node import run_program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
SECONDS = 90
SOON = "retry: { first: 20ms, most: 100ms }"

CONFIG = """\
systems: {{ hub: {{}} }}
types: {{ order: {{}}, other: {{}} }}
gateways:
  in: {{ kind: http, auth: none, limits: {{ size: 256 MiB }}, extract: {{ receiver: "value:hub", type: "value:order" }} }}
  beside: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:other" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in" }}
routes:
  - {{ name: others, when: {{ type: other }}, do: [ {{ deliver: api }} ] }}
  - name: orders
    when: {{ type: order }}
    do:
{steps}
alerts: {{ receiver_failing: {{ after: 100ms }} }}
"""


class Service(http.server.ThreadingHTTPServer):
    """Answers with what `answer(request)` gives: (status, body) or (status, body, headers)."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, answer, port=0):
        self.answer = answer
        self.lock = threading.Lock()
        self.seen = []     # requests, as they came
        self.now = self.most = 0  # requests at once
        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_):
        pass  # a client that has left

    def keys(self):
        with self.lock:
            return collections.Counter(r["headers"]["idempotency-key"] for r in self.seen)

    def count(self):
        with self.lock:
            return len(self.seen)

    def __exit__(self, *_):
        self.shutdown()
        super().__exit__(*_)


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = {"path": self.path, "method": self.command, "body": body,
                   "headers": {k.lower(): v for k, v in self.headers.items()}}
        with self.server.lock:
            self.server.seen.append(request)
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
            request["nth"] = sum(r["headers"].get("idempotency-key") == request["headers"].get("idempotency-key")
                                 for r in self.server.seen)
        try:
            self.reply(*self.server.answer(request))
        finally:
            with self.server.lock:
                self.server.now -= 1

    do_PUT = do_GET = do_POST

    def reply(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if isinstance(body, bytes):
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Transfer-Encoding", "chunked")  # pieces, perhaps without an end
        self.end_headers()
        for piece in body:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


def shout(request):
    return 200, request["body"].upper()


def call(service, *options, path="/"):
    return "      - call: { " + ", ".join([f"url: '{service.url}{path}'", *options]) + " }"


def config(receiver, *steps):
    return CONFIG.format(url=receiver.url(""), steps="\n".join(steps))


def look(node, doc):
    return node.show(doc, "state error { code message }")


def lines_of(node, doc):
    return node.show(doc, "timeline { stage outcome what message attempt status }")["timeline"]


def wait_for(true, node, seconds=SECONDS):
    until = time.monotonic() + seconds
    while not (got := true()):
        assert time.monotonic() < until, node.tail()
        time.sleep(0.02)
    return got


@pytest.fixture
def world(make_node):
    """make(answer, *steps): a node, a service and the receiver behind it."""
    open_ones = []

    def make(answer, *steps, start=True, **settings):
        service, receiver = Service(answer), Receiver()
        receiver.listen()
        open_ones.extend([lambda: service.__exit__(None, None, None), receiver.stop_listening])
        told = [step(service) if callable(step) else step for step in steps]
        node = make_node(config=config(receiver, *told, *([] if settings.pop("ends", False) else
                                                          ["      - deliver: api"])), **settings)
        if start:
            node.start()
        return node, service, receiver

    yield make
    for close in open_ones:
        close()


# ---- answers ----

@BOTH
def test_the_answer_is_the_new_document(world):
    """Also for the steps behind it; the service is told which document it is."""
    node, service, receiver = world(
        shout, '      - replace: { find: "a", with: "b" }',
        lambda s: call(s, 'headers: { X-Document: "${id}", Authorization: "Bearer t0ps3cret" }'),
        '      - replace: { find: "B", with: "-" }')
    doc = node.accept("in", "banana", {"Content-Type": "text/plain"})
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert [r["body"] for r in receiver.requests("/in")] == ["--N-N-"]
    (asked,) = service.seen
    assert asked["body"] == b"bbnbnb" and asked["method"] == "POST"
    for name, value in (("idempotency-key", f"{doc}:call:2"), ("waybill-document", doc), ("waybill-type", "order"),
                        ("x-document", doc), ("authorization", "Bearer t0ps3cret"), ("content-type", "text/plain")):
        assert asked["headers"][name] == value, (name, asked)
    for stage, text in ((1, "bbnbnb"), (2, "BBNBNB"), (3, "--N-N-")):  # what was answered is kept, the others follow
        assert node.cli("docs", "payload", doc, "--stage", str(stage)).stdout == text
    assert service.count() == 1
    assert "t0ps3cret" not in json.dumps(node.events) and "t0ps3cret" not in json.dumps(lines_of(node, doc))


@pytest.mark.proves("PR1")
def test_204_ends_the_document(world):
    node, service, receiver = world(lambda _: (204, b""), call)
    doc = node.accept("in", "a")
    node.await_state(doc, "done", look=look, seconds=SECONDS)
    assert {"call": "nothing came out"} in [{line["what"]: line["message"]} for line in lines_of(node, doc)]
    assert service.count() == 1 and not receiver.requests("/in")


@pytest.mark.parametrize("parts, answer, want", [
    ("json:/orders", b'{"orders": [{"n": 1.10}, {"n": 2}, {"n": 3}]}', ['{"n": 1.10}', '{"n": 2}', '{"n": 3}']),
    ("xml:/list/order", b"<list><order>1</order><order>2</order></list>", ["<order>1</order>", "<order>2</order>"]),
])
@BOTH
def test_parts_of_the_answer(world, parts, answer, want):
    """They go back to the router as documents of their own."""
    node, service, receiver = world(lambda _: (200, answer),
                                    lambda s: call(s, f"parts: '{parts}'", 'type: "value:other"'), ends=True)
    doc = node.accept("in", "all")
    node.await_state(doc, "done", look=look, seconds=SECONDS)
    receiver.wait_for(len(want), path="/in", seconds=SECONDS)
    assert sorted(r["body"] for r in receiver.requests("/in")) == want
    children = node.show(doc, "children { items { id } }")["children"]["items"]
    assert len(children) == len(want) and service.count() == 1


@BOTH
def test_many_parts_are_of_one_answer(world):
    """The answer is stored before the first commit of parts: a node that dies between these asks nobody again."""
    def answer(request):
        return 200, json.dumps({"all": [f"{request['nth']}/{n}" for n in range(2500)]}).encode()

    node, service, receiver = world(answer, lambda s: call(s, "parts: 'json:/all'", 'type: "value:other"'), ends=True,
                                    environment={"WAYBILL_FAULT": "parts.committed:kill:1"})
    with contextlib.suppress(http.client.HTTPException, OSError):  # it may die before it has answered
        node.post("in", "all")
    node.ended(SECONDS)
    node.environment.clear()
    node.start()
    receiver.wait_for(2500, path="/in", seconds=2 * SECONDS)
    assert service.count() == 1
    assert sorted({r["body"] for r in receiver.requests("/in")}) == sorted(f'"1/{n}"' for n in range(2500))


def test_an_answer_that_cannot_be_cut_makes_no_part(world):
    node, _, receiver = world(lambda _: (200, b'{"orders": [1, 2,'),
                              lambda s: call(s, "parts: 'json:/orders'", 'type: "value:other"'), ends=True)
    doc = node.accept("in", "all")
    seen = node.await_state(doc, "dead", look=look, seconds=SECONDS)
    assert seen["error"]["code"] == "service_failed" and not receiver.requests("/in")
    assert not node.show(doc, "children { items { id } }")["children"]["items"]


@BOTH
def test_large_documents_and_answers(world):
    """Neither has to fit into memory; what comes out is what was answered."""
    answer = bytes(range(256)) * (20 << 10)  # 5 MiB
    node, service, receiver = world(lambda r: (200, answer), call)
    doc = node.accept("in", b"x" * (3 << 20))
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    (came,) = receiver.requests("/in")
    assert (came["size"], came["sha256"]) == (len(answer), hashlib.sha256(answer).hexdigest())
    assert len(service.seen[0]["body"]) == 3 << 20


@pytest.mark.parametrize("endless", [False, True])
def test_an_answer_that_is_too_large(world, endless):
    """Its size is cut, whether it has an end or not; that is no failure of the service."""
    def answer(_):
        return 200, (b"x" * 65536 for _ in iter(int, 1)) if endless else b"x" * 300000
    node, _, receiver = world(answer, lambda s: call(s, "most: 200000"))
    doc = node.accept("in", "a")
    seen = node.await_state(doc, "dead", look=look, seconds=SECONDS)
    assert seen["error"] == {"code": "limit", "message":
                             "the answer of the service is larger than 200000 bytes; see `most`"}
    assert not receiver.requests("/in")


def test_an_answer_that_takes_too_long(world):
    """A piece now and then is no answer: it is asked again, and the message says why."""
    stop = threading.Event()

    def drops():
        while not stop.wait(0.1):
            yield b"x"

    node, service, _ = world(lambda r: (200, drops()) if r["nth"] == 1 else shout(r),
                             lambda s: call(s, "timeout: 1s", SOON))
    doc = node.accept("in", "a")
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    stop.set()
    tried = [line for line in lines_of(node, doc) if line["outcome"] == "retrying"]
    assert tried and "no whole answer came" in tried[0]["message"], tried
    assert list(service.keys().values()) == [len(tried) + 1]  # one more, unless this machine is slow


# ---- failures ----

@pytest.mark.proves("PR6")
@BOTH
def test_it_is_asked_again(world):
    """Until it answers: under the same key, and meanwhile the document is `retrying`."""
    well = threading.Event()
    node, service, receiver = world(lambda r: shout(r) if well.is_set() else (500, b"out of order"),
                                    lambda s: call(s, SOON, "breaker: { failures: 1000 }"))
    doc = node.accept("in", "a")
    seen = node.await_state(doc, "retrying", look=look, seconds=SECONDS)
    assert seen["error"] == {"code": "retry", "message": "the receiver answered 500: out of order"}
    wait_for(lambda: doc in node.cli("docs", "ls", "--state", "retrying", "--error", "out of order", "--json").stdout, node)
    wait_for(lambda: service.count() >= 3, node)
    well.set()
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert list(service.keys()) == [f"{doc}:call:1"] and [r["body"] for r in receiver.requests("/in")] == ["A"]
    tried = [line for line in lines_of(node, doc) if line["outcome"] == "retrying"]
    assert [line["attempt"] for line in tried] == list(range(1, len(tried) + 1))
    assert all(line["what"] == "call" and line["status"] == 500 for line in tried)
    assert doc not in node.cli("docs", "ls", "--state", "retrying", "--json").stdout


def test_a_person_does_not_wait(world):
    """`docs retry` asks at once."""
    well = threading.Event()
    node, _, _ = world(lambda r: shout(r) if well.is_set() else (503, b""),
                       lambda s: call(s, "retry: { first: 1h, most: 1h, for: 3d }"))
    doc = node.accept("in", "a")
    node.await_state(doc, "retrying", look=look, seconds=SECONDS)
    well.set()
    assert node.cli("docs", "retry", doc).returncode == 0
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)


@pytest.mark.parametrize("status", [400, 404, 301])
def test_a_refusal_is_a_dead_letter(world, status):
    node, service, _ = world(lambda _: (status, b"no such order"), call)
    doc = node.accept("in", "a")
    seen = node.await_state(doc, "dead", look=look, seconds=SECONDS)
    assert seen["error"] == {"code": "rejected", "message": f"the receiver answered {status}: no such order"}
    assert service.count() == 1


def test_long_enough_is_a_dead_letter(world):
    """With the last reason; a person starts it again."""
    well = threading.Event()
    node, service, _ = world(lambda r: shout(r) if well.is_set() else (500, b"out of order"),
                             lambda s: call(s, "retry: { first: 20ms, most: 50ms, for: 2s }",
                                            "breaker: { failures: 1000 }"))
    doc = node.accept("in", "a")
    seen = node.await_state(doc, "dead", look=look, seconds=SECONDS)
    assert seen["error"] == {"code": "retries_exhausted", "message": "the receiver answered 500: out of order"}
    assert service.count() >= 2
    well.set()
    assert node.cli("docs", "retry", doc).returncode == 0
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)


def test_retry_after(world):
    """The whole service gets the pause that it asks for."""
    at = []

    def answer(request):
        at.append(time.monotonic())
        return (429, b"slowly", [("Retry-After", "2")]) if len(at) == 1 else shout(request)

    node, _, _ = world(answer, lambda s: call(s, SOON))
    first = node.accept("in", "a")
    node.await_state(first, "retrying", look=look, seconds=SECONDS)
    second = node.accept("in", "b")
    for doc in (first, second):
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert len(at) == 3 and at[1] - at[0] >= 1.9, at


def test_the_breaker_opens(world):
    """A service that does not answer is left alone, but for a probe; nothing is lost, and nothing dies of waiting."""
    well, known = threading.Event(), threading.Event()

    def answer(request):
        """From the moment the breaker is open a probe waits for the end, so that it fails nobody for good."""
        if known.is_set():
            well.wait(SECONDS)
        return shout(request) if well.is_set() else (500, b"")

    node, service, receiver = world(
        answer,
        lambda s: call(s, "retry: { first: 10ms, most: 10ms, for: 1s }", "breaker: { failures: 3, wait: 2s }",
                       "limits: { concurrency: 1 }"))
    docs = [node.accept("in", f"a{n}") for n in range(8)]
    node.wait_event("call.breaker", SECONDS, **{"is": "open", "route": "orders", "step": "call"})
    known.set()
    asked = service.count()
    held = wait_for(lambda: [d for d in docs if "its breaker is open" in (look(node, d)["error"] or {}).get("message", "")],
                    node)
    assert asked < 8 and held
    well.set()
    for doc in held:
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    node.wait_event("call.breaker", SECONDS, **{"is": "closed"})
    assert len(receiver.requests("/in")) >= len(held)


@BOTH
@pytest.mark.parametrize("status, code, says", [(500, "receiver_failing", "does not answer as it should"),
                                                (422, "receiver_rejecting", "rejects everything")])
def test_an_open_breaker_is_an_alert(world, status, code, says):
    """Of the step, as that of an endpoint; it ends when the service takes documents again."""
    well = threading.Event()
    node, _, _ = world(lambda r: shout(r) if well.is_set() else (status, b"not today"),
                       lambda s: call(s, SOON, "breaker: { failures: 2, rejections: 2, wait: 300ms }"))

    def told():
        return {(a["code"], a["object"]): a["message"]
                for a in node.graphql("{ alerts { code object message } }")["alerts"]}.get((code, "orders:1"))

    for text in "abc":
        node.accept("in", text)
    message = wait_for(told, node)
    assert says in message and "not today" in message and "one probes now and then" in message, message
    well.set()
    node.await_state(node.accept("in", "d"), "delivered", look=look, seconds=SECONDS)
    wait_for(lambda: told() is None, node)


def test_concurrency(world):
    """No more at once than `limits` says; all of them get their turn."""
    def answer(request):
        time.sleep(0.02)
        return shout(request)
    node, service, receiver = world(answer, lambda s: call(s, "limits: { concurrency: 2 }"))
    docs = [node.accept("in", f"a{n}") for n in range(60)]
    for doc in docs:
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert service.most == 2
    assert sorted(r["body"] for r in receiver.requests("/in")) == sorted(f"A{n}" for n in range(60))


def test_rate(world):
    at = []

    def answer(request):
        at.append(time.monotonic())
        return shout(request)

    node, _, _ = world(answer, lambda s: call(s, "limits: { rate: 5/s, burst: 1 }"))
    docs = [node.accept("in", f"a{n}") for n in range(6)]
    for doc in docs:
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert len(at) == 6 and at[-1] - at[0] >= 0.9, at


def test_a_slow_service_leaves_the_node_to_others(world):
    """Documents that wait for an answer hold no thread and little memory: other routes go on."""
    go = threading.Event()

    def answer(request):
        assert go.wait(SECONDS)
        return shout(request)

    node, service, receiver = world(answer, lambda s: call(s, "limits: { concurrency: 8 }", "timeout: 90s"))
    slow = [node.accept("in", f"slow{n}") for n in range(200)]
    wait_for(lambda: service.now == 8, node)
    for n in range(50):
        doc = node.accept("beside", f"fast{n}")
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert service.most == 8 and node.metrics()["waybill_flights"] < 150
    go.set()
    for doc in slow:
        node.await_state(doc, "delivered", look=look, seconds=2 * SECONDS)
    assert len(receiver.requests("/in")) == 250


@pytest.mark.proves("PR12")
@BOTH
def test_what_was_answered_is_not_asked_again(world):
    """A failure behind the step runs the chain again, with the answer that was kept; also after a restart."""
    well = threading.Event()

    def answer(request):
        if request["path"] == "/second" and not well.is_set():
            return 500, b"not yet"
        return 200, request["body"] + request["path"].encode()

    node, service, receiver = world(answer, lambda s: call(s, path="/first"), '      - replace: { find: "/", with: "-" }',
                                    lambda s: call(s, SOON, "breaker: { failures: 1000 }", path="/second"))
    doc = node.accept("in", "a")
    wait_for(lambda: sum(r["path"] == "/second" for r in service.seen) >= 3, node)
    node.restart()
    tried = sum(r["path"] == "/second" for r in service.seen)
    wait_for(lambda: sum(r["path"] == "/second" for r in service.seen) >= tried + 2, node)
    well.set()
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert [r["body"] for r in receiver.requests("/in")] == ["a-first/second"]
    keys = service.keys()
    assert keys.pop(f"{doc}:call:1") == 1 and list(keys) == [f"{doc}:call:3"]
    assert any("its answer was kept" in (line["message"] or "") for line in lines_of(node, doc))
    last = node.show(doc, "stages { stage }")["stages"][-1]["stage"]
    assert node.cli("docs", "payload", doc, "--stage", str(last)).stdout == "a-first/second"


@pytest.mark.proves("PR12")
@BOTH
@pytest.mark.parametrize("size", [1, 2 << 20])
def test_a_script_does_not_run_again_for_a_service_that_is_away(world, size):
    """What it made is stored when the step behind it is put off; also a restart takes it from there."""
    well = threading.Event()
    node, service, receiver = world(
        lambda r: shout(r) if well.is_set() else (500, b"not yet"),
        "      - lua: 'log(\"it ran\") return doc.bytes .. \" of lua\"'",
        lambda s: call(s, SOON, "breaker: { failures: 1000 }"))
    doc = node.accept("in", "a" * size)
    wait_for(lambda: service.count() >= 3, node)
    node.restart()
    tried = service.count()
    wait_for(lambda: service.count() >= tried + 2, node)
    well.set()
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    wanted = "a" * size + " of lua"
    assert [r["sha256"] for r in receiver.requests("/in")] == [hashlib.sha256(wanted.upper().encode()).hexdigest()]
    said = [line["message"] for line in lines_of(node, doc) if line["what"] == "lua"]
    assert said.count("it ran") == 1 and said.count("not run again: what it made was kept") >= 3, said
    assert node.cli("docs", "payload", doc, "--stage", "1").stdout == wanted
    assert node.cli("doctor").returncode == 0


@pytest.mark.proves("PR4", "PR12")
@BOTH
def test_what_a_service_answered_belongs_to_the_record_it_was_asked_with(world, tmp_path):
    """A run that was overtaken asks again with the record as it is now: the old answer is about another one."""
    file = tmp_path / "now.csv"
    file.write_text("id,v\nk,between\n")

    def answer(request):
        if request["nth"] == 1 and b'"previous":null' in request["body"]:
            assert node.cli("records", "import", "order", str(file)).returncode == 0
        return 200, request["body"]

    node, service, receiver = world(answer, "      - store: { key: 'json:/id' }",
                                    lambda s: call(s, "timeout: 5m"))
    doc = node.accept("in", '{"id":"k"}')
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert [r["body"] for r in receiver.requests("/in")] == ['{"previous":{"id":"k","v":"between"},"new":{"id":"k"}}']
    keys = service.keys()
    assert len(keys) == 2 and all(k.startswith(f"{doc}:call:2:") for k in keys), keys


@BOTH
def test_overtaken_on_its_way_from_batch_to_batch_it_is_no_loop(make_node):
    """However often a document runs again: it came out of one batch only."""
    def answer(request):
        if len(asked := {r["headers"]["idempotency-key"] for r in service.seen}) <= 16:
            node.graphql("mutation($v: String!) { recordsImport(set: \"things\", records: [{key: \"k\", value: $v}]) }",
                         v=str(len(asked)))
        return 200, request["body"]

    with Service(answer) as service, Receiver() as receiver:
        text = config(receiver, "      - batch: one").replace(
            "do: [ { deliver: api } ]", f"""do: [ {{ store: {{ key: "json:/id", set: things }} }},
    {{ call: {{ url: "{service.url}", timeout: 5m }} }}, {{ batch: two }} ]""") + """\
batches:
  one: { count: 1, join: each, do: [ { route: { type: "value:other" } } ] }
  two: { count: 1, join: json, do: [ { deliver: api } ] }
"""
        node = make_node(config=text)
        node.start()
        node.accept("in", '{"id":"k"}')
        receiver.wait_for(1, seconds=2 * SECONDS, path="/in")
        assert [json.loads(r["body"]) for r in receiver.requests("/in")] == [[{"previous": 16, "new": {"id": "k"}}]]
        node.stop()


# ---- ends of the node ----

@BOTH
def test_killed_while_it_is_asked(world):
    """After the start it is asked again, under the same key."""
    go = threading.Event()

    def answer(request):
        assert go.wait(SECONDS)
        return shout(request)

    node, service, receiver = world(answer, call)
    doc = node.accept("in", "a")
    wait_for(lambda: service.count() == 1, node)
    node.kill()
    go.set()
    node.start()
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert service.keys() == {f"{doc}:call:1": 2} and [r["body"] for r in receiver.requests("/in")] == ["A"]


@pytest.mark.parametrize("point", ["call.begin", "call.answered", "settle.written"])
@BOTH
def test_killed_at(world, point):
    """A step may be asked again with its key; what comes of it goes on once."""
    node, service, receiver = world(shout, call, start=False, environment={"WAYBILL_FAULT": f"{point}:kill:1"})
    node.start()
    with contextlib.suppress(http.client.HTTPException, OSError):  # it may die before it has answered
        node.post("in", "a")
    node.ended(SECONDS)
    node.environment.clear()
    node.start()
    (doc,) = node.documents()
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert list(service.keys()) == [f"{doc}:call:1"] and service.count() <= 2
    assert {r["body"] for r in receiver.requests("/in")} == {"A"}


@BOTH
def test_a_stop_is_no_attempt(world):
    """Who waits for an answer when the node stops, or for a turn, asks again after the start."""
    go = threading.Event()

    def answer(request):
        go.wait(SECONDS)
        return shout(request)

    node, service, receiver = world(answer, lambda s: call(s, "limits: { concurrency: 1 }", "timeout: 90s"))
    docs = [node.accept("in", f"a{n}") for n in range(3)]
    wait_for(lambda: service.count() == 1, node)
    assert node.stop() == 0
    go.set()
    node.start()
    for doc in docs:
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
        assert not [line for line in lines_of(node, doc) if line["outcome"] == "retrying"]
    assert len(receiver.requests("/in")) == 3


# ---- the outside ----

def test_a_certificate_that_is_not_right(make_node, tmp_path):
    """Nothing is sent; with its authority it is."""
    with Receiver(tls="self_signed", folder=tmp_path) as service, Receiver() as receiver:
        def steps(more):
            return config(receiver, f"      - call: {{ url: '{service.url('/b/echo')}', {SOON}, {more} }}",
                          "      - deliver: api")
        node = make_node(config=steps("breaker: { failures: 1000 }"))
        node.start()
        doc = node.accept("in", "a")
        seen = node.await_state(doc, "retrying", look=look, seconds=SECONDS)
        assert "certificate" in seen["error"]["message"], seen
        assert not service.requests()
        service.show_certificate("good")
        node.write_config(steps(f"tls: {{ ca: '{service.ca}' }}"))
        assert node.cli("apply", node.config_file).returncode == 0
        fine = node.accept("in", "b")  # the failures of the older version do not hold it back
        node.await_state(fine, "delivered", look=look, seconds=SECONDS)


@pytest.mark.proves("S16")
def test_addresses_that_are_barred(make_node):
    """As for endpoints: a configuration cannot make the node ask a metadata service."""
    with Receiver() as receiver:
        node = make_node(config=config(receiver, "      - call: { url: 'http://169.254.169.254/latest', connect_timeout: 1s }",
                                       "      - deliver: api"))
        node.start()
        seen = node.await_state(node.accept("in", "a"), "retrying", look=look, seconds=SECONDS)
        assert seen["error"]["message"] == ("the receiver was not reached: it is a link-local address; node.egress can allow"
                                            " it"), seen


# ---- walks without effect ----

def test_a_rehearsal_asks_nobody(world):
    """It says that what is behind the step is not known."""
    node, service, _ = world(shout, call)
    doc = node.accept("in", "a")
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    text = node.config_file.read_text()
    got = node.cli("rehearse", "-", "--json", stdin=text[text.index("systems:"):])
    assert "asks a service, which is not done here" in got.stdout, (got.stdout, got.stderr)
    dry = node.cli("send", "in", "-", "--dry", stdin="b")
    assert "call" in dry.stdout, (dry.stdout, dry.stderr)
    assert service.count() == 1


# ---- configuration ----

@pytest.mark.parametrize("steps, said", [
    ("call: { url: 'ftp://a.example/' }", "url"),
    ("call: { url: 'http://a.example/', parts: lines }", "json: and a JSON Pointer"),
    ("call: { url: 'http://a.example/', type: 'value:order' }", "for the parts of the answer"),
])
def test_mistakes(tmp_path, steps, said):
    file = tmp_path / "waybill.yaml"
    file.write_text(CONFIG.format(url="http://a.example", steps=f"      - {{ {steps} }}"))
    got = run_program("check", str(file))
    assert got.returncode != 0 and said in got.stdout + got.stderr, (got.stdout, got.stderr)


def test_mistakes_that_a_node_finds(world, tmp_path):
    """What is found when a version is built: it does not come into force."""
    node, _, _ = world(shout, call)
    for step, said in (("{ call: { url: 'http://a.example/', parts: 'json:/a', type: 'value:other' } }\n"
                        "      - deliver: api", "ends the chain"),
                       ("{ call: { url: 'http://a.example/', headers: { Idempotency-Key: a } } }", "cannot be set")):
        file = tmp_path / "new.yaml"
        file.write_text(CONFIG.format(url="http://a.example", steps=f"      - {step}"))
        got = node.cli("apply", file)
        assert got.returncode != 0 and said in got.stdout + got.stderr, (got.stdout, got.stderr)


def test_the_example_of_the_help(world):
    """As `waybill help service call` shows it, with the address of a service that is there."""
    text = run_program("help", "service", "call").stdout
    (example,) = [line.strip() for line in text.splitlines() if line.strip().startswith("- call:")]
    assert "https://tax.example" in example
    node, service, receiver = world(
        lambda r: (200, b'{"taxed": true}') if r["headers"]["accept"] == "application/json" else (406, b""),
        lambda s: "      " + example.replace("https://tax.example", s.url))
    doc = node.accept("in", '{"order": 1}')
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    assert [r["body"] for r in receiver.requests("/in")] == ['{"taxed": true}'] and service.seen[0]["path"] == "/orders"
