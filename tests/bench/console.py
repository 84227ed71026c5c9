"""The console among a million documents: how long somebody waits, and what it costs the engine.

Waiting is measured in Chromium (tests/console/speed.mjs) on a node that is idle.  The cost is that of the
road (e2e.py): turn by turn without a console, and with one, whose questions of a minute were recorded and
are asked again and again at the same pace, while a stream of /events is open.
"""

import http.client
import json
import os
import subprocess
import threading
import time

from bench import search
from bench.measure import median, say
from bench.road import Receiver, carry, product
from rig.process import RigError

PAINT_MOST_MS, FILTER_MOST_MS, GROWTH_MOST = 1000, 300, 0.05


def browse(bench, script, node, **more):
    """What a script of tests/console prints."""
    folder = bench.root / "build/tests-console"
    subprocess.run([bench.root / "tools/fetch_npm", bench.root / "tests/console", folder], cwd=bench.root,
                   check=True, timeout=300)
    done = subprocess.run(
        ["node", bench.root / "tests/console" / script], capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "WAYBILL_URL": node.url, "WAYBILL_MODULES": str(folder / "node_modules"),
             "TOKEN": node.token(), **more})
    if done.returncode != 0:
        raise RigError(f"{script}: {(done.stdout + done.stderr)[-400:]}")
    return json.loads(done.stdout)


def waiting(bench, store):
    documents = int(os.environ.get("BENCH_DOCUMENTS", search.SOME if bench.quick else search.DOCUMENTS))
    receiver = Receiver(bench)
    gateway = {"auth": "none", "extract": search.EXTRACT}
    side = "  side: { kind: http, auth: none, idempotency: 24h, extract: { " + ", ".join(
        f"{k}: {v}" for k, v in search.EXTRACT.items()) + " } }\n"
    node = bench.node(store, gateway=gateway, more_gateways=side, more=search.configuration(receiver.ports[0]))
    try:
        node.start()
        node.key = ""
        last = search.fill(node, receiver, documents)
        node.stop(120)
        world = search.prepare(bench, node, last)
        node.start()
        seen = browse(bench, "speed.mjs", node)
        node.stop()
    finally:
        bench.discard(node)
        receiver.close()
    slowest = max(seen["filter_ms"].values())
    bench.verdict(f"console {store}", f"{world.documents} documents, first rows after {seen['first_paint_ms']} ms (the first "
                  f"visit {seen['cold_ms']} ms), filters " + ", ".join(f"{k} {v} ms" for k, v in seen["filter_ms"].items()),
                  paint=(seen["first_paint_ms"] < PAINT_MOST_MS, f"first rows over {PAINT_MOST_MS} ms"),
                  filters=(slowest < FILTER_MOST_MS, f"a filter over {FILTER_MOST_MS} ms"))


class Replay:
    """Asks what was recorded, in a loop and at the same pace, and listens to /events."""

    def __init__(self, pipe, asked, seconds):
        self.port, self.token, self.asked, self.seconds = pipe.port, pipe.node.token(), asked, seconds
        self.over, self.count, self.wrong, self.heard = threading.Event(), 0, None, 0
        self.threads = [threading.Thread(target=self._ask), threading.Thread(target=self._listen)]
        for t in self.threads:
            t.start()

    def _headers(self):
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def _ask(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            while not self.over.is_set():
                began = time.monotonic()
                for one in self.asked:
                    if self.over.wait(max(0, began + one["at"] / 1000 - time.monotonic())):
                        return
                    connection.request("POST", "/graphql", one["body"], self._headers())
                    answer = connection.getresponse()
                    answer.read()
                    self.count += 1
                    if answer.status != 200:
                        self.wrong = f"/graphql answers {answer.status}"
                        return
                self.over.wait(max(0, began + self.seconds - time.monotonic()))
        except (OSError, http.client.HTTPException) as problem:
            self.wrong = str(problem)

    def _listen(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            while not self.over.is_set():
                connection.request("GET", "/events", headers=self._headers())
                stream = connection.getresponse()
                while not self.over.is_set() and (line := stream.fp.readline()):
                    self.heard += line.startswith(b"data:")
                connection.close()
        except (OSError, http.client.HTTPException) as problem:
            self.wrong = f"/events: {problem}"
        finally:
            connection.close()

    def stop(self):
        self.over.set()
        for t in self.threads:
            t.join()
        if self.wrong:
            raise RigError(self.wrong)


def burden(bench, store):
    pairs, seconds, minute = (1, 3, 8) if bench.quick else (5, 15, 60)
    receiver = Receiver(bench)
    growths, pipe = [], None
    try:
        pipe = product(bench, store, receiver.ports)
        carry(pipe, receiver, 2)        # something to look at
        asked = browse(bench, "record.mjs", pipe.node, SECONDS=str(minute))
        say(f"{len(asked)} questions in {minute} s")
        for _ in range(pairs):
            alone = carry(pipe, receiver, seconds).cpu_us
            replay = Replay(pipe, asked, minute)
            try:
                beside = carry(pipe, receiver, seconds).cpu_us
            finally:
                replay.stop()
            growths.append(beside / alone - 1)
            say(f"alone {alone:.1f} us/doc, with a console {beside:.1f} ({replay.count} questions, {replay.heard} events)")
    finally:
        if pipe is not None:
            pipe.close()
        receiver.close()
    growth = median(growths)
    bench.verdict(f"console-burden {store}", f"engine CPU per document {growth:+.1%} with {len(asked)} questions a minute and a stream",
                  growth=(growth < GROWTH_MOST, f"over {GROWTH_MOST:.0%}"))
