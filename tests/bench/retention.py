"""Half of the documents go while others come in, and nobody who sends may feel it.

The documents end under a clock that is seven weeks back; then the node is started with the true one,
gets as many young ones, and is told to let go of the old, under load.
"""

import json
import os
import re
import struct
import subprocess
import time

from bench.measure import say, wrk
from rig.node import Api
from rig.process import RigError, run, wait_for

DOCUMENTS, PAYLOAD = 500_000, 1024
SEGMENTS = 128 << 20
BACK_DAYS = 50
RATE = 2000
BEFORE_RUNS = 4
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
        scene(bench, store, node, documents, clock)
    finally:
        bench.discard(node)


def scene(bench, store, node, documents, clock):
    seconds = 3 if bench.quick else 20
    clock.write_bytes(struct.pack("=q", -BACK_DAYS * 86400 * 1_000_000))
    node.start()
    node.key_add()
    old = fill(node, documents)
    node.stop(300)
    clock.write_bytes(struct.pack("=q", 0))
    node.start(seconds=300)
    fill(node, documents)
    if not node.on_sqlite:      # by then the server would have done so, one day's documents after the other
        bench.cluster().sql("VACUUM (ANALYZE)", node.folder.name)
    os.sync()           # what filling left to write is not what others feel before
    before = together([offer(bench, node, seconds) for _ in range(BEFORE_RUNS)])
    node.stop(300)      # then the database is one file, without a log
    disk, file = used(node), database(node)
    node.start(seconds=300)
    slow = slow_commits(node)
    node.cli("retention", "run")
    during, added, took = let_go(bench, node, seconds)
    if gone(node) != old:
        raise RigError(f"{gone(node)} documents went, {old} were old")
    slow = slow_commits(node) - slow
    freed = disk - used(node) + added * PAYLOAD
    if bench.quick:
        freed += SEGMENTS   # it is all in two of them, and they are still written to
    extra = added + fill(node, max(0, old - added)) - old
    node.stop(300)
    grown = database(node) - file - int(file / (2 * old) * extra)   # wrk sends some more
    ratio = during["p99_ms"] / max(before["p99_ms"], 0.1)
    bars = {"commits": (slow == 0, f"{slow} commits over {COMMIT_MOST_S * 1000:.0f} ms"),
            "p99": (ratio <= P99_MOST, f"accept p99 over {P99_MOST} times")}
    space = ""          # that of PostgreSQL is its own affair
    if node.on_sqlite:
        space = (f"{freed / 1e6:.0f} MB came back for {old * PAYLOAD / 1e6:.0f} MB of payloads, "
                 f"{old} more grew the database by {max(grown, 0) / 1e6:.1f} MB, ")
        bars["freed"] = (freed >= old * PAYLOAD, "less came back than the payloads had")
        bars["grown"] = (grown <= file * GROWN_MOST, f"the database grew by {grown} bytes")
    bench.verdict(
        f"retention {store}", f"{old} documents went in {took:.0f} s under {RATE}/s, {space}"
        f"p99 {before['p99_ms']:.1f} ms before and {during['p99_ms']:.1f} ms during (of the worst {seconds} s "
        f"{before['worst_ms']:.1f} and {during['worst_ms']:.1f}), "
        f"longest answer {during['max_ms']:.0f} ms", **bars)


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
        seconds = 1 if documents - have < 40_000 else 5
        wrk("plain", node.port, seconds, node.key)
        say(f"filled {accepted(node) - start:.0f} of {documents}")
    ended = time.monotonic() + 300
    while Api(node).metrics()["waybill_documents_ended_total"] < accepted(node):
        if time.monotonic() > ended:
            raise RigError("documents do not end")
        time.sleep(0.2)
    return int(accepted(node) - start)


def offer(bench, node, seconds):
    return json.loads(run(
        [bench.tool("openloop"), "--port", node.port, "--path", "/in/orders", "--rate", RATE,
         "--seconds", seconds, "--connections", 64], timeout=seconds + 60,
        env={**os.environ, "WAYBILL_KEY": node.key}))


def status(node):
    return json.loads(node.cli("retention", "show", "--json"))


def gone(node):
    return status(node)["gone"]


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
                    "max_ms": max(r["max_ms"] for r in runs)}
    raise RigError("nobody was answered")


def let_go(bench, node, seconds):
    """Load until it rests again; what senders felt, what came in, how long it took."""
    began, start, runs = time.monotonic(), accepted(node), []
    while True:
        runs.append(offer(bench, node, seconds))
        seen = status(node)
        if seen["gone"] > 0 and seen["state"] == "rests":
            settle(node)
            return together(runs), int(accepted(node) - start), time.monotonic() - began
        if time.monotonic() - began > 900:
            raise RigError(f"it does not come to its end: {seen}")


def used(node):
    """Bytes on the disk, as du counts them."""
    said = subprocess.run(["du", "-s", "-B1", str(node.data)], capture_output=True, text=True, check=False)
    return int(said.stdout.split()[0])


def database(node):
    file = node.data / "waybill.db"
    return file.stat().st_size if file.exists() else 0


def slow_commits(node):
    """Groups that took longer than the bar."""
    said = Api(node).get("/metrics")[1].decode()
    upto = {le: int(n) for le, n in
            re.findall(r'^waybill_commit_group_seconds_bucket\{le="([^"]+)"\} (\d+)$', said, re.M)}
    return upto["+Inf"] - upto[f"{COMMIT_MOST_S:g}"]
