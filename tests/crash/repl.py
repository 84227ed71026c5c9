"""Tables of a link under kills: of nodes, at random and at points, of all databases, and freezes past the lease.

Two nodes on PostgreSQL race for a link of one table, which six writers change with long transactions, rollbacks,
savepoints, changes of the key and deletions (harness/tables.py); in PostgreSQL there are prepared transactions, too.  In
the end the destination has to be what the source is, read by psycopg, sqlite3 and pymysql; a trigger on the marks at
the destination has counted each batch once; and verification finds nothing.

In the control a source is read by a plain cursor: changes that are committed late are passed by.  At least three of five
runs must miss rows, and the verification of the same run has to find each of them.

Where one of the databases is that of another location, a proxy has seen how large each message was.

One pair goes both ways, with writers on both sides of the same keys: in the end both have to be the same.

proves: RP1 RP2 RP3 RP4 RP5 RP6 RP7 SC10
"""

import collections
import datetime
import json
import random
import shutil
import signal
import subprocess
import time

from crash.jobs_field import DECLARED_DEAD, READY_SECONDS, UNAVAILABLE
from harness.mariadb import Server
from harness.postgres import Cluster
from harness.recorder import Recorder
from harness.tables import Maria, Postgres, Sqlite, Writers, casts, row
from rig.node import Node
from rig.process import RigError, stop_whole, wait_for

# Source, destination, and whether one of them is a database of another node.
PAIRS = [("postgres", "postgres", None), ("postgres", "sqlite", None), ("sqlite", "postgres", None), ("postgres", "mariadb", None),
         ("mariadb", "postgres", None), ("postgres", "postgres", "dest"), ("mariadb", "sqlite", "source")]
DIFFERENCES = ("missing", "extra", "different")
COUNTS = (*DIFFERENCES, "applied_twice", "false_alarms", "over_limit")
MESSAGE_LIMIT = 20000   # of the other location; a batch of the link would have 80000
POINTS = ("link.read", "link.written", "link.committed", "job.run", "job.ran", "commit.sent")
# What is done in a round: a node killed at any moment or at a named point, a database killed, a node frozen.
ROUNDS = ("kill", "point", "point", "base", "point", "freeze")
PASSES_MOST = 10
SHARED_SECONDS = 20     # until a node has passed a point so often, with another one that may take all runs
POINT_SECONDS = 90      # the same, after the other one was killed
SETTLE_SECONDS = 180
RUN_MOST = datetime.timedelta(seconds=5)    # a run of replication is shorter
FROZEN_S = (16, 21)     # a lease is 10 s, and a node is declared dead 5 s after it
TABLE, LINK, BACK = "item", "mirror", "back"
ROWS = 3000
CONTROL = {"WAYBILL_TEST_LINK_PLAIN_CURSOR": "1"}
CONTROL_RUNS, CONTROL_LEAST = 5, 3
# What was rolled back stays in memory for long, so that a server that is killed gives its numbers away again.
SETTINGS = {"max_prepared_transactions": "20", "max_connections": "200", "wal_writer_delay": "10s"}
COUNT_BATCHES = {
    "postgres": ("create table batches (n bigint)",
                 "create function batch_seen() returns trigger language plpgsql as "
                 "$$ begin insert into batches values (new.batches); return null; end $$",
                 "create trigger batch_seen after update on waybill_applied for each row execute function batch_seen()"),
    "sqlite": ("create table batches (n integer)",
               "create trigger batch_seen after insert on waybill_applied begin insert into batches values (new.batches); end"),
    "mariadb": ("create table batches (n bigint) engine=InnoDB",
                "create trigger batch_seen after insert on waybill_applied for each row insert into batches values (new.batches)")}


def repl(rig, count):
    """`count` kills, spread over the pairs."""
    total = collections.Counter({"changes": 0, "kills": 0, **{name: 0 for name in COUNTS}})
    chance, first = rig.chance("repl"), 0
    with Cluster(settings=SETTINGS) as cluster, Server() as maria:
        fields = [(Pair, pair, "-".join(pair[:2]) + (f"-{pair[2]}-away" if pair[2] else "")) for pair in PAIRS]
        fields += [(BothWays, ("postgres", "postgres", away), f"both-ways{'-away' if away else ''}") for away in (None, "dest")]
        for number, (make, pair, name) in enumerate(fields):
            kills = count // len(fields) + (number < count % len(fields))
            if kills == 0:
                continue
            with make(rig, f"postgres.repl-{name}", pair, cluster, maria, chance) as field:
                field.begin()
                field.storm(range(first, first + kills))
                field.finish()
                field.tell(total)
            first += kills
        if count >= 20:
            control(rig, cluster, maria, chance)
    print("crash repl: " + " ".join(f"{name}={number}" for name, number in total.items()), flush=True)


def control(rig, cluster, maria, chance):
    """With a plain cursor rows are missed, and verification finds them."""
    missed = 0
    for number in range(CONTROL_RUNS):
        with Pair(rig, f"control.repl-{number}", ("postgres", "postgres", None), cluster, maria, chance, CONTROL) as field:
            field.begin()
            field.await_changes(4000)
            field.finish(settle=False)
            found = {name: field.counts[name] for name in DIFFERENCES}
            told = {name: field.verified[name] for name in DIFFERENCES}
            missed += any(found.values())
            print(f"crash control.repl: wrong are {found}, verification tells {told}", flush=True)
            if found != told:
                rig.fail(f"control of repl: wrong are {found}, and verification tells {told}")
    if missed < CONTROL_LEAST:
        rig.fail(f"control of repl: only {missed} of {CONTROL_RUNS} runs missed rows: the check proves nothing")


class Pair:
    """A link between two databases, two nodes that race for it, writers, and perhaps another location, which answers for one
    of the databases.  Use as a context."""
    links = (LINK,)

    def __init__(self, rig, scene, kinds, cluster, maria, chance, environment=None):
        self.rig, self.scene, self.chance = rig, scene, chance
        self.folder = rig.new_folder(scene)
        self.servers = {"postgres": cluster, "mariadb": maria}
        *self.kinds, self.away = kinds
        self.source, self.dest = (self._database(kind, name) for kind, name in zip(self.kinds, ("source", "dest")))
        for one in (self.source, self.dest):
            one.make(TABLE)
        self.source.fill(TABLE, [row(random.Random(n), n) for n in range(ROWS)])
        store = f"store{self.folder.name[:3]}"
        rig.cluster().create_database(store)
        self.codes, self.other, self.recorder, peer = {}, None, None, ""
        if self.away:
            self.other, peer = self._location(self.away)
        here = {name: one.settings() for name, one in (("source", self.source), ("dest", self.dest)) if name != self.away}
        self.ends = {name: f"berlin/{name}" if name == self.away else name for name in ("source", "dest")}
        more = "databases:\n" + "".join(f"  {name}: {settings}\n" for name, settings in here.items()) + peer + self._links()
        self.nodes = [Node(binary, self.folder / str(n), store=rig.cluster().url(store), environment=environment, more=more)
                      for n, binary in enumerate((rig.debug, rig.debug if environment else rig.release))]
        self.writers = self._writers()
        self.counts, self.verified, self.failures, self.kills, self.points = collections.Counter(), {}, [], 0, 0
        self.codes |= {node: {-signal.SIGKILL} for node in self.nodes}

    def _location(self, away):
        """Another node that answers for a database, and how the link names it."""
        database = self.source if away == "source" else self.dest
        other = Node(self.rig.release, self.folder / "other", limits={"message_limit": MESSAGE_LIMIT},
                     more=f"databases:\n  {away}: {database.settings()}\n"
                          f"peers:\n  here: {{ may: {{ {away}: [read, apply, install] }} }}\n")
        other.start(seconds=READY_SECONDS)
        key = json.loads(other.cli("key", "add", "--admin", "--title", "here", "--role", "peer", "--json"))["key"]
        self.codes[other] = {-signal.SIGKILL}
        self.recorder = Recorder(other.url)
        return other, f"peers:\n  berlin: {{ url: \"{self.recorder.url}\", key: {key} }}\n"

    def _all(self):
        return [*self.nodes, *([self.other] if self.other else [])]

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, _):
        self.writers.stopping.set()
        for node in self._all():
            node.kill()
        if self.recorder:
            self.recorder.close()
        if isinstance(problem, (RigError, AssertionError)):
            self.failures.append(f"{self.scene}: {problem}")
        self.rig.failures += self.failures
        for said in self.failures:
            print(f"  {said}", flush=True)
        if not self.failures and problem is None and not any(self.counts.values()):
            shutil.rmtree(self.folder, ignore_errors=True)
        return isinstance(problem, (RigError, AssertionError))

    def _links(self):
        return (f"links:\n  {LINK}:\n    from: {self.ends['source']}\n    to: {self.ends['dest']}\n    every: 200ms\n"
                f"    tables: {{ {TABLE}: {casts(self.source)} }}\n"
                "    verify: [ { mode: full, every: 10h } ]\n    deletes: { most: 1000000, share: 100% }\n")

    def _writers(self):
        return Writers(self.source, TABLE, seed=self.chance.randrange(10**6), keys=ROWS, prepared=self.kinds[0] == "postgres")

    def _database(self, kind, name):
        return Sqlite(self.folder / f"{name}.db") if kind == "sqlite" else \
            (Postgres if kind == "postgres" else Maria)(self.servers[kind])

    # ---- running

    def begin(self):
        for node in self.nodes:
            node.start(seconds=READY_SECONDS)
        for link in self.links:
            self.nodes[0].cli("repl", "install", link, "--yes", timeout=SETTLE_SECONDS)
        self.dest.run(*COUNT_BATCHES[self.dest.kind])
        self.writers.start()

    def await_changes(self, count):
        self.writers.await_changes(count, SETTLE_SECONDS)

    def storm(self, rounds):
        """What is done, in turn; each named point comes after as many rounds as there are twice."""
        for number in rounds:
            time.sleep(self.chance.uniform(0.3, 1.5))
            node = self.chance.choice(self._all())
            what = ROUNDS[number % len(ROUNDS)]
            if what == "base":
                self._kill_base()
            elif what == "freeze":
                self._freeze(node)
            elif what == "point":
                self._kill_at_point(*self._point(node))
            else:
                node.kill()
            self.kills += 1
            self._revive()
        self.await_changes(self.writers.changes + 200)

    def _kill_base(self):
        """Of the source, the destination, or the nodes.  A server that the nodes do not write to forgets more."""
        servers = [self.servers[kind] for kind in self.kinds if kind != "sqlite"]
        server = self.chance.choice([*servers, self.rig.cluster()])
        for node in self._all():
            self.codes[node] |= {UNAVAILABLE}
        server.kill_hard()
        time.sleep(self.chance.uniform(0, 1.5))
        server.start()

    def _freeze(self, node):
        """It misses its lease."""
        if not node.alive():
            return
        stop_whole(node.process.pid)
        time.sleep(self.chance.uniform(*FROZEN_S))
        self.codes[node] |= {DECLARED_DEAD, UNAVAILABLE}
        node.process.send_signal(signal.SIGCONT)

    def _point(self, node):
        """The next one, at a node that comes by there."""
        point = POINTS[self.points % len(POINTS)]
        at = {"link.read": "source", "link.written": "dest", "link.committed": "dest"}.get(point)
        if self.other and at == self.away:
            return self.other, point
        return self.nodes[0] if node is self.other else node, point

    def _kill_at_point(self, node, point):
        """Either node, in the build that has the points."""
        self.points += 1
        node.kill()
        binary, node.binary = node.binary, self.rig.debug
        node.begin({"WAYBILL_FAULT": f"{point}:kill:{self.chance.randint(1, PASSES_MOST)}"})
        try:
            wait_for(f"a kill at {point}", lambda: not node.alive(), SHARED_SECONDS, 0.05)
        except RigError:
            for other in self.nodes:
                if node in self.nodes and other is not node:
                    other.kill()
            wait_for(f"a kill at {point}", lambda: not node.alive(), POINT_SECONDS, 0.05)
        node.binary = binary

    def _revive(self):
        for node in self._all():
            if not node.alive():
                self._judge_end(node)
                node.begin()

    def _judge_end(self, node):
        if node.process.returncode not in self.codes[node]:
            self.failures.append(f"{self.scene}: a node ended with {node.process.returncode}: {node.last_words()}")

    # ---- the end

    def finish(self, settle=True):
        """Everything is up, and writers end; then both sides are compared, by us and by the program."""
        if settle:
            wait_for("a link that has loaded", lambda: self._state()["stands"] in ("current", "behind"), SETTLE_SECONDS, 0.2)
            self._verify_quietly("ok", "partial")   # while they write
        self.writers.stop()
        if settle:
            self._settle()
        else:
            self._await_current()
        self._compare()
        self._count_batches()
        if settle:
            self._verify_quietly("ok")
        else:
            self.verified = self._verify()

    def _settle(self):
        try:
            wait_for("both sides to be the same", self._is_equal, SETTLE_SECONDS, 0.5)
        except RigError as problem:     # the counts say what is wrong
            self.failures.append(f"{self.scene}: {problem}: {self._state()}; see {self.folder}")

    def _await_current(self):
        """Until a run that began after the last change has found nothing more."""
        after = (datetime.datetime.now(datetime.timezone.utc) + RUN_MOST).strftime("%Y-%m-%dT%H:%M:%S")
        wait_for("a link that is current", lambda: (self._state()["current"] or "") > after, SETTLE_SECONDS, 0.2)

    def _verify_quietly(self, *results):
        """What is told is no difference: that is found by _compare() alone."""
        told = self._verify()
        if self.failures:
            return
        found = sum(told[name] for name in DIFFERENCES)
        self.counts["false_alarms"] += found
        if not found and told["result"] not in results:
            self.failures.append(f"{self.scene}: verification ends with {told['result']}: {told['message']}")

    def _up(self):
        """A node that answers; one may have come to its point after the last kill."""
        for node in self._all():
            if not node.alive():
                self._judge_end(node)
                node.begin()
        return next((node for node in self.nodes if node.ready()), None)

    def _is_equal(self):
        return self._up() is not None and self.source.rows(TABLE) == self.dest.rows(TABLE)

    def _await_up(self):
        return wait_for("a node that answers", self._up, READY_SECONDS, 0.2)

    def _ask(self, *words):
        """What `repl` prints; it ends with 1 where something is not as it should be."""
        node = self._await_up()
        command = [str(node.binary), "repl", *words, f"{LINK}/{TABLE}", "--json", "--url", node.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SETTLE_SECONDS, check=False,
                              env={"WAYBILL_TOKEN": node.token(), "PATH": "/usr/bin:/bin"})
        if done.returncode not in (0, 1) or not done.stdout:
            raise RigError(f"repl {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def _state(self):
        return self._ask("status")

    def _verify(self):
        return self._ask("verify", "--wait")

    def _compare(self):
        source, dest = self.source.rows(TABLE), self.dest.rows(TABLE)
        self.counts["missing"] += len(source.keys() - dest.keys())
        self.counts["extra"] += len(dest.keys() - source.keys())
        self.counts["different"] += sum(source[k] != dest[k] for k in source.keys() & dest.keys())

    def _count_batches(self):
        """Each number once, without a gap."""
        seen = [n for n, in self.dest.ask("select n from batches order by n")]
        self.counts["applied_twice"] += len(seen) - len(set(seen))
        if not seen or len(set(seen)) != max(seen) - min(seen) + 1:
            self.failures.append(f"{self.scene}: of {len(seen)} batches the numbers are not one after the other")

    def _count_messages(self):
        if self.recorder:
            self.counts["over_limit"] += sum(size > MESSAGE_LIMIT for size in self.recorder.sizes)
            if max(self.recorder.sizes, default=0) < MESSAGE_LIMIT * 0.9:
                self.failures.append(f"{self.scene}: no message was near the limit: it proves nothing")

    def tell(self, total):
        self._count_messages()
        total.update({"changes": self.writers.changes, "kills": self.kills, **self.counts})
        bad = sum(self.counts[name] for name in COUNTS)
        print(f"crash {self.scene}: {self.writers.changes} changes, {self.kills} kills, {dict(self.counts)}", flush=True)
        tally = self.rig.tally(self.scene)
        tally.acked += self.writers.changes
        tally.kills += self.kills
        tally.lost += bad
        tally.failures += self.failures


class BothWays(Pair):
    """Two links, and writers on both sides."""
    links = (LINK, BACK)

    def _links(self):
        rule = "    conflict: \"version:price\"\n"
        return (super()._links() + rule + f"  {BACK}:\n    from: {self.ends['dest']}\n    to: {self.ends['source']}\n    every: 200ms\n"
                f"    tables: {{ {TABLE}: {casts(self.source)} }}\n    deletes: {{ most: 1000000, share: 100% }}\n" + rule)

    def _writers(self):
        return Several([super()._writers(), Writers(self.dest, TABLE, seed=self.chance.randrange(10**6), keys=ROWS)])


class Several:
    """Writers of more than one database, as if they were of one."""

    def __init__(self, all_of_them):
        self.all = all_of_them
        self.stopping = self

    @property
    def changes(self):
        return sum(one.changes for one in self.all)

    def set(self):
        for one in self.all:
            one.stopping.set()

    def start(self):
        for one in self.all:
            one.start()

    def stop(self):
        self.set()
        for one in self.all:
            one.stop()

    def await_changes(self, count, seconds):
        wait_for(f"{count} changes", lambda: self.changes >= count or any(one.failed for one in self.all), seconds, 0.05)
