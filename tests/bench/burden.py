"""200 000 dead and delayed deliveries in the store must not be felt by those that move.

The rate of the road is compared, turn by turn, with that of a node whose store is empty.
"""

import time

from bench.measure import median, say, wrk
from bench.road import Receiver, carry, product
from rig.process import RigError

DELIVERIES = 200_000
FILL_SECONDS_MOST = 600
CHANGE_MOST = 0.15
DEAD, DELAYED = "s8", "s9"
MOODS = {DEAD: "status:400", DELAYED: "status:503"}
# No breaker: each delivery shall have an outcome of its own.
NO_BREAKER = "breaker: { failures: 1000000, rejections: 0 }"
ENDPOINTS = {DEAD: NO_BREAKER, DELAYED: f"retry: {{ first: 12h, most: 12h }}, {NO_BREAKER}"}


def burden(bench, store):
    deliveries, pairs, seconds = (5_000, 1, 2) if bench.quick else (DELIVERIES, 3, 5)
    receiver = Receiver(bench, MOODS)
    full = None
    ratios = []
    try:
        full = product(bench, store, receiver.ports, endpoint=ENDPOINTS)
        fill_burden(full, receiver, deliveries)
        carry(full, receiver, 1)
        for _ in range(pairs):
            empty_rate = rate_of_empty(bench, store, receiver, seconds)
            full_rate = carry(full, receiver, seconds).per_second
            ratios.append(full_rate / empty_rate)
            say(f"empty {empty_rate:.0f}, burdened {full_rate:.0f}: {ratios[-1]:.2f}")
    finally:
        if full is not None:
            full.close()
        receiver.close()
    change = median(ratios) - 1
    bench.verdict(f"burden {store}", f"{deliveries} dead and delayed deliveries: {change:+.1%}",
                  change=(change > -CHANGE_MOST, f"over {CHANGE_MOST:.0%}"))


def fill_burden(pipe, receiver, deliveries):
    """Through the product's own doors: half is rejected by its receiver (dead letters), half is
    told to come again (delayed by 12 hours)."""
    until = time.monotonic() + FILL_SECONDS_MOST
    receiver.reset()
    meter = pipe.meter()
    while (have := receiver.count()) < deliveries:
        if time.monotonic() > until:
            raise RigError(f"only {have} deliveries after {FILL_SECONDS_MOST} s")
        wrk("orders", pipe.port, 1 if deliveries - have < 60_000 else 4, "none",
            to=f"{DEAD} {DELAYED}")
        pipe.drain(receiver, meter, 0)
        say(f"burdened with {receiver.count()}")


def rate_of_empty(bench, store, receiver, seconds):
    """A fresh node, measured while the burdened one is idle."""
    pipe = product(bench, store, receiver.ports, endpoint=ENDPOINTS)
    try:
        carry(pipe, receiver, 1)
        return carry(pipe, receiver, seconds).per_second
    finally:
        pipe.close()
