"""Senders that do not give up, and kills at a named point: what scenes with a count of documents share."""

import http.client
import json
import signal
import threading
import time

from rig.process import RigError

THREADS = 4


class Senders:
    """Every document is sent until it is acknowledged, under one key.

    `make(n)` gives (gateway, body, headers), or None when it is not yet time for it; only those before it are waited for.
    """

    def __init__(self, node, count, make):
        self.node, self.count, self.make = node, count, make
        self.acked = [None] * count     # the id of the document
        self.allowed = 0    # those below this one may go: there is load until the last kill
        self.threads = [threading.Thread(target=self._send, args=(k,), daemon=True) for k in range(THREADS)]
        self.ended = False
        for thread in self.threads:
            thread.start()

    def _send(self, first):
        connection = None
        for n in range(first, self.count, THREADS):
            request = None
            while self.acked[n] is None and not self.ended:
                if n >= self.allowed:
                    time.sleep(0.01)
                    continue
                request = request or self.make(n)
                if request is None:
                    time.sleep(0.05)
                    continue
                gateway, body, headers = request
                try:
                    if connection is None:
                        connection = http.client.HTTPConnection("127.0.0.1", self.node.port, timeout=30)
                    connection.request("POST", f"/in/{gateway}", body, {
                        "Authorization": f"Bearer {self.node.key}", "Idempotency-Key": f"n{n}", **headers})
                    answer = connection.getresponse()
                    text = answer.read()
                    if answer.status in (200, 202):
                        self.acked[n] = json.loads(text)["document"]
                    else:
                        time.sleep(0.05)
                except (OSError, ValueError, http.client.HTTPException):
                    connection = None
                    time.sleep(0.02)

    def left(self):
        return sum(a is None for a in self.acked)

    def close(self):
        self.ended = True
        for thread in self.threads:
            thread.join()


def kill_at(node, fault, seconds, meanwhile=None):
    """Starts with the fault in force and kills after so many seconds, if the fault has not.  True: it has."""
    try:
        node.start(fault)
    except RigError:
        if not fault or node.process.poll() != -signal.SIGKILL:
            raise
        return True     # what was left behind was taken up, and came to the point, before it was ready
    until = time.monotonic() + seconds
    if meanwhile is not None:
        meanwhile()
    while node.alive() and time.monotonic() < until:
        time.sleep(0.01)
    struck = not node.alive()
    node.kill()
    return struck
