"""Where a table of a link stops, why, and how it goes on: nothing is removed, lost or brought back without being told.
"""
import random
import shutil
import time

import pytest

from links import LINK, SECONDS, TABLE, Databases, Link, Other
from tables import row

ITEM = f"{LINK}/{TABLE}"


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


def linked(databases, make_node, kinds=("postgres", "sqlite"), rows=100, more="", dest_more=""):
    """A link that is current, and its databases."""
    chance = random.Random(3)
    source, dest = (databases.of(kind) for kind in kinds)
    source.make(TABLE)
    dest.make(TABLE, more=dest_more)
    source.fill(TABLE, [row(chance, n) for n in range(rows)])
    link = Link(make_node, source, dest, more=more)
    link.install()
    link.await_equal()
    link.await_state("current")
    return link


def test_a_missing_column_is_named_and_found_again(databases, make_node):
    link = linked(databases, make_node)
    link.source.run(f"alter table {TABLE} add column weight bigint not null default 1")
    seen = link.await_state("stopped", "SCHEMA_DRIFT")
    assert "weight" in seen["message"]
    link.dest.run(f"alter table {TABLE} add column weight integer")
    link.await_state("current")
    link.source.run(f"update {TABLE} set weight = 7 where id = 3")
    deadline = time.monotonic() + SECONDS
    while link.dest.ask(f"select weight from {TABLE} where id = 3") != [(7,)]:
        assert time.monotonic() < deadline, link.state()
        time.sleep(0.1)


def test_truncate_removes_nothing_until_all_rows_are_wanted_again(databases, make_node):
    link = linked(databases, make_node)
    link.source.run(f"truncate {TABLE}")
    link.await_state("stopped", "TRUNCATED")
    assert link.dest.count(TABLE) == 100
    link.source.fill(TABLE, [row(random.Random(1), n) for n in range(50, 60)])
    link.cli("resync", ITEM)
    link.await_equal()
    link.await_state("current")


@pytest.mark.parametrize("kinds", [("postgres", "sqlite"), ("sqlite", "postgres"), ("mariadb", "sqlite")])
def test_more_deletions_than_allowed_are_asked_about(databases, make_node, kinds):
    link = linked(databases, make_node, kinds, more="    deletes: { most: 10, share: 5% }\n")
    link.source.run(f"delete from {TABLE} where id < 5")
    link.await_equal()
    link.source.run(f"delete from {TABLE} where id < 40")
    seen = link.await_state("stopped", "DELETES")
    assert "35" in seen["message"]
    assert link.dest.count(TABLE) == 95
    link.cli("go-on", ITEM)
    link.await_equal()
    assert link.await_state("current")["reason"] is None


@pytest.mark.parametrize("kinds", [("postgres", "sqlite"), ("sqlite", "postgres"), ("mariadb", "sqlite")])
def test_a_trigger_that_is_gone(databases, make_node, kinds):
    link = linked(databases, make_node, kinds)
    if kinds[0] == "postgres":
        link.source.run(f"alter table {TABLE} disable trigger all")
    elif kinds[0] == "sqlite":
        for (name,) in link.source.ask("select name from sqlite_master where type = 'trigger' limit 1"):
            link.source.run(f'drop trigger "{name}"')
    else:
        link.source.run(f"drop trigger `{link.source.ask('show triggers')[0][0]}`")
    seen = link.await_state("stopped", "TRIGGER")
    assert "repl plan" in seen["message"]


def test_a_source_that_was_put_back(databases, make_node):
    link = linked(databases, make_node, ("sqlite", "postgres"))
    copy = link.source.path.with_suffix(".copy")
    link.source.run("pragma wal_checkpoint(truncate)")
    shutil.copyfile(link.source.path, copy)
    link.source.run(f"update {TABLE} set name = 'newer' where id < 20")
    link.await_equal()
    link.node.stop()
    for suffix in ("-wal", "-shm"):
        link.source.path.with_name(link.source.path.name + suffix).unlink(missing_ok=True)
    shutil.copyfile(copy, link.source.path)
    link.node.start()
    link.await_state("stopped", "SRC_REWOUND")
    assert link.dest.ask(f"select count(*) from {TABLE} where name = 'newer'") == [(20,)]
    link.cli("resync", ITEM)
    link.await_equal()


def test_a_destination_that_was_put_back_goes_on_from_its_own_place(databases, make_node):
    link = linked(databases, make_node, ("postgres", "sqlite"))
    copy = link.dest.path.with_suffix(".copy")
    link.dest.run("pragma wal_checkpoint(truncate)")
    shutil.copyfile(link.dest.path, copy)
    link.source.run(f"update {TABLE} set name = 'newer' where id < 20", f"delete from {TABLE} where id = 30")
    link.await_equal()
    link.node.stop()
    for suffix in ("-wal", "-shm"):
        link.dest.path.with_name(link.dest.path.name + suffix).unlink(missing_ok=True)
    shutil.copyfile(copy, link.dest.path)
    link.node.start()
    link.await_equal()
    link.await_state("current")


def test_a_destination_that_was_emptied_is_loaded_again(databases, make_node):
    link = linked(databases, make_node, ("postgres", "postgres"))
    link.dest.run(f"truncate {TABLE}", "truncate waybill_applied")
    link.await_equal()


@pytest.mark.proves("RP4", "SC11")
def test_a_row_that_is_refused_is_set_aside_and_the_others_go_on(databases, make_node):
    link = linked(databases, make_node, ("postgres", "postgres"), dest_more=", constraint cheap check (price < 1000000000)")
    link.source.run(f"update {TABLE} set price = 2000000000 where id = 7", f"update {TABLE} set name = 'other' where id in (8, 9)")
    deadline = time.monotonic() + SECONDS
    while link.dest.ask(f"select count(*) from {TABLE} where name = 'other'") != [(2,)] or link.state()["setAside"] != 1:
        assert time.monotonic() < deadline, link.state()
        time.sleep(0.1)
    link.await_state("current")
    shown = link.cli("quarantine", ITEM)
    assert "cheap" in shown and "2000000000" not in shown
    link.dest.run(f"alter table {TABLE} drop constraint cheap")
    link.cli("quarantine", "retry", shown.split()[shown.split().index(ITEM) - 1] if ITEM in shown.split() else "1")
    link.await_equal()
    assert link.state()["setAside"] == 0


def test_a_newer_row_takes_the_place_of_one_that_is_set_aside(databases, make_node):
    link = linked(databases, make_node, ("postgres", "postgres"), dest_more=", constraint cheap check (price < 1000000000)")
    link.source.run(f"update {TABLE} set price = 2000000000 where id = 7")
    deadline = time.monotonic() + SECONDS
    while link.state()["setAside"] != 1:
        assert time.monotonic() < deadline, link.state()
        time.sleep(0.1)
    link.source.run(f"update {TABLE} set price = 5 where id = 7")
    link.await_equal()
    assert link.await_state("current")["setAside"] == 0


@pytest.mark.proves("RP5")
def test_an_open_transaction_of_the_source_is_told(databases, make_node):
    link = linked(databases, make_node, ("postgres", "sqlite"))
    held = link.source.connect()
    held.execute(f"update {TABLE} set name = 'late' where id = 1")
    link.source.run(f"update {TABLE} set name = 'early' where id = 2")
    link.source.run(f"update {TABLE} set name = 'early' where id = 3")
    time.sleep(1)       # it may well have looked by now, and must not have passed the open one
    held.commit()
    held.close()
    link.await_equal()


@pytest.mark.proves("RP1", "RP2")
@pytest.mark.parametrize("kinds", [("postgres", "sqlite"), ("sqlite", "postgres")])
def test_a_database_that_does_not_answer_is_waited_for(databases, make_node, own_postgres, kinds):
    link = linked(Databases(own_postgres, databases.folder), make_node, kinds)
    change = f"update {TABLE} set name = 'meanwhile' where id < 50"
    if kinds[0] == "postgres":
        link.source.run(change)
    own_postgres.kill_hard()
    deadline = time.monotonic() + SECONDS
    while link.state()["error"] is None:
        assert time.monotonic() < deadline, link.state()
        time.sleep(0.1)
    if kinds[0] == "sqlite":
        link.source.run(change)
    own_postgres.start()
    link.await_equal()
    link.await_state("current")


@pytest.mark.proves("S16")
@pytest.mark.parametrize("entry", ["{ kind: postgres, dsn: 'postgres://u:p@169.254.169.254/db' }",
                                   "{ kind: mariadb, dsn: 'mariadb://u:p@169.254.169.254/db' }"])
def test_the_rules_of_egress_hold_for_databases(databases, make_node, entry):
    source = databases.of("postgres")
    source.make(TABLE)
    link = Link(make_node, source, Other(entry))
    assert "node.egress" in link.await_state("stopped", "CREDENTIAL")["message"]
    assert "node.egress" in link.cli("plan", LINK, code=1)


def test_numbers_that_a_crash_of_the_source_gives_away_again(make_node, own_postgres, tmp_path):
    """What was rolled back has left nothing on the disk: after a crash others have the ids of its transactions."""
    own_postgres.sql("alter system set wal_writer_delay = '10s'")
    own_postgres.sql("select pg_reload_conf()")
    link = linked(Databases(own_postgres, tmp_path), make_node, ("postgres", "sqlite"))
    writer = link.source.connect()
    for n in range(300):
        writer.execute(f"update {TABLE} set name = 'never' where id = {n % 100}")
        writer.rollback()
    link.source.run(f"update {TABLE} set name = 'first' where id = 1")
    link.await_equal()
    for n in range(300):
        writer.execute(f"update {TABLE} set name = 'never' where id = {n % 100}")
        writer.rollback()
    time.sleep(1)       # a run or two see that nothing is left to do
    own_postgres.kill_hard()
    own_postgres.start()
    link.source.run(*[f"update {TABLE} set name = 'after' where id = {n}" for n in range(50)])
    link.await_equal()
    link.await_state("current")


@pytest.mark.parametrize("kind,types", [("mariadb", "price decimal(10,2), at timestamp(0) null"),
                                        ("postgres", "price numeric(10,2), at timestamptz(0)")])
def test_digits_that_the_destination_would_not_keep(databases, make_node, kind, types):
    source, dest = databases.of("postgres"), databases.of(kind)
    source.run(f"create table {TABLE} (id bigint primary key, price numeric(12,4), at timestamptz)",
               f"insert into {TABLE} values (1, 1.25, '2026-01-01 10:00:00Z'), (2, 1.2345, null), (3, null, '2026-01-01 10:00:00.5Z')")
    dest.run(f"create table {TABLE} (id bigint primary key, {types})")
    link = Link(make_node, source, dest)
    said = link.await_state("stopped", "SCHEMA_DRIFT")["message"]
    assert "numeric(12,4) at the source has more digits" in said and "column at: timestamp with time zone at the source" in said
    link.node.stop()

    link = Link(make_node, source, dest, table="{ cast: { price: dec, at: instant } }")
    link.install()
    link.await_state("current")
    assert link.state()["setAside"] == 2 and dest.ask(f"select id from {TABLE} where price = 1.25")[0][0] == 1
    assert dest.count(TABLE) == 1 and "more digits" in link.cli("quarantine", ITEM)
