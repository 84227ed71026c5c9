"""Senders that repeat each document until it is acknowledged, and the check that none is lost."""
import threading
import time

from wire import wait_until


class Senders:
    """Threads that send documents, each with its key until it is acknowledged."""

    def __init__(self, nodes, count=4):
        self.nodes = nodes
        self.acked = {}
        self.refused = []
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(count)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for t in self.threads:
            t.join()

    def run(self, number):
        n = 0
        while not self.ended.is_set():
            n += 1
            self.send(number, f"{number}-{n}")

    def send(self, number, key):
        """One document; gives up only when everything ends."""
        while not self.ended.is_set():
            node = self.nodes[number % len(self.nodes)]
            try:
                got = node.request("POST", "/in/open", key.encode(), {"Idempotency-Key": key}, timeout=40)
            except OSError:
                number += 1  # the next node
                time.sleep(0.02)
                continue
            if got.status == 202:
                self.acked[key] = got.json["document"]
                return
            assert got.status == 503 and int(got.headers["Retry-After"]) >= 1, got.body
            self.refused.append(got.json["error"]["code"])
            time.sleep(0.02)

    def wait_for_more(self, count=20, seconds=90):
        before = len(self.acked)
        wait_until(lambda: len(self.acked) >= before + count, seconds, "acceptance")

    def check(self, node):
        """Nothing that was acknowledged is lost, and no key has two documents."""
        listed = node.documents()
        assert len(listed) == len(set(listed))
        assert len(self.acked) == len(set(self.acked.values()))
        assert set(self.acked.values()) <= set(listed)
        for key, ident in list(self.acked.items())[::17]:
            assert node.get(f"/documents/{ident}/payload").body == key.encode()
            again = node.post("open", key.encode(), {"Idempotency-Key": key})
            assert again.json["document"] == ident
        report = node.cli("doctor")
        assert report.returncode == 0, report.stdout
