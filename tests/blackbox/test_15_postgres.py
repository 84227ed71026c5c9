"""PostgreSQL that is down, goes away or hangs, and several nodes on one database."""
import os
import signal
import threading
import time

import pytest

from senders import Senders
from wire import at_once, wait_until

CONFIG = """\
gateways:
  open: { kind: http, auth: none }
"""
pytestmark = [pytest.mark.config(CONFIG), pytest.mark.stores("postgres")]
DECLARED_DEAD = 75


@pytest.fixture(scope="module")
def postgres(own_postgres):
    return own_postgres


@pytest.fixture
def server(postgres):
    """The server, which runs again after the test."""
    yield postgres
    if postgres.process is None:
        postgres.start()


# ---- one node --------------------------------------------------------------------------------------


@pytest.mark.proves("XC5")
def test_a_database_that_is_down_at_the_start(make_node, server):
    node = make_node()
    server.stop()
    node.launch()
    waiting = node.wait_event("store.wait")
    assert waiting["level"] == "warn" and "reach" in waiting["why"]
    assert node.stop() == 0  # told to stop, it does
    seen = len(node.events)
    node.launch()
    node.wait_event("store.wait", since=seen)
    time.sleep(0.5)
    assert node.process.poll() is None
    server.start()
    node.await_ready()
    assert node.post("open", b"x").status == 202


def test_a_database_that_is_not_there(make_node, server):
    """It may still be made: the node waits, says why, and does not show the password."""
    node = make_node()
    node.store = node.store.replace("waybill@", "waybill:s3cret@").rpartition("/")[0] + "/not_made_yet"
    node.write_config(CONFIG)
    node.launch()
    assert "not_made_yet" in node.wait_event("store.wait")["why"]
    server.create_database("not_made_yet")
    node.await_ready()
    assert node.post("open", b"x").status == 202
    assert "s3cret" not in str(node.events)


def reason(node):
    """Why it is not ready, or nothing."""
    got = node.request("GET", "/readyz")
    return got.json["reasons"][0] if got.status == 503 else ""


@pytest.mark.proves("XC5", "IN6", "IN7")
@pytest.mark.parametrize("how", ["stop_immediate", "kill_hard"])
def test_a_database_that_goes_away_under_load(node, server, how):
    with Senders([node]) as senders:
        for _ in range(2):
            senders.wait_for_more()
            getattr(server, how)()
            before = len(senders.refused)
            wait_until(lambda: len(senders.refused) > before, 90, "refusal")  # pylint: disable=cell-var-from-loop
            wait_until(lambda: "database" in reason(node), 90, "readyz")  # at first only that nothing can be stored
            assert node.request("GET", "/healthz").status == 200
            server.start()
            senders.wait_for_more()
        wait_until(lambda: node.request("GET", "/readyz").status == 200, 30, "readyz")
    assert set(senders.refused) <= {"store_unreachable", "unavailable", "uncertain", "busy"}
    senders.check(node)


@pytest.mark.proves("XC5")
def test_a_database_that_hangs(node, server):
    """Shorter than a lease: requests wait or are refused, nothing is lost."""
    with Senders([node]) as senders:
        senders.wait_for_more()
        server.freeze()
        time.sleep(2)
        assert node.request("GET", "/healthz").status == 200
        server.thaw()
        senders.wait_for_more()
    senders.check(node)


def test_reading_while_the_database_is_down(node, server):
    ident = node.post("open", b"x").json["document"]
    server.stop()
    for path in (f"/documents/{ident}", f"/documents/{ident}/payload"):
        got = node.get(path)
        assert got.status == 503 and int(got.headers["Retry-After"]) >= 1
    got = node.request("POST", "/graphql", '{"query": "{ documents { next } }"}',
                       {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"})
    assert got.json["errors"]
    assert node.cli("docs", "ls").returncode == 69
    assert node.metrics()["waybill_http_requests_total"] > 0
    server.start()
    wait_until(lambda: node.get(f"/documents/{ident}/payload").body == b"x", 30, "reading")


# ---- several nodes ------------------------------------------------------------------------------------


@pytest.mark.proves("IN6", "EN3")
def test_two_nodes_take_documents_side_by_side(make_node):
    one, two = make_node(), make_node()
    at_once(2, lambda i: (one, two)[i].start())  # also the schema is made once
    with Senders([one, two]) as senders:
        senders.wait_for_more(100)
    senders.check(one)
    assert one.documents() == two.documents()
    nodes = one.graphql("{ nodes { pid state self } }")["nodes"]
    assert sorted(n["pid"] for n in nodes if n["state"] == "alive") == sorted(
        [one.process.pid, two.process.pid])
    for round_ in range(5):  # the same key to both at once
        got = at_once(8, lambda i: (one, two)[i % 2].post(  # pylint: disable=cell-var-from-loop
            "open", b"same", {"Idempotency-Key": f"r{round_}"}))
        assert [a.status for a in got] == [202] * 8 and len({a.body for a in got}) == 1
    mixed = at_once(8, lambda i: (one, two)[i % 2].post("open", b"%d" % (i // 2), {"Idempotency-Key": "m"}))
    assert sorted(a.status for a in mixed) == [202] * 2 + [422] * 6
    assert one.cli("doctor").returncode == two.cli("doctor").returncode == 0


@pytest.mark.proves("IN7")
def test_a_node_dies_and_the_other_goes_on(make_node):
    one, two = make_node(), make_node()
    one.start()
    two.start()
    with Senders([one, two]) as senders:
        senders.wait_for_more()
        dead = one.process.pid
        one.kill()
        senders.wait_for_more()
        one.start()
        senders.wait_for_more()
    states = {n["pid"]: n["state"] for n in two.graphql("{ nodes { pid state } }")["nodes"]}
    assert states.get(dead, "gone") != "alive"
    senders.check(two)


@pytest.mark.proves("QC2")
def test_a_node_that_stood_still_too_long_is_out(make_node):
    """The others declare it dead; when it wakes up it stores nothing and ends."""
    one, two = make_node(), make_node()
    one.start()
    two.start()
    assert one.post("open", b"before").status == 202
    os.kill(one.process.pid, signal.SIGSTOP)

    def state():
        return {n["pid"]: n["state"] for n in two.graphql("{ nodes { pid state } }")["nodes"]}

    wait_until(lambda: state().get(one.process.pid, "gone") != "alive", 90, "the verdict")
    before = two.documents()
    os.kill(one.process.pid, signal.SIGCONT)
    assert one.ended() == DECLARED_DEAD
    assert one.wait_event("node.dead")["level"] == "error"
    assert two.documents() == before and two.post("open", b"after").status == 202
    one.start()
    assert one.post("open", b"again").status == 202
