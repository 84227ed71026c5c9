"""Sends whose outcome is unknown: the four policies of a system, what a person decides, crashes.

Each system has its policy for a name and an http endpoint of the same name: /in/NAME takes
documents, /b/known/KEY says whether one with that key came.
"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import signal
import socket
import time

import pytest

from rig.receiver import Receiver

POLICIES = ("resend", "hold", "probe", "assume")
UNCLEAR = ("late/20", "cut_head", "half", "close", "reset", "status/500", "status/502", "status/504")


def config(url, method="GET", probe="/b/known/${delivery}", concurrency=4, folder=None, timeout="5s"):
    asks = f", probe: {{ url: '{url}{probe}', method: {method} }}"
    systems = "".join(f"  {p}: {{ in_doubt: {p}, limits: {{ concurrency: {concurrency} }} }}\n" for p in POLICIES)
    endpoints = "".join(
        f"  to-{p}: {{ kind: http, url: '{url}/in/{p}', system: {p}, timeout: {timeout}, retry: {{ first: 50ms, most: 1s }},"
        f" breaker: {{ failures: 50, wait: 200ms }}{asks if p == 'probe' else ''} }}\n" for p in POLICIES)
    routes = "".join(f"  - {{ name: {p}, when: {{ receiver: {p} }}, do: [ {{ deliver: to-{p} }} ] }}\n"
                     for p in POLICIES)
    if folder is not None:
        systems += "  files: { in_doubt: probe }\n"
        endpoints += f"  to-files: {{ kind: file, path: '{folder}', system: files, retry: {{ first: 50ms, most: 1s }} }}\n"
        routes += "  - { name: files, when: { receiver: files }, do: [ { deliver: to-files } ] }\n"
    return (f"systems:\n{systems}"
            'gateways:\n  in: { kind: http, auth: none, extract: { receiver: "json:/to" } }\n'
            f"endpoints:\n{endpoints}routes:\n{routes}")


@pytest.fixture
def make(make_node, receiver):
    """A node with the four policies; more for config() and for the node."""
    def run(environment=None, **more):
        node = make_node(config=config(receiver.url(""), **more), environment=environment or {})
        node.start()
        return node
    return run


def send(node, to, **more):
    return node.accept("in", json.dumps({"to": to, **more}))


def look(node, doc):
    return node.show(doc, "state deliveries { id endpoint state code message attempts } timeline { stage what"
                     " outcome message }")


def await_state(node, doc, *states, seconds=90):
    return node.await_state(doc, *states, look=look, seconds=seconds)


def sent(receiver, doc):
    """How often its bytes came."""
    return sum(r["headers"].get("waybill-document") == doc and r["method"] == "POST" for r in receiver.requests())


def asked(receiver, doc):
    return [r["method"] for r in receiver.requests()
            if r["headers"].get("waybill-document") == doc and r["method"] != "POST"]


def said(document):
    return "; ".join(line["message"] or "" for line in document["timeline"])


# ---- a node that lives ---------------------------------------------------------------------------

def misbehave(receiver, path, habit, times=1):
    name, *args = habit.split("/")
    receiver.behave(path, name, *args, times=times)


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE6", "DE12")
def test_each_policy_with_each_unclear_answer(make, receiver):
    node = make()
    docs = {}
    for habit in UNCLEAR:
        for policy in POLICIES:
            misbehave(receiver, f"/in/{policy}", habit)
            docs[policy, habit] = send(node, policy)
        for policy in POLICIES:  # before the next habit: a second send would use that one up
            await_state(node, docs[policy, habit], "in_doubt" if policy == "hold" else "delivered")
    for (policy, habit), doc in docs.items():
        found = look(node, doc)
        one = found["deliveries"][0]
        times = sent(receiver, doc)
        if policy == "resend":
            assert times >= 2, habit  # libcurl repeats by itself what a kept connection swallowed
        elif policy == "hold":
            assert (times, one["state"], one["attempts"]) == (1, "in_doubt", 1), habit
        elif policy == "probe":
            assert times == 1 and asked(receiver, doc) == ["GET"], habit
            assert "asked: the receiver has it (200)" in said(found)
        else:
            assert times == 1 and "unconfirmed: " in one["message"], habit
            assert "unconfirmed: " in node.cli("docs", "show", doc).stdout
    listed = node.cli("docs", "ls", "--state", "in_doubt", "--json").stdout
    assert {json.loads(line)["id"] for line in listed.splitlines()} == \
        {doc for (policy, _), doc in docs.items() if policy == "hold"}
    assert node.cli("doctor").returncode == 0


@pytest.mark.proves("DE6")
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_a_receiver_that_has_it_not_gets_it_again_under_the_same_key(make, receiver, method):
    """It never read the body: asked, it says 404, and the same key comes again."""
    node = make(method=method, probe="/asked")
    receiver.behave("/asked", "status", 404, None, "")
    receiver.behave("/in/probe", "close", times=1)
    doc = send(node, "probe")
    found = await_state(node, doc, "delivered")
    assert "asked: the receiver does not have it (404); it is sent again" in said(found)
    came = [r for r in receiver.requests("/in/probe")]
    assert len(came) == 2 and came[0]["headers"]["idempotency-key"] == came[1]["headers"]["idempotency-key"]
    questions = receiver.requests("/asked")
    assert [r["method"] for r in questions] == [method]
    assert questions[0]["headers"]["idempotency-key"] == came[0]["headers"]["idempotency-key"]
    assert questions[0]["size"] == 0


@pytest.mark.proves("DE6")
def test_an_answer_that_stays_unclear_ends_in_doubt(make, receiver):
    node = make(probe="/asked")
    receiver.behave("/asked", "status", 500)
    receiver.behave("/in/probe", "close")
    doc = send(node, "probe")
    found = await_state(node, doc, "in_doubt")
    assert sent(receiver, doc) == 1 and len(receiver.requests("/asked")) == 5
    assert "asked: the receiver answered 500" in said(found)


@pytest.mark.proves("DE6")
def test_while_it_is_asked_a_person_cannot_send_it_twice(make, receiver):
    node = make(probe="/asked")
    receiver.behave("/asked", "status", 503, 60)
    receiver.behave("/in/probe", "close")
    doc = send(node, "probe")
    wait = time.monotonic() + 30
    while not receiver.requests("/asked"):
        assert time.monotonic() < wait
        time.sleep(0.02)
    wait = time.monotonic() + 60
    while "may have it" not in (again := node.cli("docs", "retry", doc, "--from", "extract")).stdout:
        assert again.returncode == 1 and time.monotonic() < wait, again.stdout  # the answer is being written
    assert again.returncode == 1
    assert "being asked" in node.cli("docs", "resolve", doc, "--resend").stdout
    receiver.behave("/asked", "status", 200)
    node.cli("docs", "retry", doc)
    assert sent(receiver, doc) == 1
    assert node.cli("doctor").returncode == 0


# ---- what a person decides -----------------------------------------------------------------------

@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE9", "DE12")
def test_resolve(make, receiver):
    node = make()
    receiver.behave("/in/hold", "close", times=2)
    arrived, lost = send(node, "hold"), send(node, "hold")
    for doc in (arrived, lost):
        await_state(node, doc, "in_doubt")
    shown = node.cli("docs", "show", lost).stdout
    assert "in_doubt" in shown and "docs resolve" in shown
    refused = node.cli("docs", "retry", lost)
    assert refused.returncode == 1 and "docs resolve" in refused.stdout
    assert node.cli("docs", "resolve", lost).returncode == 2
    assert node.cli("docs", "resolve", lost, "--resend", "--delivered").returncode == 2
    assert node.cli("docs", "resolve", lost, "--resend", "--endpoint", "nowhere").returncode != 0
    elsewhere = node.cli("docs", "resolve", lost, "--resend", "--endpoint", "to-probe")
    assert elsewhere.returncode == 1 and "nothing of it is in doubt" in elsewhere.stdout

    done = node.cli("docs", "resolve", arrived, "--delivered")
    assert done.returncode == 0 and "resolved as delivered: to-hold" in done.stdout, done.stderr
    over = await_state(node, arrived, "delivered")
    assert over["deliveries"][0]["state"] == "delivered" and sent(receiver, arrived) == 1
    assert any(line["stage"] == "operator" and line["what"] for line in over["timeline"])

    assert node.cli("docs", "resolve", lost, "--resend", "--endpoint", "to-hold").returncode == 0
    over = await_state(node, lost, "delivered")
    keys = [r["headers"]["idempotency-key"] for r in receiver.requests("/in/hold")
            if r["headers"]["waybill-document"] == lost]
    assert len(keys) == 2 and keys[0] == keys[1]
    assert "resolved, to be sent again: to-hold" in said(over)
    again = node.cli("docs", "resolve", lost, "--resend")
    assert again.returncode == 1
    assert node.cli("doctor").returncode == 0


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE12")
def test_cancel_against_a_running_send(make, receiver):
    """Being sent: refused, and what comes of it is recorded.  What waits is cancelled."""
    node = make(concurrency=1, timeout="60s")
    receiver.behave("/in/hold", "late", 10, times=1)
    running = send(node, "hold")
    wait = time.monotonic() + 30
    while sent(receiver, running) == 0:
        assert time.monotonic() < wait
        time.sleep(0.01)
    refused = node.cli("docs", "cancel", running)
    assert refused.returncode == 1 and "being sent" in refused.stdout
    await_state(node, running, "delivered", seconds=60)

    receiver.stop_listening()
    waiting = send(node, "hold")
    await_state(node, waiting, "retrying")
    until = time.monotonic() + 30
    while node.cli("docs", "cancel", waiting).returncode != 0:
        assert time.monotonic() < until
    await_state(node, waiting, "cancelled")
    receiver.listen()
    time.sleep(0.3)
    assert sent(receiver, waiting) == 0


@pytest.mark.proves("DE12")
def test_again_gives_new_keys(make, receiver):
    node = make()
    doc = send(node, "hold")
    await_state(node, doc, "delivered")
    for n, stage in enumerate(("extract", "route", "delivery"), 1):
        assert node.cli("docs", "retry", doc, "--from", stage).returncode == 1
        assert node.cli("docs", "retry", doc, "--from", stage, "--again").returncode == 0
        wait = time.monotonic() + 30
        while sent(receiver, doc) != n + 1:
            assert time.monotonic() < wait, node.tail(5)
            time.sleep(0.02)
        await_state(node, doc, "delivered")
    keys = [r["headers"]["idempotency-key"] for r in receiver.requests("/in/hold")]
    assert len(set(keys)) == 4, keys


# ---- a node that is stopped ----------------------------------------------------------------------

@contextlib.contextmanager
def nobody_accepts(receiver):
    """Its port listens, but has no room for one more connection: whoever connects waits."""
    receiver.stop_listening()
    with contextlib.ExitStack() as sockets:
        listener = sockets.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", receiver.port))
        listener.listen(0)
        for _ in range(8):
            filler = sockets.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", receiver.port))
        yield
    receiver.listen()


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE5", "DE12")
def test_what_a_stop_cuts_off_before_it_was_sent_is_sent_later(make, receiver):
    """Its intent is written and it still connects: the stop writes that nothing has left."""
    node = make(timeout="60s, connect_timeout: 60s")
    with nobody_accepts(receiver):
        docs = [send(node, policy) for policy in ("assume", "hold")]
        until = time.monotonic() + 30
        while any([d["attempts"] for d in look(node, doc)["deliveries"]] != [1] for doc in docs):
            assert time.monotonic() < until, node.tail(5)
            time.sleep(0.02)
        assert node.stop() == 0
    node.start()
    for doc in docs:
        found = await_state(node, doc, "delivered")
        assert sent(receiver, doc) == 1, said(found)
        assert "the node is stopping" in said(found) and "unconfirmed" not in said(found)
    assert node.cli("doctor").returncode == 0


# ---- crashes -------------------------------------------------------------------------------------

# where the node dies -> whether the receiver got it by then, and whether anybody can know
BEFORE_THE_ANSWER = {
    "intent.written": (0, True),
    "intent.committed": (0, False),
    "send.begin": (0, False),
}
BEHIND_THE_ANSWER = {
    "send.answered": (1, False),
    "settle.written": (1, False),
    "settle.done": (1, True),
}


def crash(make_node, text, to, point, folder=None):
    """A node that died at the point on the way of one document, and the document; the folder is empty before."""
    nth = {"settle.written": 2, "settle.done": 2}.get(point, 1)  # the run itself is settled first
    for _ in range(10):
        for file in folder.iterdir() if folder else ():
            file.unlink()
        node = make_node(config=text, environment={"WAYBILL_FAULT": f"{point}:kill:{nth}"})
        node.start()
        try:
            doc = send(node, to)
        except (OSError, http.client.HTTPException):
            continue  # it died before its answer was out
        finally:
            assert node.ended() != 0
        node.environment["WAYBILL_FAULT"] = ""
        return node, doc
    raise AssertionError("it never answers in time")


@pytest.fixture
def make_store(request, store):
    """One more of the same kind, and empty."""
    server = request.getfixturevalue("postgres") if store else None
    names = []

    def make():
        if server is None:
            return None
        name = f"node_{os.urandom(6).hex()}"
        names.append(name)
        server.create_database(name)
        return server.url(name)

    yield make
    for name in names:
        server.drop_database(name)


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE10")
@pytest.mark.parametrize("policy", ["hold", "probe", "assume"])
def test_killed_on_the_way(make_store, make_node, policy):
    killed_at(BEFORE_THE_ANSWER, make_node, make_store, policy)


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("DE9", "DE11", "DE15")
@pytest.mark.parametrize("policy", ["hold", "probe", "assume"])
def test_killed_behind_the_answer(make_store, make_node, policy):
    killed_at(BEHIND_THE_ANSWER, make_node, make_store, policy)


def killed_at(points, make_node, make_store, policy):
    """All points at a time, each with a receiver and a store of its own: on PostgreSQL each waits for a lease to end."""
    def kill_at(point):
        with Receiver() as receiver:
            killed_at_one(point, *points[point], receiver, policy, lambda **more: make_node(store=make_store(), **more))

    with concurrent.futures.ThreadPoolExecutor(len(points)) as threads:
        for done in [threads.submit(kill_at, point) for point in points]:
            done.result()


def killed_at_one(point, arrived, known, receiver, policy, make):
    node, doc = crash(make, config(receiver.url("")), policy, point)
    assert sent(receiver, doc) == arrived, point
    node.start()
    if policy == "hold":
        found = await_state(node, doc, "delivered" if known else "in_doubt", seconds=60)
        assert sent(receiver, doc) == (1 if known else arrived), point
        if not known:
            assert "sent before a crash" in found["deliveries"][0]["message"]
    elif policy == "probe":
        await_state(node, doc, "delivered", seconds=60)
        assert sent(receiver, doc) == 1, point
        assert asked(receiver, doc) == ([] if known else ["GET"]), point
    else:
        found = await_state(node, doc, "delivered", seconds=60)
        assert sent(receiver, doc) == (1 if known else arrived), point
        assert ("unconfirmed" in said(found)) == (not known), point
    assert node.cli("doctor").returncode == 0, point
    node.stop()


@pytest.mark.proves("DE10")
def test_a_crash_puts_no_more_in_doubt_than_the_concurrency(make_node, receiver):
    node = make_node(config=config(receiver.url(""), concurrency=2, timeout="60s"))
    receiver.behave("/in/hold", "no_answer")
    node.start()
    docs = [send(node, "hold") for _ in range(20)]
    wait = time.monotonic() + 90
    while sum(sent(receiver, d) for d in docs) < 2:
        assert time.monotonic() < wait
        time.sleep(0.01)
    node.kill()
    receiver.behave("/in/hold", "ok")
    node.start()
    until = time.monotonic() + 90
    while True:
        states = [look(node, d)["state"] for d in docs]
        if all(s in ("delivered", "in_doubt") for s in states):
            break
        assert time.monotonic() < until, states
        time.sleep(0.05)
    assert states.count("in_doubt") == 2
    assert all(sent(receiver, d) == 1 for d in docs)


def test_what_minds_a_second_time_is_sent_at_once(make_node, receiver):
    """It waits in the store for its intent, and nothing else."""
    node = make_node(config=config(receiver.url("")))
    node.start()
    took = []
    for number in range(7):
        began = time.monotonic()
        send(node, "hold")
        receiver.wait_for(number + 1, path="/in/hold")
        took.append(time.monotonic() - began)
        time.sleep(0.1)
    assert min(took) < 0.4, took  # on a busy machine not each is


@pytest.mark.stores("postgres")
@pytest.mark.proves("FO2", "FO3", "FO4", "FO7", "QC2", "DE14")
def test_a_node_that_was_frozen_past_its_lease_sends_nothing_more(make_node, receiver):
    """Its successor holds what was on the wire and sends the rest; thawed, it sends and settles nothing."""
    text = config(receiver.url(""), concurrency=2, timeout="60s")
    frozen, other = make_node(config=text), make_node(config=text)
    receiver.behave("/in/hold", "no_answer")
    frozen.start()
    docs = [send(frozen, "hold") for _ in range(12)]
    receiver.wait_for(2, path="/in/hold")
    wire = {r["headers"]["waybill-document"] for r in receiver.requests("/in/hold")}
    frozen.process.send_signal(signal.SIGSTOP)
    try:
        receiver.behave("/in/hold", "ok")
        other.start()
        for doc in docs:
            await_state(other, doc, "in_doubt" if doc in wire else "delivered", seconds=60)
    finally:
        frozen.process.send_signal(signal.SIGCONT)
    assert frozen.ended() != 0
    assert [sent(receiver, doc) for doc in docs] == [1] * len(docs)
    assert all(look(other, doc)["state"] == "in_doubt" for doc in wire)
    assert other.cli("doctor").returncode == 0


@pytest.mark.proves("DE9", "DE11")
@pytest.mark.parametrize("point", ["intent.committed", "file.staged", "file.named", "send.answered"])
def test_a_file_is_looked_for_by_name_and_bytes(make_node, receiver, tmp_path, point):
    out = tmp_path / "out"
    out.mkdir()
    node, doc = crash(make_node, config(receiver.url(""), folder=out), "files", point, folder=out)
    node.start()
    found = await_state(node, doc, "delivered")
    assert [f.name for f in out.iterdir()] == [doc]
    there = point in ("file.named", "send.answered")
    assert ("is there with these bytes" in said(found)) == there
    assert ("is not there; it is written again" in said(found)) == (not there)


@pytest.mark.proves("DE12")
@pytest.mark.parametrize("policy, state, times", [("hold", "in_doubt", 1), ("assume", "delivered", 1),
                                                  ("resend", "delivered", 2)])
def test_a_policy_that_changes(make, receiver, policy, state, times):
    """The newest configuration decides over what was sent before."""
    node = make(probe="/asked")
    receiver.behave("/asked", "status", 503, 1)
    receiver.behave("/in/probe", "close", times=1)
    doc = send(node, "probe")
    receiver.wait_for(1, path="/asked")
    node.write_config(config(receiver.url(""), probe="/asked").replace("in_doubt: probe", f"in_doubt: {policy}"))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr
    await_state(node, doc, state)
    assert sent(receiver, doc) == times
