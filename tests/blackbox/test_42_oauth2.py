"""Endpoints that log in with a token: npm's oidc-provider gives it, and says to the receiver whether it is good.

A mock stands in for the provider only where it must do what a real one will not.
"""
import base64
import http.client
import http.server
import json
import pathlib
import select
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

import npm_folder
from fake_api import FakeApi, Reply

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.process import free_port  # noqa: E402

PATIENCE = 60
SECRET = "s3cret/+:% of it"
MIB = 1 << 20


class Provider:
    """npm's oidc-provider as a process."""

    def __init__(self, port, life_s=600):
        self.port = port
        self.url = f"http://127.0.0.1:{port}/token"
        self.process = subprocess.Popen(["node", "tokens.mjs", str(port), str(life_s)], cwd=npm_folder.install("oidc"),
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert ready and self.process.stdout.readline() == b"ready\n", "the provider did not start"

    def post(self, path, body, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("POST", path, body, headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def control(self, **what):
        return self.post("/control", json.dumps(what))

    @property
    def given(self):
        return self.control()["given"]

    def introspect(self, token):
        """What the provider says about a token."""
        login = base64.b64encode(":".join(urllib.parse.quote(w, safe="") for w in ("way bill receiver", SECRET)).encode())
        return self.post("/token/introspection", urllib.parse.urlencode({"token": token}),
                         **{"Authorization": "Basic " + login.decode(), "Content-Type": "application/x-www-form-urlencoded"})

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Api(http.server.ThreadingHTTPServer):
    """A receiver that lets nobody in without a token that the provider vouches for."""

    daemon_threads = True

    def __init__(self, provider):
        self.provider = provider
        self.seen = []  # (delivery, token, size, status)
        self.strict = False  # no token will do
        super().__init__(("127.0.0.1", 0), ApiHandler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/in"

    def judge(self, token):
        if self.strict or not token:
            return 401
        told = self.provider.introspect(token)
        return 200 if told["active"] and told.get("scope") == "orders.write" else 401

    def statuses(self, delivery):
        return [status for name, _, _, status in self.seen if name.startswith(delivery)]


class ApiHandler(http.server.BaseHTTPRequestHandler):
    """POST alone."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        status = self.server.judge(token if scheme == "Bearer" else "")
        self.server.seen.append((self.headers["Idempotency-Key"], token, len(body), status))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def provider():
    one = Provider(free_port())
    yield one
    one.stop()


@pytest.fixture
def api(provider):
    with Api(provider) as one:
        yield one
        one.shutdown()


def config(url, token_url, client="basic", secret=SECRET, more="", system="{}", login="auth: basic", scope="orders.write"):
    return f"""\
systems: {{ hub: {system} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
types: {{ order: {{}} }}
endpoints:
  api:
    kind: http
    url: {json.dumps(url)}
    retry: {{ first: 100ms, most: 1s }}
    breaker: {{ failures: 5, wait: 200ms }}
    timeout: 20s
    {more}
    oauth2: {{ token_url: {json.dumps(token_url)}, client_id: "way bill {client}", client_secret: {json.dumps(secret)}, scope: "{scope}", {login} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


def look(node, doc):
    seen = node.show(doc, "state deliveries { state held code message attempts }")
    return {**(seen["deliveries"] or [{}])[0], "state": seen["state"]}


def delivered(node, doc):
    return node.await_state(doc, "delivered", look=look, seconds=PATIENCE)


def failing(node, doc, text):
    """Looks until the delivery says this."""
    until = time.monotonic() + PATIENCE
    while text not in ((seen := look(node, doc)).get("message") or ""):
        assert time.monotonic() < until, f"{seen}\n{node.tail(10)}"
        time.sleep(0.05)
    return seen


def apply(node, text):
    made = node.graphql("mutation($t: String!) { configApply(text: $t) { problems { message } } }", t=text)
    return [p["message"] for p in made["configApply"]["problems"] or []]


def nowhere(node, *secrets):
    """None of them is in the log, or in a file of the node."""
    log = json.dumps(node.events) + "\n".join(node.stray)
    for secret in secrets:
        assert secret not in log
        for path in node.data.rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path


@pytest.mark.smoke
def test_one_token_for_all_sends(make_node, provider, api):
    node = make_node(config=config(api.url, provider.url))
    node.start()
    docs = [node.accept("in", b"order %d" % i) for i in range(50)]
    for doc in docs:
        delivered(node, doc)
    assert {status for *_, status in api.seen} == {200}
    token, = {token for _, token, _, _ in api.seen}
    assert provider.given == 1
    for doc in docs[:3]:
        assert token not in node.cli("docs", "show", doc).stdout
    node.stop()
    nowhere(node, token)


def test_the_secret_may_be_in_the_form(make_node, provider, api):
    node = make_node(config=config(api.url, provider.url, client="form", login="auth: post"))
    node.start()
    delivered(node, node.accept("in", b"order"))
    assert provider.given == 1


def test_a_token_is_renewed_while_documents_flow(make_node):
    """It lives for 4 s."""
    provider = Provider(free_port(), life_s=4)
    with Api(provider) as api:
        node = make_node(config=config(api.url, provider.url))
        node.start()
        until, docs = time.monotonic() + PATIENCE, []
        while provider.given < 3:
            assert time.monotonic() < until
            docs.append(node.accept("in", b"order"))
            delivered(node, docs[-1])
        assert len({token for _, token, _, status in api.seen if status == 200}) >= 2
        api.shutdown()
    provider.stop()


@pytest.mark.proves("DE19")
def test_a_revoked_token_costs_no_attempt(make_node, provider, api):
    node = make_node(config=config(api.url, provider.url))
    node.start()
    delivered(node, node.accept("in", b"first"))
    provider.control(revoke=True)
    doc = node.accept("in", b"second")
    delivered(node, doc)
    assert api.statuses(doc) == [401, 200]
    assert provider.given == 2
    lines = node.show(doc, "timeline { outcome message }")["timeline"]
    assert not [line for line in lines if "401" in (line["message"] or "")]
    assert not [e for e in node.events if e["event"] == "endpoint.open"]


def test_a_large_document_is_sent_again_whole(make_node, provider, api):
    node = make_node(config=config(api.url, provider.url))
    node.start()
    delivered(node, node.accept("in", b"first"))
    provider.control(revoke=True)
    doc = node.accept("in", b"x" * (5 * MIB))
    delivered(node, doc)
    assert [(size, status) for name, _, size, status in api.seen if name.startswith(doc)][-1] == (5 * MIB, 200)


def test_a_system_that_is_not_sent_to_twice(make_node, provider, api):
    """401 says that the receiver does not have it: nothing is in doubt."""
    node = make_node(config=config(api.url, provider.url, system="{ in_doubt: hold }"))
    node.start()
    delivered(node, node.accept("in", b"first"))
    provider.control(revoke=True)
    doc = node.accept("in", b"second")
    delivered(node, doc)
    assert api.statuses(doc) == [401, 200]


@pytest.mark.proves("DE19")
def test_a_receiver_that_takes_no_token_is_left_alone(make_node, provider, api):
    api.strict = True
    node = make_node(config=config(api.url, provider.url))
    node.start()
    doc = node.accept("in", b"order")
    seen = failing(node, doc, "answered 401")
    assert seen["code"] == "credential"
    node.wait_event("endpoint.open", PATIENCE)
    first, second = [token for _, token, _, _ in api.seen][:2]
    assert first != second
    api.strict = False
    delivered(node, doc)
    node.stop()
    nowhere(node, first, second)


@pytest.mark.proves("DE19")
def test_a_wrong_secret(make_node, provider, api):
    node = make_node(config=config(api.url, provider.url, secret="wrong-s3cret"))
    node.start()
    doc = node.accept("in", b"order")
    seen = failing(node, doc, "the provider answered 401 invalid_client")
    assert seen["code"] == "credential" and "client_secret" in seen["message"]
    assert "invalid_client" in node.wait_event("endpoint.open", PATIENCE)["why"]
    assert api.seen == []
    assert apply(node, config(api.url, provider.url)) == []
    delivered(node, doc)


@pytest.mark.proves("DE5")
def test_documents_wait_for_a_provider_that_is_away(make_node):
    port = free_port()
    with Api(None) as api:
        node = make_node(config=config(api.url, f"http://127.0.0.1:{port}/token"))
        node.start()
        docs = [node.accept("in", b"order") for _ in range(20)]
        failing(node, docs[0], "no token to log in with: the provider was not reached")
        assert api.seen == []
        api.provider = Provider(port)
        for doc in docs:
            delivered(node, doc)
        assert api.provider.given == 1
        api.shutdown()
    api.provider.stop()


def test_an_apply_keeps_the_token(make_node, provider, api):
    node = make_node(config=config(api.url, provider.url))
    node.start()
    delivered(node, node.accept("in", b"one"))
    assert apply(node, config(api.url, provider.url, more="headers: { X-New: a }")) == []
    delivered(node, node.accept("in", b"two"))
    assert provider.given == 1
    assert apply(node, config(api.url, provider.url, client="form", login="auth: post")) == []
    delivered(node, node.accept("in", b"three"))
    assert provider.given == 2


def token(**members):
    return Reply({"access_token": "t0ken-of-a-mock", "token_type": "Bearer", "expires_in": 600, **members})


FAULTS = {
    "html": (Reply(b"<html><body>please log in</body></html>"), "it is no JSON"),
    "empty": (Reply(b""), "it is no JSON"),
    "no token": (Reply({"token_type": "Bearer"}), "no access_token"),
    "type": (token(token_type="mac"), "not Bearer"),
    "line": (token(access_token="a\r\nX-Evil: 1"), "visible ASCII"),
    "life": (token(expires_in=-1), "expires_in"),
    "deep": (Reply(b"{\"a\":" + b"[" * 400 + b"]" * 400 + b"}"), "too deeply"),
    "large": (Reply(b"{\"access_token\":\"" + b"a" * (2 * MIB) + b"\"}"), "64 KiB"),
    "redirect": (Reply(b"", 302, {"Location": "http://127.0.0.1:1/"}), "answered 302"),
    "cut": (Reply(b"{\"access_token\":\"t0ken", cut=5, headers={}), "no whole answer"),
    "echo": (Reply({"error": "invalid_client", "error_description": f"{SECRET} is wrong"}, 401), "answered 401"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_provider_that_is_wrong(make_node, receiver, fault):
    reply, says = FAULTS[fault]
    mock = FakeApi()
    mock.answer(reply)
    try:
        node = make_node(config=config(receiver.url("/in"), mock.url + "/token"))
        node.start()
        doc = node.accept("in", b"order")
        failing(node, doc, says)
        assert receiver.requests() == []
        mock.answer(token())
        delivered(node, doc)
        sent, = receiver.requests()
        assert sent["headers"]["authorization"] == "Bearer t0ken-of-a-mock"
        node.stop()
        nowhere(node, "t0ken-of-a-mock")
        assert SECRET not in json.dumps(node.events)
    finally:
        mock.close()


def test_a_provider_that_hangs_keeps_no_other_endpoint_waiting(make_node, receiver):
    mock, hangs = FakeApi(), threading.Event()

    def hang(_):
        hangs.wait(PATIENCE)
        return token()

    mock.answer(hang)
    text = config(receiver.url("/in"), mock.url + "/token", more="connect_timeout: 2s").replace(
        "timeout: 20s", "timeout: 2s").replace("routes:\n", f"""\
  plain: {{ kind: http, url: {json.dumps(receiver.url("/plain"))} }}
routes:
  - {{ name: plain, when: {{ sender: other }}, do: [ {{ deliver: plain }} ] }}
""").replace("hub: {}", "hub: {}, other: {}").replace('type: "value:order"', 'sender: "header:X-From", type: "value:order"')
    try:
        node = make_node(config=text)
        node.start()
        waiting = [node.accept("in", b"order", {"X-From": "hub"}) for _ in range(8)]
        for _ in range(20):
            delivered(node, node.accept("in", b"order", {"X-From": "other"}))
        failing(node, waiting[0], "no whole answer of the provider came")
        hangs.set()
        for doc in waiting:
            delivered(node, doc)
    finally:
        hangs.set()
        mock.close()


@pytest.mark.proves("S16")
def test_the_rules_of_egress_hold_for_the_provider(make_node, receiver):
    node = make_node(config=config(receiver.url("/in"), "https://169.254.169.254/token"))
    node.start()
    failing(node, node.accept("in", b"order"), "node.egress")
    assert receiver.requests() == []


@pytest.mark.parametrize("more, says", [
    ("user: me", "two ways to log in"), ("password: x", "two ways to log in"),
    ("headers: { authorization: x }", "two ways to log in")])
def test_two_ways_to_log_in_are_a_mistake(node, more, says):
    assert says in " ".join(apply(node, config("http://127.0.0.1:1/", "http://127.0.0.1:1/token", more=more)))


def test_the_secret_does_not_go_over_the_network_as_it_is(node):
    said = " ".join(apply(node, config("http://127.0.0.1:1/", "http://id.example/token")))
    assert "use https" in said and SECRET not in said
