"""HL7 messages per second over MLLP, measured against documents over HTTP on as many connections.

16 connections, 1 KiB each, the acknowledgement awaited and checked (mllp_load.c); `accept` with 16 connections runs
before and after, each on a fresh node.  Both are durable before they are answered.  A message has a key besides:
the same one again is recognised.
"""

import json
from dataclasses import dataclass

from bench.accept import measure, measure_by
from bench.measure import ROUNDS_MOST, median, steady_rounds
from rig.process import free_port, run

CONNECTIONS = 16
SHARE_LEAST, CPU_TIMES_MOST = 0.35, 1.6


@dataclass(frozen=True)
class Load:
    """One run of mllp_load."""
    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float


def mllp(bench, store):
    """Five good rounds; prints the line of the median and the verdict."""
    rounds_wanted, seconds = (1, 2) if bench.quick else (5, 6)
    accepts = []    # one before and one after each run over MLLP

    def over_http():
        accepts.append(measure(bench, store, "plain", seconds, CONNECTIONS))
        return accepts[-1].per_second

    def over_mllp():
        found = once(bench, store, seconds)
        found.cpu_of_accept = lambda at=len(accepts): (accepts[at - 1].cpu_us + accepts[at].cpu_us) / 2
        return found

    good = steady_rounds(rounds_wanted, over_http, over_mllp)
    if not good:
        bench.verdict(f"mllp {store}", f"fewer than {rounds_wanted} good rounds of {ROUNDS_MOST}",
                      rounds=(False, "the disk never was steady"))
        return
    report(bench, store, good)


def once(bench, store, seconds):
    port = free_port()
    node = bench.node(store, more_gateways=f'  lab: {{ kind: mllp, listen: "127.0.0.1:{port}" }}\n')
    return measure_by(bench, node, seconds, lambda _, duration: load(bench, port, duration))


def load(bench, port, seconds):
    said = json.loads(run([bench.tool("mllp_load"), "--port", port, "--seconds", seconds, "--connections", CONNECTIONS],
                          timeout=seconds + 60))
    return Load(said["acked"], said["per_second"], said["p50_ms"], said["p99_ms"])


def report(bench, store, good):
    share = median(r.share() for r in good)
    times = median(r.cpu_us / r.cpu_of_accept() for r in good)
    print(f"bench mllp {store}: {median(r.per_second for r in good):.0f} docs/s, {share:.2f} of accept, "
          f"p50 {median(r.run.p50_ms for r in good):.2f} ms, p99 {median(r.run.p99_ms for r in good):.2f} ms, "
          f"{median(r.cpu_us for r in good):.1f} us/doc, {times:.2f} times accept's, "
          f"{median(r.syncs for r in good):.3f} fsyncs/doc", flush=True)
    bench.verdict(f"mllp {store}", "",
                  share=(share >= SHARE_LEAST, f"{share:.3f} of accept, bar {SHARE_LEAST:.2f}"),
                  cpu=(times <= CPU_TIMES_MOST, f"{times:.2f} times accept's us/doc, bar {CPU_TIMES_MOST}"))
