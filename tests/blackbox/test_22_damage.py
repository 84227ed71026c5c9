"""The road when the store or the bytes fail: nothing wrong is sent, nothing is forgotten."""
import contextlib
import sqlite3
import threading
import time

import pytest

from test_20_road import BOTH, CONFIG, await_state, document, look, send
from wire import wait_until


@pytest.fixture(scope="module")
def postgres(own_postgres):
    return own_postgres


@pytest.fixture
def road(make_node, receiver, tmp_path):
    node = make_node(config=CONFIG.format(url=receiver.url(""), folder=tmp_path))
    node.start()
    return node


def waiting(road, receiver, count=3):
    """Documents whose deliveries wait in the store, and a node that does not run."""
    receiver.stop_listening()
    docs = [send(road, document("invoice", region="north", text="kept whole", n=n))
            for n in range(count)]
    road.wait_event("endpoint.open")
    for doc in docs:
        await_state(road, doc, "held", "retrying")
    assert road.stop() == 0
    return docs


@pytest.fixture
def database(request, store):
    """SQL in the store of a node, past the node: makes a part of it fail and looks at what is there."""
    def run(node, text):
        if store is not None:
            return request.getfixturevalue("postgres").sql(text, store.rpartition("/")[2])
        with contextlib.closing(sqlite3.connect(node.data / "waybill.db", timeout=60)) as db, db:
            return "\n".join("|".join(map(str, row)) for row in db.execute(text))
    return run


def payload_table(database, node):
    """Where PostgreSQL has the bytes of small documents of today."""
    return "payload_" + database(node, "SELECT max(pos) FROM doc WHERE seg = -1")


@BOTH
@pytest.mark.proves("DE4")
def test_damaged_bytes_are_never_sent(road, receiver, database):
    docs = waiting(road, receiver)
    for segment in (road.data / "payload").glob("*.seg"):
        data = segment.read_bytes()
        at = data.index(b"kept whole")
        segment.write_bytes(data[:at] + b"Kept" + data[at + 4:])
    if road.store is not None:
        database(road, f"UPDATE {payload_table(database, road)} SET bytes = overlay(bytes placing 'Kept'::bytea"
                       " from position('kept'::bytea in bytes)) WHERE num = (SELECT min(num) FROM doc)")
    receiver.listen()
    road.start()
    await_state(road, docs[0], "dead")
    for doc in docs[1:]:
        await_state(road, doc, "delivered")
    assert look(road, docs[0])["error"]["code"] == "payload_corrupt"
    assert {r["headers"]["waybill-document"] for r in receiver.requests()} == set(docs[1:])


@BOTH
@pytest.mark.proves("DE3", "EX4")
def test_bytes_that_are_gone_are_a_dead_letter(road, receiver, database):
    docs = waiting(road, receiver)
    for segment in (road.data / "payload").glob("*.seg"):
        segment.rename(segment.with_suffix(".away"))
    if road.store is not None:
        database(road, f"DELETE FROM {payload_table(database, road)}")
    receiver.listen()
    road.start()
    for doc in docs:
        await_state(road, doc, "dead")
        assert look(road, doc)["error"]["code"] == "payload_missing"
    assert receiver.requests() == []


# ---- one table of the store -------------------------------------------------------------------------

INVOICE = document("invoice", region="north")


@contextlib.contextmanager
def away(database, node, table):
    """The table cannot be read or written."""
    database(node, f"ALTER TABLE {table} RENAME TO {table}_away")
    yield
    database(node, f"ALTER TABLE {table}_away RENAME TO {table}")


@contextlib.contextmanager
def read_only(database, node, table):
    """Rows of the table can be read and added, and not changed."""
    if node.store is None:
        database(node, f"CREATE TRIGGER refuse BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, 'refused'); END")
        yield
        database(node, "DROP TRIGGER refuse")
    else:
        database(node, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                       " $$BEGIN RAISE EXCEPTION 'refused'; END$$;"
                       f" CREATE TRIGGER refuse BEFORE UPDATE ON {table} EXECUTE FUNCTION refuse()")
        yield
        database(node, f"DROP TRIGGER refuse ON {table}; DROP FUNCTION refuse()")


def stored(database, node, table):
    """What commit 2 writes of the only document: whether its facts are there, deliveries, and tasks
    that wait; `table` is not looked at."""
    facts = database(node, "SELECT count(*) FROM doc WHERE sender <> 0 AND dtype <> 0")
    counts = [database(node, f"SELECT count(*) FROM {t}") if t != table else "0" for t in ("delivery", "task_later")]
    return tuple(map(int, (facts, *counts)))


def settle_without(road, receiver, database, fails, table, body=INVOICE):
    """The results of a run cannot be written because of one table.  Nothing of them is there meanwhile, all
    of it as soon as it can be, and the run is not repeated: the receiver is tried once."""
    receiver.stop_listening()
    with fails(database, road, table):
        doc = send(road, body)
        road.wait_event("document.unsettled", timeout=30)
        assert stored(database, road, table) == (0, 0, 0)
    # a slow one is seen before it is settled
    wait_until(lambda: stored(database, road, None)[:2] == (1, 1), 30, "settlement")
    seen = await_state(road, doc, "retrying", "held", seconds=30)
    assert (seen["sender"], seen["receiver"], seen["type"]) == ("acme", "hub", "invoice")
    assert [t["stage"] for t in seen["timeline"]].count("route") == 1 + ("envelope" in body)
    receiver.listen()
    await_state(road, doc, "delivered", seconds=30)
    assert receiver.keys() == {f"{doc}.hub-api": 1}
    assert road.cli("doctor").returncode == 0


@BOTH
@pytest.mark.proves("EX1")
def test_facts_that_cannot_be_written_are_written_later(road, receiver, database):
    settle_without(road, receiver, database, read_only, "doc")


@BOTH
@pytest.mark.proves("RO5")
def test_facts_from_a_step_that_cannot_be_written_are_written_later(road, receiver, database):
    body = document("envelope", inner="invoice", region="north")
    settle_without(road, receiver, database, read_only, "doc", body)


@BOTH
@pytest.mark.proves("EX6", "RO6")
def test_a_task_that_cannot_be_written_is_written_later(road, receiver, database):
    settle_without(road, receiver, database, away, "task_later")


@BOTH
@pytest.mark.proves("RO7", "DM3")
def test_a_delivery_that_cannot_be_written_is_written_later(road, receiver, database):
    settle_without(road, receiver, database, away, "delivery")


@BOTH
@pytest.mark.proves("DL1")
def test_a_dead_letter_that_cannot_be_written_is_written_later(road, database):
    """Nobody sends it again meanwhile, and it is one letter in the end."""
    with away(database, road, "task_dead"):
        doc = send(road, document("letter"))
        road.wait_event("document.unsettled", timeout=30)
        assert database(road, "SELECT count(*) FROM task_dead_away") == "0"
    seen = await_state(road, doc, "dead", seconds=30)
    assert seen["error"]["code"] == "no_route"
    assert [t["outcome"] for t in seen["timeline"]].count("dead") == 1
    assert database(road, "SELECT count(*) FROM task_dead") == "1"
    assert road.cli("doctor").returncode == 0


@BOTH
@pytest.mark.proves("RO1")
def test_a_row_that_cannot_be_read_is_read_later(make_node, receiver, tmp_path, database):
    """Documents wait without a route, so that they are loaded while their table is away."""
    whole = CONFIG.format(url=receiver.url(""), folder=tmp_path)
    node = make_node(config=whole.partition("routes:")[0])
    node.start()
    docs = [send(node, INVOICE) for _ in range(3)]
    with away(database, node, "doc"):
        assert node.cli("apply", "-", stdin=whole).returncode == 0
        assert "doc" in node.wait_event("task.wait", timeout=30)["why"]
    for doc in docs:
        await_state(node, doc, "delivered", seconds=30)
    assert receiver.keys() == {f"{doc}.hub-api": 1 for doc in docs}
    assert node.cli("doctor").returncode == 0


@BOTH
@pytest.mark.proves("EX2", "RO2")
def test_a_version_that_cannot_be_read_is_waited_for(make_node, receiver, tmp_path, database):
    """It was accepted under a version that is away when it runs.  The version in force is not used instead."""
    node, doc = killed_at("road.walk", make_node, receiver, tmp_path, INVOICE)
    receiver.listen()
    database(node, "INSERT INTO config(version, made_us, made_by, sha256, body)"
                   " SELECT 2, made_us, made_by, sha256, body FROM config")
    database(node, "CREATE TABLE config_away AS SELECT * FROM config WHERE version = 1")
    database(node, "DELETE FROM config WHERE version = 1")
    node.start()
    assert "version 1" in node.wait_event("task.wait", timeout=30)["why"]
    assert receiver.requests() == []
    database(node, "INSERT INTO config SELECT * FROM config_away")
    database(node, "DROP TABLE config_away")
    await_state(node, doc, "delivered", seconds=30)
    assert node.show(doc, "config")["config"] == 1
    assert sent_once(receiver, doc)


LARGE = document("invoice", region="north", filling="x" * (2 << 20))  # its bytes are not kept in memory


@contextlib.contextmanager
def unreadable(database, node):
    """The stored bytes are there, and every read of them fails."""
    if node.store is not None:  # at once: a table that is not there would be bytes that are gone
        (table,) = [name for name in database(
            node, "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^payload_piece_[0-9]+$'").split()
            if database(node, f"SELECT count(*) FROM {name}").strip() != "0"]
        database(node, f"ALTER TABLE {table} RENAME TO piece_away;"
                       " CREATE FUNCTION unreadable() RETURNS bytea LANGUAGE plpgsql AS"
                       " $$BEGIN RAISE EXCEPTION 'cannot read' USING ERRCODE = '58030'; END$$;"
                       f" CREATE VIEW {table} AS SELECT upload, piece, unreadable() AS bytes"
                       f" FROM piece_away; ALTER VIEW {table} OWNER TO waybill")
        yield
        database(node, f"DROP VIEW {table}; DROP FUNCTION unreadable; ALTER TABLE piece_away RENAME TO {table}")
        return
    (file,) = (node.data / "large").iterdir()
    kept = file.rename(node.data / "kept")
    file.symlink_to(file.name)  # ELOOP
    yield
    kept.replace(file)


def delivery(node, doc):
    return node.show(doc, "deliveries { state message }")["deliveries"][0]


def reads_as_failed(one):
    """ELOOP, or what the database said."""
    return any(word in (one["message"] or "") for word in ("symbolic links", "cannot read"))


def reads_failed(node):
    """How often, as it is counted."""
    return sum(m["count"] for m in node.graphql("{ mishaps { code count } }")["mishaps"] if m["code"] == "read")


@BOTH
@pytest.mark.proves("EX3")
def test_a_document_whose_bytes_cannot_be_read_is_read_later(make_node, receiver, tmp_path, database):
    node, doc = killed_at("road.walk", make_node, receiver, tmp_path, LARGE)
    receiver.listen()
    with unreadable(database, node):
        node.start()
        wait_until(lambda: reads_failed(node) >= 2, 60, "a second try")
        assert receiver.requests() == [] and look(node, doc)["state"] != "dead"
    await_state(node, doc, "delivered", seconds=60)
    assert sent_once(receiver, doc)


@BOTH
@pytest.mark.proves("DE2")
def test_a_delivery_whose_bytes_cannot_be_read_is_sent_later(road, receiver, database):
    receiver.stop_listening()
    doc = send(road, LARGE)
    road.wait_event("endpoint.open")
    assert road.stop() == 0
    receiver.listen()
    with unreadable(database, road):
        road.start()
        wait_until(lambda: reads_as_failed(delivery(road, doc)), 60, "a failed read")
        assert delivery(road, doc)["state"] != "dead"
        assert not any(r["whole"] for r in receiver.requests())
    await_state(road, doc, "delivered", seconds=60)
    assert sum(r["whole"] for r in receiver.requests()) == 1


@BOTH
@pytest.mark.proves("DM1", "DE1")
def test_nothing_is_sent_while_the_configuration_cannot_be_read(road, receiver, database):
    """A delivery is governed and sent by the version in force: without one nothing begins, and the file that
    the node was first started with is not one."""
    docs = waiting(road, receiver)
    receiver.listen()
    with away(database, road, "config"):
        code, said = road.refuse()
        assert code != 0 and "config" in said
    assert receiver.requests() == []
    road.start()
    for doc in docs:
        await_state(road, doc, "delivered", seconds=30)
    assert {key for key, n in receiver.keys().items() if n == 1} == {f"{doc}.hub-api" for doc in docs}


# ---- between the run and its commit -------------------------------------------------------------------

def killed_at(point, make_node, receiver, folder, body):
    """A node that died there with one document, which must wait for its receiver.  `node.tries`: where nodes share
    a store, it has the documents of the earlier ones too, whose senders had no answer."""
    receiver.stop_listening()
    for tries in range(1, 11):
        node = make_node(config=CONFIG.format(url=receiver.url(""), folder=folder),
                         environment={"WAYBILL_FAULT": f"{point}:kill:1"})
        node.tries = tries if node.store is not None else 1
        node.start()
        try:
            doc = send(node, body)
        except OSError:     # it died before its answer was out
            doc = None
        assert node.ended() != 0
        node.environment.clear()
        if doc is not None:
            return node, doc
    raise AssertionError("it never answers in time")


def sent_once(receiver, *docs):
    return all(receiver.keys()[f"{doc}.hub-api"] == 1 for doc in docs)


@BOTH
@pytest.mark.proves("EX8", "DM2")
@pytest.mark.parametrize("point, there", [("settle.submit", 0), ("settle.written", 0), ("settle.done", 1)])
def test_what_follows_a_run_is_there_whole_or_not_at_all(make_node, receiver, tmp_path, database, point, there):
    """Facts, the delivery and its task are one commit: killed before it there is none of them, behind it all."""
    node, doc = killed_at(point, make_node, receiver, tmp_path, INVOICE)
    assert stored(database, node, None) == (there * node.tries,) * 3
    receiver.listen()
    node.start()
    await_state(node, doc, "delivered", seconds=30)
    assert sent_once(receiver, doc)
    assert node.cli("doctor").returncode == 0


@BOTH
@pytest.mark.proves("EX7")
def test_a_run_that_is_repeated_finds_nothing_of_the_first(make_node, receiver, tmp_path):
    """Killed before its commit a run is repeated from the start, and ends as that of a document that was not."""
    def end_of(doc):
        seen = node.show(doc, "state route stages { name size } timeline { stage outcome }")
        # two receivers are sent to at once: either may be the first to have it, and on a busy machine one may wait
        seen["timeline"] = sorted((t["stage"], t["outcome"]) for t in seen["timeline"]
                                  if t["stage"] != "recovery" and t["outcome"] != "waiting")
        return seen

    node, doc = killed_at("settle.written", make_node, receiver, tmp_path, document())
    receiver.listen()
    node.start()
    await_state(node, doc, "delivered", seconds=30)
    twin = send(node, document())
    await_state(node, twin, "delivered")
    assert sent_once(receiver, doc, twin)
    wait_until(lambda: len(list((tmp_path / "shelf").rglob("*.json"))) >= node.tries + 1, 60, "the shelf")
    assert len(list((tmp_path / "shelf").rglob("*.json"))) == node.tries + 1
    assert end_of(doc) == end_of(twin)


# ---- the whole store ----------------------------------------------------------------------------------

@pytest.mark.proves("DE9")
@pytest.mark.stores("postgres")
def test_an_outcome_that_cannot_be_written_is_written_later(road, receiver, postgres):
    receiver.behave("/in", "late", 8)  # the server stops before
    delivered = [send(road, document("invoice", region="north", n=n)) for n in range(3)]
    receiver.wait_for(3)
    postgres.stop_immediate()
    road.wait_event("document.unsettled", timeout=60)
    postgres.start()
    receiver.behave("/in", "ok")
    for doc in delivered:
        await_state(road, doc, "delivered", seconds=90)
    assert receiver.keys() == {f"{d}.hub-api": 1 for d in delivered}
    wait_until(lambda: road.request("GET", "/readyz").status == 200, 30, "readiness")
    await_state(road, send(road, document("letter")), "dead")
    assert road.cli("doctor").returncode == 0


@pytest.mark.proves("XC5", "QC5")
@pytest.mark.stores("postgres")
def test_a_commit_of_which_nobody_knows_leaves_nothing_behind(road, postgres):
    """The database dies under load and stays away longer than anybody asks: what was accepted all the same runs."""
    ended = threading.Event()

    def work():
        while not ended.is_set():
            with contextlib.suppress(OSError):
                road.post("in", document("junk"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1)
        postgres.stop_immediate()
        time.sleep(8)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        postgres.start()
    road.wait_event("store.reach", timeout=30)
    until = time.monotonic() + 30
    while road.cli("docs", "ls", "--state", "received", "--limit", "1", "--json").stdout.strip():
        assert time.monotonic() < until, road.tail()
        time.sleep(0.2)
    assert road.cli("doctor").returncode == 0
