"""A document that brings the program down is set aside; nothing else ever is.

The program is told to end itself (SIGABRT, as a failed assertion would) wherever it meets bytes
that contain a certain text: in the worker that routes a document, in the pool that routes a large
one, in the connector that writes it to a file.
"""
import signal
import time

import pytest

from wire import at_once, wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
BOMB = b"explosive"
ALONE = 3       # crashes while alone that make a document poison
CONFIG = """\
systems: { acme: {}, hub: {} }
types: { order: {} }
gateways:
  open:
    kind: http
    auth: none
    extract:
      { sender: "value:acme", receiver: "value:hub", type: "value:order", attributes: { as: "header:As" } }
endpoints:
  out: { kind: file, system: hub, path: ./out, name: "${as}", retry: { first: 100ms, most: 1s } }
routes:
  - { name: all, when: { type: order }, do: [ { replace: { find: "a", with: "b" } }, { deliver: out } ] }
"""
pytestmark = pytest.mark.config(CONFIG)


def send(node, key, body):
    """The id, or None when the node went away before it answered."""
    try:
        got = node.post("open", body, {"Idempotency-Key": key, "As": key})
    except OSError:
        return None
    assert got.status == 202, got.body
    return got.json["document"]


def states(node):
    """{id: (state, code)} of all documents."""
    items = node.graphql("{ documents(first: 200) { items { id state error { code } } } }")
    return {d["id"]: (d["state"], d["error"] and d["error"]["code"])
            for d in items["documents"]["items"]}


def files(node):
    """The documents at the receiver, by their keys."""
    return {p.name for p in (node.folder / "out").iterdir() if not p.name.startswith(".")}


def is_quiet(node):
    return not {"received", "active", "retrying", "held"} & {s for s, _ in states(node).values()}


def lives_on(node, seconds=60):
    """Starts it; True when everything comes to an end, False when it crashes before."""
    seen = len(node.events)
    node.launch()
    until = time.monotonic() + seconds
    while node.process.poll() is None:
        assert time.monotonic() < until, f"no end after {seconds} s:\n{node.tail()}"
        try:
            if any(e["event"] == "node.ready" for e in node.events[seen:]):
                node.await_ready(since=seen)
                if is_quiet(node):
                    return True
        except OSError:     # it is going down
            pass
        time.sleep(0.02)
    assert node.ended() == -signal.SIGABRT, node.tail()
    return False


def crashes_until_it_lives(node, most=12):
    for crashes in range(most):
        if lives_on(node):
            return crashes
    raise AssertionError(f"it crashed {most} times in a row:\n{node.tail()}")


@BOTH
@pytest.mark.proves("QC4", "EX9")
@pytest.mark.parametrize("size", [100, 2 << 20], ids=["small", "large"])
def test_what_crashes_extraction_three_times_alone_is_poison(make_node, size):
    becomes_poison(make_node, "road.walk", size)


@BOTH
@pytest.mark.proves("QC4", "RO8")
def test_what_crashes_the_router_three_times_alone_is_poison(make_node):
    becomes_poison(make_node, "road.route", 100)


@BOTH
@pytest.mark.proves("QC4", "DE13")
@pytest.mark.parametrize("size", [100, 2 << 20], ids=["small", "large"])
def test_what_crashes_a_connector_three_times_alone_is_poison(make_node, size):
    becomes_poison(make_node, "file.writing", size)


def becomes_poison(make_node, point, size):
    """Others are around it each time, and all of them arrive."""
    node = make_node(environment={"WAYBILL_FAULT": f"{point}:abort_on:{BOMB.decode()}"})
    node.start()
    bodies = {f"k{n}": b"healthy %d" % n for n in range(40)}
    bodies["k20"] = b"p" * (size - 20) + b" " + BOMB
    answers = dict(zip(bodies, at_once(len(bodies), lambda n: send(node, f"k{n}", bodies[f"k{n}"]))))
    assert node.ended() == -signal.SIGABRT
    assert crashes_until_it_lives(node) == ALONE    # the first time it was not alone
    for key, body in bodies.items():    # a careful sender
        answers[key] = answers[key] or send(node, key, body)
    wait_until(lambda: is_quiet(node), what="all deliveries")
    found = states(node)
    assert found.pop(answers["k20"]) == ("dead", "poison")
    assert set(found) == {v for k, v in answers.items() if k != "k20"}
    assert set(found.values()) == {("delivered", None)}
    assert files(node) == bodies.keys() - {"k20"}
    assert node.cli("doctor").returncode == 0

    node.restart()      # and it stays where it is
    assert states(node)[answers["k20"]] == ("dead", "poison")
    last = send(node, "last", b"the node goes on")
    wait_until(lambda: states(node)[last] == ("delivered", None), what="the next document")


@BOTH
@pytest.mark.proves("QC4", "DE13")
def test_a_delivery_that_waited_can_be_poison_too(make_node):
    """The name is taken at first, so that it is tried again later, by a task of its own."""
    node = make_node(environment={"WAYBILL_FAULT": f"file.writing:abort_on:{BOMB.decode()}"})
    node.start()
    (node.folder / "out" / "bomb").write_bytes(b"in the way")
    bomb = send(node, "bomb", BOMB)
    wait_until(lambda: states(node)[bomb][0] == "retrying", what="the first try")
    (node.folder / "out" / "bomb").unlink()
    assert node.ended() == -signal.SIGABRT
    assert crashes_until_it_lives(node) == ALONE
    good = send(node, "good", b"a good one")
    wait_until(lambda: is_quiet(node), what="the next document")
    assert states(node) == {bomb: ("dead", "poison"), good: ("delivered", None)}
    assert files(node) == {"good"}
    assert node.cli("doctor").returncode == 0


@BOTH
@pytest.mark.proves("DE13")
@pytest.mark.config(CONFIG.replace("hub: {}", "hub: { in_doubt: hold }"))
def test_what_crashes_a_connector_behind_its_intent_is_in_doubt(make_node):
    """The receiver may have it: it is not tried again, not even alone."""
    node = make_node(environment={"WAYBILL_FAULT": f"file.writing:abort_on:{BOMB.decode()}"})
    node.start()
    bomb = send(node, "bomb", BOMB)
    assert node.ended() == -signal.SIGABRT
    assert crashes_until_it_lives(node) == 0
    bomb = bomb or send(node, "bomb", BOMB)
    good = send(node, "good", b"a good one")
    wait_until(lambda: is_quiet(node), what="the next document")
    found = states(node)
    assert found[bomb][0] == "in_doubt" and found[good] == ("delivered", None)
    assert files(node) == {"good"} and node.cli("doctor").returncode == 0


@BOTH
@pytest.mark.proves("QC4")
@pytest.mark.parametrize("point", ["road.walk", "file.writing", "send.answered"])
def test_a_kill_never_counts_against_a_document(make_node, point):
    """Twice as often as would make it poison, each time in the middle of its work."""
    node = make_node(environment={"WAYBILL_FAULT": f"{point}:kill:1"})
    node.start()
    send(node, "k", b"a good one")
    assert node.ended() == -signal.SIGKILL
    for _ in range(2 * ALONE):
        node.launch()
        assert node.ended() == -signal.SIGKILL
    node.environment.clear()
    node.start()
    document = send(node, "k", b"a good one")
    wait_until(lambda: is_quiet(node), what="its delivery")
    assert states(node) == {document: ("delivered", None)}
    assert (node.folder / "out" / "k").read_bytes() == b"b good one"
    assert node.cli("doctor").returncode == 0
