"""Measuring: wrk as a child, what one run of it says, and where the benchmark lives."""

import hashlib
import os
import re
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from harness.postgres import Cluster
from rig.node import GATEWAY, Node
from rig.process import RigError, children_of, cpu_seconds, run

RAWS_DIFFER_MOST = 0.15
ROUNDS_MOST = 15
UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}
CONNECTIONS = 64
PLAIN_SHA256 = hashlib.sha256(b"x" * 1024).hexdigest()     # what plain.lua and keyed.lua send


@dataclass(frozen=True)
class Run:
    """One run of wrk."""
    requests: int
    per_second: float
    accepted_per_second: float
    p50_ms: float
    p99_ms: float


def wrk(script, port, seconds, key, connections=CONNECTIONS, refusals=False, to="s0", patience=2):
    """One thread of wrk with one of our scripts; `to` names the receivers of orders.lua.

    Any answer but 2xx is a RigError, unless refusals are what is looked for, and so is one that takes longer than
    `patience` seconds.
    """
    here = Path(__file__).parent
    variables = {**os.environ, "WAYBILL_KEY": key, "BENCH_RUN": f"{time.time_ns():x}",
                 "BENCH_TO": to}
    said = run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}", f"--timeout={patience}", "--latency", "-s",
                here / f"{script}.lua", f"http://127.0.0.1:{port}/in/{GATEWAY}"],
               timeout=seconds + 30, env=variables)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    broken = re.search(r"Socket errors: .*", said)
    if broken or (refused and not refusals):
        raise RigError(f"wrk: {(broken or refused)[0]}")
    requests = int(re.search(r"(\d+) requests in", said)[1])
    per_second = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    accepted = requests - (int(refused[1]) if refused else 0)
    return Run(requests, per_second, per_second * accepted / max(requests, 1),
               _latency(said, "50"), _latency(said, "99"))


def _latency(said, percent):
    number, unit = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s|m) *$", said, re.M).groups()
    return float(number) * UNITS_MS[unit]


class Bench:
    """What the benchmarks share: programs, a place on the disk that counts, the cluster."""

    def __init__(self, root, binary, quick, instead=None, before=None):
        self.root = root
        self.binary = binary
        self.quick = quick
        self.instead = instead      # measured in the product's place, see road.py
        self.before = before        # an older program to compare with, see cage.py
        self.folder = root / f"build/bench/{os.getpid()}"
        self.folder.mkdir(parents=True)
        self.mebibytes = None       # the size of large documents, if it is not the usual one
        self.cases = ()             # which of large_peers.py
        self.failures = []
        self._cluster = None
        self._count = 0

    def tool(self, name):
        path = self.root / "build/release" / name
        if not path.exists():
            raise RigError(f"{path} is missing: build the release preset first")
        return path

    def node(self, store="sqlite", **options):
        """A node with a fresh folder (and database), not started yet."""
        self._count += 1
        name = f"bench{self._count}"
        url = None
        if store == "postgres":
            self.cluster().create_database(name)
            url = self.cluster().url(name)
        return Node(self.binary, self.folder / name, store=url, **options)

    def discard(self, node):
        """Ends a node if it runs and gives its disk space back."""
        node.kill()
        if not node.on_sqlite:
            self.cluster().drop_database(node.folder.name)
        shutil.rmtree(node.folder, ignore_errors=True)

    def cluster(self):
        """PostgreSQL on the same disk as everything else, if its user can get there."""
        if self._cluster is None:
            folder = self.folder / "postgres"
            folder.mkdir()
            reach = subprocess.run(["test", "-x", str(self.folder)], check=False, cwd="/",
                                   **({"user": "postgres"} if os.geteuid() == 0 else {}))
            self._cluster = Cluster(directory=str(folder) if reach.returncode == 0 else None)
        return self._cluster

    def database_cpu(self):
        """Seconds used by all processes of PostgreSQL, the ended ones included."""
        postmaster = self.cluster().process.pid
        total = cpu_seconds(postmaster, with_reaped=True)
        for child in children_of(postmaster):
            try:
                total += cpu_seconds(child)
            except OSError:
                continue
        return total

    def database_syncs(self):
        """Sync calls of PostgreSQL's log since it started."""
        return int(self.cluster().sql("SELECT wal_sync FROM pg_stat_wal"))

    def verdict(self, name, figures, **bars):
        """Prints one line with figures and PASS or FAIL; bars are name=(held, text)."""
        missed = [text for held, text in bars.values() if not held]
        print(f"bench {name}: {figures}{': ' if figures else ''}"
              f"{'FAIL (' + ', '.join(missed) + ')' if missed else 'PASS'}", flush=True)
        if missed:
            self.failures.append(f"{name}: {', '.join(missed)}")

    def close(self):
        if self._cluster is not None:
            self._cluster.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def steady_rounds(wanted, raw, product):
    """Rounds of raw, product, raw until `wanted` are good; an empty list when that never happens.

    The disk has slow spells: a round whose two raws differ by more than 15 % says nothing about
    the product and is repeated.  `raw` gives a rate, `product` an object with `per_second`; its
    `raw` is set to the mean of the two.
    """
    good = []
    for number in range(1, ROUNDS_MOST + 1):
        before, found, after = raw(), product(), raw()
        steady = abs(before - after) / max(before, after) <= RAWS_DIFFER_MOST
        found.raw = (before + after) / 2
        say(f"round {number}: raw {before:.0f}, product {found.per_second:.0f}, raw {after:.0f}: "
            f"{found.per_second / found.raw:.3f}{'' if steady else ', raws differ: again'}")
        good += [found] if steady else []
        if len(good) == wanted:
            return good
    return []


def median(values):
    return statistics.median(list(values))


def say(text):
    """Progress."""
    print(f"  {text}", flush=True)
