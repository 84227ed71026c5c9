"""PostgreSQL fails over: a primary with a standby, promotions, and servers that come back."""
import pathlib
import sys
import threading

import pytest
import replicas
from senders import Senders
from wire import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

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
    wait_until(lambda: documents_of(standby) == 1, 90, "replication")
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
    wait_until(lambda: documents_of(standby) == 1, 90, "replication")
    primary.kill_hard()
    standby.promote()
    await_ready(node)
    node.accept("open", b"2")
    assert node.stop() == 0
    standby.stop()
    primary.start()
    seen = len(node.events)
    node.launch()
    assert "old primary" in node.wait_event("store.wait", 90, since=seen)["why"]
    standby.start()
    node.await_ready(40, since=seen)
    assert len(node.documents()) == 2


SENDING = """\
systems: {{ hub: {{}} }}
gateways:
  open: {{ kind: http, auth: none, extract: {{ receiver: "json:/to" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in", retry: {{ first: 1h, most: 1h, for: 3d }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


def ended_of(server):
    """Documents that were sent, and whose end is noted."""
    tables = server.sql("SELECT tablename FROM pg_tables WHERE tablename ~ '^done_[0-9]+$'", "orders").split()
    return sum(int(server.sql(f"SELECT count(*) FROM {name}", "orders")) for name in tables)


def waiting_restore(node):
    """The restore that waits for a person, or None."""
    found = node.graphql("{ restore { source waits } }")["restore"]
    return found if found and found["waits"] else None


def is_held(node, doc):
    shown = node.show(doc, "deliveries { held }")["deliveries"]
    return any("restore" in d["held"] for d in shown)


@pytest.mark.proves("FO6", "FO14")
@pytest.mark.parametrize("when", ["running", "stopped"])
def test_an_asynchronous_standby_without_acknowledged_documents(make_node, pair, when):
    """It is promoted: by the number of the last commit the node notices, and waits for a person."""
    primary, standby = pair
    with Receiver() as receiver:
        node = make_node(config=SENDING.format(url=receiver.url("")))
        node.start()
        kept = [node.accept("open", b'{"to": "hub"}') for _ in range(5)]
        receiver.wait_for(5)
        wait_until(lambda: ended_of(standby) == 5, 90, "replication")
        standby.stop()
        for _ in range(5):
            node.accept("open", b'{"to": "hub"}')
        receiver.wait_for(10)
        if when == "stopped":
            assert node.stop() == 0
        primary.kill_hard()
        standby.start()
        standby.promote()
        if when == "stopped":
            node.start()
        await_ready(node)
        wait_until(lambda: waiting_restore(node), 40, "the gap is noticed")
        source = waiting_restore(node)["source"]
        assert "lacks" in source and "with 5 documents" in source, source
        assert sorted(node.documents()) == sorted(kept)
        after = node.accept("open", b'{"to": "hub"}')
        wait_until(lambda: is_held(node, after), 90, "it is held")
        assert len(receiver.requests("/in")) == 10
        assert node.cli("node", "release", "--in-flight", "resend").returncode == 0
        receiver.wait_for(11)
        assert waiting_restore(node) is None


@pytest.mark.proves("FO6")
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
