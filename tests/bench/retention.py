"""Half of the documents go while others come in, and nobody who sends may feel it.

The documents end under a clock that is seven weeks back; then the node is started with the true one,
gets as many young ones, and is told to let go of the old, under load.

On PostgreSQL what senders feel is the server's disk, which has slow spells of its own, in which commits take
500 ms though nothing goes.  There the old ones go in portions, each between two quiet times, so that spells
meet both alike.  Medians are compared, and how many of the times had a slow commit: chance may make one more.
On SQLite it waits for calm (machine.py) before either of the two times that are compared.  All of what is measured
then counts; how it was in those slices in which others had no more than a twentieth of the processor is only said.
"""

import json
import os
import re
import struct
import time
from dataclasses import dataclass
from statistics import median

from bench.machine import Machine, Pulse, processor
from bench.measure import say, wrk
from rig.node import Api
from rig.process import RigError, run, wait_for

DOCUMENTS, PAYLOAD = 500_000, 1024
SEGMENTS, ENTRY = 128 << 20, 96
BACK_DAYS = 50
RATE = 2000
SLICE, BEFORE_SLICES = 2, 40
STOLEN_MOST = 0.05
ROUNDS = 8
COMMIT_MOST_S, P99_MOST = 0.25, 2.0
GROWN_MOST = 0.02       # pages are not filled alike twice
CONFIGURATION = """\
systems: { acme: {}, shop: {} }
types: { order: {}, "*": {} }
routes:
  - { name: all, do: [ { drop: enough } ] }
"""
EXTRACT = {"sender": '"value:acme"', "receiver": '"value:shop"', "type": '"value:order"'}


def retention(bench, store):
    documents = 20_000 if bench.quick else DOCUMENTS
    clock = bench.folder / "retention.clock"
    node = bench.node(store, more=CONFIGURATION, gateway={"extract": EXTRACT}, environment={
        "LD_PRELOAD": str(bench.tool("jump.so")), "JUMP_FILE": str(clock)})
    try:
        (scene if node.on_sqlite else rounds)(bench, node, documents, clock)
    finally:
        bench.discard(node)


def start_at(node, clock, days_back):
    clock.write_bytes(struct.pack("=q", -days_back * 86400 * 1_000_000))
    node.start(seconds=300)


def scene(bench, node, documents, clock):
    start_at(node, clock, BACK_DAYS)
    node.key_add()
    old = fill(node, documents)
    node.stop(300)
    start_at(node, clock, 0)
    fill(node, documents)
    machine = Machine(bench.folder)
    os.sync()           # what filling left to write is not what others feel before
    machine.wait()
    first = [offer(bench, node, SLICE) for _ in range(6 if bench.quick else BEFORE_SLICES)]
    say(f"before: {tell(first)}")
    node.stop(300)      # then the database is one file, without a log
    there, file = segments(node), database(node)
    node.start(seconds=300)
    machine.wait()
    slow, pulse = slow_commits(node), Pulse(COMMIT_MOST_S)
    node.cli("retention", "run")
    runs, added, took = let_go(bench, node, SLICE, old)
    slow = slow_commits(node) - slow    # also between two of them
    late, longest = pulse.end()
    machine.close()
    say(f"during: {tell(runs)}; a process that only sleeps woke late by over {COMMIT_MOST_S * 1000:.0f} ms {late} times, "
        f"by {longest:.0f} ms at most")
    freed = came_back(node, there)
    if bench.quick:
        freed += SEGMENTS   # it is all in two of them, and they are still written to
    extra = added + fill(node, max(0, old - added)) - old
    node.stop(300)
    grown = database(node) - file - int(file / (2 * old) * extra)   # wrk sends some more
    before, during = together(first), together(runs)
    bench.verdict(
        "retention sqlite", f"{old} documents went in {took:.0f} s under {RATE}/s, "
        f"{freed / 1e6:.0f} MB came back for {old * PAYLOAD / 1e6:.0f} MB of payloads, "
        f"{old} more grew the database by {max(grown, 0) / 1e6:.1f} MB, "
        f"p99 {before['p99_ms']:.1f} ms before and {during['p99_ms']:.1f} ms during (of the worst {SLICE} s "
        f"{before['worst_ms']:.1f} and {during['worst_ms']:.1f}), longest answer {during['max_ms']:.0f} ms, in checkpoints for "
        f"{before['checkpoints']:.2%} and {during['checkpoints']:.2%} of the time",
        commits=(slow == 0, f"{slow} commits over {COMMIT_MOST_S * 1000:.0f} ms"),
        p99=within(during["p99_ms"] / max(before["p99_ms"], 0.1)),
        freed=(freed >= old * PAYLOAD, "less came back than the payloads had"),
        grown=(grown <= file * GROWN_MOST, f"the database grew by {grown} bytes"))


def rounds(bench, node, documents, clock):
    seconds, seen = 3 if bench.quick else 20, []
    start_at(node, clock, 0)
    node.key_add()
    fill(node, documents)
    while len(seen) < ROUNDS:
        node.stop(300)
        # A day that was believed stays believed: else what ends now would not go for another seven weeks.
        bench.cluster().sql("UPDATE mark SET value = 0 WHERE name = 'retain_today'", node.folder.name)
        start_at(node, clock, BACK_DAYS + len(seen))
        old = fill(node, documents // ROUNDS)
        node.stop(300)
        start_at(node, clock, 0)
        bench.cluster().sql("VACUUM (ANALYZE)", node.folder.name)   # by then the server would have done so
        os.sync()
        this = one_round(bench, node, seconds, old)
        seen.append(this)
        say(f"round: p99 {this.before['p99_ms']:.1f}, {together(this.during)['p99_ms']:.1f}, {this.after['p99_ms']:.1f} ms, "
            f"slow commits {this.before['slow']}, {sum(r['slow'] for r in this.during)}, {this.after['slow']}, "
            f"{old} went in {this.took:.0f} s")
    quiet = [r for this in seen for r in (this.before, this.after)]
    during = [r for this in seen for r in this.during]
    quiet_ms, during_ms = median(r["p99_ms"] for r in quiet), median(together(this.during)["p99_ms"] for this in seen)
    bench.verdict(
        "retention postgres", f"{sum(this.old for this in seen)} documents went in {sum(this.took for this in seen):.0f} s "
        f"under {RATE}/s, in {ROUNDS} portions, median p99 {quiet_ms:.1f} ms when quiet and {during_ms:.1f} ms during, longest "
        f"answer {max(r['max_ms'] for r in during):.0f} ms, commits over {COMMIT_MOST_S * 1000:.0f} ms in {spells(quiet)} of "
        f"{len(quiet)} quiet times and {spells(during)} of {len(during)} during",
        commits=(spells(during) <= by_chance(spells(quiet) * len(during) / len(quiet)), "commits are slow more often than when quiet"),
        p99=within(during_ms / max(quiet_ms, 0.1)))


@dataclass(frozen=True)
class Round:
    before: dict
    during: list
    after: dict
    took: float
    old: int


def one_round(bench, node, seconds, old):
    before = offer(bench, node, seconds)
    node.cli("retention", "run", "--all")   # in an hour one day may go, by itself
    during, _, took = let_go(bench, node, seconds, old)
    return Round(before, during, offer(bench, node, seconds), took, old)


def calm(runs):
    return [r for r in runs if r["stolen"] <= STOLEN_MOST]


def tell(runs):
    """p99 and slow commits, in calm slices and in the others; time is stolen only from who wants to run, so this
    explains a figure and excuses none."""
    others = [r for r in runs if r not in calm(runs)]
    return "; ".join(f"{len(some)} {name}, p99 {together(some)['p99_ms']:.1f} ms, {sum(r['slow'] for r in some)} slow commits"
                     for name, some in (("calm slices", calm(runs)), ("others", others)) if some)


def spells(runs):
    return sum(r["slow"] > 0 for r in runs)


def by_chance(expected):
    return expected + max(expected, 1.0) ** 0.5


def within(ratio):
    return ratio <= P99_MOST, f"accept p99 over {P99_MOST} times"


def settle(node):
    """Everything that came in has ended."""
    def idle():
        m = Api(node).metrics()
        return m.get("waybill_queue_depth", 0) == 0
    wait_for("an empty queue", idle, 300)


def accepted(node):
    return sum(v for k, v in Api(node).metrics().items()
               if k.startswith("waybill_documents_accepted_total"))


def fill(node, documents):
    """At least so many, through the door; gives how many."""
    start = accepted(node)
    while (have := accepted(node) - start) < documents:
        seconds = 1 if documents - have < 100_000 else 5
        wrk("plain", node.port, seconds, node.key)
        say(f"filled {accepted(node) - start:.0f} of {documents}")
    have = -1
    while have < (now := accepted(node)):   # requests that were under way when wrk ended
        have = now
        time.sleep(1)
    ended = time.monotonic() + 300
    while Api(node).metrics()["waybill_documents_ended_total"] < accepted(node):
        if time.monotonic() > ended:
            raise RigError("documents do not end")
        time.sleep(0.2)
    return int(accepted(node) - start)


def offer(bench, node, seconds):
    """What senders felt, how many commits were slow, and the parts of the time in which others had the processor and
    in which a checkpoint went on."""
    slow, checkpoints = slow_commits(node), checkpoint_seconds(node)
    stolen, ticks = processor()
    felt = json.loads(run(
        [bench.tool("openloop"), "--port", node.port, "--path", "/in/orders", "--rate", RATE,
         "--seconds", seconds, "--connections", 64], timeout=seconds + 60,
        env={**os.environ, "WAYBILL_KEY": node.key}))
    stolen, ticks = (now - then for now, then in zip(processor(), (stolen, ticks)))
    return {**felt, "slow": slow_commits(node) - slow, "stolen": stolen / max(ticks, 1),
            "checkpoints": (checkpoint_seconds(node) - checkpoints) / seconds}


def checkpoint_seconds(node):
    return Api(node).metrics()["waybill_checkpoint_seconds_sum"]


def status(node):
    return json.loads(node.cli("retention", "show", "--json"))


def together(runs):
    """p99 of all their answers, that of the worst run, and the longest answer."""
    steps = {}
    for r in runs:
        for step, n in r["latency"].items():
            steps[int(step)] = steps.get(int(step), 0) + n
    left = sum(steps.values()) * 0.01
    for step in sorted(steps, reverse=True):
        left -= steps[step]
        if left < 0:
            return {"p99_ms": (step + 1) / 10, "worst_ms": max(r["p99_ms"] for r in runs),
                    "max_ms": max(r["max_ms"] for r in runs),
                    "checkpoints": sum(r["checkpoints"] for r in runs) / len(runs)}
    raise RigError("nobody was answered")


def let_go(bench, node, seconds, old):
    """Load until it rests again; each time what senders felt, what came in, how long it took."""
    began, start, runs = time.monotonic(), accepted(node), []
    while True:
        runs.append(offer(bench, node, seconds))
        seen = status(node)
        if seen["gone"] > 0 and seen["state"] == "rests":
            break
        if time.monotonic() - began > 1800:
            raise RigError(f"it does not come to its end: {seen}")
    settle(node)
    if seen["gone"] != old:
        raise RigError(f"{seen['gone']} documents went, {old} were old")
    return runs, int(accepted(node) - start), time.monotonic() - began


def segments(node):
    """The bytes that each file of payloads takes on the disk, as du counts them."""
    return {path.name: path.stat().st_blocks * 512 for path in (node.data / "payload").glob("*.seg")}


def came_back(node, there):
    """Of files that are there no more, less what was copied out of them.  The disk as a whole would not tell:
    meanwhile others come in, and files are made 64 MiB ahead of them."""
    now = segments(node)
    moved = sum(json.loads(line)["moved"] for line in node.log.read_text().splitlines() if '"retention.freed"' in line)
    return sum(size for name, size in there.items() if name not in now) - moved * (PAYLOAD + ENTRY)


def database(node):
    file = node.data / "waybill.db"
    return file.stat().st_size if file.exists() else 0


def slow_commits(node):
    """Groups that took longer than the bar, and checkpoints that let them wait as long."""
    said = Api(node).get("/metrics")[1].decode()
    upto = {(name, le): int(n) for name, le, n in
            re.findall(r'^waybill_(commit_group|checkpoint)_seconds_bucket\{le="([^"]+)"\} (\d+)$', said, re.M)}
    return sum(upto[name, "+Inf"] - upto[name, f"{COMMIT_MOST_S:g}"] for name in ("commit_group", "checkpoint"))
