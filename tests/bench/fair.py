"""Two bad receivers among ten: the other eight must not feel them.

One system refuses connections, one reads a byte a second.  The load is open-loop at 40 % of what
the road carries to ten healthy systems; runs with and without the faults take turns, each on a
fresh node.  What counts for a system is what has arrived one second after the last request.
"""

import json
import os
import time

from bench.measure import median, say
from bench.road import SYSTEMS, Receiver, carry, product
from rig.node import GATEWAY
from rig.process import RigError, run

LOAD = 0.4
FAULTS = {"s8": "dead", "s9": "slow"}
HEALTHY = [s for s in SYSTEMS if s not in FAULTS]
CONNECTIONS = 64
CONCURRENCY = 16        # per system, the default
SHARE_LEAST, P99_FACTOR_MOST, P99_MOST_MS = 0.95, 1.5, 50
UNSENT_MOST = 0.01


def fair(bench, store):
    seconds, turns = (3, 1) if bench.quick else (10, 3)
    rate = int(capacity(bench, store, 2 if bench.quick else 5) * LOAD)
    say(f"offering {rate}/s to {len(SYSTEMS)} systems")
    runs = {False: [], True: []}
    for _ in range(turns):
        for faulty in runs:
            runs[faulty].append(offer(bench, store, rate, seconds, FAULTS if faulty else {}))
            say(f"{'two bad' if faulty else 'all well'}: worst p99 "
                f"{max(p99 for _, p99 in runs[faulty][-1].values()):.1f} ms")
    share = min(middle(runs[True], s, 0) / max(middle(runs[False], s, 0), 1) for s in HEALTHY)
    before = max(middle(runs[False], s, 1) for s in HEALTHY)
    after = max(middle(runs[True], s, 1) for s in HEALTHY)
    most = max(before * P99_FACTOR_MOST, P99_MOST_MS)
    bench.verdict(
        f"fair {store}", f"{rate}/s to ten systems, two of them bad: the other eight keep "
        f"{share:.1%} of their rate, p99 {before:.1f} -> {after:.1f} ms",
        share=(share >= SHARE_LEAST, f"under {SHARE_LEAST:.0%}"),
        p99=(after <= most, f"p99 over {most:.0f} ms"))


def middle(runs, system, field):
    """The median over the turns of one figure of one system."""
    return median(one[system][field] for one in runs)


def capacity(bench, store, seconds):
    """Documents per second to ten systems that are all well."""
    receiver = Receiver(bench)
    pipe = None
    try:
        pipe = product(bench, store, receiver.ports, concurrency=CONCURRENCY)
        carry(pipe, receiver, 1, to=" ".join(SYSTEMS))
        return carry(pipe, receiver, seconds, to=" ".join(SYSTEMS)).per_second
    finally:
        if pipe is not None:
            pipe.close()
        receiver.close()


def offer(bench, store, rate, seconds, moods):
    """One run: for each healthy system what arrived and its p99 in ms."""
    receiver = Receiver(bench, moods)
    pipe = None
    try:
        pipe = product(bench, store, receiver.ports, concurrency=CONCURRENCY)
        seen = json.loads(run(
            [bench.tool("openloop"), "--port", pipe.port, "--path", f"/in/{GATEWAY}", "--rate",
             rate, "--seconds", seconds, "--connections", CONNECTIONS, "--orders", len(SYSTEMS)],
            timeout=seconds + 60, env={**os.environ, "WAYBILL_KEY": "none"}))
        time.sleep(1)
        stats = receiver.stats()
    finally:
        if pipe is not None:
            pipe.close()
        receiver.close()
    taken = sum(n for status, n in seen["status"].items() if status.startswith("2"))
    if taken < seen["sent"] or seen["unsent"] > UNSENT_MOST * seen["scheduled"]:
        raise RigError(f"not all could be offered: {seen}")
    return {s: (stats[s]["count"] - stats[s]["again"], stats[s]["p99_ms"]) for s in HEALTHY}
