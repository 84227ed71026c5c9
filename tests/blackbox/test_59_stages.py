"""What steps made of a document, and so what was sent, when the store no longer has it."""
import contextlib
import http.client
import json
import pathlib
import socket
import sqlite3
import sys
import threading
import time
import urllib.parse

import pytest

from moved_clock import MovedClock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
DAY = 86400

CONFIG = """\
systems: {{ hub: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in"{keep} }}
routes:
  - name: orders
    when: {{ type: order }}
    do: [ {{ replace: {{ find: "a", with: "b" }} }}, {{ deliver: api }} ]
retention: {{ default: 45d, archive: {folder} }}
"""


def wait_for(node, true, seconds=60):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, node.tail()
        time.sleep(0.05)


def archived(make_node, tmp_path, keep=""):
    """A node whose three documents were delivered and are in the archive; its folder, and their ids."""
    clock, folder = MovedClock(tmp_path), tmp_path / "archive"
    with Receiver() as receiver:
        receiver.behave("/in", "status", 200, None, "booked as 8842")
        node = make_node(config=CONFIG.format(url=receiver.url(""), folder=json.dumps(str(folder)), keep=keep),
                         environment={**clock.environment, "WAYBILL_TEST_ARCHIVE_AT_ONCE": "1"})
        clock.by(-50 * DAY)
        node.start()
        docs = [node.accept("in", f"a banana {n}") for n in range(3)]
        wait_for(node, lambda: all(node.show(d, "state")["state"] == "delivered" for d in docs))
        assert node.cli("docs", "payload", docs[1], "--stage", "1").stdout == "b bbnbnb 1"
        assert node.stop() == 0
    clock.by(0)
    node.start()
    assert node.cli("retention", "run").returncode == 0
    wait_for(node, lambda: all(node.show(d, "state") is None for d in docs))
    return node, folder, docs


@pytest.mark.proves("RE2")
@BOTH
def test_what_was_sent_is_in_the_archive(make_node, tmp_path):
    """Beside what was received: read by its stage, as from the store; a stage that never was is not there."""
    node, _, docs = archived(make_node, tmp_path)
    for n, doc in enumerate(docs):
        assert node.cli("docs", "payload", doc).stdout == f"a banana {n}"
        assert node.cli("docs", "payload", doc, "--stage", "1").stdout == f"b bbnbnb {n}"
        assert node.get(f"/documents/{doc}/payload?stage=2", node.token).status == 404


def test_kept_answers_are_in_the_archive(make_node, tmp_path):
    _, folder, docs = archived(make_node, tmp_path, keep=", keep: { answers: all }")
    (files,) = folder.glob("*.docs")
    assert files.read_bytes().count(b"\nanswer api 14 ") == len(docs)


# ---- what was not stored --------------------------------------------------------------------------

CHAIN = """\
systems: {{ hub: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in" }}
  log: {{ kind: http, url: "{url}/log" }}
routes:
  - name: orders
    when: {{ type: order }}
    do:
      - replace: {{ find: "a", with: "{first}" }}
      - replace: {{ find: "never there", with: "" }}
      - deliver: log
      - replace: {{ find: "{first}", with: "c" }}
      - replace: {{ find: "c", with: "dd" }}
      - deliver: api
"""

LOOK = """query($id: ID!, $s: Int) { document(id: $id) { updated
    stages { stage name stored size } payload(stage: $s) { stage computedWith size sha256 text }
    timeline { stage what step bytes { stage } } } }"""


def deliver_one(node, receiver, body="a banana"):
    doc = node.accept("in", body)
    wait_for(node, lambda: node.show(doc, "state")["state"] == "delivered")
    return doc


@pytest.mark.smoke
@BOTH
def test_stages_that_were_not_stored_are_computed_again(make_node, tmp_path):
    """With the version that ran, whatever is in force now; and marked so."""
    with Receiver() as receiver:
        node = make_node(config=CHAIN.format(url=receiver.url(""), first="b"))
        node.start()
        doc = deliver_one(node, receiver)
        (tmp_path / "new.yaml").write_text(CHAIN.format(url=receiver.url(""), first="x"))
        assert node.cli("apply", str(tmp_path / "new.yaml")).returncode == 0
        got = node.cli("docs", "payload", doc, "--stage", "3")
        assert got.stdout == "c ccncnc" and "computed again, with version 1" in got.stderr, got.stderr
        before = node.graphql(LOOK, id=doc, s=0)["document"]
        sent = len(receiver.requests())

        for stage, text, computed in ((1, "b bbnbnb", False), (2, "b bbnbnb", True),
                                      (3, "c ccncnc", True), (4, "dd ddddnddndd", False)):
            got = node.cli("docs", "payload", doc, "--stage", str(stage))
            assert (got.returncode, got.stdout) == (0, text), got.stderr
            assert ("computed again, with version 1" in got.stderr) == computed, (stage, got.stderr)
            shown = node.graphql(LOOK, id=doc, s=stage)["document"]["payload"]
            assert (shown["text"], shown["computedWith"]) == (text, 1 if computed else None)
            assert (shown["stage"], shown["size"]) == (stage, len(text))
            answer = node.get(f"/documents/{doc}/payload?stage={stage}", node.token)
            assert answer.headers.get("waybill-computed") == ("version 1" if computed else None)
        part = node.request("GET", f"/documents/{doc}/payload?stage=3",
                            headers={"Authorization": f"Bearer {node.token}", "Range": "bytes=2-4"})
        assert part.status == 206 and part.body == b"ccn"
        assert node.cli("docs", "payload", doc, "--stage", "5").returncode == 1

        after = node.graphql(LOOK, id=doc, s=0)["document"]
        assert after == before and len(receiver.requests()) == sent  # no effect
        assert [(s["stage"], s["stored"]) for s in after["stages"]] == \
            [(0, True), (1, True), (2, False), (3, False), (4, True)]
        trace = node.cli("docs", "trace", doc).stdout
        assert all(f"stage {n}" in trace for n in range(1, 5)), trace


WIDE = """\
systems: {{ hub: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in" }}
routes:
  - name: orders
    when: {{ type: order }}
    do: [ {{ replace: {{ find: "a", with: "{wide}" }} }}, {{ replace: {{ find: "{wide}", with: "b" }} }}, {{ deliver: api }} ]
"""


def ask(node, method, path):
    """The connection, and an answer of which only the head is read."""
    where = urllib.parse.urlsplit(node.url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    connection.request(method, path, headers={"Authorization": f"Bearer {node.token}"})
    return connection, connection.getresponse()


class SlowReader:
    """Reads just so fast that it is not cut off, however long the others take: small buffers, a little at a time."""

    def __init__(self, node, path):
        where = urllib.parse.urlsplit(node.url)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.socket.settimeout(60)
        self.socket.connect((where.hostname, where.port))
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {node.token}\r\n\r\n".encode())
        self.answer = http.client.HTTPResponse(self.socket, method="GET")
        self.answer.begin()
        self.leave = threading.Event()
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while not self.leave.wait(0.05):
            self.answer.read(1 << 14)

    def close(self):
        self.leave.set()
        self.thread.join()
        self.answer.close()
        self.socket.close()


def test_computed_stages_that_nobody_reads_are_bounded(make_node):
    """Readers that hardly move hold 128 MiB at most; when they leave, the next one is served."""
    with Receiver() as receiver, contextlib.ExitStack() as slow:
        node = make_node(config=WIDE.format(url=receiver.url(""), wide="w" * 1000))
        node.start()
        path = f"/documents/{deliver_one(node, receiver, 'a' * 45000)}/payload?stage=1"
        for _ in range(2):
            reader = slow.enter_context(contextlib.closing(SlowReader(node, path)))
            assert reader.answer.status == 200 and reader.answer.headers["content-length"] == "45000000"
        connection, answer = ask(node, "GET", path)
        slow.enter_context(contextlib.closing(connection))
        assert answer.status == 503 and answer.headers["retry-after"] and b"slow readers" in answer.read()
        connection, answer = ask(node, "HEAD", path)  # holds nothing
        slow.enter_context(contextlib.closing(connection))
        assert answer.status == 200 and answer.headers["content-length"] == "45000000"
        slow.close()
        wait_for(node, lambda: node.get(path).status == 200)


def test_a_stage_does_not_wait_for_a_large_document(make_node):
    """One that hangs in a step: a small stage is computed, a large one says that it is busy."""
    with Receiver() as receiver:
        node = make_node(config=CHAIN.format(url=receiver.url(""), first="b"),
                         environment={"WAYBILL_FAULT": "road.step:hang_on:stuck"})
        node.start()
        small, large = (deliver_one(node, receiver, "a banana" * times) for times in (1, 1 << 18))
        assert node.get(f"/documents/{large}/payload?stage=3").status == 200
        node.accept("in", "stuck" + "a banana" * (1 << 18))
        wait_for(node, lambda: (answer := node.get(f"/documents/{large}/payload?stage=3")).status == 503
                 and b"a large document is being processed" in answer.body)
        assert node.get(f"/documents/{small}/payload?stage=3").body == b"c ccncnc"
        node.kill()


def test_why_a_stage_cannot_be_computed_again(make_node, tmp_path):
    """The version is gone; the input is gone: the answer says which."""
    with Receiver() as receiver:
        node = make_node(config=CHAIN.format(url=receiver.url(""), first="b"))
        node.start()
        docs = [deliver_one(node, receiver)]
        (tmp_path / "new.yaml").write_text(CHAIN.format(url=receiver.url(""), first="x"))
        assert node.cli("apply", str(tmp_path / "new.yaml")).returncode == 0
        docs.append(deliver_one(node, receiver))
        assert node.stop() == 0
        with contextlib.closing(sqlite3.connect(node.data / "waybill.db")) as db, db:
            assert db.execute("delete from config where version = 1").rowcount == 1
        for segment in (node.data / "payload").glob("*.seg"):
            segment.rename(segment.with_suffix(".away"))
        node.start()
        for doc, why in zip(docs, ("version 1 is gone", "payload")):
            got = node.cli("docs", "payload", doc, "--stage", "3")
            assert got.returncode == 1 and got.stdout == ""
            assert "cannot be computed again" in got.stderr and why in got.stderr, got.stderr
