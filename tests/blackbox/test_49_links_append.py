"""Tables that only grow (`capture: append`): no row that was added is missed, whenever its transaction ends, and nothing else is
followed.
"""
import time

import pytest

from links import LINK, SECONDS, TABLE, Databases, Link, pair
from tables import Writers, casts

SOURCES = [("postgres", "sqlite"), ("sqlite", "postgres"), ("mariadb", "postgres")]


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


def grows(source):
    return casts(source).replace("{", "{ capture: append,", 1) if casts(source) != "{}" else "{ capture: append }"


def await_all(link):
    until = time.monotonic() + SECONDS
    while not (wanted := link.source.rows(TABLE)).items() <= (there := link.dest.rows(TABLE)).items():
        assert time.monotonic() < until, (sorted(wanted.keys() - there.keys())[:5], link.state())
        time.sleep(0.1)
    return there


@pytest.mark.parametrize("kinds", SOURCES)
def test_what_is_added_arrives_and_nothing_else_is_followed(databases, make_node, kinds):
    source, dest = pair(databases, *kinds, rows=500)
    dest.run(f"insert into {TABLE} (id, name, price) values (-1, 'only here', 1)")
    link = Link(make_node, source, dest, table=grows(source), more="    verify: [ { mode: full, every: 10h } ]\n")
    link.install()
    await_all(link)
    writers = Writers(source, TABLE, adds=True).start()
    writers.await_changes(400)
    link.node.kill()
    link.node.start()
    writers.await_changes(800)
    writers.stop()
    there = await_all(link)
    assert there.keys() - source.rows(TABLE).keys() == {-1}

    source.run(f"update {TABLE} set name = 'changed' where id = 1", f"delete from {TABLE} where id in (2, 1000001)",
               f"insert into {TABLE} (id, name, price) values (700, 'new', 1)")
    until = time.monotonic() + SECONDS
    while 700 not in (now := dest.rows(TABLE)):
        assert time.monotonic() < until, link.state()
        time.sleep(0.1)
    assert now[1] == there[1] and now.keys() - there.keys() == {700} and not there.keys() - now.keys()
    assert link.await_state("current")["removed"] == 0
    said = link.cli("verify", f"{LINK}/{TABLE}", "--wait", code=1)
    assert "diverged" in said, said
    # All rows again: what is not at the source stays all the same.
    link.cli("resync", f"{LINK}/{TABLE}")
    until = time.monotonic() + SECONDS
    while dest.rows(TABLE)[1][1] != "changed":
        assert time.monotonic() < until, link.state()
        time.sleep(0.1)
    link.await_state("current")
    assert dest.rows(TABLE).keys() == now.keys()


@pytest.mark.parametrize("kinds", SOURCES)
def test_another_kind_of_capture_is_to_be_installed(databases, make_node, kinds):
    source, dest = pair(databases, *kinds, rows=20)
    before = source.schema()
    link = Link(make_node, source, dest, table=grows(source))
    link.install()
    await_all(link)
    link.node.stop()
    link = Link(make_node, source, dest)        # the same, with `capture: journal`
    said = link.await_state("stopped", "SCHEMA_DRIFT")["message"]
    assert "capture" in said and "repl plan" in said, said
    link.install()
    link.await_state("stopped")
    link.cli("resync", f"{LINK}/{TABLE}")
    source.run(f"delete from {TABLE} where id = 3")
    link.await_equal()
    link.node.stop()
    link = Link(make_node, source, dest, table=grows(source))
    said = link.await_state("stopped", "SCHEMA_DRIFT")["message"]
    assert "capture" in said, said
    link.install()
    link.cli("resync", f"{LINK}/{TABLE}")
    await_all(link)
    link.cli("remove", LINK, "--yes")
    assert source.schema() == before
