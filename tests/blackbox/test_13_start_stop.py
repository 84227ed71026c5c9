"""Starting is recovering, stopping loses nothing, and the node says how it is."""
import contextlib
import json
import os
import re
import signal
import sqlite3
import ssl
import stat
import subprocess
import threading
import time

import pytest

from peers import free_port
from wire import Closed, Wire, at_once, head, wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
CONFIG = """\
gateways:
  open: { kind: http, auth: none }
  orders: { kind: http, auth: key }
"""
pytestmark = pytest.mark.config(CONFIG)


def check_sound(node):
    report = node.cli("doctor")
    assert report.returncode == 0, report.stdout


# ---- the data folder --------------------------------------------------------------------------


def test_a_folder_that_is_in_use(node, make_node):
    second = make_node(data=node.data)
    code, said = second.refuse()
    assert code == 1 and "in use" in said and str(node.data) in said
    assert node.post("open", b"x").status == 202
    doctor = node.cli("doctor", "--data", node.data)
    assert doctor.returncode == 1 and "in use" in doctor.stderr


def test_a_folder_that_cannot_be_used(make_node, tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    for data in (file, file / "data", tmp_path / "no" / "parent"):
        code, said = make_node(data=data).refuse()
        assert code == 1 and str(data) in said, said
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "waybill-test", str(disk)], check=True)
    try:
        code, said = make_node(data=disk / "data").refuse()
        assert code == 1 and "ead-only" in said and str(disk) in said
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.proves("S15")
def test_what_is_made_is_the_owners_alone(node):
    assert node.post("open", b"x").status == 202
    assert node.post("open", b"x" * 2_000_000).status == 202
    assert mode(node.data) == 0o700
    assert mode(node.data / "token") == 0o600 and len(node.token) >= 32
    for path in node.data.rglob("*"):
        assert mode(path) in (0o600, 0o700), path
    token = node.token
    node.restart()
    assert node.token == token
    assert node.token not in json.dumps(node.events)
    node.stop()
    (node.data / "token").unlink()
    node.start()
    assert node.token != token and len(node.token) == len(token)
    assert node.get("/documents/x", token).status == 401
    node.stop()
    (node.data / "token").write_text("short\n")
    code, said = node.refuse()
    assert code == 1 and "token" in said


def test_a_configuration_that_is_wrong(make_node):
    node = make_node(config="gateways:\n  open: { kind: http, auht: none }\n")
    code, said = node.refuse()
    place = re.search(rf"^{re.escape(str(node.config_file))}:(\d+):(\d+): .*auht", said, re.M)
    assert code == 1 and place and "auth" in said
    line = node.config_file.read_text().splitlines()[int(place.group(1)) - 1]
    assert line[int(place.group(2)) - 1:].startswith("auht")
    assert not node.data.exists()
    node.config_file.unlink()
    code, said = node.refuse()
    assert code == 1 and str(node.config_file) in said


def test_a_port_that_is_taken(node, make_node):
    port = node.url.rpartition(":")[2]
    second = make_node(options=f"listen: 127.0.0.1:{port}")
    code, said = second.refuse()
    assert code == 1 and port in said and "in use" in said
    assert node.post("open", b"x").status == 202


# ---- the schema --------------------------------------------------------------------------------


@BOTH
def test_a_newer_schema_is_refused(node, postgres):
    ident = node.post("open", b"x").json["document"]
    node.stop()

    def schema(sql):
        if node.store:
            postgres.sql(sql, node.store.rpartition("/")[2])
            return
        with contextlib.closing(sqlite3.connect(node.data / "waybill.db")) as db:
            db.execute(sql)
            db.commit()

    schema("INSERT INTO schema_version(version, name, made_us) VALUES (999, 'tomorrow', 0)")
    code, said = node.refuse()
    assert code == 1 and "999" in said and "newer" in said
    schema("DELETE FROM schema_version WHERE version = 999")
    node.start()
    assert node.documents() == [ident]


@BOTH
@pytest.mark.proves("XC9")
def test_killed_during_a_migration(make_node):
    node = make_node(environment={"WAYBILL_FAULT": "migrate.step:kill:1"})
    node.launch()
    assert node.ended() == -signal.SIGKILL
    node.environment.clear()
    node.start()
    assert node.post("open", b"x").status == 202
    check_sound(node)


# ---- recovery ------------------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("FO12")
def test_the_order_of_a_start_and_kills_in_it(make_node):
    node = make_node()
    node.start()
    ids = [node.post("open", b"%d" % n).json["document"] for n in range(20)]
    keyed = node.post("open", b"k", {"Idempotency-Key": "k"}).json["document"]
    node.kill()
    for point in ("start.locked", "start.migrated", "start.recovered") * 2:
        node.environment["WAYBILL_FAULT"] = f"{point}:kill:1"
        node.launch()
        assert node.ended() == -signal.SIGKILL
    node.environment.clear()
    seen = len(node.events)
    node.start()
    events = [e for e in node.events[seen:] if e["event"] not in ("node.confine", "node.warn")]
    assert [e["event"] for e in events] == ["store.step"] * 3 + ["payload.sweep", "config.use", "node.ready"]
    assert [e["what"] for e in events[:3]] == [
        "the folder is locked", "the schema is up to date",
        "what an earlier process left is taken over"]
    assert sorted(node.documents()) == sorted(ids + [keyed])
    again = node.post("open", b"k", {"Idempotency-Key": "k"})
    assert again.json["document"] == keyed
    check_sound(node)


@BOTH
@pytest.mark.proves("FO12")
def test_nothing_comes_in_before_the_recovery_is_over(make_node):
    """A sender knocks all the time while a start is slow: what it is told is accepted comes behind the last step."""
    node = make_node(options=f"listen: 127.0.0.1:{free_port()}")
    node.start()
    first = node.accept("open", b"1")
    node.kill()
    node.environment["WAYBILL_FAULT"] = "start.migrated:delay_ms:1000"
    seen = len(node.events)
    node.launch()

    def is_taken():
        with contextlib.suppress(OSError):
            return node.post("open", b"2").status == 202
        return False

    wait_until(is_taken, 30, "acceptance")
    node.wait_event("document.accept", since=seen)
    names = [e["event"] for e in node.events[seen:]]
    assert names.count("store.step") == 3
    assert names.index("document.accept") > names.index("payload.sweep") > names.index("store.step") + 1
    assert node.documents()[1:] == [first]
    check_sound(node)


@BOTH
def test_nodes_of_a_store(node):
    """A predecessor that died is known to be gone at once."""
    asked = "{ nodes { id pid state self started } }"
    node.kill()
    node.start()
    nodes = node.graphql(asked)["nodes"]
    (own,) = [n for n in nodes if n["self"]]
    assert own["pid"] == node.process.pid and own["state"] == "alive"
    assert all(n["state"] != "alive" for n in nodes if not n["self"])


# ---- stopping -------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT])
def test_what_is_in_hand_is_finished(make_node, signo):
    node = make_node(environment={"WAYBILL_FAULT": "group.begun:delay_ms:300"})
    node.start()

    def taken():
        """Documents that are stored, or wait for their commit; between the two one may be counted twice for a moment."""
        return min(sum(metrics.get(name, 0) for name in ("waybill_intake_committing",
                                                         'waybill_documents_accepted_total{gateway="open"}'))
                   for metrics in (node.metrics(), node.metrics()))

    with Wire(node) as half, Wire(node) as idle, Wire(node) as large:
        idle.send(head("/healthz", method="GET")).answer("GET")
        for w, size, begun in ((half, 10, b"hello"), (large, 3_000_000, b"l" * 1_500_000)):
            w.send(head("/in/open", f"Content-Length: {size}", "Expect: 100-continue"))
            assert w.answer().status == 100
            w.send(begun)

        def send(i):
            if i == 0:
                wait_until(lambda: taken() == 8, 60, "all are on their way")
                node.process.send_signal(signo)
                return None
            return node.post("open", b"%d" % i)

        answers = [a for a in at_once(9, send) if a is not None]
        assert [a.status for a in answers] == [202] * 8
        assert idle.is_closed()
        half.send(b"world")
        large.send(b"l" * 1_500_000)
        bodies = [json.loads(w.answer().body)["document"] for w in (half, large)]
        assert half.is_closed() and large.is_closed()
    assert node.ended() == 0
    node.wait_event("node.stop")
    assert node.events[-1]["event"] == "node.stopped"
    node.environment.clear()
    node.start()
    assert sorted(node.documents()) == sorted([a.json["document"] for a in answers] + bodies)
    assert node.get(f"/documents/{bodies[0]}/payload").body == b"helloworld"
    check_sound(node)


@BOTH
def test_no_ack_is_lost_by_stops_under_load(node):
    acked, stop = [], threading.Event()

    def send():
        n = 0
        while not stop.is_set():
            n += 1
            try:
                got = node.post("open", b"%d" % n)
            except (OSError, Closed):
                time.sleep(0.01)
                continue
            if got.status == 202:
                acked.append(got.json["document"])
            else:
                assert got.status == 503

    threads = [threading.Thread(target=send) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        for _ in range(3):
            before = len(acked)
            wait_until(lambda: len(acked) >= before + 20, 60, "load")  # pylint: disable=cell-var-from-loop
            node.restart()
    finally:
        stop.set()
        for t in threads:
            t.join()
    listed = node.documents()
    assert set(acked) <= set(listed) and len(listed) == len(set(listed))
    check_sound(node)


# ---- TLS ---------------------------------------------------------------------------------------------


def make_certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", str(folder / "key.pem"),
                    "-out", str(folder / "cert.pem")], check=True, capture_output=True)


def shown_name(node):
    """The common name of the certificate that a new connection sees."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with Wire(node, tls=context) as w:
        data = w.socket.getpeercert(binary_form=True)
        w.send(head("/in/open", "Content-Length: 1"), b"x")
        assert w.answer().status == 202
    text = subprocess.run(["openssl", "x509", "-inform", "DER", "-noout", "-subject"], input=data,
                          check=True, capture_output=True).stdout.decode()
    return text.rpartition("=")[2].strip()


@pytest.mark.parametrize("how", ["paths", "texts"])
def test_tls_and_a_new_certificate(make_node, how):
    form = '"%s.pem"' if how == "paths" else '"${file:%s.pem}"'
    node = make_node(options=f"tls: {{ cert: {form % 'cert'}, key: {form % 'key'} }}")
    make_certificate(node.folder, "one")
    node.start()
    assert node.url.startswith("https://") and shown_name(node) == "one"
    with pytest.raises((Closed, ConnectionError)):  # no plain HTTP on this port
        Wire(node).send(head("/healthz", method="GET")).answer()

    def hang_up(ok):
        seen = len(node.events)
        node.process.send_signal(signal.SIGHUP)
        assert node.wait_event("node.reload", since=seen)["ok"] is ok
        return node.events[seen:]

    make_certificate(node.folder, "two")
    hang_up(True)
    assert shown_name(node) == "two"
    (node.folder / "cert.pem").write_text("nonsense")
    said = hang_up(False)
    assert any(e["event"] in ("tls.refuse", "config.refuse") for e in said)
    assert shown_name(node) == "two"
    make_certificate(node.folder, "three")
    make_certificate(node.folder, "four")  # as if key and certificate were of two kinds
    (node.folder / "key.pem").write_text((node.folder / "cert.pem").read_text())
    hang_up(False)
    assert shown_name(node) == "two"
    make_certificate(node.folder, "five")
    hang_up(True)
    assert shown_name(node) == "five"
    assert "PRIVATE KEY" not in json.dumps(node.events)
    node.stop()
    (node.folder / "cert.pem").unlink()
    code, said = node.refuse()
    assert code == 1 and "cert" in said and "PRIVATE KEY" not in said


def test_the_log_level_is_read_again(node):
    node.options = "log: warn"
    node.write_config(CONFIG)
    node.process.send_signal(signal.SIGHUP)
    wait_until(lambda: [node.post("open", b"x"), time.sleep(0.1)] and
               node.events[-1]["event"] != "document.accept" or quiet(node), 30, "silence")
    node.options = "log: info"
    node.write_config(CONFIG)
    seen = len(node.events)
    node.process.send_signal(signal.SIGHUP)
    node.wait_event("node.reload", since=seen)
    seen = len(node.events)
    assert node.post("open", b"x").status == 202
    node.wait_event("document.accept", since=seen)


def quiet(node):
    before = len(node.events)
    assert node.post("open", b"x").status == 202
    time.sleep(0.1)
    return len(node.events) == before


# ---- how it is ------------------------------------------------------------------------------------------


@BOTH
def test_health(node):
    alive = node.request("GET", "/healthz")
    assert alive.status == 200 and alive.body == b"ok\n"
    ready = node.request("GET", "/readyz")
    assert ready.status == 200 and ready.json == {"ready": True, "reasons": []}
    assert node.request("GET", "/nonsense").status == 404


SAMPLE = re.compile(r'^[a-z_:][a-z0-9_:]*(\{[a-z_]+="[^"\\\n]*"(,[a-z_]+="[^"\\\n]*")*\})? '
                    r'-?[0-9.e+-]+$')


@BOTH
def test_metrics(node):
    for n in range(7):
        assert node.post("open", b"x", {"Idempotency-Key": f"k{n % 5}"}).status == 202
    for _ in range(3):
        assert node.post("orders", b"x").status == 401
    got = node.request("GET", "/metrics")
    assert got.status == 200 and got.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    family = None
    typed = {}
    for line in got.body.decode().splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in typed and len(line.split()) > 4
        elif line.startswith("# TYPE "):
            assert line.split()[2] == family
            typed[family] = line.split()[3]
        else:
            assert SAMPLE.match(line) and line.startswith(family), line
    assert typed["waybill_documents_accepted_total"] == "counter"
    counts = node.metrics()
    assert counts['waybill_documents_accepted_total{gateway="open"}'] == 5
    assert counts['waybill_documents_repeated_total{gateway="open"}'] == 2
    assert counts['waybill_documents_accepted_total{gateway="orders"}'] == 0
    assert counts['waybill_documents_refused_total{gateway="orders"}'] == 3
    buckets = [v for k, v in counts.items() if k.startswith("waybill_commit_group_seconds_bucket")]
    assert buckets == sorted(buckets) and buckets[-1] == counts["waybill_commit_group_seconds_count"]
    node.restart()
    counts = node.metrics()
    assert counts["waybill_queue_depth"] == 5 and counts["waybill_queue_oldest_seconds"] >= 0


@BOTH
@pytest.mark.proves("XC6")
def test_each_document_is_one_line_of_the_log(node):
    answers = at_once(12, lambda i: [node.post("open", b"x" * (i + 1)) for _ in range(10)])
    ids = [a.json["document"] for some in answers for a in some]
    assert node.post("open", b"y", {"Idempotency-Key": "k"}).status == 202
    assert node.post("open", b"y", {"Idempotency-Key": "k"}).status == 202  # no second line
    assert node.stop() == 0
    lines = [e for e in node.events if e["event"] == "document.accept"]
    assert len(lines) == len(ids) + 1 and set(ids) < {e["document"] for e in lines}
    assert all(e["gateway"] == "open" and e["size"] >= 1 and e["us"] > 0 for e in lines)
    assert node.stray == []
    for event in node.events:
        assert list(event)[:3] == ["time", "level", "event"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["time"])
        assert event["level"] in ("debug", "info", "warn", "error")
        assert re.fullmatch(r"[a-z]+\.[a-z]+", event["event"])
