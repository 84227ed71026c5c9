"""Jobs that count, under kills of nodes and of their database, freezes and power cuts.

Each job takes a number to a service and brings back the next one, as its state (jobs_service.py): every second, or each
minute with `catch_up: all`; half of them are acknowledged later.  On PostgreSQL four nodes race for them.  Nodes are
killed at random and at points of a run and of a commit, frozen for longer than their lease, the database is killed,
and claims are taken away from nodes that live.  On SQLite one node is killed, or the power is cut.  In the end
what the service saw is compared with what the store has (jobs_checks.py).

In the control the end of a run does not match its claim: a run whose claim was taken away writes its end all the
same, and at least three of five runs must count something.

proves: SC3 SC10 SC13
"""

import collections
import shutil
import signal
import time

from crash.jobs_checks import COUNTS
from crash.jobs_field import DECLARED_DEAD, READY_SECONDS, TAKE, UNAVAILABLE, Jobs, freeze, names, thaw
from harness.postgres import Cluster
from rig.process import wait_for

NODES = 4
JOBS = {"postgres": 500, "sqlite": 200}
FEW = 40                # in a short run
LONG = 20               # from so many kills on the run is a long one
FROZEN_S = (16, 21)     # a lease is 10 s, and a node is declared dead 5 s after it
FROZEN_AT_ONCE = 2
POINTS = ("job.run", "job.ran", "group.begun", "group.written", "commit.sent", "group.committed")
PASSES_MOST = 40
CONTROL = {"WAYBILL_TEST_JOB_CLAIM_APART": "1"}
CONTROL_TAKES = 12
CONTROL_SECONDS = 10    # its jobs may well stand still for ever
TAKE_TRIES = 20
CONNECTIONS = {"max_connections": "200"}


def jobs(rig, count):
    """`count` kills of nodes on PostgreSQL; all else in proportion."""
    total = collections.Counter({name: 0 for name in ("runs", "kills", "freezes", "cuts", *COUNTS)})
    if count < LONG:
        plan = {"kill": count, "base": 1, "take": 1}
        count_up(rig, total, on_postgres(rig, rig.cluster(), names(FEW), plan, 2))
    else:
        plan = {"kill": count, "base": count // 6, "freeze": count // 3, "take": count // 3}
        with Cluster(settings=CONNECTIONS) as cluster:
            count_up(rig, total, on_postgres(rig, cluster, names(JOBS["postgres"]), plan, NODES))
            control(rig, cluster)
    plan = {"kill": count // 2, "cut": -(-count // 6)}
    count_up(rig, total, on_sqlite(rig, names(JOBS["sqlite"] if count >= LONG else FEW), plan))
    print("crash jobs: " + " ".join(f"{name}={number}" for name, number in total.items()), flush=True)


def count_up(rig, total, field):
    tally = rig.tally(field.scene)
    for said in field.judge.said + field.failures:
        print(f"  {field.scene}: {said}", flush=True)
    counts = field.judge.counts
    total.update({"runs": field.runs, **field.done, **counts})
    tally.acked += field.runs
    tally.kills += field.done["kills"]
    tally.cuts += field.done["cuts"]
    tally.lost += counts["lost"] + counts["state_back"] + counts["stranded"]
    tally.doubled += counts["twice"]
    tally.failures += field.failures


# ---- several nodes ---------------------------------------------------------------------------


class Storm:
    """What is done to nodes that race, in any order, until it was all done."""

    def __init__(self, field, plan):
        self.field, self.chance = field, field.chance
        self.events = [name for name, times in plan.items() for _ in range(times)]
        self.chance.shuffle(self.events)
        self.done = field.done
        self.frozen = {}        # node: until when
        self.forgiven = {}      # by node: exit codes that are no failure, because of what was done since it was begun

    def run(self):
        while self.events or self.frozen:
            self._thaw()
            self._revive()
            if self.events and self._act(self.events[-1]):
                self.events.pop()
                self.field.look()
            time.sleep(self.chance.uniform(0.1, 0.8))
        self._revive()

    def _act(self, name):
        """True: it was done."""
        there = [n for n in self.field.nodes if n.alive() and n not in self.frozen]
        if name == "base":
            self._kill_database()
        elif name == "take":
            self._take_claims()
        elif not there or (name == "freeze" and len(self.frozen) >= FROZEN_AT_ONCE):
            self.chance.shuffle(self.events)
            return False
        elif name == "freeze":
            node = self.chance.choice(there)
            freeze(node)
            self.frozen[node] = time.monotonic() + self.chance.uniform(*FROZEN_S)
            self._forgive(node, DECLARED_DEAD, UNAVAILABLE)     # it may just begin
            self.done["freezes"] += 1
        else:
            self.chance.choice(there).kill()
            self.done["kills"] += 1
        return True

    def _take_claims(self):
        """As a rescue does when their node is dead; perhaps there is none just now."""
        for _ in range(TAKE_TRIES):
            if self.field.sql(TAKE):
                break
            time.sleep(0.02)

    def _forgive(self, node, *codes):
        self.forgiven.setdefault(node, {-signal.SIGKILL}).update(codes)

    def _kill_database(self):
        self.field.cluster.kill_hard()
        for node in self.field.nodes:
            self._forgive(node, UNAVAILABLE)    # it begins just now
        self.done["kills"] += 1
        time.sleep(self.chance.uniform(0, 1.5))
        self.field.cluster.start()

    def _thaw(self):
        for node in [n for n, until in self.frozen.items() if time.monotonic() >= until]:
            del self.frozen[node]
            thaw(node)

    def _revive(self):
        """Nodes that are down begin again; one of the test build is killed at a point that it comes to."""
        for node in self.field.nodes:
            if node.alive():
                continue
            self.field.bury(node, self.forgiven.pop(node, {-signal.SIGKILL}))
            fault = None
            if node.binary == self.field.rig.debug and self.events:
                fault = {"WAYBILL_FAULT": f"{self.chance.choice(POINTS)}:kill:{self.chance.randint(1, PASSES_MOST)}"}
            node.begin(fault)


def on_postgres(rig, cluster, wanted, plan, count):
    binaries = [rig.release if n % 2 == 0 else rig.debug for n in range(count)]
    with Jobs(rig, "postgres.jobs", binaries, wanted, cluster) as field:
        field.begin()
        Storm(field, plan).run()
        print(f"crash postgres.jobs: {dict(field.done)}, {field.service.count} requests, "
              f"{field.service.too_late} acknowledged too late", flush=True)
        field.finish()
    return field


# ---- one node ----------------------------------------------------------------------------------


def on_sqlite(rig, wanted, plan):
    """Kills, at points or at any moment, and power cuts."""
    with Jobs(rig, "sqlite.jobs", [rig.debug], wanted, on_disk=True) as field:
        field.begin()
        node, events = field.nodes[0], [name for name, times in plan.items() for _ in range(times)]
        field.chance.shuffle(events)
        for event in events:
            until = time.monotonic() + field.chance.uniform(0.3, 2.5)
            while node.alive() and time.monotonic() < until:
                time.sleep(0.01)
            if event == "cut":
                cut(field, node)
            else:
                node.kill()
                field.done["kills"] += 1
            field.bury(node, {-signal.SIGKILL})
            field.look()
            start(field, node)
        print(f"crash sqlite.jobs: {dict(field.done)}, {field.service.count} requests, "
              f"{field.service.too_late} acknowledged too late", flush=True)
        field.finish()
    return field


def start(field, node):
    """Perhaps with a point at which it dies by itself, also before it is ready."""
    point = None if field.chance.random() < 0.4 else field.chance.choice(POINTS)
    passes = field.chance.randint(1, PASSES_MOST)
    node.begin({"WAYBILL_FAULT": f"{point}:kill:{passes}"} if point else None)
    wait_for("a node that is ready, or dead by its fault",
             lambda: node.process.poll() == -signal.SIGKILL or node.is_ready(), READY_SECONDS, 0.01)


def cut(field, node):
    """The power goes: what was not synced is gone."""
    if node.alive():
        freeze(node)
    field.disk.cut()
    node.kill()
    field.disk.restore()
    field.done["cuts"] += 1


# ---- the control -------------------------------------------------------------------------------


def control(rig, cluster, count=5):
    bad = sum(control_run(rig, cluster) for _ in range(count))
    print(f"control job-claim: bad={bad} of {count}", flush=True)
    if bad < -(-count * 3 // 5):
        rig.fail(f"control job-claim: {bad} of {count} runs counted something, at least {-(-count * 3 // 5)} must: "
                 "the check is blind")


def control_run(rig, cluster):
    """Claims are taken away from nodes that live, and the ends of their runs are written all the same."""
    with Jobs(rig, "control.jobs", [rig.debug] * 2, names(FEW), cluster, environment=CONTROL,
              settle_seconds=CONTROL_SECONDS) as field:
        field.begin()
        Storm(field, {"take": CONTROL_TAKES}).run()
        field.finish()
    print(f"control job-claim: {field.judge.line()}", flush=True)
    shutil.rmtree(field.folder, ignore_errors=True)
    return not field.judge.clean()
