"""100 jobs are handed over to two nodes, behind a proxy that delays each answer by 20 ms.

One node claims them all at once and passes them on; two others run them.  With one slot it passes on
one after the other, which is what it is compared with: in turns, each on fresh nodes and a fresh
database.  Counted is the time from the first request to the last answer; each job must have run once.
"""

import json
import time

from bench.measure import median, say
from harness.proxy import Proxy
from rig.process import RigError, wait_for

JOBS, DELAY_S, SHARE_MOST = 100, 0.020, 0.5
WORKERS, PATIENCE_S = 2, 120


def hand_over(bench):
    """On PostgreSQL: with SQLite claims cannot be handed over."""
    at_once, in_turn = [], []
    for _ in range(1 if bench.quick else 3):
        at_once.append(one_run(bench, JOBS))
        in_turn.append(one_run(bench, 1))
        say(f"{JOBS} jobs: {at_once[-1]:.2f} s at once, {in_turn[-1]:.2f} s one after the other")
    share = median(a / b for a, b in zip(at_once, in_turn))
    bench.verdict("hand-over", f"{JOBS} jobs to {WORKERS} nodes, each answer {DELAY_S * 1000:.0f} ms late: "
                  f"{median(at_once):.2f} s at once, {median(in_turn):.2f} s one after the other, {share:.2f} of it",
                  share=(share < SHARE_MOST, f"not less than {SHARE_MOST} of it"))


def one_run(bench, slots):
    """Seconds that it takes with so many at once."""
    jobs = "jobs:\n" + "".join(f"  j{i}: {{ kind: note, every: 1h, area: dmz }}\n" for i in range(JOBS))
    first = bench.node("postgres", more=jobs)
    second = type(first)(bench.binary, first.folder.parent / f"{first.folder.name}-b", store=first.store, more=jobs)
    scheduler = type(first)(bench.binary, first.folder.parent / f"{first.folder.name}-s", store=first.store, more=jobs)
    nodes = [first, second, scheduler]
    try:
        for node in nodes[:WORKERS]:
            set_node(node, f"jobs: {{ slots: {JOBS} }}")
            node.start()
        key = json.loads(first.cli("key", "add", "--admin", "--title", "farm", "--role", "worker", "--json"))["key"]
        time.sleep(2)  # the other node learns of the key within a second
        with Proxy(first.port) as proxy:
            proxy.targets, proxy.delay = [node.port for node in nodes[:WORKERS]], DELAY_S
            set_node(scheduler, f"area: dmz\nlog: debug\njobs: {{ hand_over: \"http://127.0.0.1:{proxy.port}\", "
                                f"key: \"{key}\", slots: {slots}, batch: {slots} }}")
            scheduler.start()
            wait_for("all jobs are handed over", lambda: len(events(scheduler, "job.hand_over")) >= JOBS, PATIENCE_S)
        return check(nodes)
    finally:
        for node in (scheduler, second):
            node.kill()
        bench.discard(first)


def set_node(node, lines):
    text = node.config.read_text().replace("node:\n", "node:\n" + "".join(f"  {line}\n" for line in lines.splitlines()), 1)
    node.config.write_text(text)


def events(node, name):
    found = []
    for line in node.log.read_text(errors="replace").splitlines():
        if f'"{name}"' in line:
            found.append(json.loads(line))
    return [e for e in found if e["event"] == name]


def seconds_of(event):
    clock, fraction = event["time"].rstrip("Z").split(".")
    return time.mktime(time.strptime(clock, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction}")


def check(nodes):
    handed = events(nodes[-1], "job.hand_over")
    ran = [e["job"] for node in nodes for e in events(node, "job.note")]
    if len(handed) != JOBS or sorted(ran) != sorted(f"j{i}" for i in range(JOBS)) or events(nodes[-1], "job.note"):
        raise RigError(f"{len(handed)} handed over, {len(ran)} runs of {len(set(ran))} jobs")
    return max(map(seconds_of, handed)) - min(seconds_of(e) - e["took_ms"] / 1000 for e in handed)
