"""Requests that are signed with a shared secret, coming in and going out; the other side is Python's own hmac."""
import base64
import concurrent.futures
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time
import urllib.parse

import pytest

PATIENCE = 60
OLD, NEW = b"the-old-secret", b"the-new-secret/+ "
MIB = 1 << 20

CONFIG = f"""\
systems: {{ hub: {{}} }}
gateways:
  plain:  {{ kind: http, auth: hmac, hmac: {{ header: X-Sign, secret: {OLD.decode()} }} }}
  github: {{ kind: http, auth: hmac, hmac: {{ header: X-Hub-Signature-256, prefix: "sha256=", secret: {OLD.decode()} }} }}
  shop:   {{ kind: http, auth: hmac, hmac: {{ header: X-Shop-Hmac, encoding: base64, secret: {OLD.decode()} }} }}
  long:   {{ kind: http, auth: hmac, hmac: {{ header: X-Sign, algorithm: sha512, secret: {OLD.decode()} }} }}
  timed:  {{ kind: http, auth: hmac, hmac: {{ header: X-Sign, timestamp: X-Time, tolerance: 2m, secret: ["{NEW.decode()}", {OLD.decode()}] }} }}
"""


def sign(body, secret=OLD, digest="sha256", encode=lambda d: d.hex(), when=None):
    if when is not None:
        body = str(when).encode() + b"." + body
    return encode(hmac.new(secret, body, digest).digest())


def base(digest):
    return base64.b64encode(digest).decode()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    from running_node import Node  # pylint: disable=import-outside-toplevel
    one = Node(tmp_path_factory.mktemp("signed"), config=CONFIG)
    one.start()
    yield one
    one.stop()


def refused(node, gateway, body, headers, says):
    before = len(node.documents())
    answer = node.post(gateway, body, headers)
    assert (answer.status, answer.json["error"]["code"]) == (401, "bad_signature"), answer.body
    assert says in answer.json["error"]["message"]
    assert len(node.documents()) == before


@pytest.mark.smoke
def test_a_signed_document_is_taken(made):
    body = b'{"order": 1}'
    made.accept("plain", body, {"X-Sign": sign(body)})
    made.accept("plain", body, {"X-Sign": sign(body).upper()})
    made.accept("github", body, {"X-Hub-Signature-256": "sha256=" + sign(body)})
    made.accept("shop", body, {"X-Shop-Hmac": sign(body, encode=base)})
    made.accept("long", body, {"X-Sign": sign(body, digest="sha512")})


@pytest.mark.parametrize("header, says", [
    (None, "missing"), ("", "not written"), (sign(b"another"), "does not fit"), (sign(b"order", NEW), "does not fit"),
    (sign(b"order")[:-2], "not written"), (sign(b"order") + "00", "not written"), ("zz" * 32, "not written"),
    ("sha256=" + sign(b"order"), "not written"), (sign(b"order", encode=base), "not written"),
    (sign(b"order", digest="sha512"), "not written"), ("a" * 5000, "not written")])
def test_another_is_not(made, header, says):
    refused(made, "plain", b"order", {} if header is None else {"X-Sign": header}, says)


def test_a_prefix_belongs_to_it(made):
    refused(made, "github", b"order", {"X-Hub-Signature-256": sign(b"order")}, "does not begin")


def test_a_time_that_is_signed(made):
    now = int(time.time())
    for secret in (NEW, OLD):
        for when in (now, now - 60, now + 60):
            made.accept("timed", b"order", {"X-Sign": sign(b"order", secret, when=when), "X-Time": str(when)})


@pytest.mark.parametrize("away, says", [(-3600, "too far"), (3600, "too far"), (None, "missing"), ("soon", "not a number"),
                                        ("other", "does not fit")])
def test_a_time_that_is_not(made, away, says):
    now = int(time.time())
    when = now + away if isinstance(away, int) else now
    headers = {"X-Sign": sign(b"order", NEW, when=when)}
    if away is not None:
        headers["X-Time"] = {"soon": "soon", "other": str(now - 1)}.get(away, str(when))
    refused(made, "timed", b"order", headers, says)


def test_every_byte_counts(made):
    """A body of several MiB, in pieces: the signature is checked over all of it, before the commit."""
    body = bytes(range(256)) * (4 * MIB // 256)
    made.accept("plain", body, {"X-Sign": sign(body)})
    refused(made, "plain", body[:-1] + b"x", {"X-Sign": sign(body)}, "does not fit")
    refused(made, "plain", body + b"x", {"X-Sign": sign(body)}, "does not fit")


def test_in_chunks(made):
    body = b"order in chunks"
    where = urllib.parse.urlsplit(made.url)
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as s:
        s.sendall(b"POST /in/plain HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX-Sign: " + sign(body).encode()
                  + b"\r\nConnection: close\r\n\r\n" + b"".join(b"1\r\n%c\r\n" % c for c in body) + b"0\r\n\r\n")
        assert s.makefile("rb").readline().split()[1] == b"202"


def test_at_once(made):
    """Signatures of many connections are not mixed up."""
    def one(i):
        body = b"order %d " % i * 1000
        good = i % 2 == 0
        return made.post("plain", body, {"X-Sign": sign(body if good else b"x" + body)}).status == (202 if good else 401)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(one, range(200)))


def test_refusals_are_in_the_audit_log(made):
    refused(made, "plain", b"order", {"X-Sign": sign(b"x")}, "does not fit")
    query = '{ audit(filter: { action: "keyRefused" }, first: 200) { items { object reason } } }'
    until = time.monotonic() + PATIENCE
    while not [line for line in made.graphql(query)["audit"]["items"]
               if line["object"] == "plain" and "signature" in (line["reason"] or "")]:
        assert time.monotonic() < until, made.graphql(query)
        time.sleep(0.1)


def test_the_admin_token_needs_no_signature(made):
    made.accept("plain", b"by hand", {"Authorization": f"Bearer {made.token}"})
    refused(made, "plain", b"by hand", {"Authorization": "Bearer wrong"}, "missing")


def test_secrets_are_in_no_message(made):
    log = json.dumps(made.events)
    assert OLD.decode() not in log and NEW.decode() not in log


@pytest.mark.parametrize("gateway, says", [
    ("auth: hmac", "`auth: hmac` needs `hmac`"),
    ("auth: key, hmac: { header: X-A, secret: 'long enough' }", "only used with `auth: hmac`"),
    ("auth: hmac, hmac: { header: 'X A', secret: 'long enough' }", "cannot be the header"),
    ("auth: hmac, hmac: { header: X-A, secret: short }", "8 to 4096 bytes"),
    ("auth: hmac, hmac: { header: X-A, secret: '${secret:none}' }", "there is no secret `none`"),
    ("auth: hmac, hmac: { header: X-A, secret: 'long enough', tolerance: 1m }", "only used with `timestamp`")])
def test_mistakes(made, gateway, says):
    text = f"gateways:\n  a: {{ kind: http, {gateway} }}\n"
    found = made.graphql("mutation($t: String!) { configApply(text: $t) { problems { message } } }", t=text)
    assert says in " ".join(p["message"] for p in found["configApply"]["problems"])


def test_a_secret_is_changed(make_node):
    """Both are good for a while; nothing restarts."""
    def config(secrets):
        return f"gateways:\n  in: {{ kind: http, auth: hmac, hmac: {{ header: X-Sign, secret: {secrets} }} }}\n"

    node = make_node(config=config("'${secret:a}'"))
    node.launch()
    node.await_ready()
    answer = node.post("in", b"x", {"X-Sign": sign(b"x")})
    assert (answer.status, answer.json["error"]["code"]) == (503, "broken_gateway")
    assert "there is no secret a" in broken(node)
    node.graphql('mutation($v: String!) { secretAdd(name: "a", value: $v) { name } }', v=OLD.decode())
    node.graphql('mutation($v: String!) { secretAdd(name: "b", value: $v) { name } }', v=NEW.decode())
    until = time.monotonic() + PATIENCE
    while node.post("in", b"x", {"X-Sign": sign(b"x")}).status != 202:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert not broken(node)
    apply(node, config("[ '${secret:b}', '${secret:a}' ]"))
    for secret in (OLD, NEW):
        node.accept("in", b"x", {"X-Sign": sign(b"x", secret)})
    apply(node, config("'${secret:b}'"))
    node.accept("in", b"x", {"X-Sign": sign(b"x", NEW)})
    assert node.post("in", b"x", {"X-Sign": sign(b"x")}).status == 401


def broken(node):
    return node.graphql("{ gateways { broken } }")["gateways"][0]["broken"]


def apply(node, text):
    found = node.graphql("mutation($t: String!) { configApply(text: $t) { problems { message } } }", t=text)
    assert found["configApply"]["problems"] == []


# ---- going out


class Receiver(http.server.ThreadingHTTPServer):
    """Checks signatures as a receiver would."""

    daemon_threads = True

    def __init__(self):
        self.seen = []  # (header fields, digest of the body, how it judged)
        self.fail = 0
        super().__init__(("127.0.0.1", 0), ReceiverHandler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class ReceiverHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        mac, when = hmac.new(OLD, None, "sha256"), self.headers.get("X-Time")
        if when:
            mac.update(when.encode() + b".")
        left, digest = int(self.headers["Content-Length"]), hashlib.sha256()
        while left > 0:
            piece = self.rfile.read(min(left, MIB))
            mac.update(piece)
            digest.update(piece)
            left -= len(piece)
        good = hmac.compare_digest("v1=" + mac.hexdigest(), self.headers.get("X-Sign", ""))
        self.server.seen.append((dict(self.headers), digest.hexdigest(), good))
        self.send_response(200 if good and self.server.fail == 0 else 503)
        self.server.fail = max(0, self.server.fail - 1)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def look(node, doc):
    return node.show(doc, "state deliveries { state message }")


@pytest.fixture
def out(make_node):
    with Receiver() as receiver:
        node = make_node(config=f"""\
systems: {{ hub: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub" }} }}
endpoints:
  api:
    kind: http
    url: "http://127.0.0.1:{receiver.server_port}/"
    retry: {{ first: 50ms, most: 200ms }}
    sign: {{ header: X-Sign, secret: {OLD.decode()}, prefix: "v1=", timestamp: X-Time }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
""")
        node.start()
        node.receiver = receiver
        yield node
        receiver.shutdown()


@pytest.mark.parametrize("size", [1, 1000, 900_000, 5 * MIB])
def test_requests_that_go_out_are_signed(out, size):
    body = b"\0x\xff" * (size // 3) + b"y"
    doc = out.accept("in", body)
    out.await_state(doc, "delivered", look=look, seconds=PATIENCE)
    fields, digest, good = out.receiver.seen[-1]
    assert good and digest == hashlib.sha256(body).hexdigest()
    assert abs(int(fields["X-Time"]) - time.time()) < 600
    assert OLD.decode() not in json.dumps(out.events)


def test_a_repetition_is_signed_anew(out):
    out.receiver.fail = 2
    doc = out.accept("in", b"order")
    out.await_state(doc, "delivered", look=look, seconds=PATIENCE)
    assert [good for *_, good in out.receiver.seen] == [True] * 3


def test_a_node_takes_what_a_node_signs(out, make_node):
    other = make_node(config=f"""\
gateways:
  in: {{ kind: http, auth: hmac, hmac: {{ header: X-Sign, secret: {OLD.decode()}, prefix: "v1=", timestamp: X-Time }} }}
""")
    other.start()
    apply(out, f"""\
systems: {{ hub: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub" }} }}
endpoints:
  api: {{ kind: http, url: "{other.url}/in/in", sign: {{ header: X-Sign, secret: {OLD.decode()}, prefix: "v1=", timestamp: X-Time }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
""")
    doc = out.accept("in", b"from one to the other")
    out.await_state(doc, "delivered", look=look, seconds=PATIENCE)
    assert len(other.documents()) == 1


def test_a_header_has_one_value(out):
    found = out.graphql("mutation($t: String!) { configApply(text: $t) { problems { message } } }", t="""\
systems: { hub: {} }
endpoints:
  api: { kind: http, url: "http://127.0.0.1:1/", headers: { x-sign: a }, sign: { header: X-Sign, secret: 'long enough' } }
""")
    assert "that of `sign`" in " ".join(p["message"] for p in found["configApply"]["problems"])
