"""Backup while the node works, restore elsewhere, and nothing is sent before a person chooses."""
import hashlib
import json
import os
import pathlib
import shutil
import sys
import threading
import time

import pytest

from running_node import run_program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

DONE, NO, USAGE = 0, 1, 2
BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
SENDERS = 3

CONFIG = """\
systems: {{ hub: {{ limits: {{ concurrency: 8 }} }}, slow: {{}}, lane: {{ order: receiver }} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ receiver: "json:/to" }}
endpoints:
  api:  {{ kind: http, url: "{url}/in", timeout: 5s, retry: {{ first: 1h, most: 1h, for: 3d }},
          breaker: {{ failures: 1000, wait: 1h }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


@pytest.fixture
def receiver():
    with Receiver() as r:
        yield r


@pytest.fixture
def node(make_node, receiver):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=receiver.url("")))
    one.start()
    return one


def body(number, size=0, to="hub"):
    text = json.dumps({"to": to, "number": number})
    return (text + " " * (size - len(text))).encode()


def send(node, number, size=0, to="hub"):
    answer = node.post("in", body(number, size, to))
    assert answer.status == 202, answer.body
    return answer.json["document"]


class Load:
    """Senders that go on until they are told to stop; what was acknowledged, and when."""

    def __init__(self, node):
        self.node = node
        self.acked = {}  # id -> (number, size, time of the answer)
        self.wrong = []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(i,)) for i in range(SENDERS)]
        for t in self.threads:
            t.start()

    def _run(self, which):
        number = which * 1000000
        while not self.stopping.is_set():
            size = 1500000 if number % 50 == 7 else 3000 if number % 3 == 0 else 0
            try:
                doc = send(self.node, number, size)
            except (AssertionError, OSError) as e:
                self.wrong.append(str(e))
                return
            self.acked[doc] = (number, size, time.time())
            number += 1

    def wait_for(self, count):
        until = time.monotonic() + 60
        while len(self.acked) < count and not self.wrong:
            assert time.monotonic() < until, f"{len(self.acked)} of {count}"
            time.sleep(0.02)

    def stop(self):
        self.stopping.set()
        for t in self.threads:
            t.join()
        assert not self.wrong, self.wrong


def backup(node, folder, *words):
    got = node.cli("backup", folder, "--json", *words)
    assert got.returncode == DONE, got.stderr
    return json.loads(got.stdout)


def restored(make_node, receiver, folder, *words):
    """A node on what a backup becomes, not started."""
    one = make_node(config=CONFIG.format(url=receiver.url("")))
    got = run_program("restore", folder, "--data", one.data, *words)
    assert got.returncode == DONE, got.stderr
    return one


def payload(node, doc):
    answer = node.get(f"/documents/{doc}/payload")
    assert answer.status == 200, answer.body
    return answer.body


def show(node, doc):
    return node.graphql("query($id: ID!) { document(id: $id) { state deliveries { state held }"
                        " timeline { stage outcome message } } }", id=doc)["document"]


def await_state(node, doc, *states, seconds=20):
    until = time.monotonic() + seconds
    while True:
        seen = show(node, doc)
        if seen["state"] in states:
            return seen
        assert time.monotonic() < until, f"still {seen}, not {states}\n{node.tail(10)}"
        time.sleep(0.05)


def clean(node):
    got = node.cli("doctor", "--json")
    assert got.returncode == DONE, got.stdout


def arrived(receiver):
    return [r["headers"]["waybill-document"] for r in receiver.requests("/in")]


# ---- under load --------------------------------------------------------------------------------------

@pytest.mark.proves("FO14")
def test_a_backup_under_load_has_everything_before_its_mark(node, make_node, receiver, tmp_path):
    large = send(node, 1, size=3000000)
    load = Load(node)
    load.wait_for(150)
    began = time.time()
    taken = backup(node, tmp_path / "b1")
    load.wait_for(len(load.acked) + 50)  # it goes on
    load.stop()
    assert taken["damaged"] == 0 and taken["documents"] >= 150
    assert run_program("restore", tmp_path / "b1", "--check").returncode == DONE
    node.kill()
    receiver.reset()

    one = restored(make_node, receiver, tmp_path / "b1")
    got = run_program("doctor", "--data", one.data)
    assert got.returncode == DONE, got.stdout
    one.start()
    there = set(one.documents())
    before = {d for d, (_, _, at) in load.acked.items() if at <= began} | {large}
    assert before <= there, f"{len(before - there)} of {len(before)} are missing"
    assert there <= set(load.acked) | {large}
    for doc in there - {large}:
        number, size, _ = load.acked[doc]
        assert payload(one, doc) == body(number, size)
    assert payload(one, large) == body(1, 3000000)
    clean(one)
    assert arrived(receiver) == []  # nothing left it
    assert "came out of a backup" in one.get("/readyz", token="").body.decode()
    got = one.cli("node", "release", "--in-flight", "resend")
    assert got.returncode == DONE, got.stderr
    fresh = send(one, 2)
    await_state(one, fresh, "delivered")
