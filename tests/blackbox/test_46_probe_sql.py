"""waybill probe of databases: each planted fault is named with its remedy, healthy ways pass, and no statement is run,
no row taken, no file made.  PostgreSQL, MariaDB and SQLite, over ODBC, and what an SQL Server's driver does
without one."""
import contextlib
import json
import pathlib
import re
import shutil
import socket
import sqlite3

import mariadb
import postgres as pg_harness
import pytest

from peers import free_ports
from rig.receiver import Certificates
from running_node import Node
from wire import wait_until

SECRET = "wr0ng-secret"
SOON = {"connect_timeout": "2s", "timeout": "2s"}
DOCS = "create table docs (id varchar(60) primary key, body text)"
INBOX = "create table waybill_inbox (delivery varchar(200) not null primary key, " \
        "received timestamp default current_timestamp not null)"
KEYLESS = "create table keyless (delivery varchar(200) not null, received timestamp default current_timestamp not null)"
WIDE = "create table wide (delivery varchar(200) not null, received timestamp default current_timestamp not null, " \
       "primary key (delivery, received))"
MAKE_KEY = "CREATE UNIQUE INDEX keyless_delivery ON keyless (delivery)"
INSERT = "insert into docs (id, body) values (:id, :payload)"


class Postgres:
    """With a user `hub`, who may read `looked` only, and TLS."""

    def __init__(self, certificates):
        self.server = pg_harness.Cluster(tcp=True, settings=pg_harness.UNSYNCED)
        hba = pathlib.Path(self.server.directory, "pg_hba.conf")
        hba.write_text("host all hub 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
        for source, name in (("good.pem", "server.crt"), ("good.key", "server.key")):
            path = pathlib.Path(self.server.directory, name)
            path.write_bytes(pathlib.Path(certificates.path(source)).read_bytes())
            path.chmod(0o600)
            owner = hba.stat()
            shutil.chown(path, owner.st_uid, owner.st_gid)
        self.server.sql("alter system set ssl = on")
        self.server.sql("select pg_reload_conf()")
        self.server.create_database("hub")
        self.server.sql("create role hub login password 'open'")
        self.sql(f"{KEYLESS}; {WIDE}; create table late (delivery text primary key deferrable); create schema side; "
                 f"{INBOX.replace('waybill_inbox', 'side.own')}; "
                 "grant all on keyless, wide, late to hub; grant usage on schema side to hub; grant all on side.own to hub")
        self.sql(f"{DOCS}; {INBOX}; create table docs_serial (n serial, id text); create table bare (other int); "
                 "create view seen as select * from waybill_inbox; create table looked (id int); create sequence looks; "
                 "create function looking() returns int language sql volatile as $$ select nextval('looks')::int $$; "
                 "grant all on docs, waybill_inbox, seen, docs_serial, bare to hub; grant select on looked to hub; "
                 "grant all on all sequences in schema public to hub")

    def dsn(self, more="", user="hub", password="open", database="hub", port=None, server="127.0.0.1"):
        return (f"Driver={{PostgreSQL Unicode}};Server={server};Port={port or self.server.port};Database={database};"
                f"UID={user};PWD={password}{more}")

    def sql(self, text):
        return self.server.sql(text, "hub")


class Maria:
    """With a user `reader`, who may read only, and at first without TLS."""

    def __init__(self):
        self.server = mariadb.Server()
        self.server.sql(f"{KEYLESS}; {WIDE}; {INBOX.replace('waybill_inbox', 'old')} engine=MyISAM")
        self.server.sql(f"{DOCS}; {INBOX}; create user reader@'127.0.0.1' identified by 'open'; "
                        "grant select on waybill.* to reader@'127.0.0.1'")

    def dsn(self, more="", user="hub", password="open", database="waybill", port=None):
        return (f"Driver=MariaDB Unicode;Server=127.0.0.1;Port={port or self.server.port};Database={database};UID={user};"
                f"PWD={password}{more}")


class World:
    def __init__(self, folder):
        self.certificates = Certificates(folder / "tls")
        self.postgres = Postgres(self.certificates)
        self.maria = Maria()
        self.closed = free_ports(1)[0]
        self.silent = socket.create_server(("127.0.0.1", 0))  # it takes connections and says nothing
        self.file = folder / "db" / "far.db"
        self.alone = folder / "alone" / "far.db"  # of an endpoint: nobody but a probe uses it
        self.missing = self.file.parent / "missing.db"
        for path in (self.file, self.alone):
            path.parent.mkdir()
            with contextlib.closing(sqlite3.connect(path)) as db:
                db.execute("pragma journal_mode=wal")  # which has files beside it while it is used
                for statement in (DOCS, INBOX, KEYLESS, WIDE):
                    db.execute(statement)

    def sqlite(self, path=None):
        return f"Driver=SQLite3;Database={path or self.file}"

    def close(self):
        self.silent.close()
        self.postgres.server.close()
        self.maria.server.close()


def sql(dsn, statement=INSERT, **more):
    return {"kind": "sql", "dsn": dsn, "statement": statement, **more}


def tds(port):
    """An SQL Server.  There is none for Debian: what its driver does without one is all that can be seen."""
    return f"Driver=FreeTDS;Server=127.0.0.1;Port={port};Database=hub;UID=hub;PWD={SECRET};TDS_Version=7.4"


def poll(dsn, query, **more):
    return {"kind": "sql", "dsn": dsn, "query": query, "every": "24h",
            "extract": {"sender": "value:hub", "receiver": "value:hub", "type": "value:row"}, **more}


def healthy(w):
    pg, maria, inbox = w.postgres, w.maria, {"inbox": "waybill_inbox"}
    ca = w.certificates.path("ca.pem")
    way = ("settings", "driver", "connect", "login", "statement", "inbox", "key", "rights", "clock")
    asked = ("settings", "driver", "connect", "login", "query", "columns", "rights", "clock")
    tls = ("settings", "driver", "connect", "TLS", "login", "statement", "rights", "clock")
    return {
        "pg": (sql(pg.dsn(), **inbox), way),
        "pg-schema": (sql(pg.dsn(), inbox="side.own"), way),
        "pg-view": (sql(pg.dsn(), inbox="seen"), tuple(s for s in way if s != "key")),  # whose key it has is not told
        "pg-tls": (sql(pg.dsn(f";SSLmode=verify-full;SSLrootcert={ca}")), tls),
        "pg-serial": (sql(pg.dsn(), "insert into docs_serial (id) values (:id)"),
                      tuple(s for s in way if s not in ("inbox", "key"))),
        "maria": (sql(maria.dsn(), **inbox), way),
        "maria-schema": (sql(maria.dsn(), inbox="waybill.waybill_inbox"), way),
        "lite": (sql(w.sqlite(w.alone), **inbox), ("settings", "driver", "database", "statement", "inbox", "key", "rights")),
        "pg-in": (poll(pg.dsn(), "select * from (select looking() as id) q where id > :id + 1000000 order by id",
                       cursor="id"), asked),
        "maria-in": (poll(maria.dsn(user="reader"), "select * from docs where id > :id order by id", cursor="id"), asked),
        "lite-in": (poll(w.sqlite(), "select * from docs where id > :id order by id", cursor="id"),
                    ("settings", "driver", "database", "query", "columns", "rights")),
    }


def broken(w):
    """Name: what is configured, the step that fails, reason, remedy."""
    pg, maria = w.postgres, w.maria
    inbox = {"inbox": "waybill_inbox"}
    other = w.certificates.path("self_signed.pem")
    return {
        "driver": (sql("Driver=Oracle;Server=127.0.0.1"), "driver", "no ODBC driver is installed under the name `Oracle`",
                   "install the package"),
        "pg-password": (sql(pg.dsn(password=SECRET)), "login", "password authentication failed", "check `UID` and `PWD`"),
        "maria-password": (sql(maria.dsn(password=SECRET)), "login", "Access denied", "check `UID` and `PWD`"),
        "pg-role": (sql(pg.dsn(user="nobody")), "login", "role", "check `UID` and `PWD`"),
        "pg-database": (sql(pg.dsn(database="nope")), "database", 'database "nope" does not exist', "correct `Database`"),
        "maria-database": (sql(maria.dsn(database="nope")), "database", "'nope'", "correct `Database`"),
        "lite-database": (sql(w.sqlite(w.missing)), "database", "No such file", "check `Database`"),
        "pg-port": (sql(pg.dsn(port=w.closed)), "connect", "refused", "check host and port"),
        "maria-port": (sql(maria.dsn(port=w.closed)), "connect", "refused", "check host and port"),
        "tds-port": (sql(tds(w.closed)), "connect", "refused", "check host and port"),
        "pg-name": (sql(pg.dsn(server="nowhere.invalid")), "name", "nowhere.invalid is not known", "check the host"),
        "pg-egress": (sql(pg.dsn(server="169.254.1.1")), "connect", "link-local", "docs/reach.md"),
        "pg-ca": (sql(pg.dsn(f";SSLmode=verify-full;SSLrootcert={other}")), "TLS", "certificate", "TLS in `dsn`"),
        "maria-tls": (sql(maria.dsn(";ForceTLS=1")), "TLS", "connected without it", "TLS in `dsn`"),
        "maria-verify": (sql(maria.dsn(f";SSLVerify=1;SSLCA={w.certificates.path('ca.pem')}")), "TLS",
                         "the server does not support it", "TLS in `dsn`"),
        "pg-table": (sql(pg.dsn(), "insert into nope values (:id)"), "statement", '"nope" does not exist', "correct `statement`"),
        "maria-table": (sql(maria.dsn(), "insert into nope values (:id)"), "statement", "nope' doesn't exist",
                        "correct `statement`"),
        "lite-table": (sql(w.sqlite(), "insert into nope values (:id)"), "statement", "no such table: nope",
                       "correct `statement`"),
        "maria-words": (sql(maria.dsn(), "inzert into docs values (:id)"), "statement", "syntax", "correct `statement`"),
        "pg-inbox": (sql(pg.dsn(), inbox="nowhere"), "inbox", '"nowhere" does not exist', "CREATE TABLE nowhere"),
        "pg-inbox-bare": (sql(pg.dsn(), inbox="bare"), "inbox", 'column "delivery"', "CREATE TABLE bare"),
        "maria-inbox": (sql(maria.dsn(), inbox="nowhere"), "inbox", "nowhere' doesn't exist", "CREATE TABLE nowhere"),
        "lite-inbox": (sql(w.sqlite(), inbox="nowhere"), "inbox", "no such table", "CREATE TABLE nowhere"),
        "pg-keyless": (sql(pg.dsn(), inbox="keyless"), "key", "keyless has no unique index", MAKE_KEY),
        "pg-wide": (sql(pg.dsn(), inbox="wide"), "key", "wide has no unique index", "CREATE UNIQUE INDEX wide_delivery ON wide "),
        "pg-late": (sql(pg.dsn(), inbox="late"), "key", "late has no unique index", "CREATE UNIQUE INDEX late_delivery ON late "),
        "maria-keyless": (sql(maria.dsn(), inbox="keyless"), "key", "keyless has no unique index", MAKE_KEY),
        "maria-wide": (sql(maria.dsn(), inbox="wide"), "key", "wide has no unique index", "CREATE UNIQUE INDEX wide_delivery"),
        "maria-old": (sql(maria.dsn(), inbox="old"), "key", "old has no transactions (MyISAM)", "ALTER TABLE old ENGINE=InnoDB"),
        "lite-keyless": (sql(w.sqlite(), inbox="keyless"), "key", "keyless has no unique index", MAKE_KEY),
        "lite-wide": (sql(w.sqlite(), inbox="main.wide"), "key", "main.wide has no unique index",
                      "CREATE UNIQUE INDEX main.wide_delivery ON wide "),
        "lite-outside": (sql(w.sqlite("/etc/passwd")), "database", "outside of node.folders", "docs/reach.md"),
        "lite-outside-in": (poll(w.sqlite("/etc/none.db"), "select 1 as id where 1 > :id", cursor="id"), "database",
                            "outside of node.folders", "docs/reach.md"),
        "pg-rights": (sql(pg.dsn(), "insert into looked (id) values (:n)", **inbox), "rights", "permission denied", "grant it"),
        "maria-rights": (sql(maria.dsn(user="reader")), "rights", "INSERT command denied", "grant it"),
        "pg-query": (poll(pg.dsn(), "select id from nope where id > :id order by id", cursor="id"), "query",
                     '"nope" does not exist', "correct `query`"),
        "pg-cursor": (poll(pg.dsn(), "select body from docs where id > :id", cursor="id"), "columns", "id", "`cursor`"),
        "maria-twice": (poll(maria.dsn(), "select id, id from docs where id > :id", cursor="id"), "columns", "two columns",
                        "correct `query`"),
        "lite-no-rows": (poll(w.sqlite(), "delete from docs where id > :id", cursor="id"), "columns", "no rows", "SELECT"),
    }


def config(parts):
    sections = {
        "systems": {"hub": {}},
        "gateways": {"web": {"kind": "http", "auth": "none"}, **{n: p for n, p in parts.items() if "query" in p}},
        "endpoints": {**{n: {"system": "hub", **p} for n, p in parts.items() if "query" not in p}},
    }
    return "".join(f"{name}: {json.dumps(content)}\n" for name, content in sections.items())


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    one = World(tmp_path_factory.mktemp("world"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def node(world, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "probing"
    folder.mkdir()
    parts = {name: part for name, (part, *_) in {**healthy(world), **broken(world)}.items()}
    ca, other = (world.certificates.path(name) for name in ("ca.pem", "self_signed.pem"))
    parts |= {"maria-known": sql(world.maria.dsn(f";SSLVerify=1;SSLCA={ca}"), inbox="waybill_inbox"),
              "maria-other": sql(world.maria.dsn(f";SSLVerify=1;SSLCA={other}"))}
    parts |= {"tds-silent": sql(tds(world.silent.getsockname()[1]), **SOON)}
    parts |= {"pg-frozen": sql(world.postgres.dsn(), **SOON), "maria-frozen": sql(world.maria.dsn(), **SOON),
              "pg-several": sql(world.postgres.dsn(), "insert into docs (id) values (:id); delete from docs"),
              "unbuilt": {"kind": "content", "store": "shelf", "space": "orders"}}
    text = config(parts) + 'stores: { shelf: { kind: filesystem, path: "/srv/shelf" } }\n'
    one = Node(folder, config=text)
    one.start()
    yield one
    one.stop()
    assert not any("Sanitizer" in line for line in one.stray), one.stray


def probe(node, name):
    done = node.cli("probe", name)
    assert SECRET not in done.stdout + done.stderr
    return done


def step(name, result, *words):
    return re.compile(rf"^{re.escape(name)} +{result} .*" + ".*".join(re.escape(w) for w in words), re.M)


def counts(world):
    with contextlib.closing(sqlite3.connect(world.alone)) as db:
        lite = [db.execute(f"select count(*) from {t}").fetchone()[0] for t in ("docs", "waybill_inbox")]
    both = "select (select count(*) from docs) + (select count(*) from waybill_inbox)"
    return (world.postgres.sql(both), world.maria.server.sql(both), *lite,
            world.postgres.sql("select last_value, is_called from docs_serial_n_seq"),
            world.postgres.sql("select last_value from looks"))


@pytest.mark.smoke
def test_healthy_ways_pass_and_leave_nothing(node, world):
    wait_until(lambda: world.postgres.sql("select is_called from looks") == "t", 60, "the first look of pg-in")
    before = counts(world)
    for name, (_, steps) in healthy(world).items():
        done = probe(node, name)
        assert done.returncode == 0, f"{name}:\n{done.stdout}{done.stderr}"
        assert tuple(re.findall(r"^(\S+) +passed ", done.stdout, re.M)) == steps, done.stdout
        assert "FAILED" not in done.stdout
        assert [p.name for p in world.alone.parent.iterdir()] == ["far.db"]
    assert step("TLS", "left out", "does not ask for it").search(probe(node, "pg").stdout)
    assert before == counts(world) and before[0] == before[1] == "0" and before[4].startswith("1")
    assert node.documents() == []


def test_each_fault_is_named_with_its_remedy(node, world):
    wrong = []
    for name, (_, where, reason, remedy) in broken(world).items():
        done = probe(node, name)
        if (done.returncode, done.stdout.count("FAILED")) != (1, 1) or not step(where, "FAILED", reason, remedy).search(done.stdout):
            wrong.append(f"{name}, {done.returncode}: {where} {reason} {remedy}\n{done.stdout}{done.stderr}")
    assert not wrong, "\n".join(wrong)
    assert not world.missing.exists()  # SQLite would have made it


def test_no_answer_tells_whether_a_file_is_there(node):
    """Whoever may configure and probe learns nothing of files outside of node.folders."""
    told = [re.search(r"^database .*$", probe(node, name).stdout, re.M)[0] for name in ("lite-outside", "lite-outside-in")]
    assert told[0] == told[1] and "/etc" in told[0]


def test_the_remedy_for_a_missing_key_is_one(node, world):
    world.postgres.sql(MAKE_KEY)
    world.maria.server.sql(MAKE_KEY)
    with contextlib.closing(sqlite3.connect(world.file)) as db:
        db.execute(MAKE_KEY)
    for name in ("pg-keyless", "maria-keyless", "lite-keyless"):
        done = probe(node, name)
        assert done.returncode == 0 and step("key", "passed", "keyless takes a delivery once").search(done.stdout), done.stdout


def test_tls_of_mariadb(node, world):
    """What `dsn` may ask for, once the server has TLS; without it nothing is sent, see above."""
    server = world.maria.server
    server.use_tls(world.certificates.path("good.pem"), world.certificates.path("good.key"))
    server.kill_hard()
    server.start()
    for name in ("maria-tls", "maria-known"):
        done = probe(node, name)
        assert done.returncode == 0 and step("TLS", "passed", "TLSv1").search(done.stdout), done.stdout
    done = probe(node, "maria-other")
    assert done.returncode == 1 and step("TLS", "FAILED", "ertificate", "TLS in `dsn`").search(done.stdout), done.stdout
    assert step("TLS", "left out", "does not ask for it").search(probe(node, "maria").stdout)


def test_a_database_that_stands_still(node, world):
    for name, server in (("pg-frozen", world.postgres.server), ("maria-frozen", world.maria.server)):
        server.freeze()
        try:
            done = probe(node, name)
        finally:
            server.thaw()
        assert done.returncode == 1 and step("connect", "passed").search(done.stdout), done.stdout
        assert step("login", "FAILED", "does not answer", "stuck").search(done.stdout), done.stdout


def test_an_sql_server_that_says_nothing(node):
    done = probe(node, "tds-silent")
    assert done.returncode == 1 and step("driver", "passed", "FreeTDS").search(done.stdout), done.stdout
    assert step("login", "FAILED", "stuck").search(done.stdout), done.stdout


def test_several_statements_are_not_tried(node, world):
    world.postgres.sql("insert into docs values ('kept')")
    done = probe(node, "pg-several")
    assert done.returncode == 0 and step("statement", "left out", "not tried").search(done.stdout), done.stdout
    assert world.postgres.sql("select count(*) from docs") == "1"
    world.postgres.sql("delete from docs")


def test_a_way_that_is_not_tried_is_no_healthy_one(node):
    done = probe(node, "unbuilt")
    assert done.returncode == 1 and step("connect", "left out", "no probe for kind content").search(done.stdout), done.stdout
    assert "\nresult    the way was NOT tried" in done.stdout
