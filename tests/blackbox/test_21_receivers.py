"""What receivers do, and the state in which a delivery ends for it: one test per behaviour.

One node and one receiver for all.  Each behaviour has a type of its own, a route and an endpoint;
`hub` is a system whose unclear sends are repeated, `strict` one that wants to be asked first.
"""
import json
import pathlib
import sys
import time

import pytest

from running_node import Node
from wire import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

# behaviour -> state of the delivery (resend), state (hold), code
DELIVERED, RETRY, HELD, DEAD = "delivered", "retrying", "held", "dead"
CASES = {
    "ok": (DELIVERED, DELIVERED, None),
    "status/201": (DELIVERED, DELIVERED, None),
    "status/204": (DELIVERED, DELIVERED, None),
    "chunked": (DELIVERED, DELIVERED, None),
    "http10": (DELIVERED, DELIVERED, None),
    "gzip_bomb/16": (DELIVERED, DELIVERED, None),
    "huge/8": (DELIVERED, DELIVERED, None),
    "excess": (DELIVERED, DELIVERED, None),
    "status/408": (RETRY, RETRY, "retry"),
    "status/425": (RETRY, RETRY, "retry"),
    "status/429": (RETRY, RETRY, "retry"),
    "status/503": (RETRY, RETRY, "retry"),
    "status/500": (RETRY, "in_doubt", "in_doubt"),
    "status/502": (RETRY, "in_doubt", "in_doubt"),
    "status/504": (RETRY, "in_doubt", "in_doubt"),
    "status/401": (HELD, HELD, "credential"),
    "status/403": (HELD, HELD, "credential"),
    "status/407": (HELD, HELD, "credential"),
    "status/400": (DEAD, DEAD, "rejected"),
    "status/404": (DEAD, DEAD, "rejected"),
    "status/409": (DEAD, DEAD, "rejected"),
    "status/413": (DEAD, DEAD, "rejected"),
    "status/422": (DEAD, DEAD, "rejected"),
    "redirect/301": (DEAD, DEAD, "rejected"),
    "redirect/307": (DEAD, DEAD, "rejected"),
    "no_answer": (RETRY, "in_doubt", "in_doubt"),
    "close": (RETRY, "in_doubt", "in_doubt"),
    "reset": (RETRY, "in_doubt", "in_doubt"),
    "garbage": (RETRY, "in_doubt", "in_doubt"),
    "cut_head": (RETRY, "in_doubt", "in_doubt"),
    "half": (RETRY, "in_doubt", "in_doubt"),
    "too_short": (RETRY, "in_doubt", "in_doubt"),
    "chunked_cut": (RETRY, "in_doubt", "in_doubt"),
    "slow/1": (RETRY, "in_doubt", "in_doubt"),
    "only_100": (RETRY, "in_doubt", "in_doubt"),
    "bad_status": (RETRY, "in_doubt", "in_doubt"),
}


NEVER = {"no_answer", "too_short", "slow/1"}  # a whole answer


def word(habit):
    return habit.replace("/", "-").replace("_", "-")


def config(url):
    types = "".join(f"  {word(h)}: {{}}\n" for h in [*CASES, "told", "tls"])
    endpoints = "".join(
        f"  {word(h)}: {{ kind: http, url: '{url}/b/{h}', timeout: {1 if h in NEVER else 20}s,"
        f" retry: {{ first: 60s, most: 60s }}, breaker: {{ failures: 50 }} }}\n" for h in CASES)
    routes = "".join(f"  - {{ name: {word(h)}, when: {{ type: {word(h)} }}, do: [ {{ deliver: {word(h)} }} ] }}\n"
                     for h in [*CASES, "told"])
    return (
        "systems:\n  hub: { limits: { concurrency: 64 } }\n  strict: { in_doubt: hold }\n"
        f"types:\n{types}"
        "gateways:\n  in:\n    kind: http\n    auth: none\n"
        '    extract: { receiver: "json:/to", type: "json:/type" }\n'
        f"endpoints:\n{endpoints}"
        f"  told: {{ kind: http, url: '{url}/told', timeout: 3s, retry: {{ first: 10ms, most: 50ms }},"
        " breaker: { failures: 50 }, outcome: { 418: delivered, 200: retry } }\n"
        f"routes:\n{routes}")


@pytest.fixture(scope="module")
def receiver():
    with Receiver() as r:
        yield r


@pytest.fixture(scope="module")
def node(receiver, tmp_path_factory):
    one = Node(tmp_path_factory.mktemp("receivers"), config=config(receiver.url("")))
    one.start()
    yield one
    one.stop()


def send(node, kind, to="hub", **more):
    answer = node.post("in", json.dumps({"to": to, "type": kind, **more}))
    assert answer.status == 202, answer.body
    return answer.json["document"]


def delivery(node, doc):
    found = node.graphql("query($id: ID!) { document(id: $id) { state deliveries"
                         " { state held code message status attempts due } } }", id=doc)["document"]
    return found["state"], (found["deliveries"] or [None])[0]


def await_delivery(node, doc, state, seconds=90):
    until = time.monotonic() + seconds
    while True:
        of_document, one = delivery(node, doc)
        if one is not None and one["state"] == state:
            return delivery(node, doc)  # the document was read before its deliveries
        assert time.monotonic() < until, f"still {of_document}, {one}\n{node.tail(5)}"
        time.sleep(0.02)


@pytest.mark.proves("DE5", "DE6", "DE7", "DE8", "DE18")
@pytest.mark.parametrize("habit", CASES)
def test_a_system_that_takes_repetitions(node, receiver, habit):
    state, _, code = CASES[habit]
    of_document, one = await_delivery(node, send(node, word(habit)), state)
    assert of_document == state
    assert one["code"] == code or state == DELIVERED
    if state == HELD:
        assert one["held"] == ["breaker"]
    if state in (RETRY, DEAD):
        assert one["message"]


@pytest.mark.proves("DE6", "DE9", "DE12")
@pytest.mark.parametrize("habit", [h for h in CASES if CASES[h][1] == "in_doubt"])
def test_a_system_that_wants_to_be_asked_first(node, receiver, habit):
    doc = send(node, word(habit), to="strict")
    of_document, one = await_delivery(node, doc, "in_doubt")
    assert (of_document, one["attempts"]) == ("in_doubt", 1)
    time.sleep(0.2)
    assert sum(r["headers"]["waybill-document"] == doc for r in receiver.requests()) == 1


def test_an_outcome_of_ones_own(node, receiver):
    receiver.behave("/told", "status", 418)
    await_delivery(node, send(node, "told"), DELIVERED)
    receiver.behave("/told", "status", 200)
    doc = send(node, "told")
    await_delivery(node, doc, RETRY)
    receiver.behave("/told", "status", 418)
    await_delivery(node, doc, DELIVERED)


@pytest.mark.proves("DE8")
def test_a_pause_that_is_asked_for_holds_the_whole_endpoint(node, receiver):
    receiver.behave("/told", "status", 429, 2, times=1)
    receiver.behave("/told", "status", 418)
    receiver.behave("/told", "status", 429, 4, times=1)
    first = send(node, "told")
    await_delivery(node, first, RETRY)
    second = send(node, "told")
    _, one = await_delivery(node, second, HELD)
    assert one["held"] == ["pause"]
    for doc in (first, second):
        await_delivery(node, doc, DELIVERED)
    asked, *late = [r["at_us"] for r in receiver.requests("/told")
                    if r["headers"]["waybill-document"] in (first, second)]
    assert len(late) == 2 and all(at > asked + 3_900_000 for at in late)


@pytest.mark.proves("DE6")
def test_an_answer_after_our_time_out_comes_too_late_and_the_key_says_so(node, receiver):
    receiver.behave("/told", "status", 418)
    receiver.behave("/told", "late", 20, times=1)
    doc = send(node, "told")
    await_delivery(node, doc, DELIVERED)
    assert receiver.keys()[f"{doc}.told"] == 2


@pytest.mark.proves("DE16")
def test_retries_end(make_node, receiver):
    """Each endpoint has an age after which nothing is tried any more; not before, and not at another one."""
    endpoints = "".join(
        f"  {name}: {{ kind: http, system: hub, url: '{receiver.url('/')}{name}', breaker: {{ failures: 9999 }},"
        f" retry: {{ first: 10ms, most: 50ms, for: {age} }} }}\n" for name, age in (("short", "3s"), ("long", "1h")))
    node = make_node(config=(
        f"systems: {{ hub: {{}} }}\ntypes: {{ short: {{}}, long: {{}} }}\nendpoints:\n{endpoints}"
        'gateways: { in: { kind: http, auth: none, extract: { type: "json:/type" } } }\n'
        "routes: [ { name: short, when: { type: short }, do: [ { deliver: short } ] },\n"
        "          { name: long, when: { type: long }, do: [ { deliver: long } ] } ]\n"))
    node.start()
    for name in ("short", "long"):
        receiver.behave(f"/{name}", "status", 503)
    began = time.monotonic()
    ends, goes_on = send(node, "short"), send(node, "long")
    of_document, one = await_delivery(node, ends, DEAD)
    assert time.monotonic() - began >= 3
    assert of_document == DEAD and one["code"] == "retries_exhausted" and one["attempts"] > 2
    tries = len(receiver.requests("/short"))
    receiver.wait_for(len(receiver.requests("/long")) + 3, path="/long")
    assert len(receiver.requests("/short")) == tries == one["attempts"]
    assert delivery(node, goes_on)[1]["state"] != DEAD


# ---- before the first byte ----------------------------------------------------------------------------

@pytest.mark.proves("DE5")
@pytest.mark.parametrize("kind,reason", [("good", None), ("wrong_name", "subject name"),
                                         ("expired", "expired"), ("self_signed", "self")])
def test_certificates(make_node, tmp_path, kind, reason):
    with Receiver(tls=kind, folder=tmp_path / "tls") as far:
        node = make_node(config=(
            "systems: { hub: {} }\ngateways: { in: { kind: http, auth: none } }\n"
            f"endpoints: {{ far: {{ kind: http, system: hub, url: '{far.url('/in')}',"
            f" tls: {{ ca: {far.ca} }}, timeout: 2s }} }}\n"
            "routes: [ { name: all, do: [ { deliver: far } ] } ]\n"))
        node.start()
        doc = node.post("in", "x").json["document"]
        if reason is None:
            await_delivery(node, doc, DELIVERED)
            return
        _, one = await_delivery(node, doc, RETRY)
        assert reason in one["message"], one
        assert far.requests() == []


EXPIRING = """\
systems: {{ hub: {{}} }}
gateways: {{ in: {{ kind: http, auth: none }} }}
endpoints:
  far: {{ kind: http, system: hub, url: "{url}", {tls} retry: {{ first: 10ms, most: 50ms }},
         breaker: {{ failures: 2, wait: 300ms }} }}
routes: [ {{ name: all, do: [ {{ deliver: far }} ] }} ]
alerts: {{ receiver_failing: {{ after: 100ms }} }}
"""


def failing(node):
    """What the alert about the endpoint says, or None."""
    return next((a["message"] for a in node.graphql("{ alerts { code object message } }")["alerts"]
                 if (a["code"], a["object"]) == ("receiver_failing", "far")), None)


def is_held_and_told(node, doc, reason):
    _, one = await_delivery(node, doc, HELD)
    assert one["held"] == ["breaker"] and reason in one["message"], one
    wait_until(lambda: failing(node), 30, "the alert")


@pytest.mark.proves("DE19")
def test_a_credential_that_expired_is_told_and_waited_for(make_node, receiver):
    """One refusal is enough: the others of the endpoint would be refused as well."""
    receiver.behave("/expired", "status", 401)
    node = make_node(config=EXPIRING.format(url=receiver.url("/expired"), tls="").replace("failures: 2", "failures: 50"))
    node.start()
    doc = node.accept("in", "x")
    is_held_and_told(node, doc, "401")
    receiver.behave("/expired", "ok")  # a new one
    await_delivery(node, doc, DELIVERED)
    wait_until(lambda: failing(node) is None, 30, "the end of the alert")


@pytest.mark.proves("DE19")
def test_a_certificate_that_expired_is_told_and_waited_for(make_node, tmp_path):
    with Receiver(tls="expired", folder=tmp_path / "tls") as far:
        node = make_node(config=EXPIRING.format(url=far.url("/in"), tls=f"tls: {{ ca: {far.ca} }},"))
        node.start()
        doc = node.accept("in", "x")
        is_held_and_told(node, doc, "expired")
        assert far.requests() == []
        far.show_certificate("good")  # a new one
        await_delivery(node, doc, DELIVERED)
        wait_until(lambda: failing(node) is None, 30, "the end of the alert")


@pytest.mark.proves("DE5")
@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://no-such-host.invalid/"])
def test_a_receiver_that_is_not_reached(make_node, url):
    node = make_node(config=(
        "systems: { hub: {} }\ngateways: { in: { kind: http, auth: none } }\n"
        f"endpoints: {{ far: {{ kind: http, system: hub, url: '{url}', breaker: {{ failures: 2 }},"
        " retry: { first: 10ms, most: 20ms } } }\n"
        "routes: [ { name: all, do: [ { deliver: far } ] } ]\n"))
    node.start()
    doc = node.post("in", "x").json["document"]
    one = {"attempts": 0}
    while one["attempts"] < 2:  # the breaker is seen before the row
        _, one = await_delivery(node, doc, HELD)
    assert one["held"] == ["breaker"] and one["attempts"] == 2
