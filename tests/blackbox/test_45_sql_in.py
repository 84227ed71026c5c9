"""Rows of other people's databases that become documents: PostgreSQL and MariaDB over ODBC.  Every committed row comes
once, over restarts, kills and transactions that commit late; a query that is wrong is said so."""
import collections
import itertools
import json
import os
import pathlib
import random
import subprocess
import threading
import time

import mariadb
import postgres as pg_harness
import psycopg
import pytest

SECONDS = 90
PASSWORD = "open sesame"
# The long form: WAYBILL_SQL_WRITERS=120 python3 -m pytest tests/blackbox/test_45_sql_in.py -k writers
WRITERS_SECONDS = float(os.environ.get("WAYBILL_SQL_WRITERS", "5"))

HEAD = """\
systems: { acme: {}, shelf: {} }
types: { rows: {} }
endpoints:
  out: { kind: file, system: shelf, path: ./out, name: "${gateway}.${id}" }
routes:
  - { name: all, do: [ { deliver: out } ] }
gateways:
"""
FACTS = 'extract: { sender: "value:acme", receiver: "value:shelf", type: "value:rows" }'


# ---- databases

class Postgres:
    def __init__(self):
        self.server = pg_harness.Cluster(tcp=True, settings=pg_harness.UNSYNCED)
        hba = pathlib.Path(self.server.directory, "pg_hba.conf")
        hba.write_text("host all hub 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
        self.server.sql("select pg_reload_conf()")
        self.server.create_database("hub")
        self.server.sql(f"create role hub login password '{PASSWORD}'")
        self.server.sql("grant all on schema public to hub", "hub")

    def dsn(self):
        return (f"Driver={{PostgreSQL Unicode}};Server=127.0.0.1;Port={self.server.port};Database=hub;"
                f"UID=hub;PWD={PASSWORD}")

    def sql(self, text):
        return self.server.sql(text, "hub")

    def fresh(self, *tables):
        self.sql("drop schema public cascade; create schema public; grant all on schema public to hub; "
                 + "; ".join(tables) + "; grant all on all tables in schema public to hub")

    def session(self):
        return PostgresSession(self.server.port)


class PostgresSession:
    """A connection of its own, in which a transaction can stay open."""

    def __init__(self, port):
        self.connection = psycopg.connect(host="127.0.0.1", port=port, dbname="hub", user="hub", password=PASSWORD,
                                          autocommit=True)

    def run(self, text):
        for part in text.split(";"):
            self.connection.execute(part)

    def close(self):
        self.connection.close()


class Maria:
    def __init__(self):
        self.server = mariadb.Server()

    def dsn(self):
        return self.server.dsn()

    def sql(self, text):
        return self.server.sql(text)

    def fresh(self, *tables):
        self.server.sql(f"drop database {mariadb.DATABASE}; create database {mariadb.DATABASE}", database="")
        self.sql("; ".join(tables))

    def session(self):
        return MariaSession(self.server)


class MariaSession:
    def __init__(self, server):
        self.process = subprocess.Popen(
            ["mariadb", "--no-defaults", "-N", "-B", "-n", "--default-character-set=utf8mb4", "-S", server.socket, "-u",
             "root", mariadb.DATABASE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, text):
        """Returns when it is done."""
        self.process.stdin.write(text + "; select 'done';\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n", text

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture(scope="module")
def databases():
    made = {}

    def of(kind):
        if kind not in made:
            made[kind] = {"postgres": Postgres, "mariadb": Maria}[kind]()
        return made[kind]

    yield of
    for one in made.values():
        one.server.close()


@pytest.fixture
def db(request, databases):
    return databases(getattr(request, "param", "postgres"))


both = pytest.mark.parametrize("db", ("postgres", "mariadb"), indirect=True)


# ---- nodes

def gateway(db, name="in", query="select * from item where id > :id order by id", more="cursor: id"):
    return (f"  {name}: {{ kind: sql, dsn: {json.dumps(db.dsn())}, query: {json.dumps(query)}, every: 100ms, timeout: 20s, "
            f"{FACTS}{', ' if more else ''}{more} }}\n")


def wait_for(node, what, condition, seconds=SECONDS):
    deadline = time.monotonic() + seconds
    while not (got := condition()):
        assert time.monotonic() < deadline, f"no {what} after {seconds} s:\n{node.tail()}"
        time.sleep(0.05)
    return got


def documents(node, name="in"):
    """What came out, by the order of the files; those that are being written have other names."""
    return [f.read_bytes() for f in sorted((node.folder / "out").glob(f"{name}.*"))]


def ids(node, name="in", column="id"):
    """{id: how often it came}, of sets and of single rows."""
    count = collections.Counter()
    for body in documents(node, name):
        rows = json.loads(body)
        count.update(row[column] for row in (rows if isinstance(rows, list) else [rows]))
    return count


def came(node, wanted, name="in"):
    wait_for(node, f"rows {sorted(wanted)[:5]}... of {name}", lambda: set(ids(node, name)) >= set(wanted))
    return ids(node, name)


def items(db, first, last):
    values = ", ".join(f"({n}, 'item {n}')" for n in range(first, last + 1))
    db.sql(f"insert into item values {values}")


ITEM = "create table item (id bigint primary key, name varchar(40))"


# ---- what comes

TYPES = {
    "postgres": (
        "create table item (id bigint primary key, n numeric(30,10), f double precision, s smallint, b boolean, t text, "
        "x bytea, d date, ts timestamp(6), tz timestamptz, v varchar(20))",
        "insert into item values (1, 12345678901234567890.1234500000, 0.1, -7, true, 'a \"b\" é €', '\\x00ff'::bytea, "
        "'2026-03-29', '2026-03-29 02:30:00.123456', '2026-03-29 02:30:00.5+00', null)"),
    "mariadb": (
        "create table item (id bigint primary key, n decimal(30,10), f double, s smallint, b int, t longtext, "
        "x longblob, d date, ts datetime(6), tz timestamp(6), v varchar(20)) character set utf8mb4",
        "set time_zone = '+00:00'; insert into item values (1, 12345678901234567890.1234500000, 0.1, -7, 1, "
        "'a \"b\" é €', x'00ff', '2026-03-29', '2026-03-29 02:30:00.123456', '2026-03-29 02:30:00.5', null)"),
}


@pytest.mark.smoke
@both
def test_values_are_told_exactly(request, make_node, db):
    table, row = TYPES[request.node.callspec.params["db"]]
    db.fresh(table)
    node = make_node(config=HEAD + gateway(db))
    db.sql(row)
    node.start()
    body, = wait_for(node, "document", lambda: documents(node))
    text = body.decode()
    assert '"n":12345678901234567890.1234500000' in text, text
    got, = json.loads(text)
    assert list(got) == ["id", "n", "f", "s", "b", "t", "x", "d", "ts", "tz", "v"]
    assert (got["id"], got["f"], got["s"], got["t"], got["x"], got["v"]) == (1, 0.1, -7, 'a "b" é €', "AP8=", None)
    assert (got["d"], got["ts"], got["tz"]) == ("2026-03-29", "2026-03-29T02:30:00.123456", "2026-03-29T02:30:00.500000")
    assert got["b"] == 1  # true, or the number


@both
@pytest.mark.proves("IN3")
def test_the_cursor_survives_restarts_and_kills(make_node, db):
    """One gateway with a cursor of two columns, one document each; one with a set."""
    db.fresh(ITEM, "create table pair (major int, minor int, id bigint, primary key (major, minor))")
    query = "select * from pair where major > :major or (major = :major and minor > :minor) order by major, minor limit 7"
    node = make_node(config=HEAD + gateway(db) + gateway(db, "pairs", query, "cursor: [major, minor], rows: each"))
    node.start()
    done = 0
    for end in ("restart", "kill", "sql.taken", "sql.stored", None):
        first, done = done + 1, done + 100
        if end and "." in end:  # it dies by itself, with rows to take
            node.kill()
            node.environment["WAYBILL_FAULT"] = f"{end}:kill:2"
            node.launch()
        items(db, first, done)
        db.sql("insert into pair values " + ", ".join(f"({n // 10}, {n % 10}, {n})" for n in range(first, done + 1)))
        if end == "kill":
            wait_for(node, "a row", lambda: ids(node, "pairs")[first])  # pylint: disable=cell-var-from-loop
            node.kill()
            node.start()
        elif end == "restart":
            node.restart()
        elif end:
            assert node.ended(SECONDS) == -9
            del node.environment["WAYBILL_FAULT"]
            node.start()
    everything = {n: 1 for n in range(1, done + 1)}
    came(node, everything)
    came(node, everything, "pairs")
    db.sql("insert into item values (9001, 'behind'); insert into pair values (9001, 0, 9001)")
    assert came(node, [9001]) == came(node, [9001], "pairs") == {**everything, 9001: 1}


# ---- late commits

@both
def test_a_late_commit_is_missed_without_an_overlap(make_node, db):
    """A transaction stays open while rows behind its own are taken."""
    db.fresh(ITEM)
    node = make_node(config=HEAD + gateway(db, "plain") + gateway(db, "safe", more="cursor: id, overlap: 5m"))
    node.start()
    late = db.session()
    late.run("start transaction; insert into item values (10, 'late')")
    items(db, 11, 15)
    for name in ("plain", "safe"):
        assert came(node, range(11, 16), name) == {n: 1 for n in range(11, 16)}
    late.run("commit")
    late.close()
    came(node, [10], "safe")
    node.kill()
    node.start()
    items(db, 16, 16)
    for name in ("plain", "safe"):
        came(node, [16], name)
    assert ids(node, "safe") == {n: 1 for n in range(10, 17)}
    assert ids(node, "plain") == {n: 1 for n in range(11, 17)}  # so the test can fail: 10 is lost


class Writers:
    """Transactions of one to five rows that take their time; some are rolled back."""

    def __init__(self, db, count=6, longest=2.0):
        self.db, self.longest = db, longest
        self.numbers, self.lock = itertools.count(1), threading.Lock()
        self.stop, self.wrong = threading.Event(), []
        self.threads = [threading.Thread(target=self.work, args=(n,)) for n in range(count)]
        for thread in self.threads:
            thread.start()

    def work(self, n):
        try:
            session, chance = self.db.session(), random.Random(n)
            while not self.stop.is_set():
                with self.lock:
                    numbers = [next(self.numbers) for _ in range(chance.randint(1, 5))]
                session.run("start transaction")
                for number in numbers:
                    session.run(f"insert into item values ({number}, 'writer {n}')")
                    time.sleep(chance.random() * 0.02)
                if chance.random() < 0.2:
                    self.stop.wait(chance.random() * self.longest)
                session.run("rollback" if chance.random() < 0.15 else "commit")
            session.close()
        except Exception as e:  # pylint: disable=broad-except
            self.wrong.append(e)

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert not self.wrong, self.wrong


@both
@pytest.mark.proves("IN3")
def test_rows_of_writers_come_once_each(make_node, db):
    """Six writers, and a node that is killed again and again."""
    db.fresh(ITEM)
    node = make_node(config=HEAD + gateway(db, more="cursor: id, overlap: 15m") + gateway(
        db, "each", more="cursor: id, overlap: 15m, rows: each"))
    node.start()
    writers, chance, kills = Writers(db), random.Random(5), 0
    end = time.monotonic() + WRITERS_SECONDS
    while time.monotonic() < end:
        time.sleep(chance.random() * 1.5)
        node.kill()
        node.start()
        kills += 1
    writers.end()
    committed = {int(n): 1 for n in db.sql("select id from item").split()}
    last = max(committed)
    for name in ("in", "each"):
        came(node, committed, name)
    items(db, last + 1000, last + 1000)  # behind everything: the pass that has it has seen all before
    for name in ("in", "each"):
        assert came(node, [last + 1000], name) == {**committed, last + 1000: 1}
    print(f"sql in: {len(committed)} rows, {kills} kills, missed 0, doubled 0")
    assert kills > 0 and len(committed) > 20


# ---- bounds and mistakes

def test_a_million_rows_are_taken_look_by_look(make_node, db):
    """What a look takes is bounded; the next one goes on there."""
    db.fresh(ITEM)
    query = "select g as id from generate_series(:id::bigint + 1, {}) g order by g"
    node = make_node(config=HEAD + gateway(db, "each", query.format(1000000), "cursor: id, rows: each")
                     + gateway(db, "sets", query.format(12000), "cursor: id"))
    node.start()
    wait_for(node, "second look", lambda: len(documents(node, "each")) > 520)
    assert came(node, [12000], "sets") == {n: 1 for n in range(1, 12001)}
    node.stop()
    got = ids(node, "each")
    assert len(got) < 100000 and set(got.values()) == {1}
    assert sorted(len(json.loads(body)) for body in documents(node, "sets")) == [2000, 5000, 5000]


MISTAKES = {
    "missing": ("select * from nothing where id > :id order by id", "cursor: id", "nothing"),
    "column": ("select name from item where id > :id order by id", "cursor: id", "returns no column id"),
    "order": ("select * from item where id > :id order by id desc", "cursor: id", "ORDER BY"),
    "equal": ("select * from item where id >= :id order by id", "cursor: id, start: 3", "with > and not with >="),
    "null": ("select id, null as v from item where id > coalesce(:v, 0) order by id", "cursor: v", "NULL"),
    "twice": ("select id, name, name from item where id > :id order by id", "cursor: id", "two columns named name"),
    "write": ("delete from item where id > :id", "cursor: id", "must SELECT"),
}


@both
def test_a_wrong_query_is_told(make_node, db):
    db.fresh(ITEM)
    items(db, 1, 5)
    node = make_node(config=HEAD + "".join(
        gateway(db, name, query, more) for name, (query, more, _) in MISTAKES.items()) + gateway(db))
    node.start()
    for name, (_, _, words) in MISTAKES.items():
        why = node.wait_event("gateway.fail", timeout=SECONDS, gateway=name)["why"]
        assert words in why and PASSWORD not in why, (name, why)
        assert not documents(node, name)
    assert came(node, range(1, 6)) == {n: 1 for n in range(1, 6)}  # the neighbour does not mind
    assert db.sql("select count(*) from item").strip() == "5"  # a statement that writes is rolled back


@pytest.mark.parametrize("query, more, words", [
    ("select * from item where id > :id order by id", "", "no column of `cursor`"),
    ("select * from item order by id", "cursor: id", ":id is missing"),
    ("select * from item order by id", "overlap: 5m", "`overlap` needs `cursor`"),
    ("select * from item where id > :id order by id", "cursor: id, start: [1, 2]", "`start` needs a value for each"),
])
def test_a_gateway_that_cannot_work_is_refused(make_node, db, query, more, words):
    node = make_node(config=HEAD + gateway(db, "in", query, more))
    got = node.cli("check", node.config_file)
    assert got.returncode != 0 and words in got.stdout + got.stderr, got.stdout + got.stderr


@both
def test_a_locked_table_costs_its_own_look(make_node, db):
    db.fresh(ITEM, "create table free (id bigint primary key, name varchar(40))")
    locked = gateway(db).replace("timeout: 20s", "timeout: 1s")
    node = make_node(config=HEAD + locked + gateway(db, "free", "select * from free where id > :id order by id"))
    lock = db.session()
    if isinstance(db, Maria):
        lock.run("lock tables item write")
    else:
        lock.run("start transaction; lock table item in access exclusive mode")
    node.start()
    assert "in time" in node.wait_event("gateway.fail", timeout=SECONDS, gateway="in")["why"]
    db.sql("insert into free values (1, 'free')")
    came(node, [1], "free")
    lock.run("insert into item values (1, 'locked'); " + ("unlock tables" if isinstance(db, Maria) else "commit"))
    lock.close()
    assert came(node, [1]) == {1: 1}


def test_a_row_that_is_too_large_is_left_out_and_said(make_node, db):
    db.fresh("create table item (id bigint primary key, name text)")
    items(db, 1, 3)
    db.sql("update item set name = repeat('x', 3000) where id = 2")
    small = "cursor: id, limits: { size: 1 KiB }"
    node = make_node(config=HEAD + gateway(db, more=small) + gateway(db, "each", more=small + ", rows: each"))
    node.start()
    for name in ("in", "each"):
        told = node.wait_event("gateway.refuse", timeout=SECONDS, gateway=name)
        assert told["name"] == "row 2" and "limits.size" in told["why"]
        assert came(node, [1, 3], name) == {1: 1, 3: 1}
    items(db, 4, 4)
    for name in ("in", "each"):
        assert came(node, [4], name) == {1: 1, 3: 1, 4: 1}

    def dead():
        found = node.graphql("{ documents(filter: { state: \"dead\" }) { items { id gateway sender error { code message } } } }")
        return found["documents"]["items"]

    # Of single rows it is a dead letter, which says where it is and why; once, also when the node starts again.
    wait_for(node, "dead letter", dead)
    node.restart()
    items(db, 5, 5)
    for name in ("in", "each"):
        assert came(node, [5], name) == {1: 1, 3: 1, 4: 1, 5: 1}
    (letter,) = dead()
    assert (letter["gateway"], letter["sender"], letter["error"]["code"]) == ("each", "acme", "extract_failed")
    assert "row 2" in letter["error"]["message"] and "limits.size" in letter["error"]["message"]
    assert "set `start`" in letter["error"]["message"]
    assert node.cli("docs", "retry", letter["id"]).returncode == 0  # it stays what it is
    wait_for(node, "dead letter again", lambda: len(dead()) == 1 and dead()[0]["error"]["code"] == "extract_failed")


def test_a_gateway_that_comes_back_goes_on_and_start_begins_anew(make_node, db):
    db.fresh(ITEM)
    items(db, 1, 3)
    node = make_node(config=HEAD + gateway(db) + gateway(db, "other"))
    node.start()
    came(node, [1, 2, 3])

    def apply(text):
        node.write_config(HEAD + text)
        got = node.cli("apply", node.config_file, "--yes")
        assert got.returncode == 0, got.stdout + got.stderr

    apply(gateway(db, "other"))
    items(db, 4, 4)
    came(node, [4], "other")
    apply(gateway(db) + gateway(db, "other"))
    assert came(node, [4]) == {1: 1, 2: 1, 3: 1, 4: 1}  # its cursor was kept
    apply(gateway(db, more="cursor: id, start: 2") + gateway(db, "other"))
    wait_for(node, "3 and 4 again", lambda: ids(node) == {1: 1, 2: 1, 3: 2, 4: 2})
