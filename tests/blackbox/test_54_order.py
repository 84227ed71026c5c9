"""Deliveries in order: per receiver, per key, behind a dead one, over crashes and over two nodes.

A document is {"to": SYSTEM, "key": KEY, "n": N}; each system has an http endpoint /in/SYSTEM.
"""
import collections
import contextlib
import http.client
import json
import random
import sqlite3
import threading
import time

import pytest

from wire import wait_until

SYSTEMS = {"all": "order: receiver", "keys": 'order: key, order_by: "json:/key"',
           "skip": 'order: key, order_by: "json:/key", on_dead: skip',
           "hold": 'order: key, order_by: "json:/key", in_doubt: hold', "free": "order: none"}
GATEWAYS = ("one", "two", "three")
LEAST = 200  # documents that are taken under load


def config(url, concurrency=8):
    systems = "".join(f"  {name}: {{ {order}, limits: {{ concurrency: {concurrency} }} }}\n"
                      for name, order in SYSTEMS.items())
    endpoints = "".join(
        f"  to-{name}: {{ kind: http, url: '{url}/in/{name}', system: {name}, timeout: 2m,"
        " retry: { first: 100ms, most: 300ms, for: 1h }, breaker: { failures: 50, wait: 100ms } }\n"
        for name in SYSTEMS)
    routes = "".join(f"  - {{ name: {name}, when: {{ receiver: {name} }}, do: [ {{ deliver: to-{name} }} ] }}\n"
                     for name in SYSTEMS)
    gateways = "".join(f'  {g}: {{ kind: http, auth: none, extract: {{ receiver: "json:/to" }} }}\n' for g in GATEWAYS)
    return f"systems:\n{systems}gateways:\n{gateways}endpoints:\n{endpoints}routes:\n{routes}"


@pytest.fixture
def node(make_node, receiver):
    one = make_node(config=config(receiver.url("")))
    one.start()
    return one


def send(node, to, key, n, gateway="one"):
    return node.accept(gateway, json.dumps({"to": to, "key": key, "n": n}))


def look(node, doc):
    return node.show(doc, "state deliveries { state held blockedBy code }")


def await_state(node, doc, *states, seconds=30):
    return node.await_state(doc, *states, look=look, seconds=seconds)


def arrived(receiver, system):
    """What came, each once, in the order of the first arrivals: (key, n).  Of a large body only the beginning is kept."""
    seen = {}
    for r in receiver.requests(f"/in/{system}"):
        body = json.loads(r["body"].split(', "pad": ')[0].rstrip("}") + "}")
        seen.setdefault((body["key"], body["n"]), len(seen))
    return list(seen)


def await_arrivals(receiver, system, count, node, seconds=60):
    until = time.monotonic() + seconds
    while True:
        found = arrived(receiver, system)
        if len(found) >= count:
            return found
        assert time.monotonic() < until, f"{len(found)} of {count} came\n{node.tail(8)}"
        time.sleep(0.05)


def by_key(found):
    keys = collections.defaultdict(list)
    for key, n in found:
        keys[key].append(n)
    return keys


# ---- one node ------------------------------------------------------------------------------------

@pytest.mark.stores("sqlite", "postgres")
def test_a_receiver_gets_everything_in_the_order_of_acceptance(node, receiver):
    for n in range(60):
        send(node, "all", f"k{n % 7}", n)
    assert [n for _, n in await_arrivals(receiver, "all", 60, node)] == list(range(60))
    assert node.cli("doctor").returncode == 0


@pytest.mark.stores("sqlite", "postgres")
def test_what_a_batch_lets_go_one_by_one_goes_in_the_order_of_acceptance(make_node, receiver):
    """In several parts, and though the first one takes long to be routed."""
    count = 450
    text = config(receiver.url("")).replace("systems:\n", "systems:\n  gathered: {}\n").replace(
        "routes:\n", f"batches:\n  each: {{ count: {count}, join: each, do: [ {{ deliver: to-all }} ] }}\n"
        "routes:\n  - { name: gathered, when: { receiver: gathered }, do: [ { batch: each } ] }\n")
    node = make_node(config=text)
    node.start()
    node.accept("one", json.dumps({"to": "gathered", "key": "k", "n": 0, "pad": "x" * 3_000_000}))
    for n in range(1, count):
        send(node, "gathered", "k", n)
    assert [n for _, n in await_arrivals(receiver, "all", count, node, 180)] == list(range(count))
    send(node, "all", "k", count)  # none of them stands in the way any more
    await_arrivals(receiver, "all", count + 1, node, 180)
    assert node.cli("doctor").returncode == 0


@pytest.mark.stores("sqlite", "postgres")
def test_keys_are_in_order_and_beside_each_other(node, receiver):
    """While one key waits for its answer the others go on; what has no key has a lane too."""
    receiver.behave("/in/keys", "no_answer", times=1)
    send(node, "keys", "slow", 0)
    receiver.wait_for(1, path="/in/keys")
    for n in range(40):
        send(node, "keys", f"k{n % 4}", n)
    for n in range(1, 4):
        send(node, "keys", "slow", n)
    for n in range(3):
        answer = node.post("one", json.dumps({"to": "keys", "n": n, "key": None}))
        assert answer.status == 202
    found = await_arrivals(receiver, "keys", 44, node)
    assert [n for k, n in found if k == "slow"] == [0]
    receiver.stop_listening()  # ends the one without an answer: it is sent again
    receiver.listen()
    keys = by_key(await_arrivals(receiver, "keys", 47, node))
    assert all(ns == sorted(ns) for ns in keys.values()), keys
    assert keys["slow"] == [0, 1, 2, 3] and keys[None] == [0, 1, 2]


@pytest.mark.stores("sqlite", "postgres")
def test_a_retry_keeps_its_place(node, receiver):
    receiver.behave("/in/keys", "status", 503, times=3)
    docs = [send(node, "keys", "a", n) for n in range(5)]
    await_state(node, docs[-1], "delivered")
    assert by_key(arrived(receiver, "keys"))["a"] == [0, 1, 2, 3, 4]
    first = [json.loads(r["body"])["n"] for r in receiver.requests("/in/keys")]
    assert first == [0, 0, 0, 0, 1, 2, 3, 4]


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE17")
@pytest.mark.parametrize("way", ["retry", "cancel", "discard"])
def test_a_dead_one_blocks_its_lane_until_somebody_decides(node, receiver, way):
    receiver.behave("/in/keys", "status", 400, times=1)
    docs = [send(node, "keys", "a", n) for n in range(3)]
    await_state(node, docs[0], "dead")
    other = send(node, "keys", "b", 9)
    await_state(node, other, "delivered")
    behind = await_state(node, docs[1], "held")["deliveries"][0]
    assert (behind["held"], behind["blockedBy"]) == (["order"], docs[0])
    assert f"blocked by {docs[0]}" in node.cli("docs", "show", docs[2]).stdout
    event = node.wait_event("lane.blocked")
    assert (event["system"], event["blocked_by"]) == ("keys", docs[0])
    until = time.monotonic() + 30
    while "waybill_lanes_blocked 1" not in node.get("/metrics").body.decode():
        assert time.monotonic() < until
        time.sleep(0.1)
    verb = ("dead", "discard", "--all", "--yes") if way == "discard" else ("docs", way, docs[0])
    assert node.cli(*verb).returncode == 0
    await_state(node, docs[2], "delivered")
    came = [json.loads(r["body"])["n"] for r in receiver.requests("/in/keys") if json.loads(r["body"])["key"] == "a"]
    assert came == ([0, 0, 1, 2] if way == "retry" else [0, 1, 2])
    assert node.cli("doctor").returncode == 0


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE17")
def test_a_dead_one_that_steps_aside(node, receiver):
    receiver.behave("/in/skip", "status", 400, times=1)
    docs = [send(node, "skip", "a", n) for n in range(3)]
    await_state(node, docs[2], "delivered")
    assert look(node, docs[0])["state"] == "dead"
    assert node.cli("docs", "retry", docs[0]).returncode == 0
    await_state(node, docs[0], "delivered")
    assert node.cli("doctor").returncode == 0


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE17")
def test_unordered_systems_never_block(node, receiver):
    """One is dead and one waits for its answer; those behind them are delivered."""
    receiver.behave("/in/free", "status", 400, times=1)
    dead = send(node, "free", "a", 0)
    await_state(node, dead, "dead")
    receiver.behave("/in/free", "no_answer", times=1)
    slow = send(node, "free", "a", 1)
    receiver.wait_for(2, path="/in/free")
    for doc in [send(node, "free", "a", n) for n in range(2, 6)]:
        await_state(node, doc, "delivered")
    assert look(node, dead)["state"] == "dead" and look(node, slow)["state"] not in ("delivered", "held")
    node.kill()  # nobody waits for the answer


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DL3")
def test_dead_ones_that_are_sent_again_together_go_in_their_order(node, receiver):
    """All of a lane stepped aside; who retries the receiver as a whole gets them in the order of acceptance."""
    receiver.behave("/in/skip", "status", 400)
    docs = [send(node, "skip", "ab"[n % 2], n) for n in range(12)]
    for doc in docs:
        await_state(node, doc, "dead")
    tried = len(receiver.requests("/in/skip"))
    receiver.behave("/in/skip", "late", 0.05)
    assert node.cli("docs", "retry", "--receiver", "skip", "--dry").stdout == "12 documents\n"
    assert node.cli("docs", "retry", "--receiver", "skip", "--yes").returncode == 0
    for doc in docs:
        await_state(node, doc, "delivered")
    again = [json.loads(r["body"]) for r in receiver.requests("/in/skip")[tried:]]
    assert by_key((d["key"], d["n"]) for d in again) == {"a": list(range(0, 12, 2)), "b": list(range(1, 12, 2))}


def test_a_task_of_a_delivery_that_ended_sends_nothing(node, receiver):
    """Whatever gave it one: the task goes."""
    receiver.behave("/in/free", "status", 400, times=1)
    doc = send(node, "free", "a", 0)
    await_state(node, doc, "dead")
    node.stop()
    with contextlib.closing(sqlite3.connect(node.data / "waybill.db")) as db, db:
        db.execute("INSERT INTO task_ready(queue, prio, rank, id, kind, attempts, rescues, crashes)"
                   " SELECT queue, 4, 1, num, 2, 0, 0, 0 FROM delivery")
    node.start()
    node.wait_event("task.orphan")
    assert len(receiver.requests("/in/free")) == 1 and look(node, doc)["state"] == "dead"
    assert node.cli("doctor").returncode == 0


@pytest.mark.stores("sqlite", "postgres")
def test_one_in_doubt_blocks_until_it_is_resolved(node, receiver):
    receiver.behave("/in/hold", "close", times=1)
    docs = [send(node, "hold", "a", n) for n in range(3)]
    await_state(node, docs[0], "in_doubt")
    assert await_state(node, docs[2], "held")["deliveries"][0]["held"] == ["order"]
    assert node.cli("docs", "resolve", docs[0], "--resend").returncode == 0
    await_state(node, docs[2], "delivered")
    assert by_key(arrived(receiver, "hold"))["a"] == [0, 1, 2]


@pytest.mark.stores("sqlite", "postgres")
def test_one_that_waits_can_be_cancelled(node, receiver):
    receiver.behave("/in/keys", "status", 400, times=1)
    docs = [send(node, "keys", "a", n) for n in range(3)]
    await_state(node, docs[0], "dead")
    assert node.cli("docs", "cancel", docs[1]).returncode == 0
    assert look(node, docs[1])["state"] == "cancelled"
    assert node.cli("docs", "retry", docs[0]).returncode == 0
    await_state(node, docs[2], "delivered")
    assert by_key(arrived(receiver, "keys"))["a"] == [0, 2]


@pytest.mark.stores("sqlite", "postgres")
def test_a_document_that_cannot_be_routed_holds_up_nobody(node, receiver):
    answer = node.post("one", json.dumps({"to": "nowhere", "key": "a", "n": 0}))
    assert answer.status == 202
    docs = [send(node, "keys", "a", n) for n in range(3)]
    await_state(node, docs[2], "delivered")
    assert by_key(arrived(receiver, "keys"))["a"] == [0, 1, 2]


# ---- load, crashes, many nodes -------------------------------------------------------------------

class Sender(threading.Thread):
    """One connection, one key: what was answered 202, in that order.  What got no answer is sent
    again, as the same number, so that it may come twice."""

    def __init__(self, nodes, gateway, key, over):
        super().__init__()
        self.nodes, self.gateway, self.key, self.over = nodes, gateway, key, over
        self.taken = []
        self.start()

    def run(self):
        n, chance = 0, random.Random(self.key)
        link = None
        while not self.over.is_set():
            try:
                if link is None:
                    url = chance.choice(self.nodes).url
                    link = http.client.HTTPConnection(url.split("//")[1].rstrip("/"), timeout=60)
                link.request("POST", f"/in/{self.gateway}", json.dumps({"to": "keys", "key": self.key, "n": n}))
                answer = link.getresponse()
                answer.read()
                if answer.status == 202:
                    self.taken.append(n)
                    n += 1
                else:
                    time.sleep(0.02)
            except (OSError, http.client.HTTPException, AttributeError):
                n += 1  # nobody knows whether it was taken
                link = None
                time.sleep(0.05)
            if chance.random() < 0.02:
                link = None
            time.sleep(0.04)


def trouble(receiver, over):
    chance = random.Random(4)
    while not over.is_set():
        receiver.behave("/in/keys", *chance.choice([("status", 503), ("close",), ("reset",)]), times=chance.randint(1, 4))
        time.sleep(chance.random() / 5)


def judge(receiver, senders, nodes, seconds=150):
    want = {(s.key, n) for s in senders for n in s.taken}
    until = time.monotonic() + seconds
    while missing := want - set(arrived(receiver, "keys")):
        assert time.monotonic() < until, f"{len(missing)} of {len(want)} did not come: {sorted(missing)[:5]}\n" + \
            "\n".join(n.tail(4) for n in nodes)
        time.sleep(0.25)
    assert len(want) > LEAST
    keys = by_key(arrived(receiver, "keys"))
    assert {k: ns for k, ns in keys.items() if ns != sorted(ns)} == {}


def load(receiver, nodes, seconds, disturb):
    """For so long, and until enough was taken."""
    until, over = time.monotonic() + seconds, threading.Event()
    senders = [Sender(nodes, g, f"{g}-{k}", over) for g in GATEWAYS for k in range(20)]
    unrest = threading.Thread(target=trouble, args=(receiver, over))
    unrest.start()
    try:
        disturb(until)
        wait_until(lambda: time.monotonic() > until and sum(len(s.taken) for s in senders) > LEAST, 150, "acceptance")
    finally:
        over.set()
        for t in (*senders, unrest):
            t.join()
    receiver.behave("/in/keys", "ok")
    judge(receiver, senders, nodes)


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE17", "DE10")
def test_order_over_failures_and_kills(node, receiver):
    def kill(until):
        while time.monotonic() < until - 1.5:
            time.sleep(1)
            node.kill()
            node.start()

    load(receiver, [node], 5, kill)
    assert node.cli("doctor").returncode == 0


@pytest.mark.stores("postgres")
@pytest.mark.proves("DE17", "DE10")
def test_order_over_two_nodes_and_kills(make_node, receiver, node):
    other = make_node(config=config(receiver.url("")))
    other.start()

    def kill(until):
        chance = random.Random(1)
        while time.monotonic() < until - 2:
            time.sleep(1)
            one = chance.choice([node, other])
            one.kill()
            time.sleep(0.3)
            one.start()

    load(receiver, [node, other], 6, kill)
    assert node.cli("doctor").returncode == 0
