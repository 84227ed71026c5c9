"""Documents that become rows of other people's databases: PostgreSQL, MariaDB and SQLite over ODBC.  What arrives, what
is refused, and what happens when the driver, the server, the line or the node itself fails in the middle."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import socket
import sqlite3
import subprocess
import time

import mariadb
import postgres as pg_harness
import proxy
import psycopg
import pytest
from running_node import BINARY

SECONDS = 90
MIB = 1 << 20
FAKE = pathlib.Path(__file__).parent.parent / "harness" / "odbc_fake.c"
PASSWORD = "open;}sesame"  # with what has to be escaped

CONFIG = """\
systems: {{ acme: {{}}, far: {{ in_doubt: {policy} }}, near: {{}} }}
types: {{ order: {{}} }}
gateways:
  web:
    kind: http
    auth: none
    limits: {{ size: 128 MiB }}
    extract: {{ sender: "value:acme", receiver: "header:To", type: "value:order", attributes: {{ note: "header:Note" }} }}
endpoints:
  out: {{ kind: sql, system: far, dsn: {dsn}, statement: {statement},
         retry: {{ first: 50ms, most: 300ms }}, breaker: {{ failures: 1000, wait: 200ms }}{more} }}
  near: {{ kind: file, system: near, path: ./near }}
routes:
  - {{ name: far, when: {{ receiver: far }}, do: [ {{ deliver: out }} ] }}
  - {{ name: near, when: {{ receiver: near }}, do: [ {{ deliver: near }} ] }}
"""
INSERT = "insert into docs (id, sender, type, note, received, body) values (:id, :sender, :type, :note, :received, :payload)"
INBOX = "create table waybill_inbox (delivery varchar(200) not null primary key, " \
        "received timestamp default current_timestamp not null)"


# ---- databases

class Postgres:
    """A cluster of its own, with a user who has a password."""
    binary, text, stamp = "bytea", "text", "timestamp(6)"

    def __init__(self):
        self.server = pg_harness.Cluster(tcp=True, settings=pg_harness.UNSYNCED)
        hba = pathlib.Path(self.server.directory, "pg_hba.conf")
        hba.write_text("host all hub 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
        self.server.sql("select pg_reload_conf()")
        self.server.create_database("hub")
        self.server.sql(f"create role hub login password '{PASSWORD}'")
        self.server.sql("grant all on schema public to hub", "hub")

    def dsn(self, port=None, password=PASSWORD):
        quoted = "{" + password.replace("}", "}}") + "}"
        return (f"Driver={{PostgreSQL Unicode}};Server=127.0.0.1;Port={port or self.server.port};Database=hub;"
                f"UID=hub;PWD={quoted}")

    def sql(self, text):
        return self.server.sql(text, "hub")

    def fresh(self, *tables):
        self.sql("drop schema public cascade; create schema public; grant all on schema public to hub; "
                 + "; ".join(tables) + "; " * bool(tables) + "grant all on all tables in schema public to hub")

    def md5(self, column):
        return f"md5({column})"


class Maria:
    binary, text, stamp = "longblob", "longtext", "datetime(6)"

    def __init__(self):
        self.server = mariadb.Server()
        self.server.sql(f"set password for hub@'127.0.0.1' = password('{PASSWORD}')")

    def dsn(self, port=None, password=PASSWORD):
        return self.server.dsn("{" + password.replace("}", "}}") + "}", port)

    def sql(self, text):
        return self.server.sql(text)

    def fresh(self, *tables):
        self.server.sql(f"drop database {mariadb.DATABASE}; create database {mariadb.DATABASE}", database="")
        self.sql("; ".join(tables) or "select 1")

    def md5(self, column):
        return f"md5({column})"


class Sqlite:
    binary, text, stamp = "blob", "text", "timestamp"

    def __init__(self):
        self.path = self.server = None

    def dsn(self, port=None, password=None):  # pylint: disable=unused-argument
        return f"Driver=SQLite3;Database={self.path};SyncPragma=OFF"

    def sql(self, text):
        with sqlite3.connect(self.path, timeout=60) as db:
            db.create_function("md5", 1, lambda v: hashlib.md5(v if isinstance(v, bytes) else str(v).encode()).hexdigest())
            rows = [row for part in text.split(";") if part.strip() for row in db.execute(part)]
        db.close()
        return "\n".join("\t".join("" if v is None else str(v) for v in row) for row in rows)

    def fresh(self, *tables):
        self.path.parent.mkdir(exist_ok=True)
        self.path.unlink(missing_ok=True)
        self.sql(";".join(tables))

    def md5(self, column):
        return f"md5({column})"


@pytest.fixture(scope="module")
def databases():
    made = {}

    def of(kind):
        if kind not in made:
            made[kind] = {"postgres": Postgres, "mariadb": Maria, "sqlite": Sqlite}[kind]()
        return made[kind]

    yield of
    for one in made.values():
        if one.server is not None:
            one.server.close()


def database(databases, tmp_path, kind):
    db = databases(kind)
    if kind == "sqlite":
        db.path = tmp_path / "node0" / "db" / "far.db"
    return db


ALL = ("sqlite", "postgres", "mariadb")
SERVERS = ("postgres", "mariadb")


@pytest.fixture
def db(request, databases, tmp_path):
    return database(databases, tmp_path, getattr(request, "param", "sqlite"))


def on(*kinds):
    return pytest.mark.parametrize("db", kinds, indirect=True)


def docs_table(db):
    return (f"create table docs (id varchar(60) primary key, sender varchar(60), type varchar(60), note varchar(900), "
            f"received {db.stamp}, body {db.text})")


def config(db, statement=INSERT, policy="resend", more="", port=None, password=PASSWORD, dsn=None):
    return CONFIG.format(dsn=json.dumps(dsn or db.dsn(port, password)), statement=json.dumps(statement), policy=policy,
                         more=f", {more}" if more else "")


@pytest.fixture
def run(make_node, db):
    def make(tables=(), environment=None, start=True, **settings):
        node = make_node(config=config(db, **settings), environment=environment or {})
        db.fresh(*tables)
        if start:
            node.start()
        return node
    return make


def send(node, body=b"a document", to="far", **headers):
    return node.accept("web", body, {"To": to, **headers})


def look(node, doc):
    return node.show(doc, "state error { code message } deliveries { state held heldWhy code message attempts }")


def await_state(node, doc, *states, seconds=SECONDS):
    return node.await_state(doc, *states, look=look, seconds=seconds)


def trace(node, doc):
    """Everything that the timeline says, and why it waits."""
    return json.dumps(node.show(doc, "timeline { stage outcome message }")) + json.dumps(look(node, doc)["deliveries"])


def wait_for(node, what, condition, seconds=SECONDS):
    until = time.monotonic() + seconds
    while not (got := condition()):
        assert time.monotonic() < until, f"no {what} after {seconds} s:\n{node.tail()}"
        time.sleep(0.05)
    return got


def await_words(node, doc, *words):
    return wait_for(node, " ".join(words), lambda: all(w in trace(node, doc) for w in words))


def others_go_on(node):
    await_state(node, send(node, b"near", to="near"), "delivered")


def count(db, table="docs"):
    return int(db.sql(f"select count(*) from {table}"))


# ---- what arrives

HOSTILE = "'); drop table docs; -- \"`\\' ? :id ::x {fn now()} %s \u00e9\u4e2d\U0001f600\r\n\t${id} '"


@pytest.mark.smoke
@pytest.mark.proves("S6")
@on(*ALL)
def test_a_document_becomes_a_row(run, db):
    node = run([docs_table(db)])
    doc = send(node, HOSTILE.encode(), Note="it's 5 \\ ?")
    await_state(node, doc, "delivered")
    assert db.sql("select id, sender, type, note from docs") == f"{doc}\tacme\torder\tit's 5 \\ ?"
    assert db.sql(f"select {db.md5('body')} from docs") == hashlib.md5(HOSTILE.encode()).hexdigest()
    stamp = db.sql("select received from docs")
    assert stamp[:2] == "20" and len(stamp) >= 19
    other = send(node, b"x")
    await_state(node, other, "delivered")
    assert db.sql(f"select coalesce(note, 'none'), body from docs where id = '{other}'") == "none\tx"


@on(*ALL)
def test_bytes_stay_what_they_are(run, db):
    """With NULs in them, 1 MiB; the types of numbers, dates and JSON are the database's own."""
    node = run([f"create table docs (id varchar(60) primary key, body {db.binary})"],
               statement="insert into docs (id, body) values (:id, :payload)")
    body = bytes(range(256)) * 4096
    doc = send(node, body)
    await_state(node, doc, "delivered")
    assert db.sql(f"select length(body), {db.md5('body')} from docs") == f"{len(body)}\t{hashlib.md5(body).hexdigest()}"


@on(*ALL)
def test_many_small_ones_share_four_connections(run, db):
    node = run([docs_table(db), INBOX], more="inbox: waybill_inbox, connections: " + ("1" if isinstance(db, Sqlite) else "4"))
    sent = [send(node, f"document {n}".encode()) for n in range(500)]
    wait_for(node, "all rows", lambda: count(db) == len(sent))
    for doc in sent:
        await_state(node, doc, "delivered")
    assert count(db) == count(db, "waybill_inbox") == 500
    if isinstance(db, Postgres):
        assert 1 <= int(db.sql("select count(*) from pg_stat_activity where usename = 'hub'")) <= 4


@on("postgres")
def test_a_large_one(run, db):
    node = run([f"create table docs (id varchar(60) primary key, body {db.binary})"],
               statement="insert into docs (id, body) values (:id, :payload)")
    body = os.urandom(MIB) * 64
    await_state(node, send(node, body), "delivered")
    assert db.sql("select length(body), md5(body) from docs") == f"{len(body)}\t{hashlib.md5(body).hexdigest()}"
    seen = await_state(node, send(node, body + b"x"), "dead")
    assert "more than 64 MiB" in json.dumps(seen)


EACH = "insert into items (doc, pos, price, what, extra, flag) values (:id, :pos, :price, :what, :item_extra, :flag)"
ITEMS = ('{"order": {"lines": [{"pos": 9007199254740993, "price": 12345678901.1234500001, "id": 5, "what": "a\\"b\\u00e9", '
         '"extra": {"k": [1]}, "flag": true}, {"pos": 2, "price": 0.5, "flag": false}, {"pos": 3}]}}')


def items_table(db):
    flag = "boolean" if isinstance(db, Postgres) else "integer"
    return (f"create table items (doc varchar(60), pos bigint, price numeric(30,10), what varchar(60), extra varchar(200), "
            f"flag {flag}, primary key (doc, pos))")


@on(*ALL)
def test_each_item_is_a_row(run, db):
    node = run([items_table(db)], statement=EACH, more='each: "json:/order/lines"')
    doc = send(node, ITEMS.encode())
    await_state(node, doc, "delivered")
    assert db.sql("select doc, pos, coalesce(what, '-'), coalesce(extra, '-') from items order by pos") == "\n".join(
        [f"{doc}\t2\t-\t-", f"{doc}\t3\t-\t-", f'{doc}\t9007199254740993\ta"b\u00e9\t{{"k": [1]}}'])
    assert db.sql("select sum(case when flag then 1 else 0 end) from items") == "1"
    if not isinstance(db, Sqlite):  # whose numbers are doubles
        assert db.sql("select price from items where pos > 5") == "12345678901.1234500001"
    for bad, words in ((b'{"order": {"lines": [{"pos": 1}, {"pos": 7}, {"pos": 7}]}}', "item 3"),
                       (b'{"order": {}}', "nothing at"), (b'{"order": {"lines": {}}}', "no list"), (b"{", "JSON")):
        seen = await_state(node, send(node, bad), "dead")
        assert words in json.dumps(seen)
    assert count(db, "items") == 3  # all or nothing
    await_state(node, send(node, b'{"order": {"lines": []}}'), "delivered")
    assert count(db, "items") == 3


# ---- exactly once

@pytest.mark.proves("DE9", "DE10", "DE11")
@pytest.mark.parametrize("db, point", [("sqlite", "sql.executed:kill:2"), ("sqlite", "sql.committed:kill:2"),
                                       ("postgres", "sql.committed:kill:2"), ("mariadb", "sql.committed:kill:2"),
                                       ("postgres", "send.answered:kill:1"), ("mariadb", "sql.executed:kill:2"),
                                       ("postgres", "sql.entered:kill:2")],
                         indirect=["db"])
def test_our_own_crash_loses_and_doubles_nothing(run, db, point):
    node = run(["create table log (id varchar(60))", INBOX], statement="insert into log (id) values (:id)",
               more="inbox: waybill_inbox", environment={"WAYBILL_FAULT": point}, start=False)
    node.launch()
    node.await_ready()
    sent = []
    try:
        for n in range(6):
            sent.append(send(node, f"document {n}".encode()))
    except OSError:  # it has ended already
        pass
    assert node.ended() == -9
    del node.environment["WAYBILL_FAULT"]
    node.start()
    for doc in sent:
        await_state(node, doc, "delivered")
        assert db.sql(f"select count(*) from log where id = '{doc}'") == "1"


def test_without_an_inbox_a_crash_doubles(run, db):
    """The control of the test above: what it looks for can be found."""
    node = run(["create table log (id varchar(60))"], statement="insert into log (id) values (:id)",
               environment={"WAYBILL_FAULT": "sql.committed:kill:1"}, start=False)
    node.launch()
    node.await_ready()
    doc = send(node)
    assert node.ended() == -9
    del node.environment["WAYBILL_FAULT"]
    node.start()
    await_state(node, doc, "delivered")
    assert count(db, "log") == 2


@pytest.mark.proves("DE6", "DE12")
@pytest.mark.parametrize("db, policy", [("postgres", "hold"), ("mariadb", "hold"), ("postgres", "probe"),
                                        ("mariadb", "resend")], indirect=["db"])
def test_the_answer_to_the_commit_is_lost(run, db, policy):
    """With an inbox it is asked, in the same attempt or the next; without one a person decides."""
    with proxy.Proxy(db.server.port) as wire:
        node = run(["create table log (id varchar(60))", INBOX], statement="insert into log (id) values (:id)",
                   more="timeout: 10s, inbox: waybill_inbox", policy=policy, port=wire.port)
        wire.slam = True
        wire.lose = lambda: not wire.lost and count(db, "log") == 1
        doc = send(node)
        await_state(node, doc, "delivered")
        assert wire.lost == 1 and "inbox has" in trace(node, doc)
        assert count(db, "log") == 1


@pytest.mark.proves("DE6")
@on(*SERVERS)
def test_the_answer_is_lost_without_an_inbox(run, db):
    with proxy.Proxy(db.server.port) as wire:
        node = run(["create table log (id varchar(60))"], statement="insert into log (id) values (:id)",
                   more="timeout: 10s", policy="hold", port=wire.port)
        wire.slam = True
        wire.lose = lambda: not wire.lost and count(db, "log") == 1
        doc = send(node)
        seen = await_state(node, doc, "in_doubt")
        assert "commit" in json.dumps(seen) + trace(node, doc)
        assert count(db, "log") == 1


# ---- what the server says

@pytest.mark.proves("DE7")
@on(*ALL)
def test_what_can_never_be_executed_is_rejected(run, db):
    node = run(["create table docs (id varchar(60) primary key, n integer not null check (n < 10))"],
               statement="insert into docs (id, n) values ('same', :note)")
    await_state(node, send(node, Note="5"), "delivered")
    for note in ("5", "11", ""):  # it is there, the check, NULL
        seen = await_state(node, send(node, Note=note), "dead")
        assert seen["error"]["code"] == "rejected", seen
    assert count(db) == 1
    for statement in ("insert into nothing values (:id)", "insert nonsense :id"):
        node.write_config(config(db, statement))
        applied = node.cli("apply", node.config_file)
        assert applied.returncode == 0, applied.stderr
        seen = await_state(node, send(node), "dead")
        assert seen["error"]["code"] == "rejected" and seen["error"]["message"], seen


@pytest.mark.proves("DE8")
@on("postgres")
def test_a_deadlock_is_tried_again(run, db):
    node = run(["create table hot (id integer primary key, n integer)", "insert into hot values (1, 0), (2, 0)"],
               statement="update hot set n = n + 1 where id = :id_", more='each: "json:"')
    rounds = 0
    while True:
        rounds += 1
        with psycopg.connect(db.server.conninfo("hub")) as other:
            other.execute("update hot set n = n where id = 2")
            doc = send(node, b'[{"id_": 1}, {"id_": 2}]')
            wait_for(node, "a wait for us", lambda: db.sql("select count(*) from pg_locks where not granted") != "0")
            try:
                other.execute("update hot set n = n where id = 1")
            except psycopg.errors.DeadlockDetected:  # it was the other's turn
                other.rollback()
        await_state(node, doc, "delivered")
        if "deadlock" in trace(node, doc):
            break
        assert rounds < 20
    assert db.sql("select n from hot order by id") == f"{rounds}\n{rounds}"


@pytest.mark.proves("DE5")
@on(*SERVERS)
def test_a_wrong_password_opens_the_breaker(run, db):
    node = run([docs_table(db)], password="hunter2")
    doc = send(node)
    words = wait_for(node, "a refusal", lambda: [w for w in (trace(node, doc),) if "authentication failed" in w
                                                 or "Access denied" in w])[0]
    assert "breaker" in wait_for(node, "held", lambda: look(node, doc)["deliveries"][0]["held"])
    assert "hunter2" not in node.tail(10000) + words
    others_go_on(node)
    node.write_config(config(db))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr
    await_state(node, doc, "delivered")
    assert count(db) == 1


@on("postgres")
def test_a_missing_right_is_waited_for(run, db):
    node = run([docs_table(db)])
    db.sql("revoke all on docs from hub")
    doc = send(node)
    await_words(node, doc, "permission denied")
    assert "breaker" in wait_for(node, "held", lambda: look(node, doc)["deliveries"][0]["held"])
    others_go_on(node)
    db.sql("grant all on docs to hub")
    await_state(node, doc, "delivered")
    assert count(db) == 1


@on(*ALL)
def test_a_missing_inbox_says_how_it_is_made(run, db):
    node = run(["create table log (id varchar(60))"], statement="insert into log (id) values (:id)",
               more="inbox: waybill_inbox")
    doc = send(node)
    await_words(node, doc, "CREATE TABLE waybill_inbox")
    ddl = "CREATE TABLE" + trace(node, doc).split("CREATE TABLE")[1].split("NOT NULL)")[0] + "NOT NULL)"
    assert count(db, "log") == 0
    db.sql(ddl)
    if isinstance(db, Postgres):
        db.sql("grant all on waybill_inbox to hub")
    await_state(node, doc, "delivered")
    assert count(db, "log") == count(db, "waybill_inbox") == 1


# ---- the server fails

@pytest.mark.proves("DE5", "DE6")
@on(*SERVERS)
def test_a_server_that_is_killed_is_waited_for(run, db):
    node = run(["create table log (id varchar(60))", INBOX], statement="insert into log (id) values (:id)",
               more="inbox: waybill_inbox")
    await_state(node, send(node), "delivered")
    db.server.kill_hard()
    try:
        docs = [send(node, f"{n}".encode()) for n in range(5)]
        for doc in docs:
            wait_for(node, "an attempt", lambda: "retrying" in trace(node, doc))  # pylint: disable=cell-var-from-loop
        others_go_on(node)
    finally:
        db.server.start()
    for doc in docs:
        await_state(node, doc, "delivered")
    assert count(db, "log") == 6 == int(db.sql("select count(distinct id) from log"))


@pytest.mark.proves("DE18")
@on(*SERVERS)
def test_a_server_that_stands_still_costs_an_attempt(run, db):
    node = run(["create table log (id varchar(60))", INBOX], statement="insert into log (id) values (:id)",
               more="inbox: waybill_inbox, timeout: 1500ms, connect_timeout: 1500ms")
    await_state(node, send(node), "delivered")
    db.server.freeze()
    try:
        docs = [send(node, f"{n}".encode()) for n in range(5)]
        # Whichever was tried: once the breaker is open, one of them probes and the others wait.
        wait_for(node, "in time", lambda: any("in time" in trace(node, doc) for doc in docs))
        others_go_on(node)
        assert not [e for e in node.events if e.get("event") == "endpoint.hang"]
    finally:
        db.server.thaw()
    for doc in docs:
        await_state(node, doc, "delivered")
    assert count(db, "log") == 6 == int(db.sql("select count(distinct id) from log"))


# ---- the driver fails

@pytest.fixture(scope="module")
def drivers(tmp_path_factory):
    """A folder with an odbcinst.ini of its own: those of the machine, and some that misbehave."""
    folder = tmp_path_factory.mktemp("odbc")
    (folder / "secret").write_text("secret")
    listener = socket.create_server(("127.0.0.1", 0))
    ini = pathlib.Path("/etc/odbcinst.ini").read_text(encoding="utf-8")
    for how in ("HANG", "CRASH", "END", "FLOOD", "SPY"):
        library = folder / f"{how.lower()}.so"
        subprocess.run(["gcc", "-shared", "-fPIC", f"-DHOW={how}", f'-DSECRET="{folder.parent}/secret"',
                        f"-DPORT={listener.getsockname()[1]}", "-o", library, FAKE], check=True)
        ini += f"\n[{how}]\nDriver={library}\n"
    (folder.parent / "secret").write_text("secret")
    (folder / "odbcinst.ini").write_text(ini)
    yield folder
    listener.close()


@pytest.mark.proves("DE18")
@pytest.mark.parametrize("how, words", [("HANG", "in time"), ("CRASH", "crashed"), ("END", "ended"), ("FLOOD", "must not say")])
def test_a_driver_that_misbehaves_costs_an_attempt(run, db, drivers, how, words):
    # A process that is started on a busy machine has more than a moment to end by itself.
    times = "timeout: 3s, connect_timeout: 1s" if how == "HANG" else "timeout: 30s, connect_timeout: 20s"
    node = run([docs_table(db)], dsn=f"Driver={how};Server=127.0.0.1", more=times,
               environment={"ODBCSYSINI": str(drivers)})
    doc = send(node)
    await_words(node, doc, words)
    others_go_on(node)
    node.write_config(config(db))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr
    await_state(node, doc, "delivered")
    assert count(db) == 1


@pytest.mark.skipif(BINARY.parent.name in ("asan", "tsan"), reason="a sanitizer needs what is forbidden")
@pytest.mark.proves("S6")
def test_a_driver_can_do_nothing_but_connect(run, db, drivers):
    node = run(dsn="Driver=SPY;Server=127.0.0.1;Port=9", environment={"ODBCSYSINI": str(drivers), "SECRET_OF_TESTS": "1"})
    doc = send(node)
    await_words(node, doc, "spy: ", "end")
    told = re.search(r"spy: ([a-z -]*)\bend\b", trace(node, doc)).group(1).split()
    confined = [e for e in node.events if e.get("event") == "node.confine"][0]
    expected = set() if confined["landlock"] != "none" else {"read-secret", "write-secret", "write-etc", "other-port"}
    assert set(told) <= expected and not (drivers.parent / "secret.new").exists()


@pytest.mark.proves("S6")
@pytest.mark.parametrize("dsn, words", [
    ("Driver=/usr/lib/x.so;Server=a", "never a path"), ("Driver=libsqlite3odbc.so;Database=/x", "never a path"),
    ("Driver={/tmp/x.so};Server=a", "never a path"), ("Driver=..;Server=a", "never a path"),
    ("Driver=SQLite3;Database=/x.db;LoadExt=/tmp/x.so", "LoadExt"), ("DSN=orders;UID=x", "kept elsewhere"),
    ("FileDSN=/tmp/x", "kept elsewhere"), ("Server=a;UID=b", "names no driver"), ("nonsense", "KEY=VALUE"),
    ("Driver=SQLite3;Database=x.db", "begins with /"), ("Driver=MariaDB Unicode;PLUGIN_DIR=/tmp;Server=x", "PLUGIN_DIR"),
    ("Driver=SQLite3;Driver=SQLite3;Database=/x", "twice")])
def test_what_a_dsn_may_not_name(program, db, tmp_path, dsn, words):
    path = tmp_path / "w.yaml"
    path.write_text(config(db, dsn=dsn))
    checked = program("check", path)
    assert checked.returncode != 0 and words in checked.stdout + checked.stderr


@pytest.mark.parametrize("more, statement, words", [
    ("inbox: 'a; drop table b'", INSERT, "the name of a table"), ("inbox: 'a.'", INSERT, "the name of a table"),
    ("each: items", INSERT, "json:/items"), ("", "insert into t values (?)", "parameters have names"),
    ("", "insert into t values ('x", "has no end"), ("", "insert into t values ('x\\'')", "behind a backslash")])
def test_mistakes_are_found_before(program, tmp_path, more, statement, words):
    path = tmp_path / "w.yaml"
    path.write_text(config(None, dsn="Driver=SQLite3;Database=/tmp/x.db", more=more, statement=statement))
    checked = program("check", path)
    assert checked.returncode != 0 and words in checked.stdout + checked.stderr


def test_a_driver_that_is_not_installed(run, db):
    node = run(dsn="Driver=Oracle;Server=127.0.0.1")
    await_words(node, send(node), "no ODBC driver is installed under the name `Oracle`", "SQLite3")
    others_go_on(node)


def test_where_this_node_sends_nothing(run, db):
    node = run(dsn="Driver=PostgreSQL Unicode;Server=169.254.1.1;Database=x;UID=x")
    await_words(node, send(node), "link-local address", "node.egress")


def test_the_store_of_the_node_is_no_database(run, make_node, db, tmp_path):
    data = tmp_path / "node0" / "data"
    node = run(dsn=f"Driver=SQLite3;Database={data}/waybill.db", statement="delete from x")
    await_words(node, send(node), "data folder of the node")


def test_a_database_outside_of_the_folders_of_the_node(run, tmp_path_factory):
    """Neither read nor written, whatever the kernel can confine."""
    away = tmp_path_factory.mktemp("away") / "far.db"
    with contextlib.closing(sqlite3.connect(away)) as far:
        far.execute("create table docs (id text)")
    node = run(dsn=f"Driver=SQLite3;Database={away}", statement="insert into docs (id) values (:id)")
    await_words(node, send(node), "outside of node.folders")
    with contextlib.closing(sqlite3.connect(away)) as far:
        assert far.execute("select count(*) from docs").fetchone() == (0,)


# ---- connections are kept

@on("postgres")
def test_an_apply_keeps_connections_unless_it_changes_them(run, db):
    def pids():
        return db.sql("select string_agg(pid::text, ' ') from pg_stat_activity where usename = 'hub'")

    node = run([docs_table(db)])
    await_state(node, send(node), "delivered")
    first = pids()
    assert first
    node.write_config(config(db).replace("receiver: near }", "receiver: near, type: order }"))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr
    await_state(node, send(node), "delivered")
    assert pids() == first
    db.sql(f"select pg_terminate_backend({first.split()[0]})")  # the next one notices, and takes another
    wait_for(node, "the end of it", lambda: pids() != first)
    doc = send(node)
    await_state(node, doc, "delivered")
    assert look(node, doc)["deliveries"][0]["attempts"] == 1
