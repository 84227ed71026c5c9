"""Two locations, each in a network of its own, with one link each, so that a table goes both ways: the wire between them is
cut for a minute under load, and healed.

Each has a node, its own PostgreSQL, which it reaches over a socket of the file system, and six writers that change the same
keys as those of the other one (harness/tables.py).  Both networks have one wire to each other and nothing else, and it is set
down and up again.  In the end both links are current, `repl digest` is equal, both tables are the same as psycopg reads them,
and both locations list the same rows as lost.  Nothing is sent back to where it came from: while nobody writes nothing is
written, which triggers at both tables tell; and while one side alone is written to, the link of the other one writes nothing.

Needs root and iproute2: networks are made.

proves: RP1 RP6 RP7 SC11
"""

import collections
import datetime
import json
import os
import shutil
import subprocess
import time

from crash.jobs_field import READY_SECONDS
from crash.repl import DIFFERENCES, ROWS, RUN_MOST, SETTINGS, TABLE, Several
from harness.postgres import Cluster
from harness.tables import Postgres, Writers
from rig.node import Node
from rig.process import RigError, run, spawn, wait_for

CUT_S = 60
CHANGES = 1500              # before a cut, and after it
ALONE = 300                 # of one side, while nobody writes to the other one
SETTLE_SECONDS = 300
STILL_RUNS = 5              # of both links, in which nothing may be written
NAMES, BASES, LINKS = ("hamburg", "berlin"), ("erp", "orders"), ("hb", "bh")
COUNTS = (*DIFFERENCES, "echoed", "unlike")
COUNT_WRITES = ("create table written (n bigint)",
                "create function write_seen() returns trigger language plpgsql as "
                "$$ begin insert into written values (1); return null; end $$",
                f"create trigger write_seen after insert or update or delete on {TABLE} for each row execute function write_seen()",
                f"alter table {TABLE} enable always trigger write_seen")


def apart(rig, count):
    """`count` cuts."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nsenter"):
        raise RigError("the scene `apart` makes networks: it needs root, ip (iproute2) and nsenter (util-linux)")
    total = collections.Counter({"changes": 0, "cuts": 0, "conflicts": 0, "lost_kept": 0, **{name: 0 for name in COUNTS}})
    with Field(rig, "postgres.apart", rig.chance("apart")) as field:
        field.begin()
        for _ in range(count):
            field.cut()
        field.finish()
        field.tell(total)
    print("crash apart: " + " ".join(f"{name}={number}" for name, number in total.items()), flush=True)


class Wire:
    """Two networks and the wire between them."""

    def __init__(self):
        self.spaces = [f"waybill-{os.getpid()}-{name}" for name in NAMES]
        self.addresses = ["10.199.77.1", "10.199.77.2"]
        self.ends = [f"wb{os.getpid() % 1000000}{letter}" for letter in "ab"]
        for space in self.spaces:
            run(["ip", "netns", "add", space])
        run(["ip", "link", "add", self.ends[0], "netns", self.spaces[0], "type", "veth",
             "peer", "name", self.ends[1], "netns", self.spaces[1]])
        for space, end, address in zip(self.spaces, self.ends, self.addresses):
            self._ip(space, "address", "add", f"{address}/24", "dev", end)
            self._ip(space, "link", "set", "lo", "up")
            self._ip(space, "link", "set", end, "up")

    @staticmethod
    def _ip(space, *words):
        run(["ip", "-n", space, *words])

    def up(self, up):
        self._ip(self.spaces[0], "link", "set", self.ends[0], "up" if up else "down")

    def inside(self, which):
        """What a command begins with that runs in one of them."""
        return ["nsenter", f"--net=/run/netns/{self.spaces[which]}"]

    def close(self):
        for space in self.spaces:
            subprocess.run(["ip", "netns", "delete", space], check=False)


class Place(Node):
    """A node in one of the networks."""

    def __init__(self, wire, which, *args, **settings):
        self.inside = wire.inside(which)
        super().__init__(*args, **settings)
        self.there = f"http://{wire.addresses[which]}:{self.port}"      # as the other one reaches it

    def _configuration(self, store, limits, gateway):
        text = super()._configuration(store, limits, gateway)
        return text.replace("listen: 127.0.0.1", "listen: 0.0.0.0", 1).replace("node:\n", "node:\n  insecure: true\n", 1)

    def begin(self, environment=None):
        self.log_from = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as log:
            self.process = spawn([*self.inside, self.binary, "serve", "-c", self.config], stderr=log, stdout=subprocess.DEVNULL,
                                 env={**os.environ, **self.environment, **(environment or {})}, cwd=self.folder)

    def ask(self, *words, codes=(0,), timeout=SETTLE_SECONDS):
        done = subprocess.run([*self.inside, str(self.binary), *words, "--url", self.url], capture_output=True, text=True,
                              timeout=timeout, check=False, env={**os.environ, "WAYBILL_TOKEN": self.token()})
        if done.returncode not in codes:
            raise RigError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-400:]}")
        return done.stdout

    def change(self, text):
        """Another configuration, in force."""
        self.config.write_text(text)
        self.ask("apply", str(self.config))


class Field:
    """Both locations.  Use as a context."""

    def __init__(self, rig, scene, chance):
        self.rig, self.scene, self.folder = rig, scene, rig.new_folder(scene)
        self.failures, self.counts, self.cuts, self.changes = [], collections.Counter(), 0, 0
        self.clusters = [Cluster(settings=SETTINGS) for _ in NAMES]
        self.wire = Wire()
        self.bases = [Postgres(cluster) for cluster in self.clusters]
        for base in self.bases:
            base.make(TABLE)
        self.places = [Place(self.wire, n, rig.release, self.folder / name,
                             more=f"databases:\n  {BASES[n]}: {self.bases[n].settings()}\n")
                       for n, name in enumerate(NAMES)]
        self.seeds = [chance.randrange(10**6) for _ in range(2)]

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, _):
        if hasattr(self, "writers"):
            self.writers.set()
        for place in self.places:
            place.kill()
        self.wire.close()
        for cluster in self.clusters:
            cluster.close()
        if isinstance(problem, (RigError, AssertionError)):
            self.failures.append(f"{self.scene}: {problem}")
        self.rig.failures += self.failures
        for said in self.failures:
            print(f"  {said}", flush=True)
        if not self.failures and problem is None and not any(self.counts[name] for name in COUNTS):
            shutil.rmtree(self.folder, ignore_errors=True)
        return isinstance(problem, (RigError, AssertionError))

    # ---- running

    def _text(self, which, key):
        """What is added to the configuration of one of them."""
        other = 1 - which
        return (f"peers:\n  {NAMES[other]}:\n    url: \"{self.places[other].there}\"\n    key: {key}\n    timeout: 5s\n"
                f"    may: {{ {BASES[which]}: [read, apply, install] }}\n"
                f"links:\n  {LINKS[which]}:\n    from: {BASES[which]}\n    to: {NAMES[other]}/{BASES[other]}\n    back: {LINKS[other]}\n"
                "    every: 200ms\n    retry: { first: 1s, most: 5s }\n    conflict: \"version:price\"\n"
                f"    tables: {{ {TABLE}: {{}} }}\n    deletes: {{ most: 1000000, share: 100% }}\n")

    def begin(self):
        for place in self.places:
            place.start(seconds=READY_SECONDS)
        keys = [json.loads(self.places[1 - n].ask("key", "add", "--admin", "--title", name, "--role", "peer", "--json"))["key"]
                for n, name in enumerate(NAMES)]
        for n, place in enumerate(self.places):
            place.change(place.config.read_text() + self._text(n, keys[n]))
        for place, link in zip(self.places, LINKS):
            place.ask("repl", "install", link, "--yes")
        self.writers = self._writers(self.seeds)
        self.writers.start()
        self.writers.await_changes(CHANGES, SETTLE_SECONDS)

    def _writers(self, seeds, which=(0, 1)):
        return Several([Writers(self.bases[n], TABLE, seed=seed, keys=ROWS, prepared=True) for n, seed in zip(which, seeds)])

    def cut(self):
        self.writers.await_changes(self.writers.changes + CHANGES, SETTLE_SECONDS)
        self.wire.up(False)
        until = time.monotonic() + CUT_S
        wait_for("a link that notices the cut", lambda: any(self._state(n)["error"] for n in range(2)), CUT_S, 0.5)
        while time.monotonic() < until:
            time.sleep(0.5)
        self.wire.up(True)
        self.cuts += 1
        self.writers.await_changes(self.writers.changes + CHANGES, SETTLE_SECONDS)

    def _state(self, which):
        return json.loads(self.places[which].ask("repl", "status", f"{LINKS[which]}/{TABLE}", "--json", codes=(0, 1)))

    def _listed(self, which):
        """What one location lists as lost, without what only it can say."""
        lines = self.places[which].ask("repl", "quarantine", "--json").splitlines()
        return collections.Counter((r["link"], r["table"], r["key"], json.dumps(r["values"]), r["why"])
                                   for r in map(json.loads, lines) if r["kind"] == "conflict")

    # ---- the end

    def finish(self):
        self.writers.stop()
        self.changes = self.writers.changes
        self._settle()
        self._compare()
        self._await_still()
        self._echo_of_one_side()
        self._compare_lists()

    def _is_equal(self):
        return self.bases[0].rows(TABLE) == self.bases[1].rows(TABLE)

    def _settle(self):
        try:
            wait_for("both sides to be the same", self._is_equal, SETTLE_SECONDS, 0.5)
            self._await_current()
        except RigError as problem:     # the counts say what is wrong
            self.failures.append(f"{self.scene}: {problem}: {[self._state(n) for n in range(2)]}; see {self.folder}")

    def _await_current(self):
        """Until runs that began after the last change have found nothing more, at both."""
        after = (datetime.datetime.now(datetime.timezone.utc) + RUN_MOST).strftime("%Y-%m-%dT%H:%M:%S")
        wait_for("links that are current", lambda: all((s := self._state(n))["stands"] == "current" and s["current"] > after
                                                       for n in range(2)), SETTLE_SECONDS, 0.2)

    def _compare(self):
        one, two = (base.rows(TABLE) for base in self.bases)
        self.counts["missing"] += len(one.keys() - two.keys())
        self.counts["extra"] += len(two.keys() - one.keys())
        self.counts["different"] += sum(one[k] != two[k] for k in one.keys() & two.keys())
        for place, link in zip(self.places, LINKS):
            place.ask("repl", "digest", f"{link}/{TABLE}")     # it ends with 1 where they are not equal

    def _await_still(self):
        """Nobody writes, so nothing may be written."""
        for base in self.bases:
            base.run(*COUNT_WRITES)
        for n in range(2):
            seen = {self._state(n)["current"]}
            wait_for("runs of a link", lambda n=n, seen=seen: seen.add(self._state(n)["current"]) or len(seen) > STILL_RUNS,
                     SETTLE_SECONDS, 0.1)
        self.counts["echoed"] += sum(base.ask("select count(*) from written")[0][0] for base in self.bases)
        for base in self.bases:
            base.run(f"drop trigger write_seen on {TABLE}", "drop function write_seen", "drop table written")

    def _echo_of_one_side(self):
        """One side is written to, and what the link of the other one writes came from there."""
        for n in range(2):
            state = self._state(1 - n)
            writers = self._writers([self.seeds[n] + 1], [n])
            writers.start()
            writers.await_changes(ALONE, SETTLE_SECONDS)
            writers.stop()
            self.changes += writers.changes
            self._settle()
            after = self._state(1 - n)
            self.counts["echoed"] += sum(after[name] - state[name] for name in ("written", "removed"))
        self._compare()

    def _compare_lists(self):
        try:
            wait_for("the same list of what has lost", lambda: self._listed(0) == self._listed(1), 30, 1)
        except RigError as problem:
            self.failures.append(f"{self.scene}: {problem}")
        lists = [self._listed(n) for n in range(2)]
        self.counts["unlike"] = sum(((lists[0] - lists[1]) + (lists[1] - lists[0])).values())
        self.counts["lost_kept"] = sum(lists[0].values())
        self.counts["conflicts"] = sum(self._state(n)["conflicts"] for n in range(2))
        if self.counts["conflicts"] == 0:
            self.failures.append(f"{self.scene}: there was no conflict, so nothing is proved")

    def tell(self, total):
        total.update({"changes": self.changes, "cuts": self.cuts, **self.counts})
        tally = self.rig.tally(self.scene)
        tally.acked += self.changes
        tally.lost += sum(self.counts[name] for name in COUNTS)
        tally.failures += self.failures
