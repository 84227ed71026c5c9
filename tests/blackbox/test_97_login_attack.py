"""Login under attack: wrong passwords at a gateway, proxies that say who asks, and what strangers are told."""
import contextlib
import itertools
import json
import threading

import pytest

from test_10_gateway_http import argon2id, basic
from test_88_login import PASSWORD, add_user
from wire import at_once, wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
PATIENCE = 120
LONG = 8  # seconds, within which a slow machine comes to its next try
FLOOD = 80  # more than a queue of hashes holds
ADDRESSES = (f"127.{a}.{b}.{c}" for a, b, c in itertools.product(range(1, 200), range(1, 200), range(1, 200)))
LOCK = threading.Lock()


def fresh_address():
    """A loopback address that no request came from yet."""
    with LOCK:
        return next(ADDRESSES)


@pytest.fixture(scope="module")
def config():
    """A gateway with two users."""
    return f"""\
systems: {{ hub: {{}} }}
gateways:
  mail:
    kind: http
    auth: basic
    users: {{ ann: "{argon2id(b'right', 19)}", bob: "{argon2id(b'right too', 19)}" }}
"""


@pytest.fixture
def mail(make_node, config):
    """A node with that gateway."""
    node = make_node(config=config)
    node.start()
    return node


def knock(node, user, password, source=None):
    """The status of a document with that user and password."""
    return node.request("POST", "/in/mail", b"x", basic(user, password), timeout=PATIENCE, source=source).status


def log_in(node, user, password=PASSWORD, source=None, **fields):
    """POST /login as a program does it."""
    return node.request("POST", "/login", json.dumps({"user": user, "password": password}),
                        {"Content-Type": "application/json", **fields}, timeout=PATIENCE, source=source)


@pytest.mark.smoke
def test_wrong_passwords_at_a_gateway_are_slowed_down(mail):
    """By account and address, as at the login; who sent before, and who sends from elsewhere, is not hindered."""
    assert knock(mail, "ann", "right") == 202
    tries = [mail.post("mail", b"x", basic("bob", f"wrong {i}")) for i in range(5)]
    assert [t.status for t in tries] == [401] * 5
    while tries[-1].status != 429 or int(tries[-1].headers["Retry-After"]) < LONG:  # it doubles
        tries.append(mail.post("mail", b"x", basic("bob", "wrong again")))
        assert tries[-1].status in (401, 429), tries[-1].body
    assert tries[-1].json["error"]["code"] == "too_often"
    assert knock(mail, "bob", "right too") == 429, "a guess that is right is not told"
    assert knock(mail, "bob", "right too", source="127.0.0.2") == 202, "nobody is locked out by a stranger"
    assert knock(mail, "ann", "right") == 202
    refused = [e for e in mail.events if e.get("event") == "sender.refuse"]
    assert refused and refused[0]["user"] == "bob" and refused[0]["address"] == "127.0.0.1"


def test_one_address_tries_twenty_accounts_and_no_more(mail):
    """An address that goes through names is slowed down too."""
    codes = [knock(mail, f"user{i}", "guess") for i in range(25)]
    assert codes[:20] == [401] * 20 and 429 in codes[20:], codes


def test_a_flood_at_a_gateway_does_not_delay_a_login(mail):
    """The wrong passwords of senders wait in a queue of their own: a person is answered while most of them wait."""
    add_user(mail, "root", "admin")
    waiting = FLOOD
    before = []

    def work(number):
        nonlocal waiting
        if number == 0:
            wait_until(lambda: waiting < FLOOD, PATIENCE, "an answer to the flood")  # it is on its way
            answer = log_in(mail, "root", source=fresh_address())
            before.append(waiting)
            return answer.status
        status = knock(mail, "ann", "wrong", source=fresh_address())
        with LOCK:
            waiting -= 1
        return status

    codes = at_once(FLOOD + 1, work)
    assert codes[0] == 200
    assert set(codes[1:]) <= {401, 503}
    assert before[0] > FLOOD / 4, f"{FLOOD - before[0]} of the flood were answered first"


@pytest.mark.parametrize("door", ["login", "gateway"])
def test_a_refusal_for_being_busy_takes_the_try_back(mail, door):
    """Nobody has to wait for tries that were never made."""
    add_user(mail, "root", "admin")
    stop = threading.Event()

    def attempt(right, source):
        if door == "login":
            return log_in(mail, "root" if right else "nobody", source=source, password=PASSWORD if right else "x" * 12).status
        return knock(mail, "bob", "right too" if right else "wrong", source)

    def flood():
        with contextlib.suppress(OSError):
            while not stop.is_set():
                attempt(False, fresh_address())

    threads = [threading.Thread(target=flood) for _ in range(2 * FLOOD)]  # a gateway answers half of them later
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):  # until one was turned away more often than it may try
            source = fresh_address()
            codes = []
            while not codes or (codes[-1] == 503 and len(codes) < 8):
                codes.append(attempt(True, source))
            if codes.count(503) >= 6:
                break
        assert codes.count(503) >= 6, "the queue was never full"
        assert 429 not in codes, codes
    finally:
        stop.set()
        if door == "login":
            mail.kill()  # its queue would take long to drain
        for thread in threads:
            thread.join()
    assert door == "login" or attempt(True, source) == 202


# ---- proxies ---------------------------------------------------------------------------------------------------

PROXY = "127.0.0.2"
SAID = [
    ({"X-Forwarded-For": "192.0.2.7"}, "192.0.2.7"),
    ({"X-Forwarded-For": "6.6.6.6, 192.0.2.7"}, "192.0.2.7"),           # what the client wrote itself
    ({"X-Forwarded-For": "192.0.2.7, 10.1.2.3"}, "192.0.2.7"),          # over a second proxy
    ({"X-Forwarded-For": "10.1.2.4, 10.1.2.3"}, "10.1.2.4"),            # a proxy itself asks
    ({"X-Forwarded-For": "2001:db8::7"}, "2001:db8::7"),
    ({"X-Forwarded-For": "[2001:db8::7]:4711"}, "2001:db8::7"),
    ({"X-Forwarded-For": "192.0.2.7:4711"}, "192.0.2.7"),
    ({"Forwarded": 'for=6.6.6.6;by="x, For="[2001:db8::7]:80";proto=https'}, "2001:db8::7"),
    ({"Forwarded": "proto=https;for=192.0.2.7"}, "192.0.2.7"),
    ({"Forwarded": "for=unknown"}, PROXY),
    ({"X-Forwarded-For": "192.0.2.7, nonsense"}, PROXY),
    ({"X-Forwarded-For": "192.0.2.7", "Forwarded": "for=192.0.2.7"}, "192.0.2.7"),
    ({"X-Forwarded-For": "192.0.2.7", "Forwarded": "for=6.6.6.6"}, PROXY),  # one of them is the client's own
    ({}, PROXY),
]


@pytest.mark.node_options(f"trust: [{PROXY}, 10.0.0.0/8]")
def test_a_proxy_says_who_asks(node):
    """Only those in `trust`, and only as far back as they wrote it."""
    def address_of(source, fields):
        seen = len(node.events)
        assert log_in(node, f"user{seen}", "x" * 12, source, **fields).status in (401, 429)
        return node.wait_event("login.refuse", since=seen)["address"]

    for fields, address in SAID:
        assert address_of(PROXY, fields) == address, fields
    assert address_of("127.0.0.3", {"X-Forwarded-For": "192.0.2.99"}) == "127.0.0.3"


@BOTH
@pytest.mark.node_options(f"trust: [{PROXY}]")
def test_throttle_session_and_audit_know_the_client_behind_a_proxy(node):
    add_user(node, "root", "admin")
    behind = {"X-Forwarded-For": "192.0.2.7"}
    codes = [log_in(node, "root", "wrong password", PROXY, **behind).status for _ in range(20)]
    assert codes[:5] == [401] * 5 and 429 in codes, codes
    other = {"X-Forwarded-For": "192.0.2.8"}
    assert log_in(node, "root", source=PROXY, **other).status == 200, "another client of the same proxy"
    listed = node.graphql("{ sessions { address } }")["sessions"]
    assert "192.0.2.8" in [s["address"] for s in listed]
    lines = node.graphql("{ audit(first: 50) { items { action address } } }")["audit"]["items"]
    assert {"action": "login", "address": "192.0.2.8"} in lines


# ---- what strangers are told -------------------------------------------------------------------------------------


@pytest.mark.node_options(f"trust: [{PROXY}]\nmonitors: [127.0.0.4]")
@pytest.mark.proves("S15")
def test_metrics_and_reasons_are_not_for_everybody_on_this_machine(node):
    """A proxy on this machine makes everybody local: nearness gives nothing."""
    bearer = {"Authorization": f"Bearer {node.token}"}
    closed = node.request("GET", "/metrics")
    assert closed.status == 401 and b"node.monitors" in closed.body
    assert node.request("GET", "/readyz").json == {"ready": True}
    for headers, source in ((bearer, None), ({}, "127.0.0.4"), ({"X-Forwarded-For": "127.0.0.4"}, PROXY)):
        assert node.request("GET", "/metrics", headers=headers, source=source).status == 200
        assert node.request("GET", "/readyz", headers=headers, source=source).json == {"ready": True, "reasons": []}
    assert node.request("GET", "/metrics", headers={"X-Forwarded-For": "192.0.2.7"}, source=PROXY).status == 401
    key = node.graphql('mutation { adminKeyAdd(title: "prometheus", roles: ["viewer"]) { key } }')["adminKeyAdd"]["key"]
    assert node.request("GET", "/metrics", headers={"X-API-Key": key}).status == 200
    assert node.cli("node", "pause", "--intake", "--reason", "test").returncode == 0
    wait_until(lambda: node.request("GET", "/readyz").status == 503)
    assert node.request("GET", "/readyz").json == {"ready": False}
    assert node.request("GET", "/readyz", headers=bearer).json["reasons"]
