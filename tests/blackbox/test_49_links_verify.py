"""Both sides of a link are compared: every difference is found, nothing else is, and it can be repaired.
"""
import json
import random
import time

import pytest

from links import LINK, SECONDS, TABLE, Databases, Link
from tables import Writers, row

ITEM = f"{LINK}/{TABLE}"
ROWS = 20000
RULE = "    verify:\n      - { mode: full, every: 1h }\n"


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


def linked(databases, make_node, kinds, rows=ROWS):
    """A link that is current, with a rule of verification."""
    source, dest = (databases.of(kind) for kind in kinds)
    chance = random.Random(3)
    for one in (source, dest):
        one.make(TABLE)
    source.fill(TABLE, [row(chance, n) for n in range(rows)])
    link = Link(make_node, source, dest, more=RULE)
    link.install()
    link.await_equal()
    link.await_state("current")
    return link


def verify(link, *args, code=0):
    """Verifies and waits for the end: the pass, as JSON."""
    return json.loads(link.cli("verify", ITEM, "--wait", "--json", *args, code=code))


def plant(dest):
    """Differences of every kind at the destination; how many of each there are then."""
    q = dest.quote
    table, key = q(TABLE), q("id")
    swapped = f"(select {q('name')} from (select * from {table}) as t where {key} = "
    dest.run(
        f"delete from {table} where {key} in (17, 4711)",                                          # missing
        f"delete from {table} where {key} >= 9000 and {key} < 9100",                               # a range
        (f"insert into {table} ({key}, {q('name')}) values (?, ?)", -5, "extra"),
        (f"insert into {table} ({key}, {q('name')}) values (?, ?)", ROWS + 10**6, "behind the last key"),
        (f"update {table} set {q('name')} = ? where {key} = ?", "other", 100),
        (f"update {table} set {q('name')} = ? where {key} = ?", "", 101),
        (f"update {table} set {q('name')} = null where {key} = ?", 102),
        (f"update {table} set {q('name')} = ? where {key} = ?", "same", 200),                      # a pair that cancels
        (f"update {table} set {q('name')} = ? where {key} = ?", "same", 201))
    return {"missing": 102, "extra": 2, "different": 5}


def await_followed(link):
    """Until what the writers have changed has arrived; they have stopped."""
    wanted, until = link.source.rows(TABLE), time.monotonic() + SECONDS
    while any(link.dest.rows(TABLE).get(key) != wanted.get(key) for key in range(10)):
        assert time.monotonic() < until, link.state()
        time.sleep(0.1)


@pytest.mark.proves("VE1")
@pytest.mark.parametrize("kinds", [("postgres", "sqlite"), ("postgres", "mariadb"), ("postgres", "postgres"), ("sqlite", "postgres")])
def test_what_is_different_is_found_and_repaired(databases, make_node, kinds):
    link = linked(databases, make_node, kinds)
    done = verify(link)
    assert (done["result"], done["rowsSource"], done["rowsDest"]) == ("ok", ROWS, ROWS)

    wanted = plant(link.dest)
    writers = Writers(link.source, TABLE, threads=2, keys=5).start()
    writers.await_changes(20)
    done = verify(link, code=1)
    writers.stop()
    found = {kind: done[kind] for kind in wanted}
    assert (done["result"], found) == ("diverged", wanted)

    await_followed(link)
    before = link.dest.rows(TABLE)
    done = verify(link, "--repair", "--dry-run", code=1)
    assert {kind: done[kind] for kind in wanted} == wanted and link.dest.rows(TABLE) == before
    done = verify(link, "--repair")
    assert (done["result"], done["repaired"]) == ("repaired", sum(wanted.values()))
    link.await_equal()
    assert verify(link)["result"] == "ok"


def test_a_repair_over_the_limit_repairs_nothing_and_says_so(databases, make_node):
    link = linked(databases, make_node, ("postgres", "sqlite"), rows=1000)
    link.dest.run(f"delete from {TABLE} where id < 20")
    done = verify(link, "--repair", "--most", "10", code=1)
    assert done["result"] == "diverged" and done["repaired"] == 0 and "10" in done["message"]
    assert link.dest.count(TABLE) == 980


@pytest.mark.proves("VE2")
def test_what_is_on_its_way_is_no_difference(databases, make_node):
    link = linked(databases, make_node, ("postgres", "postgres"), rows=3000)
    writers = Writers(link.source, TABLE, keys=3000).start()
    for _ in range(3):
        done = verify(link)
        assert done["result"] in ("ok", "partial") and done["missing"] == done["extra"] == done["different"] == 0, done
    writers.stop()
    link.await_equal()


def test_a_pass_goes_on_where_a_killed_node_was(databases, make_node):
    link = linked(databases, make_node, ("postgres", "sqlite"), rows=3000)
    link.dest.run(f"delete from {TABLE} where id = 2000")
    link.cli("verify", ITEM)
    link.node.kill()
    link.node.start()
    deadline = time.monotonic() + SECONDS
    while (last := link.state().get("lastPass")) is None or last["result"] == "running":
        assert time.monotonic() < deadline, link.state()
        time.sleep(0.1)
    assert (last["result"], last["missing"]) == ("diverged", 1)


@pytest.mark.proves("VE3")
def test_a_side_that_cannot_be_read_is_no_difference(databases, make_node, own_postgres):
    databases = Databases(own_postgres, databases.folder)
    link = linked(databases, make_node, ("sqlite", "postgres"), rows=1000)
    own_postgres.kill_hard()
    link.cli("verify", ITEM)
    time.sleep(1)       # it may have begun by now; whenever it does, nothing may be found
    own_postgres.start()
    deadline = time.monotonic() + SECONDS
    while (last := link.state().get("lastPass")) is None or last["result"] == "running":
        assert time.monotonic() < deadline, link.state()
        time.sleep(0.1)
    assert last["result"] == "ok" and last["missing"] == last["extra"] == last["different"] == 0, last


@pytest.mark.parametrize("kinds", [("postgres", "sqlite"), ("sqlite", "postgres"), ("postgres", "mariadb")])
def test_a_pass_before_anything_is_installed_is_told_not_to_be_possible(databases, make_node, kinds):
    source, dest = (databases.of(kind) for kind in kinds)
    for one in (source, dest):
        one.make(TABLE)
    link = Link(make_node, source, dest, more=RULE)
    link.await_state("stopped", "TRIGGER")
    done = verify(link, code=1)
    assert done["result"] == "aborted" and "replication has not begun" in done["message"]


@pytest.mark.parametrize("kinds", [("postgres", "sqlite"), ("sqlite", "postgres"), ("mariadb", "sqlite")])
def test_rows_that_have_changed_of_late_are_compared_alone(databases, make_node, kinds):
    link = linked(databases, make_node, kinds, rows=2000)
    q = link.source.quote
    change = f"update {q(TABLE)} set {q('name')} = ? where {q('id')} >= ? and {q('id')} < ?"
    assert verify(link, "--mode", "recent", code=1)["result"] == "partial"
    link.source.run((change, "newer", 100, 1300))
    link.await_equal()
    link.dest.run((change, "not of late", 50, 51), (change, "wrong", 1000, 1002))
    for _ in range(2):      # until nothing is left, they are looked at again
        done = verify(link, "--mode", "recent", code=1)
        assert (done["result"], done["different"], done["rowsSource"]) == ("diverged", 2, 1200), done
    link.source.run((change, "newest", 1000, 1002))
    deadline = time.monotonic() + SECONDS
    while link.dest.ask(f"select count(*) from {q(TABLE)} where {q('name')} = 'newest'") != [(2,)]:
        assert time.monotonic() < deadline, link.state()
        time.sleep(0.1)
    done = verify(link, "--mode", "recent", code=1)
    assert (done["result"], done["rowsSource"]) == ("partial", 1200), done
    done = verify(link, "--mode", "recent", code=1)
    assert (done["result"], done["rowsSource"]) == ("partial", 0), done
    assert verify(link, code=1)["different"] == 1
