"""A million documents and a million waiting tasks must not be felt.

The store is filled through the product's own door.  Then the accept rate is compared, turn by
turn, with that of an empty store; the node is started again; and claims are timed.
"""

import re
import time

from bench.measure import median, say, wrk
from rig.node import Api
from rig.process import RigError, run, wait_for

DOCUMENTS = 1_000_000
FILL_SECONDS_MOST = 600
SHARE_LEAST, START_MOST, CLAIM_MOST_MS = 0.7, 10, 10


def backlog(bench, store):
    documents, pairs, seconds = (30_000, 1, 2) if bench.quick else (DOCUMENTS, 3, 4)
    full = bench.node(store)
    try:
        full.start()
        full.key_add()
        fill(full, documents)
        ratios = []
        for _ in range(pairs):
            empty_rate = rate_of_empty(bench, store, full, seconds)
            full_rate = wrk("plain", full.port, seconds, full.key).per_second
            ratios.append(full_rate / empty_rate)
            say(f"empty {empty_rate:.0f}, full {full_rate:.0f}: {ratios[-1]:.2f}")
        full.stop(120)
        took = restart(full)
        full.stop(120)
        claim_ms = claims(bench, full)
    finally:
        bench.discard(full)
    bench.verdict(
        f"backlog {store}", f"{documents} documents and tasks, {median(ratios):.2f} of empty, "
        f"start {took:.1f} s, p99 of 100 claims of 100 {claim_ms:.1f} ms",
        share=(median(ratios) >= SHARE_LEAST, f"share below {SHARE_LEAST}"),
        start=(took < START_MOST, f"start over {START_MOST} s"),
        claim=(claim_ms < CLAIM_MOST_MS, f"claims over {CLAIM_MOST_MS} ms"))


def accepted(node):
    return Api(node).metrics()["waybill_documents_accepted_total"]


def fill(node, documents):
    until = time.monotonic() + FILL_SECONDS_MOST
    while (have := accepted(node)) < documents:
        if time.monotonic() > until:
            raise RigError(f"only {have:.0f} documents after {FILL_SECONDS_MOST} s")
        left = documents - have
        rate = wrk("plain", node.port, 1 if left < 60_000 else 5, node.key).per_second
        say(f"filled {accepted(node):.0f} at {rate:.0f}/s")


def rate_of_empty(bench, store, full, seconds):
    """A fresh node, measured while the full one is idle."""
    node = bench.node(store)
    try:
        node.start()
        node.key_add()
        return wrk("plain", node.port, seconds, node.key).per_second
    finally:
        bench.discard(node)


def restart(node):
    """Seconds from exec to a 200 of /readyz."""
    began = time.monotonic()
    node.begin()
    wait_for("/readyz", lambda: node.alive() and node.ready(), 120)
    return time.monotonic() - began


def claims(bench, node):
    """The store alone, on what the stopped node has left: 100 claims of 100 tasks each."""
    place = ("sqlite", node.data) if node.on_sqlite else ("postgres", node.store)
    said = run([bench.tool("bench_claim"), "-d", *place, "0"], timeout=300, cwd=node.folder)
    found = re.search(r"p99 ([\d.]+) ms", said)
    if not found:
        raise RigError(f"bench_claim said {said[:200]!r}, no \"p99 N ms\"")
    return float(found[1])
