"""Journals do not grow for ever: what was removed long ago leaves them, and whoever has not read so far is told.
"""
import time

import pytest

from links import LINK, SECONDS, TABLE, Databases, Link, PeerLink, pair

JOURNAL = f"waybill_journal_{TABLE}"
SOON = {"WAYBILL_TEST_LINK_TOMBSTONE_MS": "1500"}
SOURCES = ["postgres", "sqlite", "mariadb"]
GONE = f"delete from {TABLE} where id = %d"


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


def tombstones(database):
    return database.ask(f"select count(*) from {JOURNAL} where gone_at is not null")[0][0]


def pruned(database):
    return database.ask("select pruned from waybill_capture")[0][0]


def await_pruned(link, most, removes=None):
    until = time.monotonic() + SECONDS
    while tombstones(link.source) > most:
        assert time.monotonic() < until, (tombstones(link.source), link.state())
        if removes:     # what goes then was read before
            link.source.run(GONE % removes.pop())
            link.await_equal()
        time.sleep(0.1)


@pytest.mark.parametrize("kind", SOURCES)
def test_what_was_removed_long_ago_leaves_the_journal(databases, make_node, kind):
    source, dest = pair(databases, kind, "sqlite", rows=300)
    link = Link(make_node, source, dest, environment=SOON)
    link.install()
    link.await_equal()
    source.run(f"delete from {TABLE} where id < 100", f"update {TABLE} set note = 'kept' where id between 100 and 120")
    link.await_equal()
    # Of a file the removals themselves do it, two old ones each.
    await_pruned(link, 60 if kind == "sqlite" else 0, list(range(200, 290)) if kind == "sqlite" else None)
    link.await_equal()
    assert link.await_state("current")["reason"] is None and pruned(source) > 0
    assert source.ask(f"select count(*) from {JOURNAL} where gone_at is null")[0][0] == 21
    link.node.stop()
    link.node.start()
    source.run(f"update {TABLE} set note = 'later' where id = 295")
    link.await_equal()
    link.await_state("current")


@pytest.mark.parametrize("kind", SOURCES)
def test_who_has_not_read_so_far_is_told(databases, make_node, kind):
    source, dest = pair(databases, kind, "postgres", rows=50)
    link = Link(make_node, source, dest, environment=SOON if kind == "sqlite" else None)
    link.install()
    link.await_equal()
    source.run(GONE % 1)
    link.await_equal()
    link.await_state("current")
    link.node.stop()
    source.run(GONE % 2, GONE % 3)
    if kind == "sqlite":
        until = time.monotonic() + SECONDS
        keys = list(range(30, 50))
        while pruned(source) == 0 or source.ask(f"select count(*) from {JOURNAL} where k1 = 3")[0][0]:
            assert time.monotonic() < until
            source.run(GONE % keys.pop())
            time.sleep(0.4)
    else:   # as another one has done it that reads this source
        newest = source.ask(f"select x from {JOURNAL} where k1 = 3")[0][0]
        source.run(f"delete from {JOURNAL} where k1 in (1, 2, 3)", f"update waybill_capture set pruned = {newest}")
    link.node.start()
    said = link.await_state("stopped", "SRC_REWOUND")["message"]
    assert "days" in said and "resync" in said, said
    assert {2, 3} <= dest.rows(TABLE).keys()
    link.cli("resync", f"{LINK}/{TABLE}")
    link.await_equal()
    link.await_state("current")
    source.run(GONE % 4)
    link.await_equal()
    link.await_state("current")


def test_a_location_prunes_its_own(databases, make_node):
    source, dest = pair(databases, "mariadb", "sqlite", rows=50)
    there = make_node(config=f"databases:\n  base: {source.settings()}\npeers:\n  here: {{ may: {{ base: [read, install] }} }}\n",
                      environment=SOON)
    there.start()
    link = PeerLink(make_node, source, dest, "source", other=there)
    link.install()
    link.await_equal()
    source.run(f"delete from {TABLE} where id < 20", f"update {TABLE} set note = 'later' where id = 30")
    link.await_equal()
    await_pruned(link, 0)
    assert link.await_state("current") and pruned(source) > 0
    link.await_equal()


@pytest.mark.parametrize("kind", SOURCES)
def test_a_journal_of_an_earlier_build_is_to_be_installed_again(databases, make_node, kind):
    source, dest = pair(databases, kind, "postgres", rows=20)
    link = Link(make_node, source, dest)
    link.install()
    link.await_equal()
    link.node.stop()
    # As an earlier build has left them: without the columns.
    if kind == "sqlite":
        source.run(f"drop index {JOURNAL}_gone", *[f"drop trigger {JOURNAL}_{t}" for t in ("insert", "update", "moved", "delete")],
                   f"alter table {JOURNAL} drop column at_us", f"alter table {JOURNAL} drop column gone_at",
                   "alter table waybill_capture drop column at_us", "alter table waybill_capture drop column pruned")
    else:
        source.run(f"alter table {JOURNAL} drop column at_us", f"alter table {JOURNAL} drop column gone_at",
                   "alter table waybill_capture drop column pruned")
    link.node.start()
    said = link.await_state("stopped", "SCHEMA_DRIFT")["message"]
    assert "earlier build" in said and "repl plan" in said, said
    link.install()
    link.await_state("stopped")
    link.cli("resync", f"{LINK}/{TABLE}")
    link.await_state("current")
    source.run(f"update {TABLE} set note = 'again' where id = 3", GONE % 5)
    link.await_equal()
