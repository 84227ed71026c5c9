"""Tables in databases of all kinds that links speak, for tests: made, filled, changed by writers, and read to be compared.

    source, dest = Postgres(server), Sqlite(folder / "mirror.db")
    for db in (source, dest):
        db.make("item")
    writers = Writers(source, "item", seed=7); writers.start(); ...; writers.stop()
    assert source.rows("item") == dest.rows("item")

A table has the columns of COLUMNS, in the types of its database.  What is read is brought into one form, by Python and
not by the program under test.  Standard library, psycopg and pymysql only.
"""
import datetime
import decimal
import os
import random
import sqlite3
import threading
import time

import psycopg
import pymysql

# Name and kind of each column; `id` is the key.
COLUMNS = (("id", "int"), ("name", "text"), ("price", "dec"), ("at", "instant"), ("flag", "bool"), ("data", "bytes"),
           ("note", "note"))
NAMES = [name for name, _ in COLUMNS]
# What a source has no types for.
CASTS = {"postgres": {}, "sqlite": {"price": "dec", "at": "instant", "flag": "bool"}, "mariadb": {"flag": "bool"}}
UTC = datetime.timezone.utc
CONFLICTS = (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable, psycopg.errors.UniqueViolation,
             psycopg.OperationalError, pymysql.err.OperationalError, pymysql.err.IntegrityError, sqlite3.OperationalError,
             sqlite3.IntegrityError)


def plain(kind, value):
    """A value as all databases give it, whatever they have it in."""
    if value is None:
        return None
    if kind == "dec":
        value = decimal.Decimal(value).normalize()
        return f"{value:f}"
    if kind == "instant":
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
        if value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if kind == "bool":
        return bool(value)
    return bytes(value) if kind == "bytes" else value


class Database:
    """One database; subclasses say how to speak to it."""
    kind = types = mark = None

    def settings(self):
        """Its entry below `databases:`, as YAML."""
        raise NotImplementedError

    def connect(self):
        """A connection of DB-API 2, not in autocommit."""
        raise NotImplementedError

    def quote(self, name):
        return '"' + name.replace('"', '""') + '"'

    def make(self, table, more="", columns=COLUMNS):
        """A table, without rows; `more`: further columns and constraints."""
        parts = [f"{self.quote(name)} {self.types[kind]}" for name, kind in columns]
        self.run(f"create table {self.quote(table)} ({', '.join(parts)}, primary key ({self.quote('id')}){more}){self.suffix()}")

    def suffix(self):
        return ""

    def value(self, kind, value):
        """As its driver wants it."""
        return value

    def insert(self, table):
        marks = ", ".join([self.mark] * len(COLUMNS))
        return f"insert into {self.quote(table)} ({', '.join(map(self.quote, NAMES))}) values ({marks})"

    def run(self, *statements):
        """Statements, each in a transaction of its own."""
        connection = self.connect()
        try:
            cursor = connection.cursor()
            for statement in statements:
                args = ()
                if isinstance(statement, tuple):
                    statement, *args = statement
                cursor.execute(statement.replace("?", self.mark) if args else statement, *([tuple(args)] if args else []))
                connection.commit()
        finally:
            connection.close()

    def ask(self, query, *args):
        """All rows of a query."""
        connection = self.connect()
        try:
            cursor = connection.cursor()
            cursor.execute(query.replace("?", self.mark) if args else query, *([args] if args else []))
            return list(cursor.fetchall())
        finally:
            connection.close()

    def fill(self, table, rows):
        """Rows as made by row()."""
        connection = self.connect()
        try:
            rows = [tuple(self.value(kind, v) for (_, kind), v in zip(COLUMNS, r)) for r in rows]
            connection.cursor().executemany(self.insert(table), rows)
            connection.commit()
        finally:
            connection.close()

    def rows(self, table):
        """The whole table, by key, in one form."""
        got = self.ask(f"select {', '.join(map(self.quote, NAMES))} from {self.quote(table)}")
        return {r[0]: tuple(plain(kind, v) for (_, kind), v in zip(COLUMNS, r)) for r in got}

    def count(self, table):
        return self.ask(f"select count(*) from {self.quote(table)}")[0][0]


class Postgres(Database):
    kind, mark = "postgres", "%s"
    types = {"int": "bigint", "text": 'text collate "C"', "dec": "numeric(20,6)", "instant": "timestamptz", "bool": "boolean",
             "bytes": "bytea", "note": "text"}

    def __init__(self, server, name=None):
        self.server, self.name = server, name or f"link_{os.urandom(6).hex()}"
        self.conninfo = server.create_database(self.name)

    def settings(self):
        return f"{{ kind: postgres, dsn: \"{self.conninfo}\" }}"

    def connect(self):
        connection = psycopg.connect(self.conninfo)
        connection.execute("set deadlock_timeout = '50ms'")
        connection.execute("set timezone = 'UTC'")
        connection.commit()
        return connection

    def schema(self):
        """All that stands in its catalogue, as text."""
        return self.server.dump(self.name)


class Sqlite(Database):
    kind, mark = "sqlite", "?"
    types = {"int": "integer", "text": "text", "dec": "text", "instant": "text", "bool": "integer", "bytes": "blob", "note": "text"}

    def __init__(self, path):
        self.path = path
        self.run("pragma journal_mode = wal")

    def settings(self):
        return f"{{ kind: sqlite, path: \"{self.path}\" }}"

    def connect(self):
        return sqlite3.connect(self.path, timeout=60)

    def value(self, kind, value):
        if value is None:
            return None
        return plain(kind, value) if kind == "instant" else str(value) if kind == "dec" else value

    def schema(self):
        return "\n".join(sorted(str(r) for r in self.ask("select type, name, tbl_name, sql from sqlite_master")))


class Maria(Database):
    kind, mark = "mariadb", "%s"
    types = {"int": "bigint", "text": "varchar(200) character set utf8mb4 collate utf8mb4_nopad_bin", "dec": "decimal(20,6)",
             "instant": "timestamp(6) null", "bool": "tinyint(1)", "bytes": "longblob", "note": "longtext"}

    def __init__(self, server, name=None):
        self.server, self.name = server, name or f"link_{os.urandom(6).hex()}"
        server.sql(f"create database {self.name}; grant all on {self.name}.* to hub@'127.0.0.1'; "
                   "grant process on *.* to hub@'127.0.0.1'", database="")

    def settings(self):
        return f"{{ kind: mariadb, dsn: \"mariadb://hub:open@127.0.0.1:{self.server.port}/{self.name}\" }}"

    def connect(self):
        return pymysql.connect(host="127.0.0.1", port=self.server.port, user="hub", password="open", database=self.name,
                               charset="utf8mb4", init_command="set time_zone = '+00:00', innodb_lock_wait_timeout = 5")

    def quote(self, name):
        return "`" + name.replace("`", "``") + "`"

    def suffix(self):
        return " engine=InnoDB"

    def value(self, kind, value):
        return value.astimezone(UTC).replace(tzinfo=None) if kind == "instant" and value is not None else value

    def schema(self):
        tables = [r[0] for r in self.ask("show tables")]
        made = [self.ask(f"show create table {self.quote(t)}")[0][:2] for t in sorted(tables)]
        return "\n".join(map(str, made + sorted(r[:4] for r in self.ask("show triggers"))))


def casts(source):
    """What a link of a table of COLUMNS needs, as YAML."""
    types = CASTS[source.kind]
    return "{ cast: { " + ", ".join(f"{c}: {t}" for c, t in types.items()) + " } }" if types else "{}"


def row(chance, key):
    """A row with this key: plain values, and now and then some that are awkward."""
    rare = chance.random() < 0.1
    return (key, f"näme-{chance.randrange(1000)}" if not rare else "𝄞 ' \" \\ %",
            decimal.Decimal(chance.randrange(-10**9, 10**9)).scaleb(-chance.randrange(0, 7)),
            datetime.datetime(2026, 1, 1, tzinfo=UTC) + datetime.timedelta(microseconds=chance.randrange(10**13)),
            chance.random() < 0.5, chance.randbytes(chance.randrange(0, 40)), None if rare else "x" * chance.randrange(0, 80))


class Writers:
    """Programs that change a table at the same time: long and short transactions, rollbacks, savepoints, changes of the
    key, deletions.  `changes` counts what was committed."""

    def __init__(self, database, table, seed=1, threads=6, keys=400, pause=0.01, prepared=False, adds=False):
        """`prepared`: some transactions of PostgreSQL are committed in two phases; `adds`: rows are only added."""
        self.database, self.table, self.keys, self.pause, self.prepared = database, table, keys, pause, prepared
        self.adds, self.key = adds, 10**6
        self.stopping, self.changes, self.lock, self.failed = threading.Event(), 0, threading.Lock(), []
        self.threads = [threading.Thread(target=self._write, args=(random.Random(seed * 100 + n),), daemon=True)
                        for n in range(threads)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        """No more changes after this; they are all committed or rolled back."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        assert not self.failed, self.failed

    def await_changes(self, count, seconds=120):
        until = time.monotonic() + seconds
        while self.changes < count:
            assert time.monotonic() < until and not self.failed, (self.changes, self.failed)
            time.sleep(0.02)

    def _write(self, chance):
        connection, halfway = None, []
        while not self.stopping.is_set() or halfway:
            try:
                connection = connection or self.database.connect()
                while halfway:
                    self._commit_prepared(connection, halfway)
                if not self.stopping.is_set():
                    self._transaction(connection, chance, halfway)
            except CONFLICTS:
                connection = self._after_conflict(connection)
            except Exception as e:  # pylint: disable=broad-except
                self.failed.append(repr(e))
                return
            time.sleep(chance.random() * self.pause)
        if connection is not None:
            connection.close()

    @staticmethod
    def _after_conflict(connection):
        try:
            connection.rollback()
            return connection
        except Exception:  # pylint: disable=broad-except
            return None

    def _transaction(self, connection, chance, halfway):
        cursor, done = connection.cursor(), 0
        for _ in range(chance.choice((1, 1, 1, 3, 8))):
            if chance.random() < 0.1 and self.database.kind != "sqlite":
                cursor.execute("savepoint s")
                self._change(cursor, chance)
                cursor.execute("rollback to savepoint s")
            self._change(cursor, chance)
            done += 1
            if self.database.kind != "sqlite":
                time.sleep(chance.choice((0, 0, 0.001, 0.012)))
        if chance.random() < 0.1:
            connection.rollback()
            return
        if self.prepared and chance.random() < 0.1:
            self._commit_twice(connection, chance, halfway)
        else:
            connection.commit()
        with self.lock:
            self.changes += done

    def _commit_twice(self, connection, chance, halfway):
        """What is in `halfway` is committed later, by another connection, if the server goes away in between."""
        name = f"w{os.urandom(8).hex()}"
        halfway.append(name)
        connection.execute(f"prepare transaction '{name}'")
        connection.commit()
        time.sleep(chance.uniform(0, 0.05))
        self._commit_prepared(connection, halfway)

    @staticmethod
    def _commit_prepared(connection, halfway):
        connection.autocommit = True
        try:
            connection.execute(f"commit prepared '{halfway[0]}'")
        except psycopg.errors.UndefinedObject:   # it was done, or never prepared: the answer was lost
            pass
        halfway.pop(0)
        connection.autocommit = False

    def _change(self, cursor, chance):
        if self.adds:
            with self.lock:
                self.key += 1
                made = row(chance, self.key)
            cursor.execute(self.database.insert(self.table), tuple(self.database.value(kind, v) for (_, kind), v in zip(COLUMNS, made)))
            return
        db, what, key = self.database, chance.random(), chance.randrange(self.keys)
        table, of_key = db.quote(self.table), f"where {db.quote('id')} = {db.mark}"
        made = tuple(db.value(kind, v) for (_, kind), v in zip(COLUMNS, row(chance, key)))
        if what < 0.15:
            cursor.execute(f"delete from {table} {of_key}", (key,))
        elif what < 0.25:
            cursor.execute(f"delete from {table} {of_key}", (key + self.keys,))
            cursor.execute(f"update {table} set {db.quote('id')} = {db.mark} {of_key}", (key + self.keys, key))
        else:
            cursor.execute(f"delete from {table} {of_key}" if what < 0.3 else f"select 1 from {table} {of_key}", (key,))
            there = what >= 0.3 and cursor.fetchone() is not None
            if there:
                sets = ", ".join(f"{db.quote(n)} = {db.mark}" for n in NAMES[1:])
                cursor.execute(f"update {table} set {sets} {of_key}", made[1:] + (key,))
            else:
                cursor.execute(db.insert(self.table), made)
