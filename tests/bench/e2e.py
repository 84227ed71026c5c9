"""Documents per second over the whole road, measured against a pipe that is merely durable.

64 connections, no keys, JSON bodies of 1 KiB, extraction from the body, a route among 1 000, HTTP
out to one system with 64 connections, outcome committed.  What is counted, and when, stands in
road.py.  p50 and p99 are from sending the request to its arrival at the receiver: the time of
sending is in the body.
"""

from bench.measure import ROUNDS_MOST, median, steady_rounds
from bench.road import Pipe, Receiver, carry, product

RSS_MOST = 200e6
BARS = {"sqlite": (0.24, 60), "postgres": (0.14, None)}     # least share of raw, most us/doc


def e2e(bench, store):
    """Five good rounds; prints the line of the median and the verdict."""
    rounds_wanted, seconds = (1, 2) if bench.quick else (5, 6)
    receiver = Receiver(bench)
    raw = None
    try:
        raw = Pipe(bench, bench.tool("raw_pipe"), receiver.ports[:1])
        good = steady_rounds(rounds_wanted, lambda: carry(raw, receiver, seconds).per_second,
                             lambda: once(bench, store, receiver, seconds))
    finally:
        if raw is not None:
            raw.close()
        receiver.close()
    if not good:
        bench.verdict(f"e2e {store}", f"fewer than {rounds_wanted} good rounds of {ROUNDS_MOST}",
                      rounds=(False, "the disk never was steady"))
        return
    report(bench, store, good)


def once(bench, store, receiver, seconds):
    """The product alone: fresh folder, a second to get warm, then the run that counts."""
    pipe = product(bench, store, receiver.ports)
    try:
        carry(pipe, receiver, 1)
        return carry(pipe, receiver, seconds)
    finally:
        pipe.close()


def report(bench, store, good):
    share_least, us_most = BARS[store]
    share = median(r.per_second / r.raw for r in good)
    us = median(r.cpu_us for r in good)
    rss = max(r.rss for r in good)
    print(f"bench e2e {store}: {median(r.per_second for r in good):.0f} docs/s, "
          f"{share:.2f} of raw, p50 {median(r.p50_ms for r in good):.2f} ms, "
          f"p99 {median(r.p99_ms for r in good):.2f} ms, {us:.1f} us/doc, {rss / 1e6:.0f} MB",
          flush=True)
    if store == "postgres":
        print(f"bench e2e postgres: PostgreSQL itself "
              f"{median(r.database_us for r in good):.1f} us/doc", flush=True)
    bars = {"share": (share >= share_least, f"{share:.3f} of raw, bar {share_least:.2f}"),
            "rss": (rss < RSS_MOST, f"{rss / 1e6:.0f} MB, bar 200")}
    if us_most:
        bars["us"] = (us <= us_most, f"{us:.1f} us/doc, bar {us_most}")
    bench.verdict(f"e2e {store}", "", **bars)
