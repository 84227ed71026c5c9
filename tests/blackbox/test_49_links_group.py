"""Whole transactions (`atomic: group`): who reads the destination at any moment sees all of a transaction or nothing.
"""
import os
import random
import threading
import time

import pytest

from links import LINK, SECONDS, TABLE, Databases, Link, PeerLink, pair
from tables import CONFLICTS

ROWS = 50
GROUP = "    atomic: group\n    message_limit: 4000\n"


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


class Tags:
    """Programs whose every transaction adds so many rows with a name of its own, in several statements, and in any order of
    their keys; some are rolled back."""

    def __init__(self, database, threads=5, rows=ROWS):
        self.database, self.rows, self.done, self.failed = database, rows, 0, []
        self.stopping, self.lock = threading.Event(), threading.Lock()
        self.threads = [threading.Thread(target=self._write, args=(random.Random(n), n), daemon=True) for n in range(threads)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        assert not self.failed, self.failed

    def await_done(self, count):
        until = time.monotonic() + SECONDS
        while self.done < count:
            assert time.monotonic() < until and not self.failed, (self.done, self.failed)
            time.sleep(0.02)

    def _write(self, chance, number):
        connection, n = self.database.connect(), 0
        while not self.stopping.is_set():
            n += 1
            try:
                for _ in range(self.rows):
                    connection.execute(f"insert into {TABLE} (id, name, note) values (%s, %s, %s)",
                                       (chance.randrange(2**50), f"{number}-{n}", "x" * chance.randrange(60)))
                if chance.random() < 0.1:
                    connection.rollback()
                    continue
                connection.commit()
            except CONFLICTS:
                connection.rollback()
                continue
            except Exception as e:  # pylint: disable=broad-except
                self.failed.append(repr(e))
                return
            with self.lock:
                self.done += 1
            time.sleep(chance.random() * 0.02)
        connection.close()


class Reader:
    """Looks at the destination all the time, as of one moment each."""

    def __init__(self, database, rows=ROWS):
        self.database, self.rows, self.half, self.looks, self.stopping = database, rows, [], 0, threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping.set()
        self.thread.join()
        return self.half

    def _read(self):
        while not self.stopping.is_set():
            try:
                counts = self.database.ask(f"select name, count(*) from {TABLE} where name like '%-%' group by name")
            except CONFLICTS:
                continue
            self.looks += 1
            self.half += [c for c in counts if c[1] != self.rows]


@pytest.mark.parametrize("dest", ["postgres", "sqlite", "mariadb"])
def test_nobody_sees_half_of_a_transaction(databases, make_node, dest):
    source, dest = pair(databases, "postgres", dest, rows=0)
    link = Link(make_node, source, dest, more=GROUP)
    link.install()
    link.await_state("current")
    reader, writers = Reader(dest), Tags(source)
    for n in range(1, 4):
        writers.await_done(60 * n)
        link.node.kill()
        link.node.start()
    writers.await_done(240)
    writers.stop()
    link.await_equal()
    half = reader.stop()
    assert not half, half[:5]
    assert reader.looks > 20 and link.await_state("current")["setAside"] == 0


def test_over_a_peer_and_with_batches_of_many_transactions(databases, make_node):
    source, dest = pair(databases, "postgres", "postgres", rows=0)
    link = PeerLink(make_node, source, dest, "source", more="    atomic: group\n")
    link.install()
    link.await_state("current")
    reader, writers = Reader(dest, rows=7), Tags(source, rows=7)
    writers.await_done(400)
    writers.stop()
    link.await_equal()
    half = reader.stop()
    assert not half, half[:5]


def test_without_it_the_same_reader_sees_halves(databases, make_node):
    """That the reader looks closely enough."""
    source, dest = pair(databases, "postgres", "postgres", rows=0)
    link = Link(make_node, source, dest, more="    message_limit: 4000\n")
    link.install()
    link.await_state("current")
    reader, writers = Reader(dest), Tags(source)
    until = time.monotonic() + SECONDS
    while not reader.half:
        assert time.monotonic() < until
        time.sleep(0.05)
    writers.stop()
    reader.stop()
    link.await_equal()


@pytest.mark.parametrize("rows,said_of", [(3000, "group_most"), (120000, "very many")])
def test_a_transaction_that_is_too_large_stops_it(databases, make_node, rows, said_of):
    source, dest = pair(databases, "postgres", "postgres", rows=0)
    more = GROUP + ("    group_most: 100000\n" if rows < 10000 else "")
    link = Link(make_node, source, dest, more=more)
    link.install()
    link.await_state("current")
    source.run(f"insert into {TABLE} (id, name) values (1, 'small')")
    link.await_equal()
    source.run(f"insert into {TABLE} (id, name) select 10 + n, 'large' from generate_series(1, {rows}) n")
    said = link.await_state("stopped", "GROUP")["message"]
    assert said_of in said and "atomic: batch" in said, said
    assert dest.count(TABLE) == 1
    # With a limit that it fits into, or in parts, it goes on by itself.
    link.node.stop()
    link = Link(make_node, source, dest, more=GROUP if rows < 10000 else "")
    link.await_equal()
    link.await_state("current")


def test_other_sources_are_refused(databases, make_node):
    source, dest = pair(databases, "sqlite", "postgres", rows=3)
    link = Link(make_node, source, dest)
    path = link.node.data.parent / f"{os.urandom(4).hex()}.yaml"
    path.write_text(link.config.replace("    every: 200ms\n", "    every: 200ms\n    atomic: group\n"))
    done = link.node.cli("check", str(path))
    assert done.returncode != 0 and "which change is of which transaction" in done.stdout + done.stderr, done
    # Of a location elsewhere it is seen when it is asked.
    link = PeerLink(make_node, source, dest, "source", more="    atomic: group\n")
    assert "atomic: group" in link.await_state("stopped", "GROUP")["message"]
    assert "atomic: batch" in link.cli("plan", LINK, code=1)
