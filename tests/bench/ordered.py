"""Documents per second to a system that wants them in order, against the same road without order.

As e2e; the system has `order: key` over 64 keys.  Rounds with and without order take turns, so
that both see the same machine.
"""

from bench.measure import median
from bench.road import Receiver, carry, product

BAR = 0.5
ORDER = 'order: key, order_by: "json:/lane"'


def ordered(bench, store):
    """Prints the medians and the verdict."""
    rounds, seconds = (1, 2) if bench.quick else (3, 5)
    plain, lanes = [], []
    receiver = Receiver(bench)
    try:
        for _ in range(rounds):
            plain.append(once(bench, store, receiver, seconds))
            lanes.append(once(bench, store, receiver, seconds, order=ORDER))
    finally:
        receiver.close()
    share = median(b.per_second / a.per_second for a, b in zip(plain, lanes))
    print(f"bench e2e-ordered {store}: {median(r.per_second for r in lanes):.0f} docs/s, {share:.2f} of "
          f"{median(r.per_second for r in plain):.0f} without order, p50 {median(r.p50_ms for r in lanes):.2f} ms, "
          f"p99 {median(r.p99_ms for r in lanes):.2f} ms, {median(r.cpu_us for r in lanes):.1f} us/doc", flush=True)
    bench.verdict(f"e2e-ordered {store}", "", share=(share >= BAR, f"{share:.3f} of unordered, bar {BAR:.2f}"))


def once(bench, store, receiver, seconds, **options):
    pipe = product(bench, store, receiver.ports, **options)
    try:
        carry(pipe, receiver, 1)
        return carry(pipe, receiver, seconds)
    finally:
        pipe.close()
