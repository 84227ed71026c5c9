"""Tables that are kept the same in two databases: loaded, followed while programs write, through kills and lost answers.
"""
import random
import threading
import time

import pytest

from links import LINK, SECONDS, TABLE, Databases, Link, pair
from tables import Writers, row

PAIRS = [("postgres", "postgres"), ("postgres", "sqlite"), ("sqlite", "postgres"), ("postgres", "mariadb"),
         ("mariadb", "postgres"), ("sqlite", "sqlite")]
ROWS = 2000


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


@pytest.mark.parametrize("source,dest", PAIRS)
def test_all_rows_arrive_and_changes_follow(databases, make_node, source, dest):
    source, dest = pair(databases, source, dest)
    link = Link(make_node, source, dest)
    link.await_state("stopped", "TRIGGER")     # until its triggers are there
    link.install()
    assert len(link.await_equal()) == ROWS
    link.await_state("current")

    writers = Writers(source, TABLE).start()
    writers.await_changes(1500)
    writers.stop()
    link.await_equal()
    assert link.await_state("current")["setAside"] == 0


@pytest.mark.proves("RP3", "RP4", "SC10")
@pytest.mark.parametrize("source,dest", [("postgres", "sqlite"), ("mariadb", "postgres")])
def test_a_node_that_is_killed_goes_on(databases, make_node, source, dest):
    source, dest = pair(databases, source, dest, rows=20000)
    link = Link(make_node, source, dest)
    link.install()
    writers = Writers(source, TABLE, keys=30000).start()
    for n in range(6):
        writers.await_changes(writers.changes + 100)
        link.node.kill()
        link.node.start()
    writers.stop()
    link.await_equal()


def test_rows_that_were_there_before_are_made_the_same(databases, make_node):
    source, dest = pair(databases, "postgres", "postgres")
    chance = random.Random(9)
    dest.fill(TABLE, [row(chance, n) for n in range(ROWS - 100, ROWS + 100)])
    link = Link(make_node, source, dest)
    link.install()
    assert len(link.await_equal()) == ROWS


@pytest.mark.proves("SC12")
def test_a_row_larger_than_a_batch(databases, make_node):
    source, dest = pair(databases, "postgres", "sqlite", rows=10)
    link = Link(make_node, source, dest)
    link.install()
    link.await_equal()
    source.run(*[f"update {TABLE} set note = repeat('0123456789', {n}) where id = {n % 10}" for n in (8100, 10**5, 10**6)])
    link.await_equal()


@pytest.mark.parametrize("source,dest", [("postgres", "sqlite"), ("sqlite", "postgres"), ("mariadb", "postgres")])
def test_a_plan_is_shown_run_as_shown_and_taken_away(databases, make_node, source, dest):
    source, dest = pair(databases, source, dest, rows=3)
    before = source.schema(), dest.schema()
    link = Link(make_node, source, dest)
    shown = link.cli("plan", LINK)
    assert "create" in shown.lower() and "trigger" in shown.lower() and TABLE in shown
    assert (source.schema(), dest.schema()) == before
    link.install()
    link.await_equal()
    assert source.schema() != before[0]
    link.cli("remove", LINK, "--yes")
    assert (source.schema(), dest.schema()) == before


class Backwards:
    """A program of the destination that locks all rows, one after the other, from the last one on.  In a deadlock it is always
    the other one that is given up."""

    def __init__(self, base, rows):
        self.base, self.rows, self.stopping = base, rows, threading.Event()
        self.thread = threading.Thread(target=self._work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()

    def _work(self):
        connection = self.base.connect()
        cursor = connection.cursor()
        cursor.execute("set deadlock_timeout = '60s'")
        while not self.stopping.is_set():
            for key in reversed(range(self.rows)):
                cursor.execute(f"select from {TABLE} where id = %s for update", (key,))
                time.sleep(0.002)
            connection.commit()
        connection.close()


def test_programs_that_lock_rows_in_another_order(databases, make_node):
    """Less is written at once, until it gets through; no run fails."""
    source, dest = pair(databases, "postgres", "postgres", rows=300)
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    link = Link(make_node, source, dest)
    link.install()
    link.await_equal()
    with Backwards(dest, 300):
        until = time.monotonic() + SECONDS
        while dest.ask(deadlocks)[0][0] < 2:
            assert time.monotonic() < until, "they do not meet"
            source.run(f"update {TABLE} set note = md5(random()::text)")
        link.await_equal()
    assert not [e for e in link.node.events if e["event"] == "job.fail"]
