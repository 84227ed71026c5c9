"""Ten times more than can be taken: refused quickly and politely, the possible part accepted.

The generator is open-loop and a process of its own: it offers at a fixed rate whatever comes back.
"""

import json
import os
import random

from bench.measure import PLAIN_SHA256, say, wrk
from rig.checker import Checker
from rig.journal import Journal
from rig.process import memory_bytes, run, wait_for

CONNECTIONS = 500
TAKEN_LEAST = 0.8
RSS_MOST = 256e6
SLOW_SYNC_US = 20_000
UNSENT_MOST = 0.05


def rate_limit(bench):
    """A gateway limited to 2 000/s is offered 20 000/s."""
    seconds = 5 if bench.quick else 60
    node = bench.node(gateway={"limits": {"rate": "2000/s"}})
    try:
        node.start()
        node.key_add()
        offer(bench, "overload rate", node, 20_000, seconds, possible=2000 * seconds)
    finally:
        bench.discard(node)


def slow_disk(bench):
    """20 ms per sync and room for 100 commits: offered ten times what that gives."""
    seconds = 5 if bench.quick else 60
    node = bench.node(limits={"commit_queue": 100}, environment={
        "LD_PRELOAD": str(bench.tool("slowsync.so")), "SLOW_SYNC_US": str(SLOW_SYNC_US)})
    try:
        node.start()
        node.key_add()
        gives = wrk("plain", node.port, 2 if bench.quick else 5, node.key, connections=200,
                    refusals=True).accepted_per_second
        say(f"the slow disk gives {gives:.0f}/s")
        offer(bench, "overload disk", node, int(gives * 10), seconds, possible=gives * seconds)
    finally:
        bench.discard(node)


def offer(bench, name, node, rate, seconds, possible):
    """One scene: the generator, the memory peak, and every ack looked up afterwards."""
    journal = Journal(bench.folder / f"{name.replace(' ', '-')}.journal")
    said = run([bench.tool("openloop"), "--port", node.port, "--path", "/in/orders",
                "--rate", rate, "--seconds", seconds, "--connections", CONNECTIONS,
                "--journal", journal.path], timeout=seconds + 60,
               env={**os.environ, "WAYBILL_KEY": node.key})
    seen = json.loads(said)
    rss = memory_bytes(node.process.pid, "VmHWM")
    taken = sum(n for status, n in seen["status"].items() if status.startswith("2"))
    polite = taken + seen["status"].get("429", 0) + seen["status"].get("503", 0)
    wait_for("/readyz", node.ready, 30)
    findings = Checker(node, journal, random.Random(1), strangers=[PLAIN_SHA256]).check()
    counts = " ".join(f"{status}={n}" for status, n in sorted(seen["status"].items()))
    bench.verdict(
        name, f"offered {rate}/s for {seconds} s, sent {seen['sent']}, {counts}, "
        f"{taken / possible:.2f} of the possible, p99 {seen['p99_ms']:.0f} ms, "
        f"longest {seen['max_ms']:.0f} ms, unanswered {seen['unanswered']}, "
        f"RSS {rss / 1e6:.0f} MB, lost {findings.lost}",
        answered=(polite == seen["sent"] and seen["unanswered"] == 0,
                  f"{seen['sent'] - polite} got neither 2xx nor 429 nor 503"),
        quick=(seen["over_second"] == 0, f"{seen['over_second']} took longer than 1 s"),
        taken=(taken >= TAKEN_LEAST * possible, f"under {TAKEN_LEAST:.0%} of the possible"),
        offered=(seen["unsent"] <= UNSENT_MOST * seen["scheduled"],
                 f"{seen['unsent']} of {seen['scheduled']} found no free connection"),
        memory=(rss < RSS_MOST, "RSS over 256 MB"),
        kept=(findings.clean(), "; ".join(findings.problems[:2])))
