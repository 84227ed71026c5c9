"""Holds and pauses: what may not begin waits as data, and goes on when the reason is gone."""
import concurrent.futures
import datetime
import json
import os
import sqlite3
import subprocess
import threading
import time

import pytest

from moved_clock import MovedClock
from test_87_rights import Somebody, make_role, somebody
from wire import at_once, wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
DONE, NO, USAGE = 0, 1, 2

CONFIG = """\
systems:
  hub:  {{ limits: {{ concurrency: 4 }} }}
  shop: {{ limits: {{ concurrency: 64 }} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ receiver: "json:/to" }}
endpoints:
  api:   {{ kind: http, url: "{url}/in", timeout: 5s, retry: {{ first: 50ms, most: 100ms }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


@pytest.fixture
def node(make_node, receiver):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=receiver.url("")))
    one.start()
    return one


@pytest.fixture
def pair(make_node, receiver):
    both = [make_node(config=CONFIG.format(url=receiver.url(""))) for _ in range(2)]
    for one in both:
        one.start()
    return both


def send(node, to="hub", **more):
    return node.accept("in", json.dumps({"to": to, **more}))


def objects(got):
    assert got.returncode == DONE, got.stderr
    return [json.loads(line) for line in got.stdout.splitlines()]


def hold(node, *words, system="hub", reason="stocktaking", until="1h"):
    """Place one; its answer."""
    words = list(words) + (["--until", until] if until else [])
    got, = objects(node.cli("hold", "add", system, "--reason", reason, "--json", *words))
    assert got["unconfirmed"] == []
    return got


def end(node, placed):
    return node.cli("hold", "end", placed["hold"]["id"])


def show(node, doc):
    return node.show(doc, "state deliveries { state held }")


def await_state(node, doc, *states, seconds=30):
    return node.await_state(doc, *states, look=show, seconds=seconds)


def arrived(receiver):
    return {r["headers"]["waybill-document"] for r in receiver.requests("/in")}


# ---- what a person does ------------------------------------------------------------------------------

@BOTH
@pytest.mark.proves("HO1", "HO3", "HO7")
def test_what_is_held_waits_and_goes_on(node, receiver):
    placed = hold(node, "--owner", "ann")
    assert placed["hold"]["system"] == "hub" and placed["hold"]["state"] == "active"
    assert placed["sending"] == []
    docs = [send(node) for _ in range(20)]
    other = send(node, to="shop")
    await_state(node, other, "delivered")
    for doc in docs:
        seen = await_state(node, doc, "held")
        assert seen["deliveries"] == [{"state": "held", "held": ["hold"]}]
    assert "hold" in node.cli("docs", "show", docs[0]).stdout
    listed = objects(node.cli("docs", "ls", "--state", "held", "--json"))
    assert {d["id"] for d in listed} == set(docs)
    assert arrived(receiver) == {other}
    assert node.metrics()["waybill_holds_active"] == 1
    node.restart()  # it is there before anything is sent
    time.sleep(0.7)
    assert arrived(receiver) == {other} and show(node, docs[0])["state"] == "held"
    assert "has ended" in end(node, placed).stdout
    for doc in docs:
        await_state(node, doc, "delivered")
    assert len(receiver.requests("/in")) == 21
    wait_until(lambda: node.metrics()["waybill_holds_active"] == 0)
    names = [e["event"] for e in node.events if e.get("event", "").startswith("hold.")]
    assert names == ["hold.add", "hold.begin", "hold.end"]


def test_what_is_being_sent_is_named_to_those_who_see_it(make_node, receiver):
    node = make_node(config="""\
systems: { acme: {}, hub: {}, archive: {} }
gateways:
  in: { kind: http, auth: none, extract: { sender: "value:acme", receiver: "json:/to" } }
endpoints:
  shelf: { kind: http, system: archive, url: "%s", timeout: 30s, retry: { first: 200ms, most: 200ms },
           breaker: { failures: 1000 } }
routes:
  - { name: all, do: [ { deliver: shelf } ] }
""" % receiver.url("/in"))
    node.start()
    receiver.behave("/in", "status", 503)
    foreign, own = send(node, to="hub"), send(node, to="archive")
    for doc in (foreign, own):  # whose they are is written with what came of the first attempt
        await_state(node, doc, "retrying")
    receiver.behave("/in", "late", 20)
    wait_until(lambda: sum(r["name"] == "late" for r in receiver.requests("/in")) == 2)
    make_role(node, "holder", {"see", "hold"}, ["archive"])
    make_role(node, "look", {"see"}, ["acme"])
    place = 'mutation { holdAdd(system: "archive", owner: "x", reason: "y") { sending } }'

    def sending(who):
        return set(who.data(place)["holdAdd"]["sending"])

    assert sending(Somebody(node, node.token)) == {f"{foreign}.shelf", f"{own}.shelf"}
    assert sending(somebody(node, "holder", "look")) == {f"{foreign}.shelf", f"{own}.shelf"}
    assert sending(somebody(node, "holder")) == {f"{own}.shelf"}


@BOTH
def test_listing_and_ending(node):
    first = hold(node, reason="one")["hold"]
    second = hold(node, "--from", "1h", "--owner", "bob", until="2h", reason="two", system="shop")["hold"]
    third = hold(node, "--owner", "eve", until="open", reason="three")["hold"]
    assert [h["state"] for h in (first, second, third)] == ["active", "planned", "active"]
    assert third["until"] is None and second["owner"] == "bob" and first["owner"] == "admin"
    listed = objects(node.cli("hold", "ls", "--json"))
    assert [(h["id"], h["reason"]) for h in listed] == [
        (first["id"], "one"), (second["id"], "two"), (third["id"], "three")]
    people = node.cli("hold", "ls").stdout
    assert "planned" in people and "open" in people and "REASON" in people
    assert node.cli("hold", "end", second["id"]).returncode == DONE
    again = node.cli("hold", "end", second["id"])
    assert again.returncode == NO and "no hold" in again.stderr
    assert node.cli("hold", "end", "xyz").returncode == NO
    assert len(objects(node.cli("hold", "ls", "--json"))) == 2
    ended = [h for h in objects(node.cli("hold", "ls", "--all", "--json")) if h["state"] == "ended"]
    assert [(h["id"], h["endedBy"]) for h in ended] == [(second["id"], "admin")]


@pytest.mark.proves("HO6")
@pytest.mark.parametrize("words,code,said", [
    (["hub", "--reason", "x"], USAGE, "needs --owner NAME"),
    (["hub", "--until", "open", "--reason", "x"], USAGE, "needs --owner NAME"),
    (["hub", "--until", "1h"], USAGE, "--reason is missing"),
    (["hub", "--until", "soon", "--reason", "x"], USAGE, "is not a time"),
    (["hib", "--until", "1h", "--reason", "x"], NO, "did you mean hub?"),
    (["nobody", "--until", "1h", "--reason", "x"], NO, "there is no system nobody"),
    (["hub", "--until", "2020-01-01T00:00Z", "--reason", "x"], NO, "until is in the past"),
    (["hub", "--from", "3h", "--until", "2h", "--reason", "x"], NO, "until is not after from"),
    (["hub", "--until", "1h", "--reason", ""], NO, "a hold has a reason"),
    (["hub", "--until", "1h", "--reason", "x" * 501], NO, "at most 500 bytes"),
])
def test_mistakes(node, words, code, said):
    got = node.cli("hold", "add", *words)
    assert got.returncode == code and said in got.stderr, got.stderr
    assert objects(node.cli("hold", "ls", "--json")) == []


def test_an_end_needs_an_owner_in_the_api_too(node):
    answer = node.request(
        "POST", "/graphql", json.dumps({"query": 'mutation { holdAdd(system: "hub", reason: "x") { sending } }'}),
        {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"})
    assert "needs an owner" in answer.json["errors"][0]["message"]


# ---- time --------------------------------------------------------------------------------------------

@BOTH
@pytest.mark.proves("HO5")
def test_overlapping_planned_and_expiring(node, receiver):
    short = hold(node, until="5s")
    later = hold(node, "--from", "1s", until="8s")
    doc = send(node)
    await_state(node, doc, "held")
    node.wait_event("hold.begin", hold=int(later["hold"]["id"]))
    node.wait_event("hold.expire", hold=int(short["hold"]["id"]))
    assert show(node, doc)["state"] == "held"  # the other one is still there
    await_state(node, doc, "delivered")
    came, = receiver.requests("/in")
    until = datetime.datetime.fromisoformat(later["hold"]["until"].replace("Z", "+00:00"))
    assert came["at_us"] / 1e6 >= until.timestamp()
    node.wait_event("hold.expire", hold=int(later["hold"]["id"]))
    ended = objects(node.cli("hold", "ls", "--all", "--json"))
    assert {h["endedBy"] for h in ended} == {"its time"}


def reach_into(node, sql):
    """Behind the node's back."""
    if node.store is None:
        with sqlite3.connect(node.data / "waybill.db") as db:
            db.execute(sql)
    else:
        subprocess.run(["psql", "-q", node.store, "-c", sql], check=True, capture_output=True)


@BOTH
@pytest.mark.proves("HO5", "WI1")
def test_an_end_while_the_node_is_down(node, receiver):
    hold(node, until="1h")
    docs = [send(node) for _ in range(5)]
    for doc in docs:
        await_state(node, doc, "held")
    node.kill()
    reach_into(node, "UPDATE hold SET until_us = until_us - 3600000000, from_us = from_us - 3600000000")
    assert arrived(receiver) == set()
    node.start()
    for doc in docs:
        await_state(node, doc, "delivered")


@BOTH
@pytest.mark.proves("HO6")
def test_one_without_an_end_is_reminded_of(node):
    placed = hold(node, "--owner", "ann", until=None, reason="contract")["hold"]
    time.sleep(0.5)
    assert not any(e.get("event") == "hold.remind" for e in node.events)
    node.stop()
    reach_into(node, "UPDATE hold SET reminded_us = reminded_us - 86400000000, from_us = from_us - 86400000000")
    node.start()
    told = node.wait_event("hold.remind")
    assert told["level"] == "warn" and told["owner"] == "ann" and told["days"] == 1
    assert told["hold"] == int(placed["id"])

    def mishaps():
        return [m for m in node.graphql("{ mishaps { code object message } }")["mishaps"] if m["code"] == "hold"]

    wait_until(mishaps)
    assert "hub" in mishaps()[0]["object"] and "ann" in mishaps()[0]["message"]
    time.sleep(0.6)
    assert sum(e.get("event") == "hold.remind" for e in node.events) == 1


@pytest.mark.proves("HO9", "QC6")
def test_a_jump_of_the_clock_releases_nothing_until_it_is_steady(make_node, receiver, tmp_path):
    clock = MovedClock(tmp_path)
    node = make_node(config=CONFIG.format(url=receiver.url("")), environment=clock.environment)
    node.start()
    hold(node, until="30m")
    doc = send(node)
    await_state(node, doc, "held")
    clock.by(3600)  # and back: nothing happened
    told = node.wait_event("clock.step")
    assert told["level"] == "warn" and 3500e3 < told["by_ms"] < 3700e3
    ready = node.request("GET", "/readyz").json
    assert ready["ready"] and any("clock" in r for r in ready["reasons"])
    time.sleep(1)
    clock.by(0)
    node.wait_event("clock.steady", 15)
    time.sleep(1)
    assert show(node, doc)["state"] == "held" and arrived(receiver) == set()
    seen = len(node.events)
    clock.by(3600)  # and it stays: then it is the time
    node.wait_event("clock.step", since=seen)
    time.sleep(2)
    assert arrived(receiver) == set()
    node.wait_event("clock.steady", 15, since=seen)
    await_state(node, doc, "delivered")


@POSTGRES
@pytest.mark.proves("SC20", "QC6")
def test_nodes_go_by_the_clock_of_the_database(make_node, receiver, tmp_path):
    """One of two nodes is three hours ahead: nothing is released or tried early because of it."""
    config = CONFIG.format(url=receiver.url("")).replace("first: 50ms, most: 100ms", "first: 1h, most: 1h")
    ahead = MovedClock(tmp_path)
    ahead.by(3 * 3600)
    right, wrong = make_node(config=config), make_node(config=config, environment=ahead.environment)
    right.start()
    wrong.start()
    receiver.behave("/in", "status", 503)
    waits = [send(n, to="shop") for n in (right, wrong)]
    for doc in waits:
        await_state(right, doc, "retrying")
    receiver.behave("/in", "ok")
    hold(right, until="1h")
    held = [send(n) for n in (right, wrong)]
    for doc in held:
        await_state(wrong, doc, "held")
    time.sleep(3)
    assert all(show(right, doc)["state"] == "held" for doc in held)
    assert all(show(right, doc)["state"] == "retrying" for doc in waits)
    assert arrived(receiver) <= set(waits)


# ---- races --------------------------------------------------------------------------------------------

class Load:
    """Documents, one after the other, on a few threads until it is told to stop."""

    def __init__(self, nodes, threads=4, to="hub"):
        self.nodes, self.to = nodes, to
        self.docs = []
        self.slowest = 0
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(threads)]

    def run(self, number):
        while not self.ended.wait(0.005):
            began = time.monotonic()
            self.docs.append(send(self.nodes[number % len(self.nodes)], to=self.to))
            self.slowest = max(self.slowest, time.monotonic() - began)

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for t in self.threads:
            t.join()


def check_placing(nodes, receiver, rounds=3):
    receiver.behave("/in", "late", 0.02)
    with Load(nodes) as load:
        for i in range(rounds):
            before = len(receiver.requests("/in"))
            wait_until(lambda: len(receiver.requests("/in")) > before + 50, 20, "load")
            placed = hold(nodes[i % len(nodes)])
            came = receiver.requests("/in")  # after it returned
            time.sleep(0.8)
            late = {r["headers"]["idempotency-key"] for r in receiver.requests("/in")[len(came):]}
            assert late <= set(placed["sending"]), late - set(placed["sending"])
            assert len(placed["sending"]) <= 4 * len(nodes)
            assert end(nodes[0], placed).returncode == DONE
    wait_until(lambda: arrived(receiver) >= set(load.docs), 60, "everything")
    assert len(receiver.requests("/in")) == len(load.docs)


@BOTH
@pytest.mark.proves("HO4")
def test_after_the_answer_only_what_was_on_the_wire_arrives(node, receiver):
    check_placing([node], receiver)


@POSTGRES
@pytest.mark.proves("HO4")
def test_after_the_answer_it_is_live_on_every_node(pair, receiver):
    check_placing(pair, receiver)


@POSTGRES
@pytest.mark.proves("HO4")
def test_a_node_that_stands_still_is_waited_for_or_given_up(make_node, receiver):
    """When it goes on it takes a while to read what was changed, and nothing is begun before."""
    one, two = (make_node(config=CONFIG.format(url=receiver.url("")), environment=environment)
                for environment in ({}, {"WAYBILL_FAULT": "holds.read:delay_ms:1500"}))
    one.start()
    two.start()
    send(two)
    receiver.wait_for(1)
    os.kill(two.process.pid, 19)
    began = time.monotonic()
    placed = hold(one)
    assert 2 < time.monotonic() - began
    docs = [send(one) for _ in range(5)]
    os.kill(two.process.pid, 18)
    for doc in docs:
        await_state(one, doc, "held")
    time.sleep(3)  # time enough to do it wrong
    assert not arrived(receiver) & set(docs)
    assert end(one, placed).returncode == DONE
    wait_until(lambda: arrived(receiver) >= set(docs), 20, "the rest")


def race(nodes, receiver, seconds=4):
    """Holds come and go from everywhere while documents come; in the end all have arrived."""
    with Load(nodes) as load:
        over = time.monotonic() + seconds

        def place(number):
            node, times = nodes[number % len(nodes)], 0
            while time.monotonic() < over:
                placed = node.graphql('mutation { holdAdd(system: "hub", reason: "race", owner: "x")'
                                      " { hold { id } } }")["holdAdd"]["hold"]["id"]
                time.sleep(0.01 * (number + times % 3))
                node.graphql("mutation($id: ID!) { holdEnd(id: $id) { id } }", id=placed)
                times += 1
            return times

        assert sum(at_once(3, place)) > 5
    began = time.monotonic()
    wait_until(lambda: arrived(receiver) >= set(load.docs), 60, "everything")
    assert len(receiver.requests("/in")) == len(load.docs)
    assert load.slowest < 5, "a sender felt it"
    return time.monotonic() - began


@BOTH
@pytest.mark.proves("HO2", "HO3", "HO5", "HO7")
def test_holds_that_come_and_go_leave_nothing_behind(node, receiver):
    race([node], receiver)


@POSTGRES
@pytest.mark.proves("HO2", "HO5")
def test_holds_that_come_and_go_on_two_nodes_leave_nothing_behind(pair, receiver):
    race(pair, receiver)


@pytest.mark.proves("HO3")
@BOTH
def test_a_crash_while_they_are_released(node, receiver):
    receiver.behave("/in", "late", 0.02)
    placed = hold(node)
    docs = [send(node) for _ in range(150)]
    for doc in docs:
        await_state(node, doc, "held")
    assert end(node, placed).returncode == DONE
    receiver.wait_for(20)
    node.kill()
    node.start()
    wait_until(lambda: arrived(receiver) >= set(docs), 30, "the rest")
    for doc in docs:
        await_state(node, doc, "delivered")


@BOTH
@pytest.mark.proves("HO7", "HO8")
def test_ten_thousand_are_released(make_node, receiver):
    text = CONFIG.format(url=receiver.url("")).replace("concurrency: 4", "concurrency: 64")
    node = make_node(config=text)
    node.start()
    placed = hold(node)
    count = 2500
    docs = {doc for some in at_once(4, lambda _: [send(node) for _ in range(count)]) for doc in some}
    assert arrived(receiver) == set()

    def parked():
        return node.metrics()['waybill_deliveries_total{outcome="parked"}'] >= 4 * count

    wait_until(parked, 240, "parking")
    over = threading.Event()

    def others():
        while not over.is_set():
            await_state(node, send(node, to="shop"), "delivered", seconds=240)

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        sending = thread.submit(others)
        try:
            assert end(node, placed).returncode == DONE
            wait_until(lambda: len(receiver.came) >= 4 * count, 240, "most of them")
            wait_until(lambda: arrived(receiver) >= docs, 240, "the rest")
        finally:
            over.set()
        sending.result()
    is_other = [r["headers"]["waybill-document"] not in docs for r in receiver.requests()]
    first, last = is_other.index(False), len(is_other) - is_other[::-1].index(False)
    # One at a time: only the first can have come before the release.
    assert sum(is_other[first:last]) >= 2, "others do not wait for all of them"


# ---- what waits -----------------------------------------------------------------------------------------

@BOTH
def test_what_waits_is_counted_and_foretold(node, receiver):
    def system(name):
        return node.graphql("query($n: String!) { system(name: $n)"
                            " { name held waiting retrying perHour drained } }", n=name)["system"]

    assert system("nobody") is None
    assert system("hub")["held"] == [] and system("hub")["waiting"] == 0
    for _ in range(30):
        send(node)
    receiver.wait_for(30)
    placed = hold(node, until="1h")
    for _ in range(7):
        send(node)
    wait_until(lambda: system("hub")["waiting"] == 7, 30, "the count")
    wait_until(lambda: system("hub")["perHour"], 30, "a rate")
    seen = system("hub")
    assert seen["held"] == ["hold"] and seen["drained"] > placed["hold"]["until"]
    listed, = objects(node.cli("hold", "ls", "--json"))
    assert listed["waiting"] == 7 and listed["drained"] == seen["drained"]
    assert "DRAINED" in node.cli("hold", "ls").stdout
    metrics = node.metrics()
    assert metrics['waybill_held_deliveries{system="hub",reason="hold"}'] == 7
    hold(node, "--owner", "ann", until="open")
    assert system("hub")["drained"] is None
    assert system("shop")["waiting"] == 0


# ---- pauses ---------------------------------------------------------------------------------------------

@BOTH
def test_delivery_is_paused(node, receiver):
    shown, = objects(node.cli("node", "pause", "--delivery", "--reason", "network", "--json"))
    assert [(p["what"], p["reason"], p["everywhere"]) for p in shown["pauses"]] == [("delivery", "network", True)]
    doc = send(node)
    seen = await_state(node, doc, "held")
    assert seen["deliveries"][0]["held"] == ["pause"]
    placed = hold(node)
    assert show(node, doc)["deliveries"][0]["held"] == ["hold", "pause"]  # every reason
    end(node, placed)
    ready = node.request("GET", "/readyz")
    assert ready.status == 200 and ready.json["reasons"] == ["delivery is paused on this node"]
    assert node.metrics()['waybill_paused{what="delivery"}'] == 1
    node.restart()
    time.sleep(0.5)
    assert show(node, doc)["state"] == "held" and arrived(receiver) == set()
    assert "delivery (network)" in node.cli("node", "ls").stdout
    shown, = objects(node.cli("node", "resume", "--json"))
    assert shown["pauses"] == []
    await_state(node, doc, "delivered")
    assert node.request("GET", "/readyz").json["reasons"] == []


@BOTH
def test_intake_is_paused(node, receiver):
    mine, = objects(node.cli("node", "ls", "--json"))
    assert mine["self"] and mine["state"] == "alive" and mine["pauses"] == []
    assert node.cli("node", "pause", mine["id"], "--intake").returncode == DONE
    answer = node.post("in", json.dumps({"to": "hub"}))
    assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0
    assert answer.json["error"]["code"] == "paused"
    ready = node.request("GET", "/readyz")
    assert ready.status == 503 and ready.json["reasons"] == ["intake is paused on this node"]
    node.restart()  # it is the same node
    assert node.post("in", json.dumps({"to": "hub"})).status == 503
    assert node.cli("node", "resume", "--intake").returncode == DONE
    await_state(node, send(node), "delivered")
    assert [e["event"] for e in node.events if e.get("event") in ("node.pause", "node.resume")] == [
        "node.pause", "node.pause", "node.resume"]


def test_polling_gateways_rest_while_intake_is_paused(make_node, tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    node = make_node(config=(
        f"gateways: {{ files: {{ kind: file, path: '{inbox}', every: 100ms, min_age: 0s, after: delete }} }}\n"))
    node.start()
    assert node.cli("node", "pause", "--intake").returncode == DONE
    (inbox / "a.txt").write_text("a")
    time.sleep(1)
    assert node.documents() == [] and (inbox / "a.txt").exists()
    assert node.cli("node", "resume").returncode == DONE
    wait_until(lambda: len(node.documents()) == 1)


def test_everything_is_paused_and_a_node_that_is_not_there(node):
    shown, = objects(node.cli("node", "pause", "--json"))
    assert [p["what"] for p in shown["pauses"]] == ["intake", "delivery", "jobs"]
    shown, = objects(node.cli("node", "resume", "--jobs", "--json"))
    assert [p["what"] for p in shown["pauses"]] == ["intake", "delivery"]
    got = node.cli("node", "pause", "12345")
    assert got.returncode == NO and "there is no node 12345" in got.stderr


@POSTGRES
def test_one_of_two_nodes_is_paused(pair, receiver):
    one, two = pair
    ids = {n["self"]: n["id"] for n in objects(one.cli("node", "ls", "--json"))}
    assert two.cli("node", "pause", ids[True], "--delivery", "--intake").returncode == DONE
    wait_until(lambda: one.request("GET", "/readyz").status == 503)
    assert two.request("GET", "/readyz").json == {"ready": True, "reasons": []}
    doc = send(two)
    await_state(two, doc, "delivered")
    assert one.cli("node", "resume", ids[True]).returncode == DONE
    wait_until(lambda: one.request("GET", "/readyz").status == 200)
