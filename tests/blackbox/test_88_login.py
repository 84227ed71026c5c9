"""Logging in: the first user, passwords, sessions, what strangers can and cannot do."""
import json
import re
import ssl
import urllib.parse

import pytest

from test_13_start_stop import make_certificate
from wire import Wire, at_once, wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
PASSWORD = "correct horse battery"


class Browser:
    """What a browser does: keeps the cookie, says where its page is from."""

    def __init__(self, node, site=None):
        self.node = node
        self.cookie = None
        self.site = site

    def headers(self, **more):
        where = urllib.parse.urlsplit(self.node.url)
        fields = {"Origin": self.site or f"http://{where.netloc}", **more}
        if self.cookie:
            fields["Cookie"] = f"theme=dark; {self.cookie}"
        return fields

    def take(self, answer):
        for value in answer.headers.get_all("Set-Cookie") or []:
            pair = value.split(";")[0]
            self.cookie = pair if not pair.endswith("=") else None
        return answer

    def post(self, path, body, **headers):
        fields = self.headers(**{"Content-Type": "application/json", **headers})
        return self.take(self.node.request("POST", path, json.dumps(body), fields, timeout=120))

    def get(self, path):
        return self.take(self.node.request("GET", path, headers=self.headers()))

    def login(self, user, password=PASSWORD):
        return self.post("/login", {"user": user, "password": password})

    def ask(self, query, **variables):
        return self.post("/graphql", {"query": query, "variables": variables})


def first_link(node):
    return urllib.parse.urlsplit(node.wait_event("login.first")["link"]).path


def first_user(node, name="root"):
    browser = Browser(node)
    answer = browser.post(first_link(node), {"user": name, "password": PASSWORD})
    assert answer.status == 200 and answer.json == {"user": name}, answer.body
    return browser


def add_user(node, name, *roles):
    made = node.graphql("mutation($n: String!, $r: [String!]!) { userAdd(name: $n, roles: $r)"
                        " { link } }", n=name, r=roles)["userAdd"]
    browser = Browser(node)
    assert browser.post(made["link"], {"user": name, "password": PASSWORD}).status == 200
    return browser


def sees(browser):
    """The status of a question that needs a login."""
    return browser.ask("{ nodes { id } }").status


def error(answer):
    return answer.json["errors"][0]["extensions"]["code"] if answer.json.get("errors") else None


@BOTH
def test_from_the_first_link_to_the_last_session(node):
    browser = Browser(node)
    assert sees(browser) == 401
    path = first_link(node)
    assert re.fullmatch(r"/login/[A-Za-z0-9_-]{43}", path)
    page = browser.get(path)
    assert page.status == 200 and b"<form" in page.body and b"<script" not in page.body
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    for bad in ({"user": "root", "password": "short"}, {"user": "No Name", "password": PASSWORD},
                {"user": "root", "password": "aaaaaaaaaaaaaaa"}, {"user": "root"}, {}):
        assert browser.post(path, bad).status == 400
    answer = browser.post(path, {"user": "Root", "password": PASSWORD})
    assert answer.status == 200 and answer.json == {"user": "root"}
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    assert "Secure" not in cookie and "Max-Age" not in cookie
    assert sees(browser) == 200
    assert browser.post(path, {"user": "two", "password": PASSWORD}).status == 404
    assert browser.get(path).status == 404
    assert Browser(node).login("root", "wrong").status == 401

    again = Browser(node)
    assert again.login("ROOT").status == 200 and again.cookie != browser.cookie
    before = again.cookie
    assert again.login("root").status == 200 and again.cookie != before, "rotated at login"
    old = Browser(node)
    old.cookie = before
    assert sees(old) == 401
    node.restart()
    again.node = browser.node = node
    assert sees(again) == 200
    held = again.cookie
    gone = again.post("/logout", {})
    assert gone.status == 204 and again.cookie is None
    again.cookie = held
    assert sees(again) == 401 and sees(browser) == 200
    assert held.split("=")[1] not in json.dumps(node.events)


def test_no_link_when_there_is_a_user(node):
    first_user(node)
    node.restart()
    since = max(i for i, e in enumerate(node.events) if e["event"] == "node.ready")
    wait_until(lambda: sees(Browser(node)) == 401)
    assert not any(e["event"] == "login.first" for e in node.events[since:])


def test_the_form_of_a_link_works_without_script(node):
    path = first_link(node)
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": node.url, "Sec-Fetch-Site": "same-origin"}
    answer = node.request("POST", path, "user=root&password=short", form)
    assert answer.status == 400 and b"at least 12" in answer.body
    answer = node.request("POST", path, f"user=root&password={PASSWORD.replace(' ', '+')}", form)
    assert answer.status == 303 and answer.headers["Location"] == "/"
    assert Browser(node).login("root").status == 200
    answer = node.request("POST", path, "user=x&password=aaaaaaaaaaaab", form)
    assert answer.status == 404 and b"does not work" in answer.body


def test_users_by_the_command_line(node):
    made = node.cli("user", "add", "alice", "--role", "operator", "--title", "Alice A.")
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(node.url + "/login/") and "once" in made.stderr
    path = made.stdout.strip()[len(node.url):]
    assert node.cli("user", "add", "alice", "--role", "viewer").returncode == 1
    assert "there are admin" in node.cli("user", "add", "bob", "--role", "king").stderr
    assert node.cli("user", "add", "bob").returncode == 2
    assert "invited" in node.cli("user", "ls").stdout
    alice = Browser(node)
    assert alice.post(path, {"user": "alice", "password": PASSWORD}).status == 200
    assert error(alice.ask("{ retention { every } }")) != "forbidden"
    assert error(alice.ask("{ users { name } }")) == "forbidden"
    listed = node.cli("user", "ls", "--json").stdout
    assert json.loads(listed)["roles"] == ["operator"] and PASSWORD not in listed
    assert node.cli("user", "change", "alice", "--role", "viewer").returncode == 0
    refused = node.cli("user", "change", "alice", "--role", "\udce4")  # a byte that is no UTF-8
    assert refused.returncode != 0 and "UTF-8" in refused.stderr, refused
    assert error(alice.ask("mutation { nodePause { id } }")) == "forbidden"
    link = node.cli("user", "link", "alice").stdout.strip()[len(node.url):]
    assert sees(alice) == 200 and Browser(node).login("alice").status == 200
    rotated = node.cli("user", "rotate", "alice").stdout.strip()[len(node.url):]
    assert sees(alice) == 401 and Browser(node).login("alice").status == 401
    assert Browser(node).get(link).status == 404
    assert alice.post(rotated, {"user": "alice", "password": "another one that is long"}).status == 200
    assert node.cli("user", "change", "alice", "--disable").returncode == 0
    assert sees(alice) == 401
    assert Browser(node).login("alice", "another one that is long").status == 401
    assert node.cli("user", "change", "alice", "--enable").returncode == 0
    assert alice.login("alice", "another one that is long").status == 200
    assert node.cli("user", "rm", "alice").returncode == 0
    assert sees(alice) == 401 and node.cli("user", "rm", "alice").returncode == 1
    assert node.cli("user", "link", "alice").returncode == 1


def test_sessions_are_listed_and_ended(node):
    root = first_user(node)
    alice = add_user(node, "alice", "viewer")
    listed = root.ask("{ sessions { id user address agent current made expires } }").json["data"]
    by_user = {s["user"]: s for s in listed["sessions"]}
    assert by_user["root"]["current"] and not by_user["alice"]["current"]
    assert by_user["alice"]["address"] == "127.0.0.1"
    assert error(alice.ask("{ sessions { id } }")) == "forbidden"
    ended = root.ask("mutation($i: ID!) { sessionEnd(id: $i) }", i=by_user["alice"]["id"])
    assert ended.json["data"]["sessionEnd"] is True
    assert sees(alice) == 401 and sees(root) == 200


def test_a_session_that_ends_while_a_question_comes(node):
    first_user(node)
    alice = add_user(node, "alice", "admin")
    body = json.dumps({"query": "mutation { roleAdd(name: \"late\", rights: [see]) { name } }"}).encode()
    where = urllib.parse.urlsplit(node.url).netloc
    with Wire(node) as w:
        w.send(f"POST /graphql HTTP/1.1\r\nHost: {where}\r\nOrigin: http://{where}\r\n"
               f"Cookie: {alice.cookie}\r\nContent-Type: application/json\r\n"
               f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n")
        assert w.answer().status == 100  # the session counts
        w.send(body[:20])
        assert alice.post("/logout", {}).status == 204
        got = w.send(body[20:]).answer()
    assert got.status == 401 and b"session has ended" in got.body
    assert {"name": "late"} not in node.graphql("{ roles { name } }")["roles"]


def test_a_new_password_ends_the_other_sessions(node):
    root = first_user(node)
    other = Browser(node)
    assert other.login("root").status == 200
    change = "mutation($o: String!, $n: String!) { passwordChange(old: $o, new: $n) }"
    new = "a new one, as long as that"
    assert error(root.ask(change, o="wrong", n=new)) == "forbidden"
    assert error(root.ask(change, o=PASSWORD, n="short")) == "refused"
    assert root.ask(change, o=PASSWORD, n=new).json["data"]["passwordChange"] is True
    line = node.graphql('{ audit(filter: { action: "passwordChange" }) { items { after } } }')["audit"]["items"][0]
    assert line["after"] == json.dumps({"old": f"({len(PASSWORD)} bytes)", "new": f"({len(new)} bytes)"},
                                       separators=(",", ":")), "@secret: the size only"
    assert sees(root) == 200 and sees(other) == 401
    assert other.login("root").status == 401 and other.login("root", new).status == 200
    answer = node.request("POST", "/graphql", json.dumps(
        {"query": change, "variables": {"o": new, "n": new}}),
        {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"})
    assert error(answer) == "refused", "the token has no password"


def test_a_role_counts_with_the_next_question(node):
    """Of a session too, at once on the node that was asked: not when it next looks."""
    put = "mutation($r: [Right!]!) { roleAdd(name: \"helper\", rights: $r) { name } }"
    node.graphql(put, r=["see"])
    helper = add_user(node, "helga", "helper")

    def rights():
        return helper.ask("{ me { rights } }").json["data"]["me"]["rights"]

    for _ in range(5):
        for given in (["see", "hold"], ["see"]):
            node.graphql(put, r=given)
            assert rights() == given
        assert node.graphql('mutation { roleRemove(name: "helper") }')["roleRemove"]
        assert rights() == []


@pytest.mark.stores("postgres")
def test_other_nodes_follow(node, make_node):
    second = make_node()
    second.start()
    root = first_user(node)
    there = Browser(second)
    there.cookie = root.cookie
    wait_until(lambda: sees(there) == 200, seconds=30, what="the session on the other node")
    assert root.post("/logout", {}).status == 204
    wait_until(lambda: sees(there) == 401, seconds=30, what="the end of it on the other node")


# ---- strangers -----------------------------------------------------------------------------------


def test_other_sites_cannot_use_the_cookie(node):
    root = first_user(node)
    body = json.dumps({"query": "mutation { nodePause { id } }"})
    fields = {"Cookie": root.cookie, "Content-Type": "application/json"}
    for more in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"},
                 {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
                 {"Origin": f"{node.url}.evil.example"},
                 {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:1"}):
        answer = node.request("POST", "/graphql", body, {**fields, **more})
        assert answer.status == 401, more
    paused = node.graphql("{ nodes { pauses { what } } }")["nodes"]
    assert all(not n["pauses"] for n in paused)
    for more in ({"Origin": node.url}, {"Sec-Fetch-Site": "same-origin"}):
        answer = node.request("POST", "/graphql", json.dumps({"query": "{ nodes { id } }"}),
                              {**fields, **more})
        assert answer.status == 200 and not answer.json.get("errors"), more
    answer = node.request("POST", "/graphql", body, {**fields, "Origin": node.url,
                                                     "Content-Type": "text/plain"})
    assert answer.status in (400, 415)
    pair = json.dumps({"user": "root", "password": PASSWORD})
    kinds = {"Content-Type": "application/json"}
    assert node.request("POST", "/login", pair, {**kinds, "Origin": "https://evil.example"}).status == 403
    assert node.request("POST", "/login", pair, {"Content-Type": "text/plain"}).status == 415
    assert node.request("POST", "/logout", None, {"Cookie": root.cookie,
                                                  "Origin": "https://evil.example"}).status == 403
    assert sees(root) == 200


STRANGERS = [{}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
             {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "same-origin", "Origin": "null"}]


@pytest.mark.parametrize("kind", [{}, {"Content-Type": "application/json"}])
def test_nobody_is_logged_out_by_another_site(node, kind):
    root = first_user(node)
    for more in STRANGERS:
        for cookie in ({"Cookie": root.cookie}, {}):
            answer = node.request("POST", "/logout", "{}" if kind else None, {**cookie, **kind, **more})
            assert answer.status == 403 and answer.json["error"]["code"] == "other_site", more
            assert "Set-Cookie" not in answer.headers, more
    assert sees(root) == 200
    answer = node.request("POST", "/logout", "{}" if kind else None,
                          {"Cookie": root.cookie, **kind, "Sec-Fetch-Site": "same-origin"})
    assert answer.status == 204 and sees(root) == 401


def test_nobody_is_logged_in_by_another_site(node):
    """Who has a link could else make a page that logs others in as its user."""
    path = first_link(node)
    body = f"user=root&password={PASSWORD.replace(' ', '+')}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for more in STRANGERS:
        answer = node.request("POST", path, body, {**form, **more})
        assert answer.status == 403 and answer.json["error"]["code"] == "other_site", more
        assert "Set-Cookie" not in answer.headers, more
    assert node.request("POST", path, body, {**form, "Origin": node.url}).status == 303, "it was not used up"


def test_a_page_by_tls_in_front_of_the_node(node):
    first_user(node)
    where = urllib.parse.urlsplit(node.url).netloc
    browser = Browser(node, site=f"https://{where}")
    answer = browser.login("root")
    assert answer.status == 200
    assert answer.headers["Set-Cookie"].startswith("__Host-waybill=")
    assert "; Secure" in answer.headers["Set-Cookie"]
    assert sees(browser) == 200


def test_a_node_with_tls_itself(make_node):
    node = make_node(options='tls: { cert: "cert.pem", key: "key.pem" }')
    make_certificate(node.folder, "localhost")
    node.start()
    assert node.wait_event("login.first")["link"].startswith("https://")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    origin = f"Origin: https://{urllib.parse.urlsplit(node.url).netloc}"

    def ask(path, body, *fields):
        with Wire(node, tls=context, timeout=60) as w:
            text = json.dumps(body)
            lines = [f"POST {path} HTTP/1.1", f"Host: {origin[len('Origin: https://'):]}", *fields,
                     "Content-Type: application/json", f"Content-Length: {len(text)}"]
            return w.send("\r\n".join(lines) + "\r\n\r\n", text).answer()

    made = ask(first_link(node), {"user": "root", "password": PASSWORD}, origin)
    cookie = made.headers["Set-Cookie"]
    assert made.status == 200 and cookie.startswith("__Host-waybill=") and "; Secure" in cookie
    secret = cookie.split(";")[0]
    asked = {"query": "{ nodes { id } }"}
    assert ask("/graphql", asked, origin, f"Cookie: {secret}").status == 200
    assert ask("/graphql", asked, origin.replace("https", "http"), f"Cookie: {secret}").status == 401
    plain = secret.replace("__Host-", "")
    assert ask("/graphql", asked, origin, f"Cookie: {plain}").status == 401, "a name that other hosts may set"


@BOTH
@pytest.mark.proves("AU1")
def test_who_came_and_went_is_in_the_audit_log(node):
    root = first_user(node)
    add_user(node, "alice", "viewer")
    alice = Browser(node)
    assert alice.login("alice").status == 200 and Browser(node).login("alice", "wrong").status == 401
    assert alice.post("/logout", {}).status == 204
    lines = node.graphql("{ audit { items { actor kind address action object } } }")["audit"]["items"]
    # What was refused is noted a little later, by a thread of its own: it may be there already, or not.
    seen = [(line["actor"], line["action"], line["object"]) for line in reversed(lines)
            if line["address"] and line["action"] != "loginRefused"]
    assert seen == [("root", "passwordSet", "root"), ("root", "login", "root"), ("admin", "userAdd", "alice"),
                    ("alice", "passwordSet", "alice"), ("alice", "login", "alice"),
                    ("alice", "login", "alice"), ("alice", "logout", "alice")]
    assert node.graphql("{ auditVerify { ok } }")["auditVerify"]["ok"] and sees(root) == 200


def test_guessing_is_slowed_and_locks_nobody_else_out(node):
    root = first_user(node)
    add_user(node, "alice", "viewer")
    stranger = Browser(node)
    assert Browser(node).login("nobody").json == Browser(node).login("nobody2").json
    answers = [stranger.login("bob", f"guess {i}") for i in range(12)]
    codes = [a.status for a in answers]
    assert codes[:5] == [401] * 5 and 429 in codes and set(codes) == {401, 429}
    refused = answers[codes.index(429)]
    assert int(refused.headers["Retry-After"]) >= 1 and refused.json["error"]["code"] == "too_often"
    for i in range(30):
        if stranger.login(f"user{i}").status == 429:
            break
    else:
        raise AssertionError("an address may try for ever")
    assert Browser(node).login("alice").status == 200, "from a known address"
    assert sees(root) == 200
    assert any(e["event"] == "login.refuse" for e in node.events)


def test_many_at_once_wait_for_their_turn(node):
    root = first_user(node)
    codes = at_once(14, lambda i: Browser(node).login(f"user{i}").status if i > 1 else sees(root))
    assert codes == [200] * 2 + [401] * 12


@pytest.mark.proves("S15")
def test_nothing_answers_without_a_login(node):
    ident = node.post("open", b"x").json["document"]
    for path in ("/events", "/graphql", f"/documents/{ident}", f"/documents/{ident}/payload"):
        answer = node.request("GET", path)
        assert answer.status in (401, 405) and ident.encode() not in answer.body, path
    for path in ("/graphql", f"/documents/{ident}/edit", "/documents?gateway=open"):
        assert node.request("POST", path, b"{}", {"Content-Type": "application/json"}).status == 401
    assert node.documents() == [ident]
    assert node.request("GET", "/healthz").status == 200
    assert node.request("GET", "/login/ways").json == {"password": True, "oidc": None}
    assert node.request("GET", "/oidc/start").status == 404
    assert node.request("GET", "/login/x").status == 404
    assert node.request("DELETE", "/login").status == 405
    for body in (b"", b"[", b"[]", b"{\"user\":1}", b"[" * 9000, b"x" * 20000):
        answer = node.request("POST", "/login", body, {"Content-Type": "application/json"})
        assert answer.status in (400, 413), body[:20]
