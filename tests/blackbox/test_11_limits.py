"""Too much of everything: rates, queues, memory, connections, descriptors, disk, log."""
import contextlib
import json
import os
import subprocess
import threading
import time

import pytest

from peers import free_port
from running_node import BINARY, clean_environment
from wire import Closed, Wire, at_once, chunk, head, wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
MIB = 1 << 20
OPEN = """\
gateways:
  open: { kind: http, auth: none }
"""


def statuses(answers):
    return sorted({a.status for a in answers})


def all_there(node, ids):
    """Every document that was acknowledged is listed once, and the store is sound."""
    listed = node.documents()
    assert len(listed) == len(set(listed)) and set(ids) <= set(listed)
    report = node.cli("doctor")
    assert report.returncode == 0, report.stdout


# ---- what the configuration limits --------------------------------------------------------------


@pytest.mark.proves("IN10")
@pytest.mark.config("""\
gateways:
  slow: { kind: http, auth: none, limits: { rate: 20/m, burst: 3 } }
  open: { kind: http, auth: none }
""")
def test_a_rate(node):
    begun = time.monotonic()
    answers = [node.post("slow", b"x") for _ in range(8)]
    took = time.monotonic() - begun
    assert [a.status for a in answers[:3]] == [202] * 3
    refused = [a for a in answers if a.status != 202]
    assert len(refused) >= 5 - took / 3 and statuses(refused) == [429]
    assert all(int(a.headers["Retry-After"]) >= 1 for a in refused)
    assert refused[0].json["error"]["code"] == "rate_limit"

    def is_refused():
        """Before the body."""
        with Wire(node) as w:
            refused.append(w.send(head("/in/slow", "Content-Length: 1000", "Expect: 100-continue")).answer())
        return refused[-1].status == 429

    wait_until(is_refused, 20, "refusal")  # at the first try, unless one was free again
    assert node.post("open", b"x").status == 202  # one gateway's limit is its own
    time.sleep(int(refused[-1].headers["Retry-After"]))
    assert node.post("slow", b"x").status == 202


@BOTH
@pytest.mark.proves("IN10")
@pytest.mark.config(OPEN)
@pytest.mark.node_options("limits: { commit_queue: 5 }")
def test_the_commit_queue(make_node):
    node = make_node(environment={"WAYBILL_FAULT": "group.begun:delay_ms:400"})
    node.start()
    start = time.monotonic()
    answers = at_once(40, lambda i: node.post("open", b"%d" % i))
    assert time.monotonic() - start < 30
    assert statuses(answers) == [202, 503]
    refused = [a for a in answers if a.status == 503]
    assert all(int(a.headers["Retry-After"]) >= 1 for a in refused)
    assert refused[0].json["error"]["code"] == "busy"
    assert node.post("open", b"later").status == 202
    all_there(node, [a.json["document"] for a in answers if a.status == 202])
    assert len(node.documents()) == len(answers) - len(refused) + 1


@pytest.mark.proves("IN10", "XC3")
@pytest.mark.config(OPEN)
@pytest.mark.node_options("limits: { memory: 16 MiB }")
def test_memory_for_bodies(node):
    """Half of it is for bodies."""
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(Wire(node)) for _ in range(9)]
        for w in wires[:8]:
            w.send(head("/in/open", "Content-Length: 1000000"), b"x" * 1000)
        wait_until(lambda: node.metrics()["waybill_intake_bytes"] >= 8_000_000)
        wires[8].send(head("/in/open", "Content-Length: 500000"))
        got = wires[8].answer()
        assert got.status == 503 and int(got.headers["Retry-After"]) >= 1 and got.code == "busy"
        assert node.post("open", b"small").status == 202
        for w in wires[:8]:
            w.send(b"x" * 999_000)
            assert w.answer().status == 202
    assert node.post("open", b"x" * 500_000).status == 202
    # Without a length: what does not fit goes through the spool.
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(Wire(node)) for _ in range(20)]
        for w in wires:
            w.send(head("/in/open", "Transfer-Encoding: chunked"), chunk(b"y"))
        wait_until(lambda: node.metrics()["waybill_intake_bytes"] >= 20 * 65536)
        for w in wires:
            w.send(chunk(b"y" * 600_000))
        for w in wires:
            w.send(chunk(b"z" * 200_000), b"0\r\n\r\n")
        assert [w.answer().status for w in wires] == [202] * 20
    wait_until(lambda: node.metrics()["waybill_intake_bytes"] == 0, what="release of the memory")
    all_there(node, [])


@pytest.mark.proves("IN10", "XC3")
@pytest.mark.config(OPEN)
@pytest.mark.node_options("limits: { connections: 20 }")
def test_connections(node):
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(Wire(node)) for _ in range(20)]
        for w in wires:
            w.send(head("/healthz", method="GET"), "P")  # and the next begins: it is not silent
            assert w.answer("GET").status == 200
        for _ in range(5):
            with Wire(node) as over:
                over.send(head("/in/open", "Content-Length: 1"), b"x")
                got = over.answer()
                assert got.status == 503 and got.headers["Retry-After"] == "1"
                assert got.code == "too_many_connections" and over.is_closed()
        wires[0].send(head("/in/open", "Content-Length: 1")[1:], b"x")
        assert wires[0].answer().status == 202
    wait_until(lambda: node.post("open", b"x").status == 202)
    assert node.metrics()['waybill_http_refused_total{reason="too_many_connections"}'] >= 5


# ---- what the machine limits ---------------------------------------------------------------------


@pytest.mark.proves("XC3")
@pytest.mark.config(OPEN)
def test_no_more_descriptors(make_node):
    """With few descriptors connections are turned away, and what is needed to store a
    document, to read it and to look at the node stays possible."""
    node = make_node(command=["prlimit", "--nofile=100", str(BINARY)])
    node.start()
    large = b"x" * 3 * MIB
    with contextlib.ExitStack() as stack:
        answers = []
        for _ in range(150):
            try:
                w = stack.enter_context(Wire(node))
                # With the first byte of the next request it is not silent: these would give way.
                answers.append((w, w.send(head("/in/open", "Content-Length: 1"), b"x", b"P").answer()))
            except (OSError, Closed):
                pass  # a flood may be closed without a word
        assert node.wait_event("node.limit", what="connections")["used"] < 100
        kept = [w for w, a in answers if a.status == 202]
        assert {a.status for _, a in answers} == {202, 503} and len(kept) >= 20
        kept[0].send(head("/in/open", f"Content-Length: {len(large)}")[1:], large)
        stored = kept[0].answer()
        assert stored.status == 202
        ident = json.loads(stored.body)["document"]
        got = node.get(f"/documents/{ident}/payload")  # by the reserve
        assert got.status == 200 and got.body == large
        busy = cpu_seconds(node)
        time.sleep(1)
        assert cpu_seconds(node) - busy < 0.5, "it turns without doing anything"
        assert not are_served(node, 10), "the flood is still there"
    # While the node still closes the connections of the flood, others are turned away like them.
    wait_until(lambda: are_served(node, 10), seconds=30, what="serving after the flood")
    all_there(node, [json.loads(a.body)["document"] for _, a in answers if a.status == 202])
    assert node.stop() == 0


def are_served(node, count):
    """So many connections at once, each with an answer of 202."""
    with contextlib.ExitStack() as stack:
        try:
            wires = [stack.enter_context(Wire(node)) for _ in range(count)]
            return all(w.send(head("/in/open", "Content-Length: 1"), b"x").answer().status == 202 for w in wires)
        except (OSError, Closed):
            return False


def cpu_seconds(node):
    with open(f"/proc/{node.process.pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own; needs root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100m", "waybill-test", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder, leave):
    """Take all but so many bytes."""
    room = os.statvfs(folder)
    take = room.f_bavail * room.f_frsize - leave
    with open(folder / "filling", "ab", buffering=0) as f:
        while take > 0:
            try:
                take -= f.write(bytes(min(take, MIB)))
            except OSError:
                break


@pytest.mark.proves("XC2", "IN10")
@pytest.mark.config(OPEN)
@pytest.mark.node_options("limits: { disk_reserve: 50 MiB }")
def test_the_reserve_of_the_disk(make_node, small_disk):
    node = make_node(data=small_disk / "data")
    node.start()
    first = node.post("open", b"x").json["document"]
    with Wire(node) as w:  # a body that would eat into the reserve
        w.send(head("/in/open", "Content-Length: 60000000"))
        assert w.answer().status == 507
    fill(small_disk, 20 * MIB)
    wait_until(lambda: node.post("open", b"x").status == 507, 30, "refusal")
    with Wire(node) as w:
        w.send(head("/in/open", "Content-Length: 1000", "Expect: 100-continue"))
        got = w.answer()
        assert got.status == 507 and got.code == "no_space" and int(got.headers["Retry-After"]) >= 1
    ready = node.request("GET", "/readyz")
    assert ready.status == 503 and not ready.json["ready"] and "disk" in ready.json["reasons"][0]
    assert node.request("GET", "/healthz").status == 200
    assert node.get(f"/documents/{first}/payload").body == b"x"
    os.unlink(small_disk / "filling")
    wait_until(lambda: node.post("open", b"x").status == 202, 30, "acceptance")
    assert node.request("GET", "/readyz").status == 200
    all_there(node, [first])


@pytest.mark.proves("XC2", "IN1")
@pytest.mark.config(OPEN)
@pytest.mark.node_options("limits: { disk_reserve: 0 }")
def test_a_disk_that_is_full(make_node, small_disk):
    """Three times full under load: only what was stored is acknowledged, nothing breaks,
    and it goes on by itself."""
    node = make_node(data=small_disk / "data")
    node.start()
    seen, acked, stop = [], {}, threading.Event()

    def send(body):
        while not stop.is_set():
            got = node.post("open", body)
            seen.append(got.status)
            if got.status == 202:
                acked[got.json["document"]] = body
                stop.wait(0.1)  # else these documents alone fill the disk on a fast machine
            else:
                assert int(got.headers["Retry-After"]) >= 1

    bodies = (b"s" * 1000, b"m" * 300_000, b"l" * 1_500_000)
    threads = [threading.Thread(target=send, args=(b,)) for b in bodies]
    for t in threads:
        t.start()
    try:
        for _ in range(3):
            start = len(seen)
            wait_until(lambda: 202 in seen[start:], 30, "acceptance")  # pylint: disable=cell-var-from-loop
            fill(small_disk, 0)
            start = len(seen)
            wait_until(lambda: 507 in seen[start:], 30, "refusal")  # pylint: disable=cell-var-from-loop
            time.sleep(0.5)
            assert node.request("GET", "/healthz").status == 200
            os.unlink(small_disk / "filling")
    finally:
        stop.set()
        for t in threads:
            t.join()
    wait_until(lambda: node.post("open", b"x").status == 202, 30, "acceptance")
    assert set(seen) <= {202, 503, 507}
    node.kill()
    node.start()
    all_there(node, acked)
    for ident, body in list(acked.items())[::7]:
        assert node.get(f"/documents/{ident}/payload").body == body


@pytest.mark.proves("XC2")
@pytest.mark.config(OPEN)
@pytest.mark.node_options("limits: { disk_reserve: 0 }")
def test_a_start_on_a_full_disk(make_node, small_disk):
    node = make_node(data=small_disk / "data")
    node.start()
    ident = node.post("open", b"x").json["document"]
    node.kill()
    fill(small_disk, 0)
    before = len(node.events)
    node.launch()
    wait_until(lambda: any("listen" in e for e in node.events[before:]), 20, "an open port")
    node.url = "http://" + next(e["listen"] for e in node.events[before:] if "listen" in e)
    assert node.request("GET", "/healthz").status == 200
    assert node.request("GET", "/readyz").status == 503
    assert node.post("open", b"x").status == 507
    os.unlink(small_disk / "filling")
    wait_until(lambda: node.request("GET", "/readyz").status == 200, 20, "readiness")
    all_there(node, [ident])


# ---- a log that cannot be written ------------------------------------------------------------------


@contextlib.contextmanager
def logging_to(node, stderr):
    """The node with its log there; it cannot say where it listens, so that is given."""
    port = free_port()
    node.options = f"listen: 127.0.0.1:{port}"
    node.write_config(OPEN)
    node.url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([str(BINARY), "serve", "-c", str(node.config_file)], stderr=stderr,
                               stdin=subprocess.DEVNULL, env=clean_environment(), cwd=node.folder)

    def answers():
        try:
            return node.request("GET", "/healthz").status == 200
        except OSError:
            return False

    try:
        wait_until(answers, 30, "start")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.mark.proves("XC2", "SC15")
@pytest.mark.parametrize("where", ["a full disk", "a closed pipe", "a pipe that nobody reads"])
def test_a_log_that_cannot_be_written_stops_nothing(make_node, where):
    node = make_node(config=OPEN)
    read_end, write_end = os.pipe()
    if where == "a closed pipe":
        os.close(read_end)
    if where == "a full disk":
        os.close(write_end)
        write_end = os.open("/dev/full", os.O_WRONLY)
    with logging_to(node, write_end) as process:
        os.close(write_end)
        count = 600  # more than a pipe holds
        with Wire(node) as w:
            for _ in range(count // 50):
                w.send((head("/in/open", "Content-Length: 1") + b"x") * 50)
                assert [w.answer().status for _ in range(50)] == [202] * 50
        dropped = node.metrics()["waybill_log_dropped_total"]
        assert dropped > 0 or where == "a pipe that nobody reads"
        all_there(node, [])
        process.terminate()
        assert process.wait(30) == 0
    if where != "a closed pipe":
        os.close(read_end)
