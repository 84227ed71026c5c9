"""What the benchmarks of the whole road share: receivers, a configuration, who carries, one run.

The rate of a run is what the receiver counted, and nothing else: documents that arrived, each
number once, over the time from the first arrival to the last.  After the senders have stopped the
backlog is carried to its end, and that time counts; so accepting faster than delivering wins
nothing.  Reference and product are measured by the same rule.
"""

import json
import select
import signal
import subprocess
import time
from dataclasses import dataclass

from bench.accept import Meter
from bench.measure import wrk
from rig.node import Api
from rig.process import RigError, cpu_seconds, end, free_port, memory_bytes, spawn

SYSTEMS = [f"s{i}" for i in range(10)]
TYPES = [f"t{i}" for i in range(10)]
CONCURRENCY = 64
DRAIN_SECONDS = 300
STALL_SECONDS = 10      # nothing arrives any more, though something is missing
STILL_SECONDS = 0.3     # a reference that delivers nothing for so long has delivered all
EXTRACT = {"sender": '"json:/from"', "receiver": '"json:/to"', "type": '"json:/kind"'}


def configuration(ports, concurrency=CONCURRENCY, endpoint=None, system=None, order=None, files=None, routes=None):
    """Ten systems, each with an endpoint on its port, and a route for each of 10 x 10 x 10, or those given.

    `endpoint` has more settings for some of them, as YAML: {"s9": "retry: { first: 12h }"}; `system`
    has those of systems, in place of the usual ones, `order` more for all of them; `files` has the
    folders of systems that get files.
    """
    usual = f"limits: {{ concurrency: {concurrency} }}"
    lines = ["systems:"]
    more = f", {order}" if order else ""
    lines += [f"  {s}: {{ {(system or {}).get(s, usual)}{more} }}" for s in SYSTEMS]
    lines += ["types:", *(f"  {t}: {{}}" for t in TYPES), "endpoints:"]
    for system, port in zip(SYSTEMS, ports):
        more = (endpoint or {}).get(system)
        place = (f'kind: file, path: "{files[system]}"' if system in (files or {}) else
                 f'kind: http, url: "http://127.0.0.1:{port}/in"')
        lines.append(f"  to-{system}: {{ {place}, system: {system}{', ' + more if more else ''} }}")
    lines.append("routes:")
    lines += routes or []
    for sender in SYSTEMS if routes is None else ():
        for receiver in SYSTEMS:
            for kind in TYPES:
                lines += [f"  - name: {sender}-{receiver}-{kind}",
                          f"    when: {{ sender: {sender}, receiver: {receiver}, type: {kind} }}",
                          "    do:", f"      - deliver: [to-{receiver}]"]
    return "\n".join(lines) + "\n"


class Receiver:
    """The program receiver.c: one port per system; moods by system, {"s8": "dead"}."""

    def __init__(self, bench, moods=None, log=None):
        self.ports = []
        while len(self.ports) < len(SYSTEMS):
            port = free_port()
            self.ports += [port] if port not in self.ports else []
        words = [f"{port}={mood}" if (mood := (moods or {}).get(system)) else str(port)
                 for system, port in zip(SYSTEMS, self.ports)]
        words = ["--log", log, *words] if log else words
        self.process = spawn([bench.tool("receiver"), *words], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RigError("the receiver does not start")

    def _ask(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], 30)[0]:
            raise RigError("the receiver does not answer")
        return self.process.stdout.readline()

    def count(self):
        return int(self._ask("count"))

    def reset(self):
        self._ask("reset")

    def stats(self):
        """Per system: what receiver.c says under `stats`."""
        return dict(zip(SYSTEMS, json.loads(self._ask("stats"))))

    def close(self):
        end(self.process, signal.SIGKILL)
        self.process.stdin.close()
        self.process.stdout.close()


class Pipe:
    """The reference, or whatever shall be measured like it: PROGRAM PORT FILE RECEIVER_PORT..."""

    def __init__(self, bench, program, ports):
        self.bench = bench
        self.port = free_port()
        self.file = bench.folder / f"pipe{self.port}.dat"
        self.process = spawn([program, self.port, self.file, *ports], stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            raise RigError(f"{program} does not start")

    def pid(self):
        return self.process.pid

    def meter(self):
        start = cpu_seconds(self.pid())
        return lambda: {"cpu": cpu_seconds(self.pid()) - start, "database_cpu": 0}

    def drain(self, receiver, meter, least):
        """Nobody counts what it accepted beyond the acknowledged: it is done when nothing comes any more."""
        seen, since, until = -1, 0, time.monotonic() + DRAIN_SECONDS
        while seen < least or time.monotonic() - since < STILL_SECONDS:
            if time.monotonic() > until:
                raise RigError(f"{least} were acknowledged, {seen} arrived in {DRAIN_SECONDS} s")
            count = receiver.count()
            if count != seen:
                seen, since = count, time.monotonic()
            time.sleep(0.05)

    def close(self):
        end(self.process, signal.SIGKILL)
        self.process.stdout.close()
        self.file.unlink(missing_ok=True)


class Product:
    """A node with the configuration above."""

    def __init__(self, bench, store, ports, extract=None, **options):
        self.bench = bench
        self.node = bench.node(store, gateway={"auth": "none", "extract": extract or EXTRACT},
                               more=configuration(ports, **options))
        try:
            self.node.start()
        except RigError:
            self.close()
            raise
        self.port = self.node.port

    def pid(self):
        return self.node.process.pid

    def meter(self):
        return RoadMeter(self.bench, self.node).read

    def drain(self, receiver, meter, least):
        """Everything that was accepted has arrived, and its outcome is committed."""
        wanted = max(meter()["accepted"], least)
        until = time.monotonic() + DRAIN_SECONDS
        for what, count in (("arrived", receiver.count), ("settled", lambda: meter()["outcomes"])):
            seen, since = -1, time.monotonic()
            while (now := count()) < wanted:
                if now != seen:
                    seen, since = now, time.monotonic()
                if time.monotonic() > min(until, since + STALL_SECONDS):
                    raise RigError(f"of {wanted:.0f} accepted {now:.0f} have {what}, and no more")
                time.sleep(0.02)

    def close(self):
        self.bench.discard(self.node)


class RoadMeter(Meter):
    """Cost of a node and its database, and how many deliveries it has settled."""

    def _read(self):
        outcomes = Api(self.node).metrics().get("waybill_deliveries_total", 0.0)
        return {**super()._read(), "outcomes": outcomes}


def product(bench, store, ports, **options):
    """The product, or what stands in its place."""
    if bench.instead:
        return Pipe(bench, bench.instead, ports)
    return Product(bench, store, ports, **options)


@dataclass
class Carried:
    """One run over the road."""
    documents: int
    per_second: float
    accepted_per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    database_us: float
    rss: int
    raw: float = 0


def carry(pipe, receiver, seconds, to="s0", script="orders"):
    """Orders from 64 connections for some seconds; p50 and p99 are those of the first system."""
    receiver.reset()
    meter = pipe.meter()
    run = wrk(script, pipe.port, seconds, "none", to=to)
    pipe.drain(receiver, meter, run.requests)
    used = meter()
    stats = receiver.stats()
    arrived = [s for s in stats.values() if s["count"] > 0]
    documents = sum(s["count"] - s["again"] for s in arrived)
    if documents < max(run.requests, 1):
        raise RigError(f"{run.requests} were acknowledged, {documents} arrived")
    took_ns = max(s["last_ns"] for s in arrived) - min(s["first_ns"] for s in arrived)
    first = stats[to.split()[0]]
    return Carried(documents, documents * 1e9 / took_ns, run.per_second, first["p50_ms"],
                   first["p99_ms"], used["cpu"] * 1e6 / documents,
                   used["database_cpu"] * 1e6 / documents, memory_bytes(pipe.pid(), "VmHWM"))
