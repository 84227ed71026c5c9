"""Two receivers that hang among ten: the other eight must not feel them, nor a person who asks.

Five systems are HTTP servers, three are folders on the disk, two are folders of a share (a FUSE
server, harness/fuse_share.py).  The load is open-loop; runs with the server stopped and with the
server at work take turns, each on a fresh node.  Calls to a stopped server never return: those to s8
within the run, those to s9 are given up again and again, because its time-out is short.

What counts for a system is what has arrived one second after the last request.  Then `waybill apply`
and SIGTERM are timed, while the calls still hang.
"""

import json
import os
import subprocess
import time
from pathlib import Path

from bench.measure import median, say
from bench.road import SYSTEMS, Product, Receiver
from harness import fuse_share
from rig.node import GATEWAY
from rig.process import RigError, run, wait_for

BY_HTTP, BY_FILE, ON_SHARE = SYSTEMS[:5], SYSTEMS[5:8], SYSTEMS[8:]
HEALTHY = BY_HTTP + BY_FILE
RATE = 500              # documents per second to all ten; a share served by Python bears a fifth of it
CONNECTIONS = 64
CONCURRENCY = 16        # per system, the default
MORE = {"s9": "timeout: 1s, retry: { first: 100ms, most: 1s }, breaker: { wait: 500ms }"}
SHARE_LEAST, ANSWER_MOST_S = 0.9, 5
PATIENCE_S = 20         # for an answer that the verdict calls late


def fair_blocking(bench, store):
    if why := fuse_share.missing():
        raise RigError(why)
    seconds, turns = (3, 1) if bench.quick else (10, 3)
    say(f"offering {RATE}/s to {len(SYSTEMS)} systems")
    runs = {False: [], True: []}
    for _ in range(turns):
        for stopped in runs:
            runs[stopped].append(one := Run(bench, store).measure(seconds, stopped))
            say(f"{'two hang' if stopped else 'all well'}: {sum(one.arrived.values())} arrived at the eight, "
                f"the least {min(one.arrived.values())}; apply {one.apply_s:.1f} s, SIGTERM {one.stop_s:.1f} s")
    share, worst = min((middle(runs[True], s) / max(middle(runs[False], s), 1), s) for s in HEALTHY)
    apply_s, stop_s = (max(getattr(one, field) for one in runs[True]) for field in ("apply_s", "stop_s"))
    bench.verdict(
        f"fair-blocking {store}", f"{RATE}/s to ten systems, two of them hang: the other eight keep at least "
        f"{share:.1%} of their rate ({worst}); apply answers in {apply_s:.1f} s, SIGTERM in {stop_s:.1f} s",
        share=(share >= SHARE_LEAST, f"under {SHARE_LEAST:.0%}"),
        apply=(apply_s <= ANSWER_MOST_S, f"apply over {ANSWER_MOST_S} s"),
        stop=(stop_s <= ANSWER_MOST_S, f"SIGTERM over {ANSWER_MOST_S} s"))


def middle(runs, system):
    """The median over the turns of what arrived at one system."""
    return median(one.arrived[system] for one in runs)


class Run:
    """One node, its receivers and its share."""

    def __init__(self, bench, store):
        self.bench, self.store = bench, store
        self.arrived, self.apply_s, self.stop_s = {}, 0, 0

    def measure(self, seconds, stopped):
        bench = self.bench
        place = Path(bench.folder, f"receivers{time.time_ns()}")
        share = fuse_share.Share(place / "root", place / "share")
        receiver = pipe = None
        try:
            receiver = Receiver(bench)
            files = {s: place / s for s in BY_FILE} | {s: share.mount / s for s in ON_SHARE}
            pipe = Product(bench, self.store, receiver.ports, concurrency=CONCURRENCY, files=files, endpoint=MORE)
            offer(bench, pipe.port, 10, 2)     # each system has met its folder
            wait_for("the first to arrive", lambda: all(listed(f) for f in files.values()), 30)
            receiver.reset()
            before = arrivals(receiver, files)
            if stopped:
                share.stop()
            offer(bench, pipe.port, RATE, seconds)
            time.sleep(1)
            after = arrivals(receiver, files)
            self.arrived = {s: after[s] - before[s] for s in HEALTHY}
            self.apply_s, self.stop_s = time_apply(pipe.node), time_stop(pipe.node)
        finally:
            share.close()       # first: a process with calls to a stopped server cannot even be killed
            if pipe is not None:
                pipe.close()
            if receiver is not None:
                receiver.close()
        return self


def offer(bench, port, rate, seconds, what="--orders"):
    """Orders to the ten in turn, or messages, whatever the answers do."""
    seen = json.loads(run(
        [bench.tool("openloop"), "--port", port, "--path", f"/in/{GATEWAY}", "--rate", rate, "--seconds", seconds,
         "--connections", CONNECTIONS, what, len(SYSTEMS)],
        timeout=seconds + 60, env={**os.environ, "WAYBILL_KEY": "none"}))
    taken = sum(n for status, n in seen["status"].items() if status.startswith("2"))
    if taken < seen["sent"] or seen["unsent"] > 0:
        seen.pop("latency")
        raise RigError(f"not all could be offered: {seen}")


def listed(folder):
    return sum(not name.startswith(".") for name in os.listdir(folder)) if folder.exists() else 0


def arrivals(receiver, files):
    """How many documents each healthy system has, each once."""
    stats = receiver.stats()
    return {s: stats[s]["count"] - stats[s]["again"] for s in BY_HTTP} | {s: listed(files[s]) for s in BY_FILE}


def time_apply(node):
    """Of a version that is new, so that every endpoint is set up again."""
    node.config.write_text(node.config.read_text().replace("types:\n", "types:\n  another: {}\n"))
    began = time.monotonic()
    try:
        node.cli("apply", node.config, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        pass
    return time.monotonic() - began


def time_stop(node):
    began = time.monotonic()
    node.process.terminate()
    try:
        node.process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        node.process.kill()     # it ends with the share
    return time.monotonic() - began
