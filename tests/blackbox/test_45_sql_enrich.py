"""The step `enrich` with `dsn`: a database is asked, and its rows go into the document.  SQLite, PostgreSQL and MariaDB;
what becomes of the document when the query, the database or its driver fails."""
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import time

import mariadb
import postgres as pg_harness
import pytest

from wire import wait_until

SECONDS = 90
FAKE = pathlib.Path(__file__).parent.parent / "harness" / "odbc_fake.c"
ASK = "select name, city, credit from customer where id = :customer"
OVERRUN = 5_000_000  # microseconds: far more than `timeout`, and less than when the node itself would give it up
BY_PATH = {"customer": "json:/customer"}


class Sqlite:
    def __init__(self, folder):
        self.path = folder / "crm.db"
        self.server = None

    def dsn(self):
        return f"Driver=SQLite3;Database={self.path}"

    def sql(self, text):
        with contextlib.closing(sqlite3.connect(self.path, timeout=60)) as db:
            for part in text.split(";"):
                db.execute(part)
            db.commit()


class Postgres:
    def __init__(self, _):
        self.server = pg_harness.Cluster(tcp=True, settings=pg_harness.UNSYNCED)
        self.server.create_database("hub")

    def dsn(self):
        return f"Driver={{PostgreSQL Unicode}};Server=127.0.0.1;Port={self.server.port};Database=hub;UID={pg_harness.OWNER}"

    def sql(self, text):
        return self.server.sql(text, "hub")


class Maria:
    def __init__(self, _):
        self.server = mariadb.Server()

    def dsn(self):
        return self.server.dsn()

    def sql(self, text):
        return self.server.sql(text)


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    made = {}

    def of(kind):
        if kind not in made:
            made[kind] = {"sqlite": Sqlite, "postgres": Postgres, "mariadb": Maria}[kind](tmp_path_factory.mktemp("crm"))
            made[kind].sql("create table customer (id integer primary key, name varchar(99), city varchar(99), "
                           "credit decimal(12,2)); insert into customer values (7, 'Acme \"1\"', 'Köln', 10.50), "
                           "(8, 'Bolt', null, 0.10)")
        return made[kind]

    yield of
    for one in made.values():
        if one.server is not None:
            one.server.close()


@pytest.fixture
def db(request, databases):
    return databases(getattr(request, "param", "sqlite"))


every = pytest.mark.parametrize("db", ("sqlite", "postgres", "mariadb"), indirect=True)


def config(ways):
    """A route for each: receiver and step."""
    sections = {
        "systems": {"acme": {}, **{name: {} for name in ways}},
        "types": {"order": {}},
        "gateways": {"web": {"kind": "http", "auth": "none", "extract": {
            "sender": "value:acme", "receiver": "header:To", "type": "value:order", "attributes": {"buyer": "header:Buyer"}}}},
        "endpoints": {"out": {"kind": "file", "path": "./out", "name": "${id}"}},
        "routes": [{"name": name, "when": {"receiver": name}, "do": [*([{"enrich": step}] if step else []), {"deliver": "out"}]}
                   for name, step in ways.items()],
    }
    return "".join(f"{name}: {json.dumps(content)}\n" for name, content in sections.items())


def ask(db, query=ASK, dsn=None, **more):
    return {"dsn": dsn or db.dsn(), "query": query, "values": BY_PATH, "into": "/buyer", "timeout": "20s",
            "retry": {"first": "50ms", "most": "300ms"}, "breaker": {"failures": 1000, "wait": "200ms"}, **more}


@pytest.fixture
def run(make_node, tmp_path_factory):
    """A running node with these ways, which may use the folder of the database."""
    def make(ways, **settings):
        node = make_node(config=config(ways), options=f"folders: [{json.dumps(str(tmp_path_factory.getbasetemp()))}]", **settings)
        node.start()
        return node
    return make


def apply(node, ways):
    node.write_config(config(ways))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr


def send(node, to, body=b'{"customer":"7"}', **headers):
    return node.accept("web", body, {"To": to, **headers})


def look(node, doc):
    return node.show(doc, "state error { code message }")


def made_of(node, doc):
    node.await_state(doc, "delivered", look=look, seconds=SECONDS)
    return (node.folder / "out" / doc).read_bytes()


def death_of(node, doc):
    return node.await_state(doc, "dead", look=look, seconds=SECONDS)["error"]


def until(node, doc, words):
    """Its timeline has the words."""
    deadline = time.monotonic() + SECONDS
    while words not in (said := node.cli("docs", "trace", doc).stdout):
        assert time.monotonic() < deadline, said
        time.sleep(0.05)


@every
def test_a_row_goes_into_the_document(run, db):
    node = run({
        "one": ask(db), "all": ask(db, "select id, credit from customer where id >= :customer order by id", rows="all"),
        "by": ask(db, "select name from customer where id = :buyer and :sender = 'acme'", values={}),
        "xml": ask(db, values={"customer": "xml:/Order/@by"}, into="/Order/Buyer")})
    docs = {to: send(node, to) for to in ("one", "all")}
    docs["by"] = send(node, "by", Buyer="8")
    docs["xml"] = send(node, "xml", b'<Order by="7"><Line/></Order>')
    one = made_of(node, docs["one"]).decode()
    buyer = json.loads(one)["buyer"]
    assert one.startswith('{"customer":"7","buyer":{"name":"Acme \\"1\\"","city":"Köln"') and float(buyer["credit"]) == 10.5
    assert isinstance(db, Sqlite) or '"credit":10.50}}' in one  # every digit
    assert [row["id"] for row in json.loads(made_of(node, docs["all"]))["buyer"]] == [7, 8]
    assert json.loads(made_of(node, docs["by"]))["buyer"] == {"name": "Bolt"}
    assert "<Buyer><name>Acme &quot;1&quot;</name><city>Köln</city>" in made_of(node, docs["xml"]).decode()


def test_no_row_is_what_missing_says(run, db):
    node = run({"fail": ask(db), "pass": ask(db, missing="pass"), "wait": ask(db, missing="wait")})
    body = b'{"customer":"11"}'
    assert made_of(node, send(node, "pass", body)) == body
    error = death_of(node, send(node, "fail", body))
    assert error["code"] == "service_failed" and "the database has no row" in error["message"]
    later = send(node, "wait", body)
    until(node, later, "the database has no row")
    db.sql("insert into customer values (11, 'Late', 'Ulm', 1)")
    assert json.loads(made_of(node, later))["buyer"]["name"] == "Late"


def test_a_value_that_is_not_there_is_no_attribute(run, db):
    """Both have the name `buyer`: what `values` names comes from the document or is NULL."""
    query = "select name from customer where id = :buyer"
    node = run({"values": ask(db, query, values={"buyer": "json:/by"}, missing="pass"),
                "attribute": ask(db, query, values={}),
                "null": ask(db, "select coalesce(:buyer, 'none') as who", values={"buyer": "json:/by"})})
    body = b'{"customer":"7"}'
    assert made_of(node, send(node, "values", body, Buyer="8")) == body
    assert json.loads(made_of(node, send(node, "null", body, Buyer="8")))["buyer"] == {"who": "none"}
    assert json.loads(made_of(node, send(node, "attribute", body, Buyer="8")))["buyer"] == {"name": "Bolt"}
    assert json.loads(made_of(node, send(node, "values", b'{"by":"7"}', Buyer="8")))["buyer"] == {"name": 'Acme "1"'}


@every
def test_what_can_never_be_answered_is_a_dead_letter(run, db):
    many = "select a.id from customer a, customer b, customer c, customer d, customer e, customer f, customer g, customer h, " \
           "customer i, customer j where :customer = '7'"
    large = "hex(zeroblob(700000))" if isinstance(db, Sqlite) else "repeat('xy', 700000)"
    ways = {
        "table": (ask(db, "select * from nope where id = :customer"), "nope", "correct `query`"),
        "words": (ask(db, "selekt name where 1 = :customer"), "selekt", "correct `query`"),
        "two": (ask(db, "select id from customer where id > :customer - 1000"), "more than one row", "`rows: all`"),
        "many": (ask(db, many, rows="all"), "more than 1000 rows", "ask for fewer"),
        "large": (ask(db, f"select {large} as n from customer where id = :customer"), "the answer has more than", "ask for fewer"),
        "twice": (ask(db, "select id, id from customer where id = :customer"), "two columns", "AS"),
        "nothing": (ask(db, "update customer set city = 'gone' where id = :customer"), "no rows by its kind", "SELECT"),
    }
    node = run({name: step for name, (step, *_) in ways.items()})
    docs = {name: send(node, name) for name in ways}
    for name, (_, reason, remedy) in ways.items():
        error = death_of(node, docs[name])
        assert error["code"] == "service_failed" and reason in error["message"] and remedy in error["message"], (name, error)
    apply(node, {"one": ask(db)})
    assert json.loads(made_of(node, send(node, "one")))["buyer"]["city"] == "Köln"  # what was changed was rolled back


@pytest.mark.parametrize("db", ("postgres",), indirect=True)
@pytest.mark.proves("S6")
def test_values_are_bound_and_connections_kept(run, db):
    node = run({"one": ask(db, "select name, :evil as evil from customer where id = :customer",
                           values={**BY_PATH, "evil": "json:/evil"})})
    evil = "'; drop table customer; --"
    pids = set()
    docs = [send(node, "one", json.dumps({"customer": "7", "evil": evil}).encode()) for _ in range(30)]
    for doc in docs:
        assert json.loads(made_of(node, doc))["buyer"]["evil"] == evil
        pids |= set(db.sql("select pid from pg_stat_activity where datname = 'hub' and application_name = 'waybill'").split())
    assert 1 <= len(pids) < 15, pids
    # A connection that the server has closed meanwhile is opened anew.
    db.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'waybill'")
    made_of(node, send(node, "one"))


@pytest.fixture
def drivers(tmp_path):
    """A folder with an odbcinst.ini of its own, with drivers that misbehave until they are mended."""
    folder = tmp_path / "odbc"
    folder.mkdir()
    ini = pathlib.Path("/etc/odbcinst.ini").read_text(encoding="utf-8")
    bad = ""
    for how in ("HANG", "CRASH"):
        subprocess.run(["gcc", "-shared", "-fPIC", f"-DHOW={how}", '-DSECRET="/nonexistent"', "-DPORT=9", "-o",
                        folder / f"{how}.so", FAKE], check=True)
        bad += f"\n[SQLite3 {how}]\nDriver={folder}/{how}.so\n"
    good = "".join(f"\n[SQLite3 {how}]\n" + ini.split("[SQLite3]")[1].split("[")[0] for how in ("HANG", "CRASH"))
    (folder / "odbcinst.ini").write_text(ini + bad)
    yield folder, lambda: (folder / "odbcinst.ini").write_text(ini + good)


@pytest.mark.proves("PR6")
def test_a_driver_that_misbehaves_costs_an_attempt(run, db, drivers):
    folder, mend = drivers
    node = run({**{how: ask(db, dsn=f"Driver=SQLite3 {how.upper()};Database={db.path}", timeout="5s", connect_timeout="3s")
                   for how in ("hang", "crash")}, "near": None,
                "short": ask(db, dsn=f"Driver=SQLite3 HANG;Database={db.path}", timeout="1s", connect_timeout="60s")}, environment={"ODBCSYSINI": str(folder)})
    docs = {to: send(node, to) for to in ("hang", "crash", "short")}
    until(node, docs["hang"], "did not answer in time")
    until(node, docs["crash"], "the driver crashed")
    until(node, docs["short"], "did not answer in time")

    def waited():
        lines = node.show(docs["short"], "timeline { duration message }")["timeline"]
        return [line["duration"] for line in lines if "in time" in (line["message"] or "")]
    wait_until(lambda: min(waited()) < OVERRUN, 60, "an attempt that is ended in time")  # on a busy machine not each is
    assert made_of(node, send(node, "near")) == b'{"customer":"7"}'
    assert not {look(node, doc)["state"] for doc in docs.values()} & {"dead", "delivered"}
    mend()
    for doc in docs.values():
        assert json.loads(made_of(node, doc))["buyer"]["name"] == 'Acme "1"'


@pytest.mark.parametrize("db", ("mariadb",), indirect=True)
def test_a_database_that_is_gone_or_stands_still_is_waited_for(run, db):
    node = run({"one": ask(db, timeout="2s", connect_timeout="2s")})
    made_of(node, send(node, "one"))
    db.server.freeze()
    try:
        still = send(node, "one")
        until(node, still, "in time")
    finally:
        db.server.thaw()
    made_of(node, still)
    db.server.kill_hard()
    gone = send(node, "one")
    until(node, gone, "enrich: the database:")
    db.server.start()
    made_of(node, gone)


@pytest.mark.parametrize("step, words", [
    ({"dsn": "Driver=SQLite3;Database=/tmp/x.db"}, "`dsn` needs `query`"),
    ({"dsn": "Driver=SQLite3;Database=/tmp/x.db", "query": "select :payload"}, "a document is not sent"),
    ({"dsn": "Driver=SQLite3;Database=/tmp/x.db", "query": "select ?"}, "parameters have names"),
    ({"dsn": "Driver=/tmp/x.so;Server=a", "query": "select 1"}, "never a path"),
    ({"dsn": "Driver=SQLite3;Database=/tmp/x.db", "query": "select 1", "values": {"a": "json:/a"}}, "`query` has no :a"),
    ({"url": "http://127.0.0.1:9/", "query": "select 1"}, "`query` is for `dsn`"),
    ({"set": "s", "key": "json:/a", "rows": "all"}, "`rows` is for `dsn`"),
])
def test_mistakes_are_found_before(program, tmp_path, step, words):
    path = tmp_path / "w.yaml"
    path.write_text(config({"one": step}))
    checked = program("check", path)
    assert checked.returncode != 0 and words in checked.stdout + checked.stderr
