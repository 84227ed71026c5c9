"""PostgreSQL fails over: a primary with a standby, promotions, and servers that come back."""
import threading

import pytest
import replicas
from senders import Senders
from wire import wait_until

CONFIG = """\
gateways:
  open: { kind: http, auth: none }
"""
pytestmark = [pytest.mark.config(CONFIG), pytest.mark.stores("pair")]


@pytest.fixture
def pair():
    """A primary and its standby, for one test: a promotion cannot be taken back."""
    with replicas.pair() as (primary, standby):
        primary.create_database("orders")
        yield primary, standby


@pytest.fixture
def store(pair):
    """The primary first in the address."""
    return replicas.url(pair, "orders")


def alert(node, code):
    """The open alert with this code, or None."""
    found = node.graphql("{ alerts { code object message } }")["alerts"]
    return next((a for a in found if a["code"] == code), None)


def await_ready(node, seconds=40):
    wait_until(lambda: node.request("GET", "/readyz").status == 200, seconds, "ready")


def documents_of(server):
    return int(server.sql("SELECT count(*) FROM doc", "orders"))


@pytest.mark.proves("FO6")
def test_every_connection_goes_to_the_primary(make_node, pair):
    """The standby is named first, and its log is not replayed: whoever reads there sees nothing."""
    primary, standby = pair
    node = make_node(store=replicas.url([standby, primary], "orders"))
    standby.sql("SELECT pg_wal_replay_pause()")
    node.start()
    ident = node.accept("open", b"x")
    assert node.documents() == [ident]
    assert node.get(f"/documents/{ident}/payload").body == b"x"
    assert primary.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waybill'") != "0"
    assert standby.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waybill'") == "0"


def cancel_waits(server, is_over):
    """What a DBA does when commits hang: cancels whoever waits for the standby."""
    def look():
        server.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        return is_over()
    wait_until(look, 60, "an answer")


@pytest.mark.proves("FO6")
def test_a_commit_that_only_the_primary_has(node, pair):
    """Its wait for the standby is cancelled, and PostgreSQL answers COMMIT with a warning."""
    primary, standby = pair
    replicas.make_synchronous(primary)
    kept = node.accept("open", b"on both")
    standby.stop()
    answers = []
    sender = threading.Thread(target=lambda: answers.append(node.post("open", b"on one")))
    sender.start()
    cancel_waits(primary, lambda: answers)
    sender.join()
    assert answers[0].status == 503 and answers[0].json["error"]["code"] == "uncertain", answers[0].body
    assert documents_of(primary) == 2  # this is why it is uncertain, and not refused
    primary.kill_hard()
    standby.start()
    standby.promote()
    await_ready(node)
    assert node.documents() == [kept]


@pytest.mark.proves("FO7")
def test_the_old_primary_comes_back(node, pair):
    """Writable, and first in the address: a node that starts again passes it over and says so."""
    primary, standby = pair
    before = node.accept("open", b"1")
    wait_until(lambda: documents_of(standby) == 1, 20, "replication")
    primary.kill_hard()
    standby.promote()
    await_ready(node)
    after = node.accept("open", b"2")
    primary.start()
    assert primary.sql("SELECT pg_is_in_recovery()") == "f"
    node.restart()
    last = node.accept("open", b"3")
    assert set(node.documents()) == {before, after, last}
    assert documents_of(primary) == 1 and documents_of(standby) == 3
    wait_until(lambda: alert(node, "old_server"), 30, "an alert")
    said = alert(node, "old_server")
    assert "old primary" in said["message"] and str(primary.port) in said["message"]


@pytest.mark.proves("FO7")
def test_an_old_primary_alone_is_not_used(node, pair):
    """The new one is down: better nothing than the wrong one."""
    primary, standby = pair
    node.accept("open", b"1")
    wait_until(lambda: documents_of(standby) == 1, 20, "replication")
    primary.kill_hard()
    standby.promote()
    await_ready(node)
    node.accept("open", b"2")
    assert node.stop() == 0
    standby.stop()
    primary.start()
    seen = len(node.events)
    node.launch()
    assert "old primary" in node.wait_event("store.wait", 20, since=seen)["why"]
    standby.start()
    node.await_ready(40, since=seen)
    assert len(node.documents()) == 2


@pytest.mark.proves("FO4", "FO6")
def test_a_promotion_under_load_loses_nothing(node, pair):
    """With a synchronous standby: what was acknowledged is on the new primary, once."""
    primary, standby = pair
    replicas.make_synchronous(primary)
    with Senders([node]) as senders:
        senders.wait_for_more(200, 60)
        primary.kill_hard()
        standby.promote()
        senders.wait_for_more(200, 60)
    senders.check(node)
