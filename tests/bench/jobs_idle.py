"""10 000 jobs of tomorrow cost a node next to nothing: transactions and processor time beside those of a node without.

Both nodes run at the same time, each with a database of its own.
"""

import datetime
import time

from bench.jobs import notes, number
from bench.measure import say
from rig.process import RigError, cpu_seconds, wait_for

JOBS = 10_000
FOLLOW_SECONDS = 120
TRANSACTIONS_MOST, CORE_MOST = 1.0, 0.005
TRANSACTIONS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{}'"


def idle(bench):
    count, seconds = (2000, 15) if bench.quick else (JOBS, 60)
    away = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=12)
    nodes = {"with": bench.node("postgres", more=notes(count, f'at: "{away.minute} {away.hour} * * *"')),
             "without": bench.node("postgres")}
    try:
        for node in nodes.values():
            node.start()
        followed = nodes["with"].folder.name
        wait_for("the records of all jobs", lambda: number(bench, followed, "SELECT count(*) FROM job") == count,
                 FOLLOW_SECONDS, 0.2)
        time.sleep(5)       # what a start does is over
        before = {name: look(bench, node) for name, node in nodes.items()}
        began = time.monotonic()
        time.sleep(seconds)
        after = {name: look(bench, node) for name, node in nodes.items()}
        took = time.monotonic() - began
        if number(bench, followed, "SELECT sum(runs) FROM job") != 0:
            raise RigError("a job of tomorrow has run")
        for node in nodes.values():
            node.stop()
    finally:
        for node in nodes.values():
            bench.discard(node)
    rate = {name: [(b - a) / took for a, b in zip(before[name], after[name])] for name in nodes}
    for name, (transactions, core) in rate.items():
        say(f"{name} {count} jobs: {transactions:.1f} transactions/s, {core:.2%} of a core")
    more, core = (a - b for a, b in zip(rate["with"], rate["without"]))
    bench.verdict("jobs-idle", f"{count} jobs of tomorrow add {more:+.2f} transactions/s and {core:+.2%} of a core",
                  transactions=(more <= TRANSACTIONS_MOST, f"over {TRANSACTIONS_MOST:.0f} a second"),
                  core=(core <= CORE_MOST, f"over {CORE_MOST:.1%} of a core"))


def look(bench, node):
    """Transactions of its database so far, and its processor time."""
    return number(bench, "postgres", TRANSACTIONS.format(node.folder.name)), cpu_seconds(node.process.pid)
