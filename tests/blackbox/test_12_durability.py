"""What was acknowledged is on stable storage, and what is damaged is told."""
import http.client
import json
import os
import re
import subprocess

import pytest

from running_node import BINARY
from wire import at_once, wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
MIB = 1 << 20
STORAGE_FAILED = 74
FIU = ["/usr/lib/fiu/fiu_run_preload.so", "/usr/lib/fiu/fiu_posix_preload.so"]
CONFIG = """\
gateways:
  open: { kind: http, auth: none }
"""
pytestmark = pytest.mark.config(CONFIG)


def keyed(node, key, body=b"x"):
    return node.post("open", body, {"Idempotency-Key": key})


def send_until_it_ends(node, most=400, body=b"payload"):
    """Keyed documents one after the other until the node dies: the acknowledged ones, and
    the number of the one without an answer."""
    acked = {}
    for n in range(most):
        try:
            got = keyed(node, f"k{n}", body + b"%d" % n)
        except OSError:
            return acked, n
        assert got.status == 202
        acked[n] = got.json["document"]
    raise AssertionError(f"the node took {most} documents and lives:\n{node.tail()}")


def check_sound(node):
    report = node.cli("doctor")
    assert report.returncode == 0, report.stdout


# ---- when the answer goes out ----------------------------------------------------------------


class Trace:
    """What `strace -f -y` wrote: calls with the line on which they began and ended."""

    LINE = re.compile(r"^(\d+) +(.*)$")

    def __init__(self, path):
        self.calls = []
        waiting = {}
        with open(path, encoding="utf-8", errors="replace") as f:
            for at, line in enumerate(f):
                thread, text = self.LINE.match(line).groups()
                if text.endswith("<unfinished ...>"):
                    waiting[thread] = (at, text)
                    continue
                start = at
                if text.startswith("<... "):
                    start, first = waiting.pop(thread)
                    text = first + text
                self.calls.append((start, at, text))

    def find(self, after, name, *words):
        """The end of the first such call that began after a line; None: there is none."""
        for start, end, text in self.calls:
            if start > after and text.startswith(name) and all(w in text for w in words):
                return end
        return None


@pytest.mark.proves("IN2")
def test_each_ack_follows_its_syncs(make_node, tmp_path):
    """By the system calls: the bytes are written, then synced, then the rows are written and
    synced, and only then the answer goes out."""
    log = tmp_path / "calls"
    node = make_node(command=["strace", "-f", "-D", "-q", "-y", "-s", "200", "-o", str(log), "-e",
                              "trace=write,writev,pwrite64,sendmsg,sendto,fdatasync,fsync",
                              str(BINARY)])
    node.start(timeout=60)
    count, large = 15, 3
    for n in range(count):
        assert node.post("open", b"marker-%03d" % n).status == 202
    for n in range(large):
        assert node.post("open", b"marker-L%02d" % n + bytes(2 * MIB)).status == 202
    assert node.stop() == 0
    wait_until(lambda: "exited with 0" in log.read_text(errors="replace"), what="end of the trace")
    trace = Trace(log)

    ack = -1
    for n in range(count):
        written = trace.find(ack, "pwrite64", ".seg", f"marker-{n:03d}")
        synced = trace.find(written, "fdatasync", ".seg>", "= 0")
        row = trace.find(synced, "pwrite64", "waybill.db-wal")
        committed = trace.find(row, "fdatasync", "waybill.db-wal>", "= 0")
        ack = trace.find(ack, "write", "202 Accepted")
        assert written < synced < row < committed < ack, n
    for n in range(large):
        written = trace.find(ack, "write", ".part>", f"marker-L{n:02d}")
        synced = trace.find(written, "fdatasync", ".part>", "= 0")
        named = trace.find(synced, "fsync", "/large>", "= 0")
        row = trace.find(named, "pwrite64", "waybill.db-wal")
        committed = trace.find(row, "fdatasync", "waybill.db-wal>", "= 0")
        ack = trace.find(ack, "write", "202 Accepted")
        assert written < synced < named < row < committed < ack, n


# ---- when storage fails -----------------------------------------------------------------------


@pytest.mark.proves("XC1", "IN2")
@pytest.mark.parametrize("fault, size", [("segment.sync:error:8", 100), ("db.sync:error:90", 100),
                                         ("spool.sync:error:3", 2 * MIB)])
def test_a_failed_sync_ends_the_node_without_an_ack(make_node, fault, size):
    body = os.urandom(size)
    node = make_node(environment={"WAYBILL_FAULT": fault})
    node.start()
    acked, unknown = send_until_it_ends(node, body=body)
    assert node.ended() == STORAGE_FAILED
    failed = node.wait_event("storage.failed")
    assert failed["level"] == "error" and "start" in failed["hint"]

    node.environment.clear()
    node.start()
    check_sound(node)
    assert set(acked.values()) <= set(node.documents())
    for n, ident in acked.items():
        assert keyed(node, f"k{n}", body + b"%d" % n).json["document"] == ident
    assert keyed(node, f"k{unknown}", body + b"%d" % unknown).status == 202
    assert len(node.documents()) == len(acked) + 1


@pytest.mark.proves("XC1", "IN2")
def test_a_disk_that_really_fails_its_syncs(make_node, tmp_path):
    """From outside, by libfiu: no test build is needed for this one.  As fiu-run does it, but a sanitizer's
    library, if there is one, must come first."""
    linked = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
    before = re.findall(r"=> (\S*/lib[at]san\S*)", linked)
    node = make_node(command=["env", f"FIU_CTRL_FIFO={tmp_path / 'fiu'}", f"LD_PRELOAD={' '.join(before + FIU)}", str(BINARY)])
    node.start()
    acked = [node.post("open", b"%d" % n).json["document"] for n in range(10)]
    subprocess.run(["fiu-ctrl", "-f", str(tmp_path / "fiu"), "-c",
                    "enable name=posix/io/sync/fdatasync,failinfo=5", str(node.process.pid)], check=True)
    with pytest.raises(OSError):
        for n in range(10):
            assert node.post("open", b"more").status != 202
    assert node.ended() == STORAGE_FAILED
    node.command = [str(BINARY)]
    node.start()
    assert set(acked) <= set(node.documents())
    check_sound(node)


@pytest.mark.proves("IN1", "XC2")
@pytest.mark.parametrize("fault, size", [("segment.write:error:4", 100), ("spool.write:error:12", 2 * MIB)])
def test_a_write_that_fails_is_refused_and_leaves_nothing(make_node, fault, size):
    """The node may keep its door closed until it has stored something itself, so more than one can be refused."""
    node = make_node(environment={"WAYBILL_FAULT": fault})
    node.start()
    answers = [node.post("open", os.urandom(size)) for _ in range(8)]
    wait_until(lambda: answers.append(node.post("open", os.urandom(size))) or answers[-1].status == 202, 60, "acceptance")
    refused = [a for a in answers if a.status != 202]
    assert refused and {(a.status, a.json["error"]["code"]) for a in refused} == {(507, "no_space")}
    assert all(int(a.headers["Retry-After"]) >= 1 for a in refused)
    accepted = {a.json["document"] for a in answers if a.status == 202}
    assert node.metrics()['waybill_documents_refused_total{gateway="open"}'] == len(refused)
    assert set(node.documents()) == accepted
    wait_until(lambda: not [n for n in os.listdir(node.data / "large") if n.endswith(".part")])
    check_sound(node)
    node.kill()
    node.start()
    assert set(node.documents()) == accepted
    check_sound(node)


@BOTH
@pytest.mark.proves("IN1", "EN1")
def test_one_bad_operation_of_a_group_fails_alone(make_node):
    """It may be one of the node's own work beside the documents: then it is tried again, after another start."""
    count, answers, bad = 30, [], []
    node = make_node(environment={"WAYBILL_FAULT": "operation:error:25,group.begun:delay_ms:60"})
    for _ in range(5):
        node.start()
        answers.append(at_once(count, lambda i: node.post("open", b"%d" % i)))
        bad = [a for a in answers[-1] if a.status == 500]
        if bad:
            break
        node.stop()
    assert sorted(a.status for a in answers[-1]) == [202] * (count - 1) + [500]
    assert bad[0].json["error"]["code"] == "failed"
    assert node.metrics()["waybill_commit_halvings_total"] >= 1
    stored = {a.json["document"]: b"%d" % i for some in answers for i, a in enumerate(some) if a.status == 202}
    assert sorted(node.documents()) == sorted(stored)
    node.environment.clear()
    node.restart()
    for ident, body in stored.items():
        assert node.get(f"/documents/{ident}/payload").body == body
    check_sound(node)


@BOTH
@pytest.mark.proves("IN1", "EN1")
def test_a_commit_that_fails(make_node):
    """It is one of a document, or of the node's own work beside it, which says so.  After it the door may be
    closed until the node has stored something itself."""
    node = make_node()
    node.start()  # the first start has commits of its own
    node.stop()
    node.environment["WAYBILL_FAULT"] = "group.commit:error:20"
    node.start()
    answers = [node.post("open", b"%d" % i) for i in range(50)]
    wait_until(lambda: answers.append(node.post("open", b"more")) or answers[-1].status == 202, 60, "acceptance")
    bad = [a for a in answers if a.status != 202]
    assert all(a.status in (500, 503) for a in bad)
    assert bad or any("injected" in json.dumps(e) for e in node.events)
    assert sorted(node.documents()) == sorted(a.json["document"] for a in answers if a.status == 202)
    check_sound(node)


# ---- when the node dies ------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("IN6", "IN7", "EN1", "EN5")
@pytest.mark.parametrize("point, size", [("group.taken:kill:12", 100), ("group.written:kill:12", 100),
                                         ("group.committed:kill:12", 100), ("ack.send:kill:5", 100),
                                         ("ack.send:kill:3", 2 * MIB)])
def test_killed_and_sent_again(make_node, point, size):
    """The sender got no answer and sends again with its key: one document, whether the
    first one had been stored or not."""
    node = make_node(environment={"WAYBILL_FAULT": point})
    node.start()
    body = os.urandom(size)
    acked, unknown = send_until_it_ends(node, body=body)
    assert node.ended() == -9
    node.environment.clear()
    node.start()
    stored = set(node.documents())
    assert set(acked.values()) <= stored and len(stored) in (len(acked), len(acked) + 1)
    for n in range(unknown + 1):
        got = keyed(node, f"k{n}", body + b"%d" % n)
        assert got.status == 202 and acked.get(n, got.json["document"]) == got.json["document"]
        assert node.get(f"/documents/{got.json['document']}/payload").body == body + b"%d" % n
    assert len(node.documents()) == unknown + 1 and stored <= set(node.documents())
    check_sound(node)


@pytest.mark.proves("IN6", "IN7", "EN4")
@pytest.mark.parametrize("point, size", [("segment.sync:kill:3", 100), ("segment.synced:kill:3", 100),
                                         ("spool.write:kill:20", 2 * MIB),
                                         ("spool.published:kill:3", 2 * MIB)])
def test_killed_between_payload_and_row(make_node, point, size):
    node = make_node(environment={"WAYBILL_FAULT": point})
    node.start()
    acked, unknown = send_until_it_ends(node, body=os.urandom(size))
    assert node.ended() == -9
    node.environment.clear()
    node.start()
    assert sorted(node.documents()) == sorted(acked.values())
    assert not [n for n in os.listdir(node.data / "large") if n.endswith(".part")]
    assert keyed(node, f"k{unknown}", b"x").status == 202
    check_sound(node)


@pytest.mark.proves("EN4")
def test_payloads_without_a_document_are_swept(node):
    ident = node.post("open", b"L" * 2 * MIB).json["document"]
    node.stop()
    large = node.data / "large"
    known = os.listdir(large)
    for name in ("00000000000000aa", "00000000000000ab.part", "a-file-of-mine-x", "note"):
        (large / name).write_bytes(b"orphan")
    node.start()
    assert sorted(os.listdir(large)) == sorted(known + ["a-file-of-mine-x", "note"])
    assert os.listdir(node.data / "orphans") == ["00000000000000aa"]
    node.wait_event("payload.sweep", count=2)
    assert node.get(f"/documents/{ident}/payload").body == b"L" * 2 * MIB


# ---- when something is damaged -------------------------------------------------------------------


def damage(path, at, length=1):
    with open(path, "r+b") as f:
        f.seek(at)
        was = f.read(length)
        f.seek(at)
        f.write(bytes(b ^ 0xff for b in was))


def payload_answer(node, ident):
    return node.get(f"/documents/{ident}/payload")


@pytest.mark.proves("EN5")
def test_a_damaged_payload_is_told(node):
    ids = [node.post("open", b"payload-%d" % n).json["document"] for n in range(3)]
    large = node.post("open", b"L" * 3 * MIB).json["document"]
    short = node.post("open", b"S" * 3 * MIB).json["document"]
    (segment,) = (node.data / "payload").glob("*.seg")
    files = {path.read_bytes()[:1]: path for path in (node.data / "large").iterdir()}
    damage(segment, segment.read_bytes().index(b"payload-1"))
    damage(files[b"L"], 2 * MIB)
    os.truncate(files[b"S"], 100)

    got = payload_answer(node, ids[1])
    assert got.status == 500 and got.json["error"]["code"] == "payload_corrupt"
    for ident, body in ((ids[0], b"payload-0"), (ids[2], b"payload-2")):
        assert payload_answer(node, ident).body == body
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):  # never as if it were whole
        payload_answer(node, large)
    got = payload_answer(node, short)
    assert got.status == 500 and got.json["error"]["code"] == "payload_corrupt"
    report = node.cli("doctor", "--json")
    (check,) = [c for c in map(json.loads, report.stdout.splitlines()) if c["name"] == "payloads"]
    assert report.returncode == 1 and not check["ok"] and "document" in check["message"]
    assert node.get(f"/documents/{ids[1]}").status == 200


@pytest.mark.proves("EN5")
def test_a_missing_payload_is_told(node):
    ident = node.post("open", b"small").json["document"]
    large = node.post("open", b"L" * 3 * MIB).json["document"]
    node.stop()
    for path in [*(node.data / "payload").glob("*.seg"), *(node.data / "large").iterdir()]:
        path.unlink()
    node.start()
    for one in (ident, large):
        got = payload_answer(node, one)
        assert got.status == 500 and got.json["error"]["code"] == "payload_missing"
    assert node.cli("doctor").returncode == 1
    fresh = node.post("open", b"fresh").json["document"]
    assert payload_answer(node, fresh).body == b"fresh"


@pytest.mark.stores("postgres")
@pytest.mark.proves("EN5")
def test_a_payload_that_is_wrong_in_postgresql_is_told(node, postgres):
    ids = [node.post("open", b"payload-%d" % n).json["document"] for n in range(3)]
    large = node.post("open", b"L" * 3 * MIB).json["document"]
    database = node.store.rpartition("/")[2]
    table = "payload_" + postgres.sql("SELECT max(pos) FROM doc WHERE seg = -1", database)
    postgres.sql(f"UPDATE {table} SET bytes = 'payload-x' WHERE bytes = 'payload-0'", database)
    postgres.sql(f"DELETE FROM {table} WHERE bytes = 'payload-1'", database)
    postgres.sql(f"DELETE FROM {table.replace('payload_', 'payload_piece_')} WHERE piece = 0", database)
    for ident, code in ((ids[0], "payload_corrupt"), (ids[1], "payload_missing"),
                        (large, "payload_missing")):
        got = payload_answer(node, ident)
        assert got.status == 500 and got.json["error"]["code"] == code
    assert payload_answer(node, ids[2]).body == b"payload-2"
    assert node.cli("doctor").returncode == 1


def folder_bytes(node):
    """Every file of the data folder but those that each start writes."""
    return {str(p.relative_to(node.data)): p.read_bytes() for p in node.data.rglob("*")
            if p.is_file() and p.name not in ("lock", "recorder", ".spare")}


@pytest.mark.proves("XC4")
@pytest.mark.parametrize("how", ["header", "pages", "empty", "gone", "text"])
def test_a_damaged_database_is_refused_and_left_alone(node, how):
    for n in range(50):
        assert node.post("open", b"%d" % n).status == 202
    assert node.stop() == 0
    database = node.data / "waybill.db"
    size = database.stat().st_size
    if how == "header":
        damage(database, 0, 100)
    elif how == "pages":
        damage(database, 4096, size - 4096)
    elif how == "empty":
        os.truncate(database, 0)
    elif how == "gone":
        database.unlink()
    elif how == "text":
        database.write_text("this is no database\n" * 1000)
    before = folder_bytes(node)
    code, said = node.refuse()
    assert code == 1, said
    assert "waybill.db" in said and ("damaged" in said or "missing" in said) and "backup" in said
    assert folder_bytes(node) == before


@pytest.mark.proves("XC4")
def test_a_damaged_page_is_found_by_the_doctor(node):
    for n in range(300):
        assert node.post("open", b"%d" % n).status == 202
    ids = node.documents()
    assert node.stop() == 0
    page = (node.data / "waybill.db").read_bytes().index(bytes.fromhex(ids[100].replace("-", "")))
    damage(node.data / "waybill.db", page // 4096 * 4096, 4096)
    stopped = node.cli("doctor", "--data", node.data)
    assert stopped.returncode == 1 and "damaged" in stopped.stdout + stopped.stderr
    before = (node.data / "waybill.db").stat().st_size
    try:
        node.start()
    except AssertionError:
        return  # refused at start: as good
    report = node.cli("doctor")
    assert report.returncode == 1 and "damaged" in report.stdout
    assert (node.data / "waybill.db").stat().st_size >= before
