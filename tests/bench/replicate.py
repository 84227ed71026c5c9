"""Tables kept the same and compared, measured against what databases do themselves.

replicate   Rows of 175 bytes, of which each is updated once while nobody follows; then the link, and PostgreSQL's logical
            replication, catch up on the same updates, one after the other; also with the destination at another node.  `load`: all rows into an empty table,
            beside COPY from one to the other.  Writers: transactions of one row with the journal, and without.
verify      A pass over both sides, beside COPY to the client and md5() over all rows in SQL.

The node is a release build, its store SQLite; databases are in one cluster, synced.  Cost is the processor time of the
node per row; that of the databases is not in it.
"""

import json
import statistics
import subprocess
import time

from bench.measure import median, say
from harness.mariadb import Server
from harness.postgres import Cluster
from harness.tables import Maria, Postgres, Sqlite, casts
from rig.process import cpu_seconds, run, wait_for

ROWS, QUICK_ROWS, ROUNDS = 200_000, 20_000, 3
SECONDS = 600
WRITER_SECONDS, QUICK_WRITER_SECONDS = 10, 2
OF_LOGICAL_LEAST, OF_LOGICAL_AWAY_LEAST, OF_COPY_LEAST, CPU_US_MOST, RSS_MOST_MB = 0.6, 0.35, 0.1, 25, 128
VERIFY_OF_COPY_LEAST, VERIFY_OF_MD5_LEAST = 0.4, 1.0
SETTINGS = {"wal_level": "logical", "max_wal_senders": "10", "max_replication_slots": "10", "shared_buffers": "512MB",
            "max_wal_size": "4GB", "max_connections": "100"}
COLUMNS = (("id", "int"), ("name", "text"), ("price", "dec"), ("at", "instant"), ("flag", "bool"), ("version", "int"),
           ("one", "note"), ("two", "note"))
FILL = ("insert into item select n, 'name ' || n, n * 1.25, timestamptz '2026-01-01' + n * interval '1 second', n % 2 = 0, 0, "
        "repeat('o', 50), repeat('t', 50) from generate_series(1, {}) n")
PART = 1000     # rows of a transaction
UPDATE = ("update item set version = {v}, price = price + 1, one = repeat(chr(97 + {v}), 50) "
          "where id > {a} and id <= {b}")
LINK = """\
databases:
  source: {source}
  dest: {dest}
links:
  mirror: {{ from: source, to: dest, every: 1s, tables: {{ item: {casts} }}, verify: [ {{ mode: full, every: 100h }} ] }}
"""


AWAY = """\
databases:
  source: {source}
peers:
  berlin: {{ url: "{url}", key: {key} }}
links:
  mirror: {{ from: source, to: berlin/dest, every: 1s, tables: {{ item: {casts} }}, verify: [ {{ mode: full, every: 100h }} ] }}
"""
OTHER = """\
databases:
  dest: {dest}
peers:
  here: {{ may: {{ dest: [read, apply, install] }} }}
"""


class Linked:
    """Two databases with the same rows, and a node with a link between them; `away`: the destination is another node's."""

    def __init__(self, bench, source, dest, rows, away=False):
        self.bench, self.source, self.dest, self.rows, self.version = bench, source, dest, rows, 0
        for one in (source, dest):
            one.make("item", columns=COLUMNS)
        source.run(FILL.format(rows))
        self.other = bench.node(more=OTHER.format(dest=dest.settings())) if away else None
        text = LINK.format(source=source.settings(), dest=dest.settings(), casts=casts(source))
        if away:
            self.other.start()
            key = json.loads(self.other.cli("key", "add", "--admin", "--title", "here", "--role", "peer", "--json"))["key"]
            text = AWAY.format(source=source.settings(), url=self.other.url, key=key, casts=casts(source))
        self.node = bench.node(more=text)
        self.node.start()
        began = time.monotonic()
        self.node.cli("repl", "install", "mirror", "--yes")
        wait_for("all rows", self._is_current, SECONDS, 0.1)
        self.load_seconds = time.monotonic() - began
        self.rss_mb = 0

    def _is_current(self):
        if self.dest.count("item") != self.rows:
            return False    # it may not be installed yet
        return json.loads(self.node.cli("repl", "status", "mirror/item", "--json"))["stands"] == "current"

    def close(self):
        for node in self._nodes():
            self.bench.discard(node)

    def _nodes(self):
        return [self.node] + ([self.other] if self.other else [])

    def _cpu(self):
        return sum(cpu_seconds(node.process.pid) for node in self._nodes())

    def _note_memory(self):
        self.rss_mb = max(self.rss_mb, *(peak_mb(node.process.pid) for node in self._nodes()))

    def behind(self):
        """Each row is updated once, while the node is down."""
        self.node.stop()
        self.version += 1
        update_all(self.source, self.rows, self.version)

    def catch_up(self):
        """Rows a second, microseconds of the node per row."""
        self.node.start()
        before, began = self._cpu(), time.monotonic()
        wait_for("the last row", lambda: last(self.dest, self.rows) == self.version, SECONDS, 0.02)
        took = time.monotonic() - began
        cpu = self._cpu() - before
        self._note_memory()
        return self.rows / took, cpu / self.rows * 1e6

    def verify(self):
        """Rows a second of a pass."""
        began = time.monotonic()
        done = json.loads(self.node.cli("repl", "verify", "mirror/item", "--wait", "--json", timeout=SECONDS))
        assert done["result"] == "ok", done
        self._note_memory()
        return self.rows / (time.monotonic() - began)


def update_all(database, rows, version):
    database.run(*[UPDATE.format(v=version, a=n, b=n + PART) for n in range(0, rows, PART)])


def last(database, rows):
    """The version of the row that comes last in any order."""
    return database.ask(f"select version from item where id = {rows}")[0][0]


def peak_mb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))


class Logical:
    """PostgreSQL's own replication between two databases of the cluster."""

    def __init__(self, cluster, rows):
        self.rows, self.version = rows, 0
        self.source, self.dest = Postgres(cluster), Postgres(cluster)
        for one in (self.source, self.dest):
            one.make("item", columns=COLUMNS)
            one.run(FILL.format(rows))
        self.source.run("create publication p for table item")
        self.source.ask(f"select pg_create_logical_replication_slot('{self.source.name}', 'pgoutput')")
        cluster.sql(f"create subscription s connection '{self.source.conninfo}' publication p with "
                    f"(create_slot = false, slot_name = '{self.source.name}', copy_data = false, enabled = false)", self.dest.name)

    def behind(self):
        self.version += 1
        update_all(self.source, self.rows, self.version)

    def catch_up(self):
        self.dest.run("alter subscription s enable")
        began = time.monotonic()
        wait_for("the last row", lambda: last(self.dest, self.rows) == self.version, SECONDS, 0.02)
        took = time.monotonic() - began
        self.dest.run("alter subscription s disable")
        return self.rows / took

    def close(self):
        self.dest.server.sql("drop subscription s", self.dest.name)


def copy_seconds(cluster, source, dest):
    """COPY from one to the other, into an empty table."""
    dest.run("create table copied (like item including all)")
    began = time.monotonic()
    subprocess.run(["sh", "-c", f"{cluster.bin}/psql -Xq -d '{source.conninfo}' -c 'copy item to stdout' | "
                    f"{cluster.bin}/psql -Xq -d '{dest.conninfo}' -c 'copy copied from stdin'"], check=True)
    return time.monotonic() - began


def copy_out_seconds(cluster, database):
    began = time.monotonic()
    run([f"{cluster.bin}/psql", "-Xq", "-d", database.conninfo, "-o", "/dev/null", "-c", "copy item to stdout"], timeout=SECONDS)
    return time.monotonic() - began


def md5_seconds(cluster, database):
    began = time.monotonic()
    cluster.sql("select md5(string_agg(item::text, '' order by id)) from item", database.name)
    return time.monotonic() - began


def writer_rate(database, seconds, rows):
    """Transactions of one updated row, by one connection."""
    connection = database.connect()
    cursor, done, until = connection.cursor(), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        done += 1
        cursor.execute(f"update item set version = version + 1 where id = {done * 7919 % rows + 1}")
        connection.commit()
    connection.close()
    return done / seconds


def writers_keep(bench, linked):
    """With the journal, and without, in turn."""
    seconds = QUICK_WRITER_SECONDS if bench.quick else WRITER_SECONDS
    plain = type(linked.source)(*([linked.source.server] if linked.source.kind != "sqlite" else
                                  [linked.source.path.with_suffix(".plain")]))
    plain.make("item", columns=COLUMNS)
    fill(plain, linked.rows)
    shares = []
    for _ in range(ROUNDS):
        before = writer_rate(plain, seconds, linked.rows)
        shares.append(writer_rate(linked.source, seconds, linked.rows) / before)
    return median(shares)


def fill(database, rows):
    """As FILL, in any database."""
    if database.kind == "postgres":
        database.run(FILL.format(rows))
        return
    recursive = f"with recursive s(n) as (select 1 union all select n + 1 from s where n < {rows}) "
    at = "'2026-01-01 00:00:00'"
    select = f"select n, 'name', '1.25', {at}, 1, 0, 'oooooooooooooooooooooooooooooooooooooooooooooooo', 'tttttttttttttttttttttttt' from s"
    database.run(*([f"set max_recursive_iterations = {rows + 1}"] if database.kind == "mariadb" else []),
                 f"insert into item {recursive}{select}")


def replicate(bench):
    rows = QUICK_ROWS if bench.quick else ROWS
    cluster = Cluster(settings=SETTINGS)
    try:
        linked, logical = Linked(bench, Postgres(cluster), Postgres(cluster), rows), Logical(cluster, rows)
        copied = copy_seconds(cluster, linked.source, linked.dest)
        rates, theirs, costs = [], [], []
        for number in range(ROUNDS):
            for one in (linked, logical):
                one.behind()
            theirs.append(logical.catch_up())
            rate, cost = linked.catch_up()
            rates.append(rate)
            costs.append(cost)
            say(f"round {number + 1}: {rate:.0f} rows/s, {cost:.1f} us/row; logical replication {theirs[-1]:.0f} rows/s")
        logical.close()
        keep = writers_keep(bench, linked)
        share, cost = median([a / b for a, b in zip(rates, theirs)]), median(costs)
        load = copied / linked.load_seconds
        bench.verdict("replicate postgres-postgres",
                      f"{median(rates):.0f} rows/s, {share:.2f} of logical replication, {cost:.1f} us/row, writers keep {keep:.2f}, "
                      f"load {load:.2f} of COPY, {linked.rss_mb} MB",
                      share=(share >= OF_LOGICAL_LEAST, f"below {OF_LOGICAL_LEAST}"),
                      load=(load >= OF_COPY_LEAST, f"load below {OF_COPY_LEAST}"),
                      cpu=(cost <= CPU_US_MOST, f"over {CPU_US_MOST} us"),
                      memory=(linked.rss_mb <= RSS_MOST_MB, f"over {RSS_MOST_MB} MB"))
        linked.close()
        away(bench, cluster, rows)
        others(bench, cluster, rows)
    finally:
        cluster.close()


def away(bench, cluster, rows):
    """The destination is a database of another node, on this machine."""
    linked, logical = Linked(bench, Postgres(cluster), Postgres(cluster), rows, away=True), Logical(cluster, rows)
    shares, rates, costs = [], [], []
    for _ in range(ROUNDS):
        for one in (linked, logical):
            one.behind()
        theirs = logical.catch_up()
        rate, cost = linked.catch_up()
        shares.append(rate / theirs)
        rates.append(rate)
        costs.append(cost)
    logical.close()
    share, cost = median(shares), median(costs)
    bench.verdict("replicate postgres-postgres over /peer",
                  f"{median(rates):.0f} rows/s, {share:.2f} of logical replication, {cost:.1f} us/row of both, {linked.rss_mb} MB",
                  share=(share >= OF_LOGICAL_AWAY_LEAST, f"below {OF_LOGICAL_AWAY_LEAST}"),
                  cpu=(cost <= CPU_US_MOST, f"over {CPU_US_MOST} us"),
                  memory=(linked.rss_mb <= RSS_MOST_MB, f"over {RSS_MOST_MB} MB"))
    linked.close()


def others(bench, cluster, rows):
    """The other pairs, without a bar."""
    with Server() as maria:
        for kinds in (("postgres", "sqlite"), ("postgres", "mariadb")):
            dest = Sqlite(bench.folder / "mirror.db") if kinds[1] == "sqlite" else Maria(maria)
            linked = Linked(bench, Postgres(cluster), dest, rows)
            linked.behind()
            rate, cost = linked.catch_up()
            bench.verdict(f"replicate {'-'.join(kinds)}", f"{rate:.0f} rows/s, {cost:.1f} us/row")
            linked.close()
        for source in (Sqlite(bench.folder / "source.db"), Maria(maria)):
            other = type("Journalled", (), {"source": source, "rows": rows})
            source.make("item", columns=COLUMNS)
            fill(source, rows)
            dest = Postgres(cluster)
            dest.make("item", columns=COLUMNS)
            node = bench.node(more=LINK.format(source=source.settings(), dest=dest.settings(), casts=casts(source)))
            node.start()
            node.cli("repl", "install", "mirror", "--yes")
            node.stop()
            bench.verdict(f"replicate {source.kind}-postgres", f"writers keep {writers_keep(bench, other):.2f}")
            bench.discard(node)


def verify(bench):
    rows = QUICK_ROWS if bench.quick else ROWS
    cluster = Cluster(settings=SETTINGS)
    try:
        linked = Linked(bench, Postgres(cluster), Postgres(cluster), rows)
        rates, copies, digests = [], [], []
        for _ in range(ROUNDS):
            copies.append(rows / copy_out_seconds(cluster, linked.source))
            rates.append(linked.verify())
            digests.append(rows / md5_seconds(cluster, linked.source))
        of_copy = statistics.median(a / b for a, b in zip(rates, copies))
        of_md5 = statistics.median(a / b for a, b in zip(rates, digests))
        bench.verdict("verify postgres-postgres",
                      f"{median(rates):.0f} rows/s, {of_copy:.2f} of copy, {of_md5:.2f} of md5, {linked.rss_mb} MB",
                      copy=(of_copy >= VERIFY_OF_COPY_LEAST, f"below {VERIFY_OF_COPY_LEAST} of copy"),
                      md5=(of_md5 >= VERIFY_OF_MD5_LEAST, f"below {VERIFY_OF_MD5_LEAST} of md5"),
                      memory=(linked.rss_mb <= RSS_MOST_MB, f"over {RSS_MOST_MB} MB"))
        linked.close()
    finally:
        cluster.close()
