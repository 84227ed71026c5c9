"""Receivers that refuse everything: a wrong deploy on the other side costs a few documents, not a night's."""
import json
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
LIMIT = 20        # of breaker.rejections, when nothing is said
TOGETHER = 2      # limits.concurrency: on their way when the breaker opens
COUNT = 80

CONFIG = """\
systems: {{ hub: {{ in_doubt: {policy}, limits: {{ concurrency: {together} }} }} }}
gateways: {{ in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub" }} }} }}
endpoints:
  api: {{ kind: http, system: hub, url: "{url}", retry: {{ first: 50ms, most: 500ms }}, breaker: {{ {breaker} }} }}
routes: [ {{ name: all, do: [ {{ deliver: api }} ] }} ]
alerts: {{ disk: off, dead_letters: off, receiver_failing: {{ after: 100ms }} }}
"""


@pytest.fixture
def receiver():
    with Receiver() as r:
        yield r


def config(receiver, policy="resend", breaker="wait: 1h"):
    return CONFIG.format(url=receiver.url("/in"), policy=policy, breaker=breaker, together=TOGETHER)


def wait_for(node, what, seconds=60):
    until = time.monotonic() + seconds
    while not (got := what()):
        assert time.monotonic() < until, node.tail()
        time.sleep(0.05)
    return got


def sent(receiver):
    return sum(r["method"] == "POST" for r in receiver.requests())


def states(node):
    counts = {}
    for d in node.graphql("{ documents(first: 200) { items { state } } }")["documents"]["items"]:
        counts[d["state"]] = counts.get(d["state"], 0) + 1
    return counts


def alert_codes(node):
    return {a["code"] for a in node.graphql("{ alerts { code object message } }")["alerts"]}


def settled(node, *waiting):
    """Everything that was sent has an outcome, and the rest waits."""
    return wait_for(node, lambda: (s := states(node)) and not set(s) & {"received", "active", *waiting} and s)


def endpoint(node):
    return node.graphql("{ endpoints { name breaker failing } }")["endpoints"][0]


@BOTH
@pytest.mark.proves("DE7")
def test_rejecting_everything_costs_twenty_dead_letters(make_node, receiver):
    receiver.behave("/in", "status", 422, None, "wrong deploy")
    node = make_node(config=config(receiver))
    node.start()
    for i in range(COUNT):
        node.accept("in", f"{i}")
    counts = settled(node)
    assert LIMIT <= counts["dead"] < LIMIT + TOGETHER, counts
    assert counts["held"] == COUNT - counts["dead"]        # nothing is lost, nothing is rejected unseen
    assert sent(receiver) == counts["dead"]
    assert endpoint(node)["breaker"] == "open" and "422" in endpoint(node)["failing"]
    wait_for(node, lambda: "receiver_rejecting" in alert_codes(node))
    alert, = node.graphql("{ alerts { code object message } }")["alerts"]       # and not receiver_failing besides
    assert alert["object"] == "api" and "rejects everything" in alert["message"] and "422" in alert["message"]


@BOTH
def test_what_waits_behind_rejections_goes_on_when_the_receiver_is_mended(make_node, receiver):
    """Also over a restart: it does not begin to count anew, and closes with the first delivery."""
    receiver.behave("/in", "status", 404)
    node = make_node(config=config(receiver, breaker="wait: 1s"))
    node.start()
    docs = [node.accept("in", f"{i}") for i in range(COUNT)]
    wait_for(node, lambda: endpoint(node)["breaker"] == "open")
    settled(node)
    node.restart()
    wait_for(node, lambda: sent(receiver) >= LIMIT + TOGETHER + 1)      # probes come, one at a time
    assert endpoint(node)["breaker"] == "open"
    receiver.behave("/in", "ok")
    wait_for(node, lambda: endpoint(node)["breaker"] == "closed")
    counts = wait_for(node, lambda: (s := states(node)) and set(s) <= {"dead", "delivered"} and s)
    assert sum(counts.values()) == len(docs) and counts["dead"] < LIMIT + TOGETHER + 10, counts
    wait_for(node, lambda: not alert_codes(node))
    assert endpoint(node)["failing"] is None


@BOTH
@pytest.mark.proves("DE6")
def test_unclear_answers_open_the_breaker_of_a_system_that_holds(make_node, receiver):
    receiver.behave("/in", "status", 500)
    node = make_node(config=config(receiver, policy="hold"))
    node.start()
    for i in range(COUNT):
        node.accept("in", f"{i}")
    counts = settled(node)
    assert 5 <= counts["in_doubt"] < 5 + TOGETHER, counts
    assert counts["held"] == COUNT - counts["in_doubt"]
    wait_for(node, lambda: "receiver_failing" in alert_codes(node))


def test_unclear_answers_open_the_breaker_of_a_system_that_takes_again(make_node, receiver):
    receiver.behave("/in", "status", 502)
    node = make_node(config=config(receiver))
    node.start()
    for i in range(COUNT):
        node.accept("in", f"{i}")
    wait_for(node, lambda: endpoint(node)["breaker"] == "open")
    settled(node, "retrying")
    assert 5 <= sent(receiver) < 5 + TOGETHER


def test_a_delivery_between_them_begins_the_row_anew(make_node, receiver):
    node = make_node(config=config(receiver, breaker="rejections: 3, wait: 1h"))
    node.start()
    for round in range(3):
        receiver.behave("/in", "status", 400, times=2)
        for i in range(3):
            doc = node.accept("in", json.dumps([round, i]))
            node.await_state(doc, "dead" if i < 2 else "delivered", look=lambda n, d: n.show(d, "state"))
    assert endpoint(node)["breaker"] == "closed"


def test_rejections_can_be_let_through(make_node, receiver):
    receiver.behave("/in", "status", 400)
    node = make_node(config=config(receiver, breaker="rejections: 0, wait: 1h"))
    node.start()
    for i in range(LIMIT * 2):
        node.accept("in", f"{i}")
    wait_for(node, lambda: states(node) == {"dead": LIMIT * 2})
    assert endpoint(node)["breaker"] == "closed"
