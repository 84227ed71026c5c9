"""Tables that go both ways: nothing goes back to where it came from, both sides become the same, and no change that nobody
has seen is overwritten without being kept.
"""
import random
import time

import pytest

from both_ways import LINKS, TABLE, Both, Knowing, lost
from links import SECONDS, Databases
from tables import Writers, row

KINDS = [("postgres", "postgres"), ("postgres", "sqlite"), ("mariadb", "postgres"), ("sqlite", "sqlite"), ("mariadb", "mariadb")]


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


def pair(databases, kinds, rows=0, same=True):
    made = [databases.of(kind) for kind in kinds]
    for n, one in enumerate(made):
        one.make(TABLE)
        chance = random.Random(5 if same else n)
        one.fill(TABLE, [row(chance, key) for key in range(rows)])
    return made


def begun(databases, make_node, kinds=("postgres", "sqlite"), rules=("source", "dest"), rows=0, same=True, environment=None):
    both = Both(make_node, *pair(databases, kinds, rows, same), rules=rules, environment=environment)
    both.install()
    both.await_equal()
    both.await_current()
    return both


@pytest.mark.proves("RP6")
@pytest.mark.parametrize("kinds", KINDS)
def test_nothing_goes_back_to_where_it_came_from(databases, make_node, kinds):
    both = begun(databases, make_node, kinds)
    writers = Writers(both.one, TABLE).start()
    writers.await_changes(600)
    writers.stop()
    both.await_equal()
    both.await_current()
    both.await_runs()
    sent = both.sent()
    assert sent[0] > 0 and sent[1] == 0     # echoed=0

    writers = Writers(both.two, TABLE, seed=2).start()
    writers.await_changes(600)
    writers.stop()
    both.await_equal()
    both.await_current()
    both.await_runs()
    assert both.sent()[0] == sent[0] and both.sent()[1] > 0
    assert not both.losers() and not both.aside()


@pytest.mark.proves("RP6", "RP7")
@pytest.mark.parametrize("kinds,rules", [(KINDS[0], ("source", "dest")), (KINDS[1], ("version:price", "version:price")),
                                         (KINDS[2], ("dest", "source")), (KINDS[3], ("manual", "manual")),
                                         (KINDS[4], ("version:price", "version:price")), (KINDS[1], ("last", "last")),
                                         (KINDS[2], ("last", "last"))])
def test_writers_on_both_sides(databases, make_node, kinds, rules):
    """No value that was written is gone, unless somebody who has seen it has replaced it, or it is kept."""
    both = begun(databases, make_node, kinds, rules)
    writers = [Knowing(both.one, "a", seed=1).start(), Knowing(both.two, "b", seed=2).start()]
    for w in writers:
        w.await_changes(400)
    for w in writers:
        w.stop()
    rows = both.await_equal()
    both.await_current()
    both.await_runs()
    assert both.one.rows(TABLE) == rows == both.two.rows(TABLE)
    sent = both.sent()
    both.await_runs()
    assert both.sent() == sent      # it is still
    losers = both.losers()
    assert losers and sum(both.state(link)["conflicts"] for link in LINKS) >= len(losers)
    assert not lost(writers, rows, losers)


def apart():
    """The clock that times of changes are taken from, which SQLite has in milliseconds, has gone on."""
    now = time.time()
    while time.time() < now + 0.003:
        pass


def torn(both, *changes):
    """Both sides change while no node runs."""
    both.node.stop()
    for side, statement in changes:
        apart()
        (both.one if side == "a" else both.two).run(statement)
    both.node.start()
    rows = both.await_equal()
    both.await_current()
    both.await_runs()
    assert both.one.rows(TABLE) == both.two.rows(TABLE) == rows
    return rows


NAME = f"update {TABLE} set name = '%s', price = %d where id = %d"
GONE = f"delete from {TABLE} where id = %d"


@pytest.mark.proves("RP7")
@pytest.mark.parametrize("rules,names,losing", [
    (("source", "dest"), ("a1", "a2", None, "a4"), {"b1", "b2", "b3"}),
    (("dest", "source"), ("b1", "b2", "b3", None), {"a1", "a2", "a4"}),
    (("version:price", "version:price"), ("b1", "a2", "b3", "a4"), {"a1", "b2"})])
def test_who_wins(databases, make_node, rules, names, losing):
    both = begun(databases, make_node, ("postgres", "sqlite"), rules, rows=10)
    rows = torn(both, ("a", NAME % ("a1", 5, 1)), ("b", NAME % ("b1", 7, 1)), ("a", NAME % ("a2", 10, 2)), ("b", NAME % ("b2", 9, 2)),
                ("a", GONE % 3), ("b", NAME % ("b3", 1, 3)), ("a", NAME % ("a4", 1, 4)), ("b", GONE % 4),
                ("a", GONE % 5), ("b", GONE % 5), ("a", NAME % ("same", 1, 6)), ("b", NAME % ("only b", 1, 7)))
    assert tuple(rows[n][1] if n in rows else None for n in range(1, 5)) == names
    assert 5 not in rows and rows[6][1] == "same" and rows[7][1] == "only b"
    losers = both.losers()
    assert {r["values"][1] for r in losers if r["values"]} == losing
    assert {r["key"] for r in losers} == {"1", "2", "3", "4"} or any(r["values"] is None for r in losers)
    assert all("has lost" in r["why"] for r in losers)


@pytest.mark.proves("RP7")
@pytest.mark.parametrize("kinds", KINDS)
def test_the_later_change_wins(databases, make_node, kinds):
    both = begun(databases, make_node, kinds, ("last", "last"), rows=10)
    rows = torn(both, ("a", NAME % ("a1", 5, 1)), ("b", NAME % ("b1", 7, 1)), ("b", NAME % ("b2", 9, 2)), ("a", NAME % ("a2", 1, 2)),
                ("a", GONE % 3), ("b", NAME % ("b3", 1, 3)), ("b", NAME % ("b4", 1, 4)), ("a", GONE % 4),
                ("a", NAME % ("a5", 1, 5)), ("b", GONE % 5), ("b", GONE % 6), ("a", NAME % ("a6", 1, 6)),
                ("a", GONE % 7), ("b", GONE % 7), ("a", NAME % ("only a", 1, 8)), ("b", GONE % 9))
    assert {n: rows[n][1] for n in (1, 2, 3, 6, 8)} == {1: "b1", 2: "a2", 3: "b3", 6: "a6", 8: "only a"}
    assert not {4, 5, 7, 9} & rows.keys()
    losers = both.losers()
    assert {r["values"][1] for r in losers if r["values"]} == {"a1", "b2", "b4", "a5"}
    assert {r["key"][-1] for r in losers} == set("123456")
    # What was decided has no new time: who changes a row after that, and was before, is later than what was decided.
    rows = torn(both, ("b", NAME % ("b10", 5, 1)), ("a", NAME % ("a10", 7, 1)))
    assert rows[1][1] == "a10"


def test_a_change_of_a_clock_that_is_ahead_stops_the_table(databases, make_node):
    both = begun(databases, make_node, ("postgres", "sqlite"), ("last", "last"), rows=10)
    both.node.stop()
    both.one.run(NAME % ("from the future", 5, 1), f"update waybill_journal_{TABLE} set at_us = at_us + 3600000000 where k1 = 1")
    both.two.run(NAME % ("of today", 5, 1))
    both.node.start()
    said = both.await_state("a-b", "stopped", "CLOCK")["message"]
    assert "s ahead of the clock of the destination" in said and "go-on" in said, said
    both.await_state("b-a", "current")
    assert both.two.rows(TABLE)[1][1] == "of today"
    both.cli("go-on", f"a-b/{TABLE}")
    rows = both.await_equal()
    both.await_current()
    assert rows[1][1] == "from the future" and {r["values"][1] for r in both.losers()} == {"of today"}


def test_equal_versions_are_decided_alike_on_both_sides(databases, make_node):
    both = begun(databases, make_node, ("postgres", "mariadb"), ("version:price", "version:price"), rows=10)
    rows = torn(both, *[(side, NAME % (f"{side}{n}", 5, n)) for n in range(10) for side in "ab"])
    won = {r[1][0] for r in rows.values()}
    assert len(won) == 1
    assert {r["values"][1][0] for r in both.losers()} == set("ab") - won


@pytest.mark.parametrize("rules", [("source", "dest"), ("manual", "manual")])
def test_a_row_that_has_lost_is_chosen(databases, make_node, rules):
    both = begun(databases, make_node, ("postgres", "sqlite"), rules, rows=5)
    rows = torn(both, ("a", NAME % ("from a", 5, 1)), ("b", NAME % ("from b", 7, 1)))
    wanted = "from b" if rows[1][1] == "from a" else "from a"
    (chosen,) = {r["id"] for r in both.losers() if r["values"][1] == wanted} and \
        [next(r["id"] for r in both.losers() if r["values"][1] == wanted)]
    both.cli("quarantine", "retry", chosen, "--reason", "it is the right one")
    until = time.monotonic() + SECONDS
    while {one.rows(TABLE)[1][1] for one in (both.one, both.two)} != {wanted}:
        assert time.monotonic() < until, (both.losers(), [both.state(link) for link in LINKS])
        time.sleep(0.1)
    both.await_current()
    both.await_runs()
    assert both.await_equal()[1][1] == wanted
    assert chosen not in {r["id"] for r in both.losers()}
    assert rows[1][1] in {r["values"][1] for r in both.losers()}      # what it has replaced


@pytest.mark.parametrize("kinds", KINDS[:3])
def test_rows_of_both_sides_that_were_there_before(databases, make_node, kinds):
    """Nothing is removed, and where both have a row of the same key the one that loses is kept."""
    one, two = pair(databases, kinds, rows=60, same=False)
    one.run(f"delete from {TABLE} where id < 20")
    two.run(f"delete from {TABLE} where id >= 40")
    were = one.rows(TABLE), two.rows(TABLE)
    both = Both(make_node, one, two, rules=("dest", "source"))
    both.install()
    rows = both.await_equal()
    both.await_current()
    assert {k: r[1] for k, r in rows.items()} == {k: r[1] for k, r in {**were[0], **were[1]}.items()}
    kept = {int(r["key"]): r["values"][1] for r in both.losers()}
    assert {k: were[0][k][1] for k in range(20, 40)} == kept


def test_all_rows_again_bring_back_nothing_and_remove_nothing_of_the_other_side(databases, make_node):
    both = begun(databases, make_node, ("postgres", "postgres"), rows=50)
    both.two.run(NAME % ("changed", 1, 3))
    both.await_equal()
    both.await_current()
    both.await_runs()
    both.node.stop()
    both.one.run(f"delete from {TABLE} where id = 9")
    both.two.run(f"insert into {TABLE} (id, name, price) values (100, 'new', 1)", NAME % ("newer", 2, 4), GONE % 8)
    both.node.start()
    for link in LINKS:
        both.cli("resync", f"{link}/{TABLE}")
    rows = both.await_equal()
    both.await_current()
    assert both.await_equal() == rows
    assert rows[100][1] == "new" and rows[4][1] == "newer" and rows[3][1] == "changed" and not {8, 9} & rows.keys()


def test_verification_finds_what_differs_and_nothing_that_is_on_its_way(databases, make_node):
    both = Both(make_node, *pair(databases, ("postgres", "postgres"), rows=300), rules=("version:price", "version:price"),
                more=("    verify: [ { mode: full, every: 10h } ]\n", ""))
    both.install()
    both.await_equal()
    both.await_current()
    writers = [Knowing(both.one, "a", keys=300, seed=5).start(), Knowing(both.two, "b", keys=300, seed=6).start()]
    for w in writers:
        w.await_changes(50)
    said = both.cli("verify", f"a-b/{TABLE}", "--wait")
    for w in writers:
        w.stop()
    assert "ok" in said, said
    both.await_equal()
    both.await_current()
    key = min(both.two.rows(TABLE))
    both.two.run(f"alter table {TABLE} disable trigger waybill_update; {NAME % ('behind its back', 1, key)}; "
                 f"alter table {TABLE} enable always trigger waybill_update")
    said = both.cli("verify", f"a-b/{TABLE}", "--repair", "--wait", code=1)
    assert "diverged" in said and "both ways" in said, said


def test_one_direction_alone_waits_for_the_other(databases, make_node):
    both = Both(make_node, *pair(databases, ("postgres", "sqlite"), rows=3))
    both.cli("install", "a-b", "--yes")
    until = time.monotonic() + SECONDS
    while not all(word in both.await_state("a-b", "stopped", "TRIGGER")["message"] for word in ("both ways", "b-a")):
        assert time.monotonic() < until, both.state("a-b")
        time.sleep(0.1)
    both.cli("install", "b-a", "--yes")
    both.await_equal()


@pytest.mark.proves("RP6", "RP7")
@pytest.mark.parametrize("point", ["link.read", "link.written", "link.committed"])
def test_kills_lose_no_row(databases, make_node, point):
    both = begun(databases, make_node, ("postgres", "postgres"), ("version:price", "version:price"))
    writers = [Knowing(both.one, "a", seed=3).start(), Knowing(both.two, "b", seed=4).start()]
    for n in range(4):
        both.node.stop()
        both.node.environment["WAYBILL_FAULT"] = f"{point}:kill:{3 + n}"
        both.node.launch()
        both.node.ended(SECONDS)
        both.node.environment.clear()
        both.node.start()
        for w in writers:
            w.await_changes(w.changes + 40)
    for w in writers:
        w.stop()
    rows = both.await_equal()
    both.await_current()
    both.await_runs()
    assert both.one.rows(TABLE) == rows == both.two.rows(TABLE)
    assert not lost(writers, rows, both.losers())
