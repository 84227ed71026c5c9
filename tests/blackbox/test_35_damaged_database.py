"""A damaged database: the node ends with instructions, sends nothing again, and stays down until a person has looked."""
import contextlib
import os
import shutil
import sqlite3

import pytest

BOTH = pytest.mark.stores("sqlite", "postgres")
EXIT_STORAGE = 74
WAITING = 5
CONFIG = """\
systems: {{ hub: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in", retry: {{ first: 50ms, most: 100ms }},
         breaker: {{ failures: 3, wait: 100ms }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


@pytest.fixture(scope="module")
def postgres(own_postgres):
    return own_postgres


def state(node, doc):
    return node.show(doc, "state")


@pytest.fixture
def waiting(make_node, receiver):
    """A stopped node with one document that ended, and some that wait for a receiver that is away."""
    node = make_node(config=CONFIG.format(url=receiver.url("")))
    node.start()
    node.await_state(node.accept("in", b"first"), "delivered", look=state)
    receiver.stop_listening()
    docs = [node.accept("in", b"%d" % n) for n in range(WAITING)]
    for doc in docs:
        node.await_state(doc, "held", "retrying", look=state)
    assert node.stop() == 0
    receiver.reset()
    return node


def damage_sqlite(data):
    """The index of deliveries that failed gets a first page that is none: no start reads it, the end of such a delivery does."""
    with contextlib.closing(sqlite3.connect(data / "waybill.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = [row[0] for row in db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'delivery_in_trouble'")]
    assert pages
    with open(data / "waybill.db", "r+b") as f:
        for page in pages:
            f.seek((page - 1) * 4096)
            f.write(b"\xff" * 64)


def damage_postgres(server, database):
    """The tables of ended documents, those that have a page."""
    files = server.sql("SELECT pg_relation_filepath(c.oid) FROM pg_class c WHERE relkind = 'r'"
                       " AND relname ~ '^done_[0-9]+$'", database).split()
    server.stop()
    touched = 0
    for name in files:
        path = os.path.join(server.directory, name)
        if os.path.getsize(path) > 0:
            with open(path, "r+b") as f:
                f.write(b"\xff" * 64)
            touched += 1
    assert touched
    server.start()


def damage(node, request):
    if node.store is None:
        damage_sqlite(node.data)
    else:
        damage_postgres(request.getfixturevalue("postgres"), node.store.rpartition("/")[2])


@BOTH
@pytest.mark.proves("XC4")
def test_a_damaged_database_ends_the_node_which_stays_down(waiting, receiver, request):
    damage(waiting, request)
    receiver.listen()
    waiting.launch()
    assert waiting.ended() == EXIT_STORAGE
    said = waiting.wait_event("storage.damaged")
    assert "damaged" in said["why"] and "restore" in said["hint"]
    once = receiver.keys()
    assert set(once.values()) <= {1}, once
    code, why = waiting.refuse()
    assert code == 1
    assert "damaged" in why and "restore a backup" in why and "`damaged`" in why
    assert "damaged" in (waiting.data / "damaged").read_text()
    assert receiver.keys() == once, "sent again by a node that could not note it"


@pytest.mark.proves("XC4")
def test_the_way_back_from_a_damaged_database(waiting, receiver, request):
    """What the message says can be done: look with doctor, restore a backup in its place."""
    waiting.start()
    kept = waiting.folder / "backup"
    assert waiting.cli("backup", kept).returncode == 0
    assert waiting.stop() == 0
    damage(waiting, request)
    receiver.listen()
    waiting.launch()
    assert waiting.ended() == EXIT_STORAGE
    looked = waiting.cli("doctor", "--data", waiting.data)
    assert looked.returncode != 0 and "damaged" in looked.stdout + looked.stderr
    for name in ("waybill.db", "waybill.db-wal", "waybill.db-shm"):
        (waiting.data / name).unlink(missing_ok=True)
    shutil.rmtree(waiting.data / "payload")
    shutil.rmtree(waiting.data / "large")
    restored = waiting.cli("restore", kept, "--data", waiting.data)
    assert restored.returncode == 0, restored.stderr
    waiting.start()
    assert waiting.post("in", b"after").status == 202
