"""What a node reaches for others: addresses that endpoints may not have, proxies, tokens, pages of other sites."""
import http.server
import json
import pathlib
import sys
import threading
import time
import urllib.parse

import pytest

from running_node import clean_environment, run_program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.process import free_port  # noqa: E402

PATIENCE = 60
TYPES = "abcdefghijklmnop"


class Listener(http.server.ThreadingHTTPServer):
    """A receiver, or a proxy: answers 200 to everything and remembers it."""

    def __init__(self):
        self.seen = []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    """Of every method the same."""

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.path, dict(self.headers), body))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


@pytest.fixture
def listener():
    with Listener() as one:
        yield one
        one.shutdown()


def config(urls):
    """An endpoint and a route for each of these, chosen by the type."""
    types = "".join(f"  {t}: {{}}\n" for t, _ in zip(TYPES, urls))
    endpoints = "".join(f"  {t}: {{ kind: http, url: {json.dumps(url)}, connect_timeout: 1s, timeout: 5s, retry: {{ first: 1h }} }}\n"
                        for t, url in zip(TYPES, urls))
    routes = "".join(f"  - {{ name: {t}, when: {{ type: {t} }}, do: [ {{ deliver: {t} }} ] }}\n" for t, _ in zip(TYPES, urls))
    return f"""\
systems: {{ hub: {{}} }}
types:
{types}gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "json:/type" }} }}
  back: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:none" }} }}
endpoints:
{endpoints}routes:
{routes}"""


def look(node, doc):
    """Its one delivery."""
    seen = node.show(doc, "state deliveries { message attempts }")
    return {"state": seen["state"], **(seen["deliveries"] or [{"message": None}])[0]}


def outcomes(node, urls):
    """What became of a document to each of them: the state, or why it could not be sent."""
    docs = [node.accept("in", json.dumps({"type": t}).encode()) for t, _ in zip(TYPES, urls)]
    ends = [node.await_state(doc, "delivered", "retrying", "dead", "held", look=look, seconds=PATIENCE) for doc in docs]
    return [e["message"] or e["state"] for e in ends]


METADATA = [
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/latest",                    # decimal
    "http://0xa9fea9fe/latest",                    # hexadecimal
    "http://0251.0376.0251.0376/latest",           # octal
    "http://169.254.43518/latest",                 # the last two in one
    "http://[::ffff:169.254.169.254]/latest",      # IPv4 in IPv6
    "http://[::ffff:a9fe:a9fe]/latest",
    "http://[64:ff9b::a9fe:a9fe]/latest",          # over NAT64
    "http://[fe80::1]/latest",
    "http://[fd00:ec2::254]/latest",
    "http://100.100.100.200/latest",
]


@pytest.mark.proves("S16")
@pytest.mark.smoke
def test_link_local_and_metadata_addresses_are_not_sent_to(make_node):
    """However they are written."""
    node = make_node(config=config(METADATA))
    node.start()
    for url, said in zip(METADATA, outcomes(node, METADATA)):
        assert "node.egress" in said, (url, said)


def test_a_node_may_be_allowed_to(make_node):
    """An address of nobody: it is tried, and not refused by the node itself."""
    urls = ["http://169.254.213.7:9/x"]
    node = make_node(config=config(urls), options="egress: [169.254.213.0/24]")
    node.start()
    said, = outcomes(node, urls)
    assert "node.egress" not in said


def own_config(node):
    """Ways to the node's own paths, as a person with `configure` would write them."""
    port = urllib.parse.urlsplit(node.url).port
    closed = [f"http://127.0.0.1:{port}/graphql", f"http://localhost:{port}/metrics", f"http://0.0.0.0:{port}/readyz",
              f"http://[::ffff:127.0.0.1]:{port}/documents", f"http://2130706433:{port}/login",
              f"http://127.0.0.1:{port}/in/../graphql", f"http://127.0.0.1:{port}/in/%2e%2e/graphql",
              f"http://127.0.0.1:{port}"]
    return [f"http://127.0.0.1:{port}/in/back", *closed, f"http://127.0.0.1:{port}/graphql?/in/"]


@pytest.mark.proves("S16")
@pytest.mark.parametrize("allowed", [False, True], ids=["closed", "allowed"])
def test_a_node_does_not_administer_itself(make_node, allowed):
    """Its gateways may be sent to, and nothing else of it."""
    node = make_node(config=config([]), options="egress: [127.0.0.0/8]" if allowed else "")
    node.start()
    urls = own_config(node)
    node.graphql("mutation($t: String!) { configApply(text: $t) { version { version } } }",
                 t=node.config_file.read_text().partition("systems:")[0] + config(urls))
    gateway, *others = outcomes(node, urls)
    assert gateway == "delivered"
    for url, said in zip(urls[1:], others):
        assert ("administration of this node" in said) != allowed, (url, said)


@pytest.mark.proves("S16")
def test_alerts_are_not_told_there_either(make_node):
    """A document without a route is a dead letter, of which somebody is to be told."""
    told = 'alerts: { disk: off, to: { ops: { url: "http://169.254.169.254/", retry: { first: 100ms } } } }\n'
    node = make_node(config=config(["http://127.0.0.1:9/"]) + told)
    node.start()
    node.accept("in", b'{"type": "z"}')

    def said():
        return [n["error"] for a in node.graphql("{ alerts { notices { error } } }")["alerts"] for n in a["notices"] if n["error"]]

    until = time.monotonic() + PATIENCE
    while not said():
        assert time.monotonic() < until, node.tail()
        time.sleep(0.1)
    assert all("node.egress" in error for error in said()), said()


@pytest.mark.proves("S16")
def test_a_login_provider_is_not_asked_there_either(make_node):
    """Nor does a node discover itself."""
    port = free_port()

    def start(issuer):
        node = make_node(config=f"""\
gateways: {{ open: {{ kind: http, auth: none }} }}
auth:
  oidc: {{ issuer: "{issuer}", client_id: waybill, roles: {{ ops: [operator] }} }}
""", options=f"listen: 127.0.0.1:{port}" if f":{port}" in issuer else "")
        node.start()
        answer = node.request("GET", "/oidc/start", timeout=PATIENCE)
        node.stop()
        return answer

    for issuer in ("https://169.254.169.254", f"http://127.0.0.1:{port}"):
        answer = start(issuer)
        assert answer.status >= 400 and b"node.egress" in answer.body, (issuer, answer.body)


# ---- proxies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [False, True], ids=["left out", "configured"])
def test_a_proxy_of_the_environment_is_used_when_it_is_configured(make_node, listener, wanted):
    with Listener() as proxy:
        urls = [f"{listener.url}/x"]
        node = make_node(config=config(urls), options="proxy: environment" if wanted else "",
                         environment={name: proxy.url for name in ("http_proxy", "https_proxy", "ALL_PROXY")})
        node.start()
        assert outcomes(node, urls) == ["delivered"]
        assert (len(proxy.seen), len(listener.seen)) == ((1, 0) if wanted else (0, 1))
        proxy.shutdown()


# ---- the command line ---------------------------------------------------------------------------------------------


def test_the_command_line_sends_the_local_token_to_the_local_node_only(tmp_path, listener):
    """A node elsewhere gets what was given for it, and nothing else."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token").write_text("local-token-of-this-machine\n")
    through = {"http_proxy": listener.url}  # whoever is asked for a name, the listener hears it

    def sent(url, *more, **env):
        listener.seen.clear()
        done = run_program("docs", "ls", "--url", url, *more, cwd=tmp_path, env=clean_environment(**env))
        assert listener.seen, done.stderr
        return listener.seen[0][1].get("Authorization"), done.stderr

    for places in ({}, {"WAYBILL_DATA": tmp_path / "data"}):
        token, said = sent("http://node.example:8480", **through, **places)
        assert token is None, said
        assert sent(listener.url, **places)[0] == "Bearer local-token-of-this-machine"
    assert sent("http://node.example:8480", "--token", "given", **through)[0] == "Bearer given"
    assert sent("http://node.example:8480", **through, WAYBILL_TOKEN="exported")[0] == "Bearer exported"


def test_the_command_line_says_why_it_sent_no_token(node, listener, tmp_path):
    """The proxy is the node itself: it answers as a node elsewhere would."""
    done = run_program("docs", "ls", "--url", "http://node.example:8480", cwd=tmp_path,
                       env=clean_environment(WAYBILL_DATA=node.data, http_proxy=node.url))
    assert done.returncode == 77 and "is not sent elsewhere" in done.stderr and "--token" in done.stderr


# ---- pages of other sites -----------------------------------------------------------------------------------------

OTHER = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://HOST"},
    {"Host": "evil.example:8480", "Origin": "http://evil.example:8480"},                 # a name made to mean us
    {"Host": "evil.example", "Sec-Fetch-Site": "same-origin"},
]
OWN = [
    {},
    {"Host": "node.example"},
    {"Origin": "http://HOST"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "http://HOST"},
]


@pytest.mark.proves("S15")
def test_pages_of_other_sites_send_nothing_to_an_open_gateway(node):
    """What a browser is told to send by a page of somebody else is refused; other programs are not hindered."""
    host = urllib.parse.urlsplit(node.url).netloc

    def post(gateway, fields, **more):
        fields = {name: value.replace("HOST", host) for name, value in fields.items()}
        return node.post(gateway, b"x", {"Content-Type": "text/plain", **fields, **more})

    for fields in OTHER:
        refused = post("open", fields)
        assert refused.status == 403 and refused.json["error"]["code"] == "other_site", fields
    for fields in OWN:
        assert post("open", fields).status == 202, fields
    key, _ = node.add_key("orders")
    for fields in OTHER:
        assert post("orders", fields, **{"X-API-Key": key}).status == 202, "a page with a key is meant"
    assert len(node.documents()) == len(OWN) + len(OTHER)
