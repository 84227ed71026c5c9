"""Durable accepts per second, measured against a server that does nothing but be durable."""

import signal
import subprocess
from dataclasses import dataclass

from bench.measure import CONNECTIONS, ROUNDS_MOST, median, steady_rounds, wrk
from rig.node import Api
from rig.process import RigError, cpu_seconds, end, free_port, memory_bytes, spawn

RSS_MOST = 200e6
BARS = {  # least share of raw, most us/doc
    ("accept", "sqlite"): (0.40, 25),
    ("accept-keyed", "sqlite"): (0.28, 45),
    ("accept", "postgres"): (0.18, None),
    ("accept-keyed", "postgres"): (0.14, None),
}
SCRIPTS = {"accept": "plain", "accept-keyed": "keyed"}


@dataclass
class Round:
    """One product run between two raw ones."""
    run: object
    raw: float
    cpu_us: float
    database_us: float
    syncs: float    # of both
    rss: int

    @property
    def per_second(self):
        return self.run.per_second

    def share(self):
        return self.per_second / self.raw


class Raw:
    """The reference server, kept for all rounds."""

    def __init__(self, bench):
        self.port = free_port()
        self.process = spawn([bench.tool("raw_accept"), self.port, bench.folder / "raw.dat"],
                             stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            raise RigError("raw_accept does not start")

    def close(self):
        end(self.process, signal.SIGKILL)
        self.process.stdout.close()


def accept(bench, store, name):
    """Five good rounds; prints the line of the median and the verdict."""
    rounds_wanted, seconds = (1, 2) if bench.quick else (5, 6)
    raw = Raw(bench)
    try:
        good = steady_rounds(rounds_wanted,
                             lambda: wrk(SCRIPTS[name], raw.port, seconds, "none").per_second,
                             lambda: measure(bench, store, SCRIPTS[name], seconds))
    finally:
        raw.close()
    if not good:
        bench.verdict(f"{name} {store}", f"fewer than {rounds_wanted} good rounds of {ROUNDS_MOST}",
                      rounds=(False, "the disk never was steady"))
        return
    report(bench, store, name, good)


class Meter:
    """Cost of the node and of its database since the meter was made."""

    def __init__(self, bench, node):
        self.bench, self.node, self.api = bench, node, Api(node)
        self.start = self._read()

    def _read(self):
        metrics = self.api.metrics()
        postgres = not self.node.on_sqlite
        return {
            "cpu": cpu_seconds(self.node.process.pid),
            "accepted": metrics["waybill_documents_accepted_total"],
            "syncs": metrics["waybill_syncs_total"],
            "database_cpu": self.bench.database_cpu() if postgres else 0,
            "database_syncs": self.bench.database_syncs() if postgres else 0,
        }

    def read(self):
        return {name: value - self.start[name] for name, value in self._read().items()}


def measure(bench, store, script, seconds, connections=CONNECTIONS):
    """The product alone over HTTP, see measure_by."""
    def send(node, duration):
        return wrk(script, node.port, duration, node.key, connections)
    return measure_by(bench, bench.node(store), seconds, send)


def measure_by(bench, node, seconds, send):
    """A fresh node, a second of `send` to get warm, then the one that counts; `send` gives `requests` and `per_second`."""
    try:
        node.start()
        node.key_add()
        send(node, 1)
        meter = Meter(bench, node)
        run = send(node, seconds)
        used = meter.read()
        rss = memory_bytes(node.process.pid, "VmHWM")
        node.stop()
    finally:
        bench.discard(node)
    accepted = used["accepted"]
    if accepted < run.requests:
        raise RigError(f"{run.requests} were acknowledged, {accepted:.0f} accepted")
    return Round(run, 0, used["cpu"] * 1e6 / accepted, used["database_cpu"] * 1e6 / accepted,
                 (used["syncs"] + used["database_syncs"]) / accepted, rss)


def report(bench, store, name, good):
    share_least, us_most = BARS[name, store]
    share = median(r.share() for r in good)
    us = median(r.cpu_us for r in good)
    rss = max(r.rss for r in good)
    print(f"bench {name} {store}: {median(r.run.per_second for r in good):.0f} docs/s, "
          f"{share:.2f} of raw, p50 {median(r.run.p50_ms for r in good):.2f} ms, "
          f"p99 {median(r.run.p99_ms for r in good):.2f} ms, {us:.1f} us/doc, "
          f"{median(r.syncs for r in good):.3f} fsyncs/doc, {rss / 1e6:.0f} MB", flush=True)
    if store == "postgres":
        print(f"bench {name} postgres: PostgreSQL itself "
              f"{median(r.database_us for r in good):.1f} us/doc", flush=True)
    bars = {"share": (share >= share_least, f"{share:.3f} of raw, bar {share_least:.2f}"),
            "rss": (rss < RSS_MOST, f"{rss / 1e6:.0f} MB, bar 200")}
    if us_most:
        bars["us"] = (us <= us_most, f"{us:.1f} us/doc, bar {us_most}")
    bench.verdict(f"{name} {store}", "", **bars)


def syncs(bench, store="sqlite"):
    """Does the metric count every sync call?  strace counts, too."""
    node = bench.node(store)
    try:
        node.start()
        node.key_add()
        wrk("plain", node.port, 1, node.key)
        table = bench.folder / "strace"
        tracer = spawn(["strace", "-f", "-c", "-U", "name,calls", "-o", table,
                        "-e", "trace=fsync,fdatasync,syncfs,sync_file_range,msync",
                        "-p", node.process.pid], stderr=subprocess.PIPE)
        tracer.stderr.readline()    # says that it is attached
        before = Api(node).metrics()["waybill_syncs_total"]
        wrk("plain", node.port, 2, node.key)
        counted = Api(node).metrics()["waybill_syncs_total"] - before
        end(tracer, signal.SIGINT)
        seen = sum(int(line.split()[1]) for line in table.read_text().splitlines()
                   if line.split()[:1] and line.split()[0] in
                   ("fsync", "fdatasync", "syncfs", "sync_file_range", "msync"))
    finally:
        bench.discard(node)
    near = abs(seen - counted) <= max(5, seen // 100)
    counts = seen > 0 or store == "postgres"    # there the database does the syncing
    bench.verdict(f"syncs {store}", f"metric {counted:.0f}, strace {seen}",
                  near=(near and counts, "they differ"))
