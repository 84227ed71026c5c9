"""A backlog behind a hold is drained, measured against the fast path of the same node.

In turns on one node: documents are accepted and delivered as they come (the fast path, as in e2e.py);
then documents for the same system gather behind a hold, and the hold is ended.  The rate of both is what the
receiver counted, from the first arrival to the last.  Cost is that of the node and its database, per document.
"""

import json
import time
from dataclasses import dataclass

from bench.measure import median, say, wrk
from bench.road import DRAIN_SECONDS, STALL_SECONDS, Receiver, carry, product
from rig.process import RigError

DOCUMENTS, TURNS, SECONDS = 40_000, 3, 5
SHARE_LEAST = 0.7
FILL_SECONDS_MOST = 300
SYSTEM = "s0"


@dataclass
class Drained:
    """One backlog, from the end of its hold."""
    per_second: float
    cpu_us: float
    database_us: float


def drain(bench, store):
    documents, turns, seconds = (3_000, 1, 2) if bench.quick else (DOCUMENTS, TURNS, SECONDS)
    receiver = Receiver(bench)
    pipe, fast, drained = None, [], []
    try:
        pipe = product(bench, store, receiver.ports)
        carry(pipe, receiver, 1)
        for _ in range(turns):
            fast.append(carry(pipe, receiver, seconds, to=SYSTEM))
            hold = hold_back(pipe, documents, SYSTEM)
            drained.append(drain_once(pipe, receiver, hold))
            say(f"fast path {line(fast[-1])}; backlog {line(drained[-1])}: "
                f"{drained[-1].per_second / fast[-1].per_second:.2f}")
    finally:
        if pipe is not None:
            pipe.close()
        receiver.close()
    share = median(d.per_second / f.per_second for d, f in zip(drained, fast))
    bench.verdict(
        f"drain {store}", f"{documents} documents behind a hold at {median(d.per_second for d in drained):.0f}/s, "
        f"the fast path has {median(f.per_second for f in fast):.0f}/s: {share:.2f}; "
        f"{cost(drained)} us/doc against {cost(fast)}",
        share=(share >= SHARE_LEAST, f"under {SHARE_LEAST} of the fast path"))


def line(run):
    return f"{run.per_second:.0f}/s ({run.cpu_us:.1f} + {run.database_us:.1f} us/doc)"


def cost(runs):
    return f"{median(r.cpu_us + r.database_us for r in runs):.1f}"


def hold_back(pipe, documents, system):
    """Documents for a system that is held, through the product's own doors: (hold, how many)."""
    hold = json.loads(pipe.node.cli("hold", "add", system, "--until", "2h", "--reason", "a benchmark",
                                    "--json").splitlines()[0])["id"]
    until = time.monotonic() + FILL_SECONDS_MOST
    meter = pipe.meter()
    while (have := meter()["accepted"]) < documents:
        if time.monotonic() > until:
            raise RigError(f"only {have:.0f} documents after {FILL_SECONDS_MOST} s")
        wrk("orders", pipe.port, 1 if documents - have < 30_000 else 3, "none", to=system)
    # Each of them has been walked and waits in the store.
    while (now := meter())["outcomes"] < now["accepted"]:
        if time.monotonic() > until:
            raise RigError("not all of them came to wait")
        time.sleep(0.05)
    return str(hold), int(now["accepted"])


def drain_once(pipe, receiver, held):
    hold, documents = held
    receiver.reset()
    meter = pipe.meter()
    pipe.node.cli("hold", "end", hold)
    for count in (lambda: receiver.stats()[SYSTEM]["count"], lambda: meter()["outcomes"]):
        await_count(count, documents)
    used, stats = meter(), receiver.stats()[SYSTEM]
    took_ns = stats["last_ns"] - stats["first_ns"]
    return Drained(documents * 1e9 / took_ns, used["cpu"] * 1e6 / documents, used["database_cpu"] * 1e6 / documents)


def await_count(count, wanted):
    until, seen, since = time.monotonic() + DRAIN_SECONDS, -1, time.monotonic()
    while (now := count()) < wanted:
        if now != seen:
            seen, since = now, time.monotonic()
        if time.monotonic() > min(until, since + STALL_SECONDS):
            raise RigError(f"{now:.0f} of {wanted} came to their end, and no more")
        time.sleep(0.05)
