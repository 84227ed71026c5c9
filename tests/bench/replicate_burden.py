"""A link under load: how far it falls behind writers, and what a table far behind does to the others.

replicate-backlog   2 000 row changes a second for a minute: rows of the journal beyond the mark of the destination, and how
                    long after the end none is left.
replicate-apart     50 tables of a link; one of them has 200 000 rows behind.  The iterations of the other 49 until it
                    has caught up, beside those they make in the same time without it.
"""

import contextlib
import random
import sqlite3
import threading
import time

from bench.measure import say
from bench.replicate import COLUMNS, FILL, SECONDS, SETTINGS, Linked, update_all
from harness.postgres import Cluster
from harness.tables import Postgres
from rig.process import wait_for

ROWS, QUICK_ROWS = 200_000, 20_000
CHANGES, A_TRANSACTION = 2000, 20
LOAD_SECONDS, QUICK_LOAD_SECONDS = 60, 10
BACKLOG_MOST, EMPTY_SECONDS = 20_000, 10
TABLES, TURNS = 50, 3
KEPT_LEAST = 0.9
DIGEST = "select md5(string_agg(item::text, '' order by id)) from item"
LINK = ("databases: {{ source: {source}, dest: {dest} }}\n"
        "links:\n  mirror: {{ from: source, to: dest, every: 1s, verify: [], tables: {{ {tables} }} }}\n")


class Load:
    """Changes of random rows at a steady rate, by one connection."""

    def __init__(self, database, rows):
        self.database, self.rows, self.done, self.late = database, rows, 0, 0
        self.thread = threading.Thread(target=self._write, daemon=True)
        self.stopping = threading.Event()

    def _write(self):
        chance, began = random.Random(7), time.monotonic()
        with contextlib.closing(self.database.connect()) as connection:
            while not self.stopping.is_set():
                keys = [chance.randrange(1, self.rows + 1) for _ in range(A_TRANSACTION)]
                connection.execute("update item set version = version + 1 where id = any(%s)", (keys,))
                connection.commit()
                self.done += A_TRANSACTION
                wait = began + self.done / CHANGES - time.monotonic()
                self.late = max(self.late, -wait)
                if wait > 0:
                    self.stopping.wait(wait)


def backlog_of(linked):
    """Rows of the journal that the mark has not passed."""
    place = linked.dest.ask("select x from waybill_applied")[0][0]
    return linked.source.ask(f"select count(*) from waybill_journal_item where x > '{place}'::xid8")[0][0]


def backlog(bench):
    rows, seconds = (QUICK_ROWS, QUICK_LOAD_SECONDS) if bench.quick else (ROWS, LOAD_SECONDS)
    with Cluster(settings=SETTINGS) as cluster:
        linked = Linked(bench, Postgres(cluster), Postgres(cluster), rows)
        load, most = Load(linked.source, rows), 0
        load.thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            most = max(most, backlog_of(linked))
            time.sleep(0.2)
        load.stopping.set()
        load.thread.join()
        ended = time.monotonic()
        wait_for("an empty backlog", lambda: backlog_of(linked) == 0, SECONDS, 0.05)
        took, rate = time.monotonic() - ended, load.done / seconds
        same = len({one.ask(DIGEST)[0][0] for one in (linked.source, linked.dest)}) == 1
        bench.verdict("replicate-backlog postgres-postgres",
                      f"{rate:.0f} changes/s for {seconds} s: at most {most} rows behind, none {took:.1f} s after the end",
                      rate=(rate >= 0.98 * CHANGES, f"the writer made fewer than {CHANGES} changes/s"),
                      backlog=(most <= BACKLOG_MOST, f"over {BACKLOG_MOST}"),
                      empty=(took <= EMPTY_SECONDS, f"over {EMPTY_SECONDS} s"),
                      same=(same, "the destination is not the same"))
        linked.close()


class Fifty:
    """A link of many tables, of which the first is large."""

    def __init__(self, bench, cluster, rows):
        self.bench, self.rows, self.version = bench, rows, 0
        self.source, self.dest = Postgres(cluster), Postgres(cluster)
        tables = [self.name(n) for n in range(TABLES)]
        for one in (self.source, self.dest):
            for table in tables:
                one.make(table, columns=COLUMNS)
        self.source.run(FILL.format(rows))
        self.node = bench.node(more=LINK.format(source=self.source.settings(), dest=self.dest.settings(),
                                                tables=", ".join(f"{t}: {{}}" for t in tables)))
        self.node.start()
        self.node.cli("repl", "install", "mirror", "--yes")
        wait_for("all rows", lambda: self.dest.count("item") == rows and all(r > 0 for r in self.runs().values()), SECONDS, 0.1)

    @staticmethod
    def name(n):
        return "item" if n == 0 else f"small{n}"

    def runs(self):
        """Iterations of each of the others so far, from the node's store."""
        with contextlib.closing(sqlite3.connect(f"file:{self.node.folder / 'data' / 'waybill.db'}?mode=ro", uri=True)) as db:
            return dict(db.execute("select name, runs from job where name <> 'mirror/item'").fetchall())

    def caught_up(self):
        return self.dest.ask(f"select version from item where id = {self.rows}")[0][0] == self.version

    def turn(self):
        """Iterations of the others while the first catches up, and in the same time without that."""
        self.node.stop()
        self.version += 1
        update_all(self.source, self.rows, self.version)
        self.node.start()
        before, began = sum(self.runs().values()), time.monotonic()
        wait_for("the last row", self.caught_up, SECONDS, 0.02)
        beside, took = sum(self.runs().values()) - before, time.monotonic() - began
        self.node.stop()
        self.node.start()
        before = sum(self.runs().values())
        time.sleep(took)
        return beside, sum(self.runs().values()) - before, took


def apart(bench):
    rows = QUICK_ROWS if bench.quick else ROWS
    with Cluster(settings=SETTINGS) as cluster:
        fifty = Fifty(bench, cluster, rows)
        beside = alone = 0
        for number in range(TURNS):
            one, other, took = fifty.turn()
            beside, alone = beside + one, alone + other
            say(f"turn {number + 1}: {one} iterations in {took:.1f} s while it catches up, {other} without")
        bench.verdict("replicate-apart", f"{TABLES - 1} tables keep {beside / alone:.1%} of their iterations beside one that "
                      f"has {rows} rows behind", kept=(beside >= KEPT_LEAST * alone, f"under {KEPT_LEAST:.0%}"))
        bench.discard(fifty.node)
