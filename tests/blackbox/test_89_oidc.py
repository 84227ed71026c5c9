"""Logging in at a provider: OpenID Connect against npm's oidc-provider."""
import concurrent.futures
import html
import http.client
import http.cookies
import json
import re
import select
import socket
import subprocess
import time
import urllib.parse

import pytest

import npm_folder
from peers import free_port
from test_88_login import Browser, error, sees

CONFIG = """\
gateways:
  open: {{ kind: http, auth: none }}
auth:
  oidc:
    issuer: http://127.0.0.1:{port}
    client_id: waybill
    client_secret: secret:oidc
    title: The provider
    roles:
      ops: [operator]
      admins: [admin, auditor]
"""


class Op:
    """The provider, as a process."""

    def __init__(self, folder, port, redirect):
        self.netloc = f"127.0.0.1:{port}"
        self.process = subprocess.Popen(["node", "provider.mjs", str(port), redirect], cwd=folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        assert ready and self.process.stdout.readline() == b"ready\n", "the provider did not start"

    def control(self, **what):
        connection = http.client.HTTPConnection(self.netloc, timeout=30)
        connection.request("POST", "/control", json.dumps(what))
        assert connection.getresponse().read() == b"{}\n"
        connection.close()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Walker:
    """A browser that follows redirects between hosts, each with its cookies."""

    def __init__(self):
        self.jars = {}

    def request(self, method, url, body=None):
        where = urllib.parse.urlsplit(url)
        jar = self.jars.setdefault(where.netloc, {})
        fields = {"Accept": "text/html", "Cookie": "; ".join(f"{k}={v}" for k, v in jar.items())}
        if body is not None:
            fields["Content-Type"] = "application/x-www-form-urlencoded"
            fields["Origin"] = f"{where.scheme}://{where.netloc}"
        connection = http.client.HTTPConnection(where.netloc, timeout=30)
        connection.request(method, urllib.parse.urlunsplit(("", "", where.path, where.query, "")), body, fields)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        for value in answer.headers.get_all("Set-Cookie") or []:
            for name, morsel in http.cookies.SimpleCookie(value).items():
                if morsel["max-age"] == "0" or not morsel.value:
                    jar.pop(name, None)
                else:
                    jar[name] = morsel.value
        connection.close()
        answer.url = url
        return answer

    def follow(self, answer, until):
        """Redirects, until one leads to `until`."""
        for _ in range(20):
            if answer.status not in (302, 303):
                return answer
            url = urllib.parse.urljoin(answer.url, answer.headers["Location"])
            if url.startswith(until):
                return url
            answer = self.request("GET", url)
        raise AssertionError("redirects without an end")

    def go_in(self, node, user):
        """From /oidc/start to the address of the callback."""
        callback = node.url + "/oidc/callback"
        page = self.follow(self.request("GET", node.url + "/oidc/start"), callback)
        if isinstance(page, str):
            return page
        assert page.status == 200 and "login" in page.text, (page.status, page.text)
        action = html.unescape(re.search(r'action="([^"]*)"', page.text)[1])
        form = urllib.parse.urlencode({"prompt": "login", "login": user, "password": "x"})
        url = self.follow(self.request("POST", urllib.parse.urljoin(page.url, action), form), callback)
        assert isinstance(url, str), (url.status, url.text)
        return url

    def login(self, node, user):
        """The answer of the callback."""
        return self.request("GET", self.go_in(node, user))

    def browser(self, node):
        made = Browser(node)
        where = urllib.parse.urlsplit(node.url).netloc
        made.cookie = f"waybill={self.jars[where]['waybill']}"
        return made


def apply(node, text):
    made = node.graphql("mutation($t: String!) { configApply(text: $t) { problems { message } } }", t=text)
    return made["configApply"]["problems"]


@pytest.fixture
def provider(make_node):
    """A node with a provider, and the provider."""
    port = free_port()
    node = make_node(config="gateways:\n  open: { kind: http, auth: none }\n")
    node.start()
    node.graphql('mutation { secretAdd(name: "oidc", value: "s3cret/+ of it") { name } }')
    apply(node, CONFIG.format(port=port))
    op = Op(npm_folder.install("oidc"), port, node.url + "/oidc/callback")
    node.op = op
    yield node
    op.stop()


def refused(node, user, why):
    """A login that must fail, and say why; nobody is made by it."""
    walker = Walker()
    answer = walker.login(node, user)
    assert answer.status == 403 and why in answer.text, (answer.status, answer.text)
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "waybill" not in walker.jars[urllib.parse.urlsplit(node.url).netloc]
    return answer


def test_log_in_by_groups_and_through_a_rotation(provider):
    node = provider
    assert node.request("GET", "/login/ways").json["oidc"] == {"title": "The provider", "start": "/oidc/start"}
    node.op.control(groups={"alice": ["ops", "others"], "bob": ["others"], "carol": ["admins"]})
    walker = Walker()
    answer = walker.login(node, "alice")
    assert answer.status == 303 and answer.headers["Location"] == "/", answer.text
    alice = walker.browser(node)
    assert sees(alice) == 200 and error(alice.ask("{ users { name } }")) == "forbidden"
    refused(node, "bob", "none of your groups")
    users = {u["name"]: u for u in node.graphql("{ users { name title roles issuer subject password } }")["users"]}
    assert set(users) == {"alice"} and users["alice"]["roles"] == ["operator"]
    assert users["alice"]["subject"] == "alice" and users["alice"]["title"] == "alice of the provider"
    assert not users["alice"]["password"]

    carol = Walker()
    assert carol.login(node, "carol").status == 303
    carol = carol.browser(node)
    assert carol.ask("{ users { name } }").json["data"]["users"]

    # the same person, with other groups, and other keys of the provider
    node.op.control(rotate=True, groups={"alice": ["admins", "ops"]})
    again = Walker()
    assert again.login(node, "alice").status == 303
    names = {u["name"]: u["roles"] for u in node.graphql("{ users { name roles } }")["users"]}
    assert names["alice"] == ["operator", "admin", "auditor"] and len(names) == 2
    assert alice.ask("{ users { name } }").json["data"]["users"], "the old session has the new roles"

    # a name that somebody has already
    node.graphql('mutation { userAdd(name: "dora", roles: ["viewer"]) { link } }')
    node.op.control(groups={"dora": ["ops"], "alice": ["ops"]})
    assert Walker().login(node, "dora").status == 303
    users = {u["name"]: u for u in node.graphql("{ users { name subject roles } }")["users"]}
    other = [u["name"] for u in users.values() if u["subject"] == "dora"]
    assert users["dora"]["subject"] is None and users["dora"]["roles"] == ["viewer"]
    assert len(other) == 1 and other[0].startswith("oidc-")

    # in no group any more: the roles of before are gone, also for sessions of before
    node.op.control(groups={"carol": []})
    refused(node, "carol", "none of your groups")
    assert error(carol.ask("{ users { name } }")) == "forbidden"

    node.graphql('mutation { userChange(name: "alice", disabled: true) { name } }')
    assert sees(alice) == 401
    refused(node, "alice", "disabled")
    assert Browser(node).login("alice", "").status == 401


@pytest.mark.proves("S11")
def test_tokens_that_are_wrong(provider):
    node = provider
    node.op.control(groups={"alice": ["ops"]})
    for mode, why in (("forged", "signature"), ("none", "not signed"), ("hs256", "RS256"), ("expired", "expired"),
                      ("aud", "somebody else"), ("nonce", "another login"), ("stranger", "does not show")):
        node.op.control(mode=mode)
        refused(node, "alice", why)
    assert node.graphql("{ users { name } }")["users"] == []
    node.op.control(mode="ok")
    assert Walker().login(node, "alice").status == 303


def test_callbacks_that_belong_to_nobody(provider):
    node = provider
    node.op.control(groups={"alice": ["ops"]})
    walker, other = Walker(), Walker()
    url = walker.go_in(node, "alice")
    answer = other.request("GET", url)
    assert answer.status == 403 and "this browser began" in answer.text, "another browser's code"
    other.request("GET", node.url + "/oidc/start")
    assert other.request("GET", url).status == 403, "another login's code"
    for broken in ("/oidc/callback", "/oidc/callback?code=x", "/oidc/callback?state=x&code=y",
                   "/oidc/callback?error=access_denied", "/oidc/callback?code=%zz"):
        assert Walker().request("GET", node.url + broken).status == 403
    wrong = url.replace("iss=http", "iss=https")
    assert wrong != url and walker.request("GET", wrong).status == 403
    walker = Walker()
    url = walker.go_in(node, "alice")
    kept = dict(walker.jars[urllib.parse.urlsplit(node.url).netloc])
    assert walker.request("GET", url).status == 303
    walker.jars[urllib.parse.urlsplit(node.url).netloc] = kept
    assert walker.request("GET", url).status == 403, "a code is good once"
    events = json.dumps(node.events)
    assert "s3cret" not in events and urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["code"][0] not in events

    node.op.stop()
    node.restart()  # what it knew of the provider is gone
    answer = Walker().request("GET", node.url + "/oidc/start")
    assert answer.status == 503 and "does not answer" in answer.text
    assert node.request("GET", "/healthz").status == 200


def test_providers_that_are_refused(node):
    text = CONFIG.format(port=1).replace("    client_secret: secret:oidc\n", "")
    assert apply(node, text.replace("http://127.0.0.1:1", "http://provider.example")) == []
    answer = node.request("GET", "/oidc/start")
    assert answer.status == 500 and b"by https" in answer.body
    assert apply(node, text.replace("client_id", "client_ID"))
    assert apply(node, CONFIG.format(port=1)), "there is no secret of that name"


def test_values_that_are_too_long_are_refused(node):
    """Whoever asks is a stranger: the node says so, and goes on."""
    put = "mutation($n: String!, $v: String!) { secretAdd(name: $n, value: $v) { name } }"
    text = CONFIG.format(port=1)
    node.graphql(put, n="oidc", v="/" * 4096)
    assert apply(node, text) == []
    assert Walker().request("GET", node.url + "/oidc/start").status == 503, "nobody answers there"
    node.graphql(put, n="long", v="/" * 60000)
    for key, value in (("client_secret: secret:oidc", "client_secret: secret:long"),
                       ("client_secret: secret:oidc", "client_secret: ${secret:long}${secret:long}${secret:long}"),
                       ("client_id: waybill", "client_id: " + "x" * 4097),
                       ("title: The", "redirect: http://127.0.0.1/" + "x" * 30000 + "\n    title: The"),
                       ("title: The", "scopes: " + "/" * 30000 + "\n    title: The"),
                       ("title: The", "title: " + "x" * 70000)):
        assert apply(node, text.replace(key, value)) == []
        for path in ("/oidc/start", "/oidc/callback"):
            answer = Walker().request("GET", node.url + path)
            what = value.strip().split(":")[0]
            assert answer.status == 500 and what in answer.text and "4096" in answer.text, answer.text
        assert node.request("GET", "/login/ways").json == {"password": True, "oidc": None}


def test_a_provider_that_says_nothing_is_waited_for_once(node):
    """Who asks meanwhile is told the same, instead of waiting for as long again each."""
    with socket.socket() as silent, concurrent.futures.ThreadPoolExecutor(4) as pool:
        silent.bind(("127.0.0.1", 0))
        silent.listen(16)
        text = CONFIG.format(port=silent.getsockname()[1]).replace("    client_secret: secret:oidc\n", "")
        assert apply(node, text) == []
        began = time.monotonic()
        answers = list(pool.map(lambda _: Walker().request("GET", node.url + "/oidc/start"), range(4)))
        assert {a.status for a in answers} == {503} and time.monotonic() - began < 18, "one wait is 10 s"
    assert node.request("GET", "/healthz").status == 200
