"""Iterations of jobs per second, measured against four connections that do nothing but claim and release.

2 000 jobs of kind `note` that are always due (`every: 1ms`), one node as it is set by default, no log of runs.
With SQLite there is no other process that claims, so there is no reference: the cost of an iteration counts.

And 10 000 jobs that are due at one instant, with a log of all runs, on two nodes: each has one run in the log.
"""

import datetime
import json
import time
from dataclasses import dataclass

from bench.measure import ROUNDS_MOST, median, say, steady_rounds
from rig.node import Api, Node
from rig.process import RigError, cpu_seconds, memory_bytes, run, wait_for

JOBS = 2000
SHARE_LEAST, US_MOST = 0.20, 150
WARM_SECONDS = 120          # by then each job has run once
AT_ONCE = 10_000
AT_ONCE_SECONDS = 300
RUNS = "waybill_job_runs_total"


@dataclass
class Round:
    """One node, and the reference before and after it."""
    per_second: float
    cpu_us: float
    database_us: float
    rss: int
    raw: float = 0

    def share(self):
        return self.per_second / self.raw


def notes(count, keys, name="note"):
    """The configuration of so many notes."""
    return "jobs:\n" + "".join(f"  {name}-{n}: {{ kind: note, log: off, {keys} }}\n" for n in range(count))


def jobs(bench, store):
    wanted, seconds = (1, 3) if bench.quick else (5, 6)
    if store == "sqlite":
        good = [measure(bench, store, seconds) for _ in range(wanted)]
    else:
        database = "raw_jobs"
        bench.cluster().create_database(database)
        try:
            good = steady_rounds(wanted, lambda: raw(bench, database, seconds),
                                 lambda: measure(bench, store, seconds))
        finally:
            bench.cluster().drop_database(database)
    if not good:
        bench.verdict(f"jobs {store}", f"fewer than {wanted} good rounds of {ROUNDS_MOST}",
                      rounds=(False, "the disk never was steady"))
        return
    report(bench, store, good)
    if store == "postgres":
        at_once(bench)


def raw(bench, database, seconds):
    said = json.loads(run([bench.tool("raw_jobs"), bench.cluster().conninfo(database), JOBS, seconds],
                          timeout=seconds + 60))
    return said["released"] / said["seconds"]


class Meter:
    """Iterations of a node and what they cost, since the meter was made."""

    def __init__(self, bench, node):
        self.bench, self.node, self.api = bench, node, Api(node)
        self.start = self._read()

    def _read(self):
        return {"time": time.monotonic(), "runs": self.api.metrics().get(RUNS, 0),
                "cpu": cpu_seconds(self.node.process.pid),
                "database": 0 if self.node.on_sqlite else self.bench.database_cpu()}

    def read(self):
        return {name: value - self.start[name] for name, value in self._read().items()}


def measure(bench, store, seconds):
    node = bench.node(store, more=notes(JOBS, "every: 1ms"))
    try:
        node.start()
        api = Api(node)
        wait_for("a run of each job", lambda: api.metrics().get(RUNS, 0) >= 2 * JOBS, WARM_SECONDS, 0.1)
        meter = Meter(bench, node)
        time.sleep(seconds)
        used = meter.read()
        rss = memory_bytes(node.process.pid, "VmHWM")
        lost = api.metrics()["waybill_job_lost_total"]
        node.stop()
    finally:
        bench.discard(node)
    if lost or not used["runs"]:
        raise RigError(f"{used['runs']:.0f} iterations, {lost:.0f} claims lost")
    return Round(used["runs"] / used["time"], used["cpu"] * 1e6 / used["runs"],
                 used["database"] * 1e6 / used["runs"], rss)


def report(bench, store, good):
    rate, us, rss = median(r.per_second for r in good), median(r.cpu_us for r in good), max(r.rss for r in good)
    share = median(r.share() for r in good) if store == "postgres" else None
    of_raw = f"{share:.2f} of raw, " if share is not None else ""
    print(f"bench jobs {store}: {rate:.0f} iterations/s, {of_raw}{us:.1f} us/iteration, {rss / 1e6:.0f} MB", flush=True)
    bars = {"us": (us <= US_MOST, f"{us:.1f} us/iteration, bar {US_MOST}")}
    if share is not None:
        print(f"bench jobs postgres: PostgreSQL itself {median(r.database_us for r in good):.1f} us/iteration",
              flush=True)
        bars["share"] = (share >= SHARE_LEAST, f"{share:.3f} of raw, bar {SHARE_LEAST:.2f}")
    bench.verdict(f"jobs {store}", "", **bars)


# ---- due at one instant --------------------------------------------------------------------------


def at_once(bench):
    """Two nodes race for jobs that are due together."""
    count, away = (1000, 15) if bench.quick else (AT_ONCE, 40)
    instant = int(time.time()) + away
    text = datetime.datetime.fromtimestamp(instant, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = notes(count, f'once: "{text}"').replace("log: off", "log: all")
    first = bench.node("postgres", more=config)
    second = Node(bench.binary, bench.folder / f"{first.folder.name}-second", store=first.store, more=config)
    database = first.folder.name
    try:
        first.start()
        second.start()
        wait_for("the records of all jobs", lambda: number(bench, database, "SELECT count(*) FROM job") == count, away, 0.2)
        if time.time() >= instant:
            raise RigError(f"the records of {count} jobs took longer than {away} s")
        shares = wait_for("all runs", lambda: ended(first, second, count), away + AT_ONCE_SECONDS, 0.1)
        took = time.time() - instant
        logged = wait_for("the log of runs", lambda: lines(bench, database, count), AT_ONCE_SECONDS, 0.2)
        first.stop()
        second.stop()
        rows, names = lines(bench, database, 0)     # what came with the stop, too
    finally:
        second.kill()
        bench.discard(first)
    say(f"{count} jobs at one instant: {shares[0]:.0f} and {shares[1]:.0f} on the two nodes")
    bench.verdict("jobs-at-once", f"{count} jobs due at one instant on two nodes: {rows} runs of {names} jobs in the log, "
                  f"{took:.1f} s, {count / took:.0f} iterations/s",
                  once=(rows == names == count and logged, f"the log has {rows} runs of {names} jobs"),
                  both=(min(shares) > 0, "one node had all of them"))


def ended(first, second, count):
    shares = [Api(node).metrics().get(RUNS, 0) for node in (first, second)]
    return shares if sum(shares) >= count else None


def number(bench, database, query):
    return int(bench.cluster().sql(query, database) or 0)


def lines(bench, database, least):
    """(runs, jobs) in the log, when it has so many runs."""
    tables = bench.cluster().sql("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^job_log_[0-9]+$'", database)
    union = " UNION ALL ".join(f"SELECT job FROM {table}" for table in tables.split())
    if not union:
        return None
    rows, names = map(int, bench.cluster().sql(f"SELECT count(*), count(DISTINCT job) FROM ({union}) AS l", database).split())
    return (rows, names) if rows >= least else None
