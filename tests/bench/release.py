"""100 000 held documents are released at once.

They must be ready within 10 s (none waits for anything but its turn under the rate; a thousand
of them, spread over all, are looked at), the first one must arrive within 2 s, their system's rate must never be exceeded in
any window, and the other systems must not feel it, as in fair.py: the same load is
offered to them with and without the release, in turns, each on a fresh node.  How fast a backlog is
drained where no rate limits it stands in drain.py, which runs first.
"""

import json
import os
import struct
import threading
import time
from collections import namedtuple

from bench.drain import drain, hold_back
from bench.fair import (CONCURRENCY, CONNECTIONS, LOAD, P99_FACTOR_MOST, P99_MOST_MS, SHARE_LEAST,
                        UNSENT_MOST, capacity)
from bench.measure import median, say
from bench.road import SYSTEMS, Receiver, product
from rig.node import GATEWAY, Api
from rig.process import RigError, run

Hold = namedtuple("Hold", "id sample")

DOCUMENTS, SAMPLE, AT_ONCE = 100_000, 1000, 50
HELD = SYSTEMS[8]
OTHERS = SYSTEMS[:8]
RATE, BURST = 4000, 400
# What bunches up between the first byte of a send and its arrival, on a busy machine.
JITTER_S = 0.05
READY_MOST_S, FIRST_MOST_S = 10, 2
DRAIN_SECONDS_MOST = 120


def release(bench, store):
    drain(bench, store)
    documents, seconds, turns = (3_000, 4, 1) if bench.quick else (DOCUMENTS, 10, 3)
    rate = int(capacity(bench, store, 2 if bench.quick else 5) * LOAD)
    say(f"offering {rate}/s to {len(OTHERS)} systems")
    calm, busy, seen = [], [], []
    for _ in range(turns):
        calm.append(one_run(bench, store, rate, seconds, 0)[0])
        stats, found = one_run(bench, store, rate, seconds, documents)
        busy.append(stats)
        seen.append(found)
        say(f"ready after {found['ready']:.2f} s, the first after {found['first']:.2f} s, "
            f"{found['over']:+.0f} against the rate, worst p99 "
            f"{max(p99 for _, p99 in stats.values()):.1f} ms")
    share = min(middle(busy, s, 0) / max(middle(calm, s, 0), 1) for s in OTHERS)
    before, after = (max(middle(runs, s, 1) for s in OTHERS) for runs in (calm, busy))
    most = max(before * P99_FACTOR_MOST, P99_MOST_MS)
    ready, first, over = (max(one[name] for one in seen) for name in ("ready", "first", "over"))
    bench.verdict(
        f"release {store}", f"{documents} held documents: ready after {ready:.2f} s, the first after "
        f"{first:.2f} s, {RATE}/s and {BURST} at once kept ({over:+.0f}); the other eight keep "
        f"{share:.1%} of their rate, p99 {before:.1f} -> {after:.1f} ms",
        ready=(ready <= READY_MOST_S, f"not ready within {READY_MOST_S} s"),
        first=(first <= FIRST_MOST_S, f"the first after more than {FIRST_MOST_S} s"),
        over=(over <= RATE * JITTER_S, "the rate was exceeded"),
        share=(share >= SHARE_LEAST, f"under {SHARE_LEAST:.0%}"),
        p99=(after <= most, f"p99 over {most:.0f} ms"))


def middle(runs, system, field):
    return median(one[system][field] for one in runs)


def one_run(bench, store, rate, seconds, documents):
    """({system: (arrived, p99)} of the others, what the release showed)."""
    log = bench.folder / "release.log"
    receiver = Receiver(bench, log=log)
    pipe, found = None, {}
    try:
        pipe = product(bench, store, receiver.ports, concurrency=CONCURRENCY,
                       system={HELD: f"limits: {{ concurrency: 64, rate: {RATE}/s, burst: {BURST} }}"})
        hold = fill(pipe, documents) if documents else None
        receiver.reset()
        offered = Offered(bench, pipe, rate, seconds)
        if hold is not None:
            time.sleep(seconds / 5)
            found = end_hold(pipe, receiver, hold)
        offered.join()
        time.sleep(1)
        stats = receiver.stats()    # of the time of the load
        if hold is not None:
            await_all(receiver, documents)
            found["over"] = over_rate(log, receiver.ports[SYSTEMS.index(HELD)])
    finally:
        if pipe is not None:
            pipe.close()
        receiver.close()
        log.unlink(missing_ok=True)
    offered.check()
    return {s: (stats[s]["count"] - stats[s]["again"], stats[s]["p99_ms"]) for s in OTHERS}, found


def fill(pipe, documents):
    hold, _ = hold_back(pipe, documents, HELD)
    return Hold(hold, every(pipe.node, documents // SAMPLE))


def end_hold(pipe, receiver, hold):
    began = time.monotonic()
    pipe.node.cli("hold", "end", hold.id)
    while (stats := receiver.stats()[HELD])["count"] == 0 and time.monotonic() - began < READY_MOST_S:
        time.sleep(0.005)
    first_ns = stats["first_ns"]
    while not all_ready(pipe.node, hold.sample) and time.monotonic() - began <= READY_MOST_S:
        time.sleep(0.05)
    ready = time.monotonic() - began
    return {"ready": ready, "first": first_ns / 1e9 - began if first_ns else READY_MOST_S}


def all_ready(node, sample):
    """None of them waits for anything but its turn under the rate."""
    api = Api(node, admin=True)
    try:
        for at in range(0, len(sample), AT_ONCE):
            asked = " ".join(f'd{n}: document(id: "{one}") {{ deliveries {{ held }} }}'
                             for n, one in enumerate(sample[at:at + AT_ONCE]))
            found = api.graphql(f"{{ {asked} }}", {})
            if any(set(d["held"]) - {"rate"} for one in found.values() for d in one["deliveries"]):
                return False
    finally:
        api.close()
    return True


def every(node, step):
    """Ids of every so manieth document for the held system."""
    api, ids, after = Api(node, admin=True), [], None
    query = """query($receiver: String!, $after: String) {
        documents(filter: { receiver: $receiver }, first: 200, after: $after) { next items { id } } }"""
    try:
        while True:
            page = api.graphql(query, {"receiver": HELD, "after": after})["documents"]
            ids += [item["id"] for item in page["items"]]
            if (after := page["next"]) is None:
                return ids[::step]
    finally:
        api.close()


def await_all(receiver, documents):
    until = time.monotonic() + DRAIN_SECONDS_MOST
    while receiver.stats()[HELD]["count"] < documents:
        if time.monotonic() > until:
            raise RigError(f"{receiver.stats()[HELD]['count']} of {documents} have arrived")
        time.sleep(0.2)


def over_rate(log, port):
    """By how much the worst window is over rate x time + burst, in documents."""
    record = struct.Struct("=QQQ")
    times = sorted(arrived for head, _, arrived in record.iter_unpack(log.read_bytes())
                   if head >> 48 == port)
    lowest, worst = float("inf"), float("-inf")
    for number, at in enumerate(times):
        level = number - RATE * at / 1e9
        lowest = min(lowest, level)
        worst = max(worst, level - lowest + 1)
    return worst - BURST


class Offered:
    """An open loop in its own process; `orders` go to the first eight systems in turn."""

    def __init__(self, bench, pipe, rate, seconds):
        self.seen, self.problem = None, None
        command = [bench.tool("openloop"), "--port", pipe.port, "--path", f"/in/{GATEWAY}", "--rate",
                   rate, "--seconds", seconds, "--connections", CONNECTIONS, "--orders", len(OTHERS)]

        def work():
            try:
                self.seen = json.loads(run(command, timeout=seconds + 60,
                                           env={**os.environ, "WAYBILL_KEY": "none"}))
            except (RigError, ValueError) as problem:
                self.problem = problem

        self.thread = threading.Thread(target=work)
        self.thread.start()

    def join(self):
        self.thread.join()

    def check(self):
        if self.problem is not None:
            raise RigError(f"openloop: {self.problem}")
        taken = sum(n for status, n in self.seen["status"].items() if status.startswith("2"))
        if taken < self.seen["sent"] or self.seen["unsent"] > UNSENT_MOST * self.seen["scheduled"]:
            raise RigError(f"not all could be offered: {self.seen}")
