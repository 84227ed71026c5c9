"""Receivers that hang: calls that never return are given up, and nobody else waits for them.

A share hangs as a stopped FUSE server does, where there is FUSE; and everywhere as a call that never returns
(the fault `hang_on`).
"""
import os
import pathlib
import subprocess
import sys
import time

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parents[1] / "harness")]
import fuse_share  # noqa: E402
from crash import disk  # noqa: E402

SECONDS = 60  # to end what hangs
ANSWER_SECONDS = 30  # for what a person asks for; whoever waited for the share would wait for minutes
STUCK = "stuck"

CONFIG = """\
systems:
  acme: {}
  near: {}
  hung1: {}
  hung2: { in_doubt: hold }
types: { order: {} }
gateways:
  web:
    kind: http
    auth: none
    extract: { sender: "value:acme", receiver: "header:To", type: "value:order" }
  drop:
    kind: file
    path: ./inbox
    every: 50ms
    min_age: 0s
    after: delete
    extract: { sender: "value:acme", receiver: "value:near", type: "value:order" }
endpoints:
  near:  { kind: file, system: near, path: ./outbox }
  hung1: { kind: file, system: hung1, path: "SHARE/one", TIMES }
  hung2: { kind: file, system: hung2, path: "SHARE/two", TIMES }
routes:
  - { name: near, when: { receiver: near }, do: [ { deliver: near } ] }
  - { name: one, when: { receiver: hung1 }, do: [ { deliver: hung1 } ] }
  - { name: two, when: { receiver: hung2 }, do: [ { deliver: hung2 } ] }
alerts: { receiver_failing: { after: 100ms } }
"""
SHORT = "timeout: 1s, retry: { first: 50ms, most: 100ms }, breaker: { wait: 300ms }"
LONG = "timeout: 10m"


class FuseShare:
    """A mounted share, stopped by a signal."""

    environment = {}

    def __init__(self, folder):
        self.share = fuse_share.Share(folder / "root", folder / "share")
        self.path, self.root = self.share.mount, self.share.root
        self.hang, self.close = self.share.stop, self.share.close
        (self.root / "in").mkdir()

    def go_on(self, node):
        self.share.go_on()


class HungCalls:
    """A folder; whoever writes or reads what is `stuck` never comes back."""

    environment = {"WAYBILL_FAULT": f"file.writing:hang_on:{STUCK},file.read:hang_on:{STUCK}"}

    def __init__(self, folder):
        self.path = self.root = folder / "share"
        self.root.mkdir()
        (self.root / "in").mkdir()

    def hang(self):
        pass

    def go_on(self, node):
        """A call that never returns ends with its process."""
        node.environment.clear()
        node.restart()

    def close(self):
        pass


@pytest.fixture(params=["fuse", "calls"])
def share(request, tmp_path):
    if request.param == "fuse" and (why := fuse_share.missing()):
        pytest.skip(why)
    (folder := tmp_path / "receiver").mkdir()
    made = (FuseShare if request.param == "fuse" else HungCalls)(folder)
    yield made
    made.close()


@pytest.fixture
def hung_node(share, make_node):
    """A node that runs, before the share hangs."""

    def make(times=SHORT, config=CONFIG):
        node = make_node(config=config.replace("SHARE", str(share.path)).replace("TIMES", times),
                         environment=share.environment)
        (node.folder / "inbox").mkdir()
        node.start()
        return node
    return make


def send(node, to, count, text=STUCK):
    return [node.accept("web", f"{text} {n}", {"To": to}) for n in range(count)]


def state(node, doc):
    return node.show(doc, "state deliveries { state }")


def wait_for(node, what, condition, seconds=SECONDS):
    until = time.monotonic() + seconds
    while not (got := condition()):
        assert time.monotonic() < until, f"no {what} within {seconds} s\n{node.tail()}"
        time.sleep(0.05)
    return got


def files(folder):
    return sorted(f.name for f in folder.glob("[!.]*"))


def others_go_on(node, count=10):
    """The healthy endpoint and the healthy gateway do their work."""
    for n in range(count):
        (node.folder / "inbox" / f"{n}.part").write_text(f"file {n}")
        (node.folder / "inbox" / f"{n}.part").rename(node.folder / "inbox" / f"{n}.txt")
    for doc in send(node, "near", count, "well"):
        node.await_state(doc, "delivered", look=state, seconds=SECONDS)
    wait_for(node, "empty inbox", lambda: not list((node.folder / "inbox").glob("*.txt")))


def in_time(what, seconds=ANSWER_SECONDS):
    began = time.monotonic()
    got = what()
    assert time.monotonic() - began < seconds, f"it took {time.monotonic() - began:.1f} s"
    return got


@pytest.mark.smoke
@pytest.mark.proves("QC7")
def test_receivers_that_hang(share, hung_node):
    """Time-out, breaker, alert and cancel hold; the others go on; apply and SIGTERM are answered."""
    node = hung_node()
    share.hang()
    one, two = send(node, "hung1", 12), send(node, "hung2", 12)
    others_go_on(node)
    for endpoint in ("hung1", "hung2"):
        node.wait_event("endpoint.hang", SECONDS, endpoint=endpoint)
        node.wait_event("endpoint.open", SECONDS, endpoint=endpoint)
    for doc in one + two:  # nothing was sent, and that is known: no doubt, also where it would be held
        wait_for(node, "delivery that waits", lambda d=doc: [
            d for d in state(node, d)["deliveries"] if d["state"] in ("retrying", "held", "ready")])
    wait_for(node, "alert", lambda: "receiver_failing" in node.cli("alerts", "ls").stdout)

    def cancelled():
        return node.cli("docs", "cancel", one[0]).returncode == 0
    wait_for(node, "cancelled document", cancelled)
    done = in_time(lambda: node.cli("apply", node.config_file))
    assert done.returncode == 0, done.stderr
    assert in_time(node.stop) == 0

    node.start()  # while the share still hangs
    others_go_on(node)
    node.write_config(node.config_file.read_text().partition("systems:")[1] + node.config_file.read_text().partition(
        "systems:")[2].replace("timeout: 1s", "timeout: 1m"))  # a slow machine is no share that hangs
    assert in_time(lambda: node.cli("apply", node.config_file)).returncode == 0
    share.go_on(node)
    for doc in one[1:] + two:
        node.await_state(doc, "delivered", look=state, seconds=SECONDS)
    assert len(files(share.root / "one")) == 11 and len(files(share.root / "two")) == 12


class FrozenDisk:
    """A disk whose file system is frozen: whoever writes waits, and cannot even be killed."""

    def __init__(self, folder):
        self.disk, self.frozen = disk.Disk(folder, "frozen", mebibytes=64), False
        self.path = self.disk.mount_point

    def freeze(self):
        subprocess.run(["fsfreeze", "-f", str(self.path)], check=True)
        self.frozen = True

    def thaw(self):
        if self.frozen:
            subprocess.run(["fsfreeze", "-u", str(self.path)], check=True)
        self.frozen = False

    def close(self):
        self.thaw()
        self.disk.close()


@pytest.fixture
def frozen_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a file system is frozen by root; test_receivers_that_hang shows the same without")
    made = FrozenDisk(tmp_path)
    yield made
    made.close()


@pytest.mark.proves("QC7")
def test_a_disk_that_is_frozen_takes_nobody_elses_threads(frozen_disk, make_node):
    """Two systems on it, with the default concurrency, once took all threads until the thaw."""
    node = make_node(config=CONFIG.replace("SHARE", str(frozen_disk.path)).replace("TIMES", LONG))
    (node.folder / "inbox").mkdir()
    node.start()
    try:
        first = [send(node, to, 1)[0] for to in ("hung1", "hung2")]
        for doc in first:
            node.await_state(doc, "delivered", look=state, seconds=SECONDS)
        frozen_disk.freeze()
        docs = send(node, "hung1", 20) + send(node, "hung2", 20)
        others_go_on(node)
        assert in_time(lambda: node.cli("apply", node.config_file), SECONDS).returncode == 0
        assert not any(state(node, doc)["state"] == "delivered" for doc in docs)
    finally:
        frozen_disk.thaw()  # before the node is ended: it could not be
    for doc in docs:
        node.await_state(doc, "delivered", look=state, seconds=SECONDS)
    assert [len(files(frozen_disk.path / name)) for name in ("one", "two")] == [21, 21]
    assert node.stop() == 0


@pytest.mark.proves("QC7")
def test_a_probe_of_a_folder_that_hangs_answers(tmp_path, make_node):
    """Also while calls hang in there already; the same without FUSE: tests/unit/base/test_patient.c."""
    if why := fuse_share.missing():
        pytest.skip(why)
    share = FuseShare(tmp_path)
    try:
        node = make_node(config=CONFIG.replace("SHARE", str(share.path)).replace("TIMES", SHORT))
        (node.folder / "inbox").mkdir()
        node.start()
        doc, = send(node, "hung1", 1)
        node.await_state(doc, "delivered", look=state, seconds=SECONDS)
        share.hang()
        send(node, "hung1", 2)
        node.wait_event("endpoint.hang", SECONDS, endpoint="hung1")
        for _ in range(2):
            done = in_time(lambda: node.cli("probe", "hung1"), SECONDS)  # the share is still stopped
            assert done.returncode == 1 and "does not answer" in done.stdout, done.stdout + done.stderr
        assert in_time(node.stop, SECONDS) == 0
    finally:
        share.close()


@pytest.mark.proves("XC3")
def test_work_that_waits_for_a_thread_says_so(share, hung_node):
    """Five systems that hang take every thread: /readyz and an alert say it, and a stop is quick."""
    names = [f"hung{n}" for n in range(1, 6)]
    config = CONFIG.split("systems:")[0] + CONFIG.replace("  hung2: { in_doubt: hold }\n", "".join(
        f"  {name}: {{}}\n" for name in names[1:])).replace(
        '  hung2: { kind: file, system: hung2, path: "SHARE/two", TIMES }\n', "".join(
            f'  {name}: {{ kind: file, system: {name}, path: "SHARE/{name}", TIMES }}\n' for name in names[1:])).replace(
        "  - { name: two, when: { receiver: hung2 }, do: [ { deliver: hung2 } ] }\n", "".join(
            f"  - {{ name: {name}, when: {{ receiver: {name} }}, do: [ {{ deliver: {name} }} ] }}\n"
            for name in names[1:]))
    node = hung_node(LONG, config)
    share.hang()
    for name in names:
        send(node, name, 12)
    ready = wait_for(node, "reason", lambda: (r := node.get("/readyz")).status == 503 and r)
    assert any("wait for a thread" in reason for reason in ready.json["reasons"]), ready.json
    wait_for(node, "alert", lambda: "threads" in node.cli("alerts", "ls").stdout)
    assert in_time(node.stop) == 0


@pytest.mark.proves("QC7", "DM7")
def test_a_system_gets_a_quarter_of_the_senders(share, hung_node):
    """Two systems that hang for minutes leave the others their threads."""
    node = hung_node(LONG)
    share.hang()
    docs = send(node, "hung1", 40) + send(node, "hung2", 40)
    others_go_on(node)
    assert node.get("/readyz").status == 200
    assert in_time(lambda: node.cli("apply", node.config_file)).returncode == 0
    assert in_time(lambda: node.cli("docs", "cancel", docs[0])).returncode in (0, 1)
    assert in_time(node.stop) == 0


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("QC8")
def test_a_claim_that_lasts_too_long_is_said(make_node, tmp_path):
    """A live node holds tasks past their deadline: a line in the log, a gauge, an alert, until it lets them go."""
    (share := tmp_path / "share").mkdir()
    node = make_node(config=CONFIG.replace("SHARE", str(share)).replace("TIMES", LONG),
                     environment={**HungCalls.environment, "WAYBILL_TEST_LEASE_MS": "200"})
    (node.folder / "inbox").mkdir()
    node.start()
    docs = send(node, "hung1", 1) + send(node, "hung2", 2)  # to hung2 it is sent from the store
    for queue, count in (("intake", 1), ("hung2", 2)):
        told = node.wait_event("claim.overdue", SECONDS, queue=queue)
        assert told["count"] in range(1, count + 1) and told["document"] in docs and told["node"], told
    wait_for(node, "gauge", lambda: node.metrics()["waybill_claims_overdue"] == 3)

    def objects():
        return {a["object"] for a in node.graphql("{ alerts { code object } }")["alerts"] if a["code"] == "stuck"}
    wait_for(node, "alerts", lambda: objects() == {"intake", "hung2"})
    node.environment.clear()
    node.restart()
    for doc in docs:
        node.await_state(doc, "delivered", look=state, seconds=SECONDS)
    wait_for(node, "end of the alerts", lambda: not objects())
    assert node.metrics()["waybill_claims_overdue"] == 0


GATEWAY = """\
systems: { acme: {}, near: {} }
types: { order: {} }
gateways:
  drop: { kind: file, path: ./inbox, every: 50ms, min_age: 0s, after: delete,
          extract: { sender: "value:acme", receiver: "value:near", type: "value:order" } }
  web:  { kind: http, auth: none, extract: { sender: "value:acme", receiver: "value:near", type: "value:order" } }
  far:  { kind: file, path: "SHARE/in", every: 100ms, min_age: 0s, after: delete, timeout: 1s,
          extract: { sender: "value:acme", receiver: "value:near", type: "value:order" } }
endpoints: { near: { kind: file, system: near, path: ./outbox } }
routes: [ { name: near, when: { receiver: near }, do: [ { deliver: near } ] } ]
"""


@pytest.mark.proves("IN5", "QC7")
def test_gateways_that_hang(share, hung_node):
    """A look that hangs is given up and said; other gateways look on; its files come when it is back."""
    node = hung_node(config=GATEWAY)
    share.hang()
    (share.root / "in" / f"{STUCK}.txt").write_text("from far")
    node.wait_event("gateway.hang", SECONDS, gateway="far")
    others_go_on(node)
    wait_for(node, "reason", lambda: any("far" in reason for reason in node.get("/readyz").json["reasons"]))
    assert in_time(lambda: node.cli("apply", node.config_file)).returncode == 0
    share.go_on(node)
    wait_for(node, "file taken", lambda: not (share.root / "in" / f"{STUCK}.txt").exists())
    wait_for(node, "document", lambda: "from far" in [f.read_text() for f in (node.folder / "outbox").glob("[!.]*")])


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("IN5")
def test_a_slow_store_is_no_gateway_that_hangs(make_node, tmp_path):
    """Only the silence of the folder counts, not the time that our own commits take."""
    (tmp_path / "share" / "in").mkdir(parents=True)
    node = make_node(config=GATEWAY.replace("SHARE", str(tmp_path / "share")).replace("timeout: 1s", "timeout: 600ms"),
                     environment={"WAYBILL_FAULT": "group.begun:delay_ms:800"})
    (node.folder / "inbox").mkdir()
    node.start()
    (tmp_path / "share" / "in" / "one.txt").write_text("from far")
    wait_for(node, "file taken", lambda: not (tmp_path / "share" / "in" / "one.txt").exists())
    assert [e for e in node.events if e["event"] == "gateway.hang"] == []    # a stop waits for a second only
