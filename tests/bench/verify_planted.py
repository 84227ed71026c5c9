"""Differences of every kind in a table of 300 000 rows, while programs write: each is found, and nothing else is.

PostgreSQL with PostgreSQL, SQLite and MariaDB.  Planted at the destination: rows that are missing and extra, also beyond the
last key and with a key outside of the first plane, a range of a thousand, other values down to a microsecond and the last
digit, NULL against empty, NaN, two rows exchanged, and two that were changed alike.  Planted as well, and the same: -0, the
scale of a number, padding.

A dry run changes nothing, a repair over the limit says so, and a repair ends with equal tables, as this program reads
them.  Ten differences are found with at most 2 % of the bytes of the table.

proves: VE1
"""

import json
import threading

from bench.measure import say
from bench.replicate import SECONDS, SETTINGS
from harness.mariadb import Server
from harness.postgres import Cluster
from harness.tables import Maria, Postgres, Sqlite, plain
from rig.process import RigError, wait_for

ROWS, QUICK_ROWS = 300_000, 30_000
RANGE = 1000
BYTES_SHARE_MOST = 0.02
TABLES = {
    "source": 'create table big (id text collate "C" primary key, n bigint not null, d numeric(20,6), f double precision, '
              'at timestamptz, c char(10), t text)',
    "postgres": 'create table big (id text collate "C" primary key, n bigint not null, d numeric, f double precision, '
                'at timestamptz, c char(12), t text)',
    "sqlite": "create table big (id text primary key not null, n integer not null, d text, f real, at text, c text, t text)",
    "mariadb": "create table big (id varchar(60) character set utf8mb4 collate utf8mb4_nopad_bin primary key, n bigint not null, "
               "d decimal(30,9), f double, at timestamp(6) null, c char(12), t longtext character set utf8mb4)"}
KINDS = (("id", "text"), ("n", "int"), ("d", "dec"), ("f", "float"), ("at", "instant"), ("c", "text"), ("t", "text"))
CLEF = "\U0001d11e"
FILL = ("insert into big select 'k' || lpad(n::text, 7, '0'), n, n * 0.5, case when n = 700 then 0 else n * 0.25 end, "
        "timestamptz '2026-01-01' + n * interval '1 second', 'ab', case when n % 10 = 1 then null else 'text ' || n end "
        "from generate_series(1, {rows}) n")
SAME = ["update big set f = {minus_zero} where id = 'k0000700'", "update big set d = {half} where id = 'k0000901'",
        "update big set c = 'ab  ' where id = 'k0000902'"]
DIFFERENT = ["update big set t = 'other' where id = 'k0000100'", "update big set t = '' where id = 'k0000101'",
             "update big set d = {digit} where id = 'k0000300'", "update big set at = '{moment}' where id = 'k0000400'",
             "update big set t = 'text 502' where id = 'k0000500'", "update big set t = 'text 500' where id = 'k0000502'",
             "update big set t = 'alike' where id = 'k0000600'", "update big set t = 'alike' where id = 'k0000602'"]
NOT_A_NUMBER = "update big set f = 'NaN' where id = 'k0000200'"
MISSING = ["delete from big where id = 'k0000017'", f"delete from big where id = '{CLEF}'",
           f"delete from big where id >= 'k0010000' and id < 'k00{10000 + RANGE}'"]
EXTRA = ["insert into big (id, n) values ('k0000017x', 1)", f"insert into big (id, n) values ('{CLEF}z', 1)"]
MOMENT = {"postgres": "2026-01-01 00:06:40.000001+00", "sqlite": "2026-01-01T00:06:40.000001Z",
          "mariadb": "2026-01-01 00:06:40.000001"}
LINK = ("databases: {{ source: {source}, dest: {dest} }}\n"
        "links:\n  mirror: {{ from: source, to: dest, every: 1s, tables: {{ big: {{}} }}, "
        "verify: [ {{ mode: full, every: 100h }} ] }}\n")


class Planted:
    """A link, its two tables, and a writer of the last tenth of the source."""

    def __init__(self, bench, source, dest, rows):
        self.bench, self.source, self.dest, self.rows = bench, source, dest, rows
        source.run(TABLES["source"], FILL.format(rows=rows), f"insert into big (id, n) values ('{CLEF}', 0)")
        dest.run(TABLES[dest.kind])
        self.node = bench.node(more=LINK.format(source=source.settings(), dest=dest.settings()))
        self.node.start()
        self.node.cli("repl", "install", "mirror", "--yes")
        wait_for("all rows", lambda: dest.count("big") == rows + 1, SECONDS, 0.2)
        self.stopping, self.thread = threading.Event(), threading.Thread(target=self._write, daemon=True)

    def _write(self):
        connection, turn = self.source.connect(), 0
        while not self.stopping.wait(0.005):
            turn += 1
            key = self.rows - turn * 7919 % (self.rows // 10)
            connection.execute(f"update big set n = n + 1 where id = 'k{key:07}'")
            connection.commit()
        connection.close()

    def plant(self):
        """What is to be found."""
        words = {"minus_zero": "'-0'" if self.dest.kind == "postgres" else "-0e0", "half": "450.50", "digit": "150.000001",
                 "moment": MOMENT[self.dest.kind]}
        nan = [NOT_A_NUMBER] if self.dest.kind == "postgres" else []
        self.dest.run(*[s.format(**words) for s in SAME + DIFFERENT + nan + MISSING + EXTRA])
        return {"missing": RANGE + 2, "extra": len(EXTRA), "different": len(DIFFERENT) + len(nan)}

    def verify(self, *args):
        """A pass, as the program tells it; its exit code is 1 when sides differ."""
        try:
            text = self.node.cli("repl", "verify", "mirror/big", "--wait", "--json", *args, timeout=SECONDS)
        except RigError:
            text = json.dumps(json.loads(self.node.cli("repl", "status", "mirror/big", "--json"))["lastPass"])
        return json.loads(text)

    def digest(self, database):
        """All rows in one form, made by this program."""
        rows = database.ask(f"select {', '.join(name for name, _ in KINDS)} from big")
        return {r[0]: tuple(form(kind, v) for (_, kind), v in zip(KINDS, r)) for r in rows}

    def still(self):
        """The rows of the destination that the writer does not change, which replication may still bring."""
        upto = f"k{self.rows - self.rows // 10:07}"
        return {key: row for key, row in self.digest(self.dest).items() if key < upto}

    def await_same(self):
        wait_for("equal tables", lambda: self.digest(self.source) == self.digest(self.dest), SECONDS, 1)

    def close(self):
        self.stopping.set()
        if self.thread.is_alive():
            self.thread.join()
        self.bench.discard(self.node)


def form(kind, value):
    if value is None or kind == "int":
        return value
    if kind == "float":
        return repr(float(value) + 0.0)
    return plain(kind, value).rstrip(" ") if kind == "text" else plain(kind, value)


def found(done, wanted):
    return {kind: done[kind] for kind in wanted}


def check(bench, source, dest, rows):
    name, planted = f"verify-planted postgres-{dest.kind}", Planted(bench, source, dest, rows)
    wanted = planted.plant()
    planted.thread.start()
    done = planted.verify()
    planted.stopping.set()
    planted.thread.join()
    first = found(done, wanted)
    say(f"{name}: planted {wanted}; {done['message']}")
    before = planted.still()
    planted.verify("--repair", "--dry-run")
    dry = planted.still() == before
    over = planted.verify("--repair", "--most", "10")
    say(f"{name}: over the limit: {over['message']}")
    limited = over["result"] == "diverged" and over["repaired"] == 0 and planted.still() == before
    repaired = planted.verify("--repair", "--most", "5000")
    planted.await_same()
    after = planted.verify()
    dest.run(*[f"update big set t = 'few' where id = 'k{n * 2711:07}'" for n in range(1, 11)])
    few = planted.verify()
    share = few["bytes"] / source.ask("select sum(length(big::text)) from big")[0][0]
    bench.verdict(name, f"{rows} rows: found {first}; repaired {repaired['repaired']}; ten differences with {share:.2%} of the bytes",
                  found=(first == wanted, f"planted {wanted}"),
                  dry=(dry, "a dry run has changed something"),
                  limited=(limited, "a repair over the limit was made"),
                  repaired=(repaired["result"] == "repaired" and after["result"] == "ok", "the repair did not end well"),
                  few=(few["different"] == 10, f"{few['different']} of ten found"),
                  bytes=(share <= BYTES_SHARE_MOST, f"over {BYTES_SHARE_MOST:.0%}"))
    planted.close()


def verify_planted(bench):
    rows = QUICK_ROWS if bench.quick else ROWS
    with Cluster(settings=SETTINGS) as cluster, Server() as maria:
        check(bench, Postgres(cluster), Postgres(cluster), rows)
        check(bench, Postgres(cluster), Sqlite(bench.folder / "planted.db"), rows)
        check(bench, Postgres(cluster), Maria(maria), rows)
