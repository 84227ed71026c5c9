"""Rates over nodes and restarts, delay, expiry and priority: what begins when, as the receiver saw it."""
import json
import pathlib
import sys
import threading
import time

import pytest

from wire import at_once, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
# A send begins in time and arrives a little later, each a little differently: the machine is busy.
JITTER_S = 0.4  # arrivals bunch up on a busy machine; the rule is about when sends begin
PULSE_S = 0.005

CONFIG = """\
systems:
  hub:  {{ limits: {{ {limits} }} }}
  free: {{ limits: {{ concurrency: 4 }} }}
  slow: {{ limits: {{ rate: 1/h }} }}
types: {{ {types} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ receiver: "json:/to", type: "json:/type" }}
endpoints:
  api: {{ kind: http, url: "{url}/in", timeout: 5s, retry: {{ first: 50ms, most: 100ms }} }}
routes:
  - {{ name: all, {route} do: [ {{ deliver: api }} ] }}
"""


class Pulse(threading.Thread):
    """Knows for how long this process stood still at worst: all that came meanwhile is received at once."""

    def __init__(self):
        super().__init__(daemon=True)
        self.worst, self.over = 0.0, threading.Event()

    def run(self):
        while not self.over.is_set():
            began = time.monotonic()
            time.sleep(PULSE_S)
            self.worst = max(self.worst, time.monotonic() - began - PULSE_S)


@pytest.fixture
def far():
    with Receiver() as r:
        r.pulse = Pulse()
        r.pulse.start()
        yield r
        r.pulse.over.set()
        r.pulse.join()


def text(far, limits="concurrency: 16", types='"*": {}', route=""):
    return CONFIG.format(url=far.url(""), limits=limits, types=types, route=route)


def send(node, to="hub", kind="order", **more):
    return node.accept("in", json.dumps({"to": to, "type": kind, **more}))


def send_many(nodes, count):
    """From eight threads, to the nodes in turn."""
    def some(thread):
        return [send(nodes[n % len(nodes)]) for n in range(thread, count, 8)]

    return [doc for docs in at_once(8, some) for doc in docs]


def show(node, doc):
    return node.show(doc, "state deliveries { state held attempts } timeline { stage outcome message }")


def await_state(node, doc, *states, seconds=90):
    return node.await_state(doc, *states, look=show, seconds=seconds)


def times(far, docs=None):
    return sorted(r["at_us"] / 1e6 for r in far.requests("/in")
                  if docs is None or r["headers"]["waybill-document"] in docs)


def judge(far, rate, burst, docs=None):
    """In any window of t seconds at most rate * t + burst, for each pair of arrivals."""
    at, late = times(far, docs), JITTER_S + far.pulse.worst
    for i, first in enumerate(at):
        for k in range(i + burst, len(at)):
            allowed = rate * (at[k] - first + late) + burst
            assert k - i + 1 <= allowed, f"{k - i + 1} within {at[k] - first:.3f} s, give or take {late:.3f}: from {i} to {k} of {len(at)}"


def each_once(far, docs):
    keys = [r["headers"]["waybill-document"] for r in far.requests("/in")]
    assert sorted(keys) == sorted(docs)


def hold_hub(node):
    """Lets nothing go to it; the number to end that by."""
    held = node.cli("hold", "add", "hub", "--until", "1h", "--reason", "stocktaking", "--json")
    return json.loads(held.stdout.splitlines()[0])["hold"]["id"]


# ---- rate --------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("DM3", "DM5")
def test_a_rate_is_kept_and_nothing_is_left_behind(make_node, far):
    node = make_node(config=text(far, "concurrency: 16, rate: 20/s, burst: 10"))
    node.start()
    went = send(node, to="slow")
    await_state(node, went, "delivered")
    waits = send(node, to="slow")
    await_state(node, waits, "held")
    listed = node.cli("docs", "ls", "--state", "held", "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in listed] == [waits]
    assert show(node, waits)["deliveries"][0]["held"] == ["rate"]
    docs = send_many([node], 120)
    free = [send(node, to="free") for _ in range(10)]
    for doc in free:
        await_state(node, doc, "delivered")
    for doc in docs:
        await_state(node, doc, "delivered")
    judge(far, 20, 10, docs)
    at = times(far, docs)
    assert at[-1] - at[0] < 40, "slower than it has to be"
    assert times(far, free)[-1] < at[-1]  # others do not wait for it
    each_once(far, docs + free + [went])


@BOTH
@pytest.mark.proves("DM6")
def test_a_restart_forgets_no_rate(make_node, far):
    node = make_node(config=text(far, "concurrency: 16, rate: 20/s, burst: 10"))
    node.start()
    docs = [send(node) for _ in range(100)]
    for kill in (True, False, True):
        time.sleep(0.7)
        if kill:
            node.kill()
        else:
            node.stop()
        node.start()
    for doc in docs:
        await_state(node, doc, "delivered")
    judge(far, 20, 10)
    assert {r["headers"]["waybill-document"] for r in far.requests("/in")} == set(docs)


@POSTGRES
@pytest.mark.proves("DM6")
def test_two_nodes_share_a_rate(make_node, far):
    nodes = [make_node(config=text(far, "concurrency: 16, rate: 50/s, burst: 5")) for _ in range(2)]
    for node in nodes:
        node.start()
    docs = send_many(nodes, 200)
    for doc in docs:
        await_state(nodes[0], doc, "delivered")
    judge(far, 50, 5)
    each_once(far, docs)


@BOTH
@pytest.mark.proves("DM4")
def test_without_its_timer_work_is_found_by_asking(make_node, far):
    node = make_node(config=text(far, "concurrency: 16, rate: 10/s, burst: 3"),
                     environment={"WAYBILL_FAULT": "pace.ready:error:2"})
    node.start()
    docs = [send(node) for _ in range(10)]
    for doc in docs:
        await_state(node, doc, "delivered", seconds=25)
    judge(far, 10, 3)
    each_once(far, docs)


@BOTH
@pytest.mark.proves("DM3")
def test_a_slow_rate_strands_nothing(make_node, far):
    node = make_node(config=text(far, "rate: 40/m, burst: 2"))
    node.start()
    docs = [send(node) for _ in range(6)]
    time.sleep(0.5)
    node.kill()
    node.start()
    for doc in docs:
        await_state(node, doc, "delivered", seconds=25)
    judge(far, 40 / 60, 2)


def test_a_fast_rate_is_reached(make_node, far):
    node = make_node(config=text(far, "concurrency: 64, rate: 100/s, burst: 20"))
    node.start()
    hold = hold_hub(node)
    docs = send_many([node], 400)
    for doc in docs:
        await_state(node, doc, "held")
    assert node.cli("hold", "end", str(hold)).returncode == 0
    wait_until(lambda: len(times(far)) == 400, 150)
    at = times(far)
    assert at[-1] - at[0] < 60, "slower than it has to be"
    judge(far, 100, 20)
    each_once(far, docs)


def test_a_new_rate_counts_from_now_on(make_node, far):
    node = make_node(config=text(far, "rate: 1/h"))
    node.start()
    docs = [send(node) for _ in range(5)]
    wait_until(lambda: len(times(far)) == 1)
    time.sleep(0.5)
    assert len(times(far)) == 1
    await_state(node, docs[-1], "held")
    node.write_config(text(far, "rate: 100/s"))
    assert node.cli("apply", node.config_file).returncode == 0
    for doc in docs:
        await_state(node, doc, "delivered")


# ---- delay -------------------------------------------------------------------------------------------


@BOTH
def test_a_delay_is_kept_also_over_a_restart(make_node, far):
    node = make_node(config=text(far, types='slow: { delay: 5s }, "*": {}'))
    node.start()
    began = time.time()
    quick = send(node)
    slow = [send(node, kind="slow") for _ in range(5)]
    await_state(node, quick, "delivered")
    wait_until(lambda: any("(delay)" in (t["message"] or "") for t in show(node, slow[0])["timeline"]))
    seen = show(node, slow[0])
    assert seen["state"] == "active" and seen["deliveries"] == []
    time.sleep(3)
    node.restart()
    back = time.time()
    for doc in slow:
        seen = await_state(node, doc, "delivered")
        assert seen["deliveries"][0]["attempts"] == 1
    arrived = {r["headers"]["waybill-document"]: r["at_us"] / 1e6 for r in far.requests("/in")}
    assert all(began + 5 <= arrived[doc] < back + 5 for doc in slow)    # it did not begin anew
    run = [e for e in node.events if e.get("event") == "document.run" and e["document"] in slow]
    assert {e["level"] for e in run} == {"info"}
    assert node.graphql("{ mishaps { code } }")["mishaps"] == []


# ---- expiry ------------------------------------------------------------------------------------------


@BOTH
def test_what_waits_too_long_is_dead(make_node, far):
    node = make_node(config=text(far, route="expires: 5s,"))
    node.start()
    assert node.cli("hold", "add", "hub", "--until", "1h", "--reason", "stocktaking").returncode == 0
    held = [send(node) for _ in range(5)]
    far.behave("/in", "status", 503)
    tried = send(node, to="free")
    for doc in held:
        await_state(node, doc, "held", "dead")
    for doc in held + [tried]:
        await_state(node, doc, "dead")
        until = time.monotonic() + 60
        while "expired at" not in (told := str(show(node, doc)["timeline"])):
            assert time.monotonic() < until, told
            time.sleep(0.05)
    dead = node.cli("dead", "ls", "--error", "expired", "--json")
    listed = [json.loads(line) for line in dead.stdout.splitlines()]
    assert len(listed) == 6
    # A person has the last word.
    far.behave("/in", "ok")
    assert node.cli("docs", "retry", tried).returncode == 0
    await_state(node, tried, "delivered")


@BOTH
def test_one_that_comes_too_late_to_its_route_is_dead_at_once(make_node, far):
    node = make_node(config=text(far, types='late: { delay: 5s, expires: 1s }, "*": {}'))
    node.start()
    doc = send(node, kind="late")
    await_state(node, doc, "dead")
    assert not far.requests("/in")
    assert node.cli("docs", "retry", doc).returncode == 0
    await_state(node, doc, "delivered")


# ---- priority ----------------------------------------------------------------------------------------


@BOTH
def test_what_has_priority_goes_first(make_node, far):
    types = '{0}: {{ priority: {0} }}, {1}: {{ priority: {1} }}, "*": {{}}'.format("high", "low")
    node = make_node(config=text(far, "concurrency: 1", types=types))
    node.start()
    hold = hold_hub(node)
    kinds = ["low", "order", "high"] * 10
    docs = {send(node, kind=kind): kind for kind in kinds}
    for doc in docs:
        await_state(node, doc, "held")
    assert node.cli("hold", "end", str(hold)).returncode == 0
    for doc in docs:
        await_state(node, doc, "delivered")
    came = [docs[r["headers"]["waybill-document"]] for r in far.requests("/in")]
    assert came == ["high"] * 10 + ["order"] * 10 + ["low"] * 10
