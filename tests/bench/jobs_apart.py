"""Jobs that hang, fail or bring the process down are not felt by the others.

200 notes at `every: 100ms`, alone and beside neighbours, in turn, each on a fresh node: calls of an address that
never answers, of a service that would answer after an hour, and of one that refuses at once and is asked again ten
times a second.  Half of the slots hang.  With the test build one more neighbour brings the process down once in each
round; what counts then includes the start after it.

An iteration is a line in the log of the node.

proves: SC1
"""

import datetime
import socket
import time

from bench.jobs import notes
from bench.measure import median, say
from rig.process import RigError, free_port, wait_for

JOBS = 200
EACH = 4                # neighbours of a kind
START_SECONDS = 20      # by then the node has run each job a few times
LEAST, LEAST_CRASH = 0.95, 0.8
HANGS = "timeout: 1h, connect_timeout: 1h"
FAILS = "timeout: 1s, retry: { first: 100ms, most: 100ms }, suspend: never"
BOMB = {"WAYBILL_FAULT": "job.run:abort_on:bomb"}


def apart(bench, store):
    seconds, turns = (12, 1) if bench.quick else (30, 3)
    shares = {False: [], True: []}
    for _ in range(turns):
        for crash, found in shares.items():
            alone = Run(bench, store, False, crash).measure(seconds)
            beside = Run(bench, store, True, crash).measure(seconds)
            found.append(beside / alone)
            say(f"{'with a crash' if crash else 'neighbours hang and fail'}: {beside} iterations, alone {alone}: "
                f"{found[-1]:.3f}")
    share, crashed = median(shares[False]), median(shares[True])
    bench.verdict(f"jobs-apart {store}", f"{JOBS} jobs keep {share:.1%} of their iterations beside neighbours that hang and "
                  f"fail, {crashed:.1%} beside one that brings the process down",
                  hang=(share >= LEAST, f"under {LEAST:.0%}"),
                  crash=(crashed >= LEAST_CRASH, f"with a crash under {LEAST_CRASH:.0%}"))


class Run:
    """One node; `crash`: of the test build, and with neighbours it goes down in the middle of the round."""

    def __init__(self, bench, store, beside, crash):
        self.bench, self.store, self.beside, self.crash = bench, store, beside, crash
        self.sockets = []

    def measure(self, seconds):
        bombs = self.beside and self.crash
        middle = int(time.time()) + START_SECONDS + seconds // 2
        more = notes(JOBS, "every: 100ms", "work") + (self._neighbours() if self.beside else "")
        if bombs:
            more += f'  bomb: {{ kind: note, once: "{datetime.datetime.fromtimestamp(middle, datetime.timezone.utc):%FT%TZ}" }}\n'
        node = self.bench.node(self.store, more=more)
        if self.crash:
            node.binary = self.bench.root / "build/debug/waybill"
        try:
            node.start(BOMB if bombs else None)
            wait_for("runs of all jobs", lambda: iterations(node) >= 3 * JOBS, START_SECONDS, 0.1)
            if bombs:
                time.sleep(max(0.0, middle - seconds / 2 - time.time()))
            before, until = iterations(node), time.monotonic() + seconds
            if bombs:
                self._restart(node, until)
            time.sleep(max(0.0, until - time.monotonic()))
            done = iterations(node) - before
            if self.beside and self._asked() < EACH:
                raise RigError("not all neighbours were there")
        finally:
            for each in self.sockets:
                each.close()
            self.bench.discard(node)
        return done

    @staticmethod
    def _restart(node, until):
        wait_for("the crash", lambda: node.process.poll() is not None, until - time.monotonic(), 0.01)
        node.start()

    def _neighbours(self):
        """The kernel takes connections of the sleeping service, and drops those to the silent address."""
        sleeping, silent = self._listen(EACH * 4), self._listen(0)
        for _ in range(4):      # more than wait for being accepted
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(silent.getsockname())
            self.sockets.append(client)
        urls = {"silent": (address(silent), HANGS), "sleeping": (address(sleeping), HANGS),
                "failing": (f"127.0.0.1:{free_port()}", FAILS)}
        self.sleeping = sleeping
        return "".join(f'  {name}-{n}: {{ kind: call, every: 100ms, log: off, url: "http://{where}/", {keys} }}\n'
                       for name, (where, keys) in urls.items() for n in range(EACH))

    def _listen(self, backlog):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(backlog)
        listener.setblocking(False)
        self.sockets.append(listener)
        return listener

    def _asked(self):
        """How many connections the sleeping service has got."""
        found = 0
        try:
            while True:
                self.sockets.append(self.sleeping.accept()[0])
                found += 1
        except BlockingIOError:
            return found


def address(listener):
    return "{}:{}".format(*listener.getsockname())


def iterations(node):
    """Of the jobs that count, so far."""
    return node.log.read_bytes().count(b'"job":"work-') if node.log.exists() else 0
