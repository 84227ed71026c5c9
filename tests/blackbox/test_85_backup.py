"""Backup while the node works, restore elsewhere, and nothing is sent before a person chooses."""
import json
import os
import re
import shutil
import sqlite3
import threading
import time

import pytest

from running_node import clean_environment, run_program

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
  api:  {{ kind: http, url: "{url}/in", timeout: 30s, retry: {{ first: 1h, most: 1h, for: 3d }},
          breaker: {{ failures: 1000, wait: 1h }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


@pytest.fixture
def node(make_node, receiver):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=receiver.url("")))
    one.start()
    return one


def body(number, size=0, to="hub"):
    text = json.dumps({"to": to, "number": number})
    return (text + " " * (size - len(text))).encode()


def send(node, number, size=0, to="hub"):
    return node.accept("in", body(number, size, to))


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


def restored(make_node, receiver, folder, *words, config=CONFIG):
    """A node on what a backup becomes, not started."""
    one = make_node(config=config.format(url=receiver.url("")))
    got = run_program("restore", folder, "--data", one.data, *words)
    assert got.returncode == DONE, got.stderr
    return one


def payload(node, doc):
    answer = node.get(f"/documents/{doc}/payload")
    assert answer.status == 200, answer.body
    return answer.body


def show(node, doc):
    return node.show(doc, "state deliveries { state held } timeline { stage outcome message }")


def await_state(node, doc, *states, seconds=90):
    return node.await_state(doc, *states, look=show, seconds=seconds)


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
    receiver.wait_until_left()
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


# ---- damage ------------------------------------------------------------------------------------------

def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)
        f.seek(at)
        f.write(bytes([byte[0] ^ 1]))


def test_one_flipped_bit_is_refused_with_the_file_named(node, make_node, receiver, tmp_path):
    node.cli("secret", "add", "one", "-", stdin="value")
    docs = [send(node, n) for n in range(5)] + [send(node, 9, size=2000000)]
    for doc in docs:
        await_state(node, doc, "delivered")
    folder = tmp_path / "b"
    backup(node, folder, "--with-key")
    files = {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}
    kinds = {name.split("/", maxsplit=1)[0] for name in files}
    assert kinds == {"manifest", "waybill.db", "payload", "large", "config.yaml", "secret.key"}
    target = tmp_path / "new"
    for n, (name, path) in enumerate(sorted(files.items())):
        whole = path.read_bytes()
        flip(path, [0, len(whole) // 2, len(whole) - 1][n % 3])
        got = run_program("restore", folder, "--check")
        assert got.returncode == NO and name in got.stderr, (name, got.stderr)
        got = run_program("restore", folder, "--data", target)
        assert got.returncode == NO and name in got.stderr and not target.exists()
        path.write_bytes(whole[:-1])
        got = run_program("restore", folder, "--check")
        assert got.returncode == NO and name in got.stderr, got.stderr
        path.unlink()
        got = run_program("restore", folder, "--check")
        assert got.returncode == NO and name in got.stderr, got.stderr
        path.write_bytes(whole)
        path.chmod(0o600)
    one = restored(make_node, receiver, folder)
    one.start()
    assert one.cli("secret", "ls").returncode == DONE
    clean(one)


def test_damage_in_the_store_itself_is_told(node, tmp_path):
    doc, other = send(node, 1, size=5000), send(node, 2)
    for one in doc, other:
        await_state(node, one, "delivered")
    seg, = (node.data / "payload").glob("*.seg")
    flip(seg, seg.read_bytes().index(b'"number": 1') + 500)
    got = node.cli("backup", tmp_path / "b")
    assert got.returncode == NO and "1 payloads of the store" in got.stderr and doc in got.stderr
    assert node.wait_event("backup.damage")["count"] == 1
    checked = run_program("restore", tmp_path / "b", "--check")
    assert checked.returncode == NO and doc in checked.stderr and other not in checked.stderr


def test_where_a_backup_may_go(node, tmp_path):
    send(node, 1)
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("x")
    got = node.cli("backup", full)
    assert got.returncode == NO and "is not empty" in got.stderr
    assert [p.name for p in full.iterdir()] == ["mine"]
    got = node.cli("backup", tmp_path / "no" / "parent")
    assert got.returncode == NO and "make the folder" in got.stderr
    assert node.cli("backup").returncode == NO  # what came of the last one
    backup(node, "here")  # the command line's own folder
    assert (node.folder / "here" / "manifest").exists()
    taken = json.loads(node.cli("backup", "--json").stdout)
    assert taken["state"] == "done" and taken["folder"] == str(node.folder / "here")
    got = run_program("restore", node.folder / "here", "--data", node.data)
    assert got.returncode == NO and "in use" in got.stderr
    node.stop()
    got = run_program("restore", node.folder / "here", "--data", node.data)
    assert got.returncode == NO and "has a store already" in got.stderr
    assert run_program("restore", full, "--check").returncode == NO
    assert run_program("restore", full).returncode == USAGE


@pytest.mark.parametrize("unfinished", [False, True])
def test_the_log_of_another_database_is_not_left_beside_a_restored_one(node, tmp_path, unfinished):
    docs = [send(node, n) for n in range(3)]
    backup(node, tmp_path / "b")
    send(node, 3)
    node.kill()  # its log stays
    old = tmp_path / "old"
    old.mkdir()
    for name in ("waybill.db", "payload", "large"):
        shutil.move(node.data / name, old / name)
    if unfinished:
        (node.data / "restoring").touch()
    for name in ("waybill.db-wal", "waybill.db-shm"):
        got = run_program("restore", tmp_path / "b", "--data", node.data)
        assert got.returncode == NO and f"the file {name} " in got.stderr, got.stderr
        assert not (node.data / "waybill.db").exists()
        shutil.move(node.data / name, old / name)
    got = run_program("restore", tmp_path / "b", "--data", node.data)
    assert got.returncode == DONE, got.stderr
    node.start()
    assert set(node.documents()) == set(docs)
    clean(node)


# ---- what is sent after it ----------------------------------------------------------------------------


def copied(node, make_node, receiver, request, folder, config=CONFIG):
    """The node, restored: from its folder, on PostgreSQL from a copy of its database."""
    if node.store is None:
        return restored(make_node, receiver, folder, config=config)
    cluster = request.getfixturevalue("postgres")
    name, old = f"copy_{os.urandom(6).hex()}", re.search(r"node_[0-9a-f]+", node.store).group()
    cluster.sql(f"CREATE DATABASE {name} OWNER waybill TEMPLATE {old}")
    one = make_node(config=config.format(url=receiver.url("")), store=cluster.url(name))
    got = run_program("restore", folder, "--store", one.store)
    assert got.returncode == NO and "1 nodes run on this database" in got.stderr
    cluster.sql("UPDATE node SET alive_until_us = 0", name)  # a restored database is an old one
    got = run_program("restore", folder, "--store", one.store)
    assert got.returncode == DONE, got.stderr
    return one


def await_held(node, docs, reasons):
    for doc in docs:
        until = time.monotonic() + 20
        while True:
            seen = show(node, doc)
            if seen["state"] == "held" and all(d["held"] == reasons for d in seen["deliveries"]):
                break
            assert time.monotonic() < until, f"{seen}\n{node.tail(10)}"
            time.sleep(0.05)


@BOTH
@pytest.mark.proves("FO14")
@pytest.mark.parametrize("rule", ["resend", "in_doubt", "cancel"])
def test_a_person_says_what_becomes_of_what_was_in_flight(node, make_node, receiver, tmp_path,
                                                          request, rule):
    sent = send(node, 1)
    await_state(node, sent, "delivered")
    receiver.behave("/in", "status", 422)
    dead = send(node, 2)
    await_state(node, dead, "dead")
    receiver.behave("/in", "status", 503, times=1)
    tried = send(node, 3)
    await_state(node, tried, "retrying")
    receiver.behave("/in", "ok")
    assert node.cli("node", "pause", "--delivery").returncode == DONE
    free = [send(node, 10 + n) for n in range(3)]
    lane = [send(node, 20 + n, to="lane") for n in range(3)]
    await_held(node, free, ["pause"])
    backup(node, tmp_path / "b")
    node.stop()
    receiver.reset()

    one = copied(node, make_node, receiver, request, tmp_path / "b")
    one.start()
    assert one.wait_event("restore.wait")
    one.restart()  # it does not forget
    one.cli("node", "resume")
    fresh = send(one, 30)
    await_held(one, free + [fresh], ["restore"])
    assert one.metrics()["waybill_restore_waits"] == 1
    seen = one.graphql("{ restore { waits inFlight released } }")["restore"]
    assert seen == {"waits": True, "inFlight": None, "released": None}
    assert receiver.requests("/in") == []

    assert one.cli("node", "release").returncode == USAGE
    assert one.cli("node", "release", "--in-flight", "guess").returncode == USAGE
    got = one.cli("node", "release", "--in-flight", rule)
    assert got.returncode == DONE and f"released: {rule}" in got.stdout, got.stderr
    await_state(one, fresh, "delivered")
    waited = free + lane
    if rule == "resend":
        for doc in waited:
            await_state(one, doc, "delivered")
        # When its time comes is up to chance, within the hour.
        assert show(one, tried)["state"] in ("retrying", "delivered")
        assert [d for d in arrived(receiver) if d in lane] == lane
    elif rule == "cancel":
        for doc in waited + [tried]:
            assert await_state(one, doc, "cancelled")["timeline"][-1]["stage"] == "operator"
        assert arrived(receiver) == [fresh]
    else:
        for doc in waited + [tried]:
            assert await_state(one, doc, "in_doubt")["timeline"][-1]["outcome"] == "in_doubt"
        assert arrived(receiver) == [fresh]
        behind = send(one, 40, to="lane")  # it may not pass those that are in doubt
        for doc in reversed(lane[1:]):
            assert one.cli("docs", "resolve", doc, "--resend").returncode == DONE
        assert one.cli("docs", "resolve", lane[0], "--delivered").returncode == DONE
        await_state(one, behind, "delivered")
        assert [d for d in arrived(receiver) if d != fresh] == lane[1:] + [behind]
    assert await_state(one, sent, "delivered") and await_state(one, dead, "dead")
    clean(one)
    assert one.metrics()["waybill_restore_waits"] == 0
    got = one.cli("node", "release", "--in-flight", rule)
    assert got.returncode == NO and "nothing is held back" in got.stderr


BATCH_CONFIG = CONFIG.replace("do: [ {{ deliver: api }} ]", "do: [ {{ batch: nightly }} ]") + """\
batches:
  nightly: {{ count: 1000, join: text, separator: "\\n", do: [ {{ deliver: api }} ] }}
"""


def await_members(node, count):
    until = time.monotonic() + 20
    while True:
        found = node.graphql("{ batches { batches { state count } } }")["batches"]["batches"]
        if found == [{"state": "open", "count": count}]:
            return
        assert time.monotonic() < until, f"{found}\n{node.tail(10)}"
        time.sleep(0.05)


def close_batch(node, receiver):
    """Close it by hand; the numbers of those who went with it."""
    assert node.cli("batches", "close", "nightly").returncode == DONE
    until = time.monotonic() + 20
    while not receiver.requests("/in"):
        assert time.monotonic() < until, node.tail(10)
        time.sleep(0.05)
    sent, = receiver.requests("/in")
    return sorted(json.loads(line)["number"] for line in sent["body"].splitlines())


@BOTH
@pytest.mark.proves("FO14")
@pytest.mark.parametrize("rule", ["resend", "in_doubt", "cancel"])
def test_members_of_a_batch_go_by_the_choice_too(make_node, receiver, tmp_path, request, rule):
    node = make_node(config=BATCH_CONFIG.format(url=receiver.url("")))
    node.start()
    old = [send(node, n) for n in range(3)]
    await_members(node, 3)
    backup(node, tmp_path / "b")
    node.stop()

    one = copied(node, make_node, receiver, request, tmp_path / "b", config=BATCH_CONFIG)
    one.start()
    fresh = send(one, 10)
    await_members(one, 4)  # it gathers, and nothing goes
    got = one.cli("node", "release", "--in-flight", rule)
    assert got.returncode == DONE, got.stderr
    if rule == "resend":
        await_members(one, 4)
        assert close_batch(one, receiver) == [0, 1, 2, 10]
    elif rule == "cancel":
        for doc in old:
            assert await_state(one, doc, "cancelled")["timeline"][-1]["stage"] == "operator"
        await_members(one, 1)
        assert close_batch(one, receiver) == [10]
    else:
        for doc in old:
            assert await_state(one, doc, "dead")["timeline"][-1]["outcome"] == "in_doubt"
        await_members(one, 1)
        assert one.cli("docs", "retry", old[1]).returncode == DONE
        await_members(one, 2)
        assert close_batch(one, receiver) == [1, 10]
        assert one.cli("dead", "discard", "--error", "restored", "--yes").returncode == DONE
        await_state(one, old[1], "done")
        await_state(one, old[0], "cancelled")
    await_state(one, fresh, "done")
    assert len(receiver.requests("/in")) == 1
    clean(one)


@pytest.mark.proves("FO14")
def test_a_database_that_was_put_back_by_hand_is_noticed(node, receiver, tmp_path):
    assert node.cli("node", "pause", "--delivery").returncode == DONE
    doc = send(node, 1)
    await_held(node, [doc], ["pause"])
    node.stop()
    shutil.copy(node.data / "waybill.db", tmp_path / "old.db")
    node.start()
    node.cli("node", "resume")
    await_state(node, doc, "delivered")
    node.stop()
    shutil.copy(tmp_path / "old.db", node.data / "waybill.db")
    receiver.reset()
    node.start()
    node.cli("node", "resume")
    await_held(node, [doc], ["restore"])
    seen = node.graphql("{ restore { taken source } }")["restore"]
    assert seen["taken"] is None
    assert seen["source"].startswith("the store is older than this node's folder")
    assert node.cli("node", "release", "--in-flight", "cancel").returncode == DONE
    await_state(node, doc, "cancelled")
    assert receiver.requests("/in") == []
    node.restart()
    assert node.graphql("{ restore { waits } }")["restore"] == {"waits": False}


# ---- killed on the way --------------------------------------------------------------------------------

@pytest.mark.parametrize("point", ["backup.copied", "backup.file", "backup.listed"])
def test_half_a_backup_is_none(make_node, receiver, tmp_path, point):
    one = make_node(config=CONFIG.format(url=receiver.url("")),
                    environment={"WAYBILL_FAULT": f"{point}:kill:1"})
    one.start()
    docs = [send(one, n) for n in range(3)]
    assert one.cli("backup", tmp_path / "b").returncode != DONE
    assert one.ended() == -9
    got = run_program("restore", tmp_path / "b", "--check")
    assert got.returncode == NO and "it has no file manifest" in got.stderr
    one.environment = {}
    one.start()
    for doc in docs:
        await_state(one, doc, "delivered")
    clean(one)
    assert one.cli("backup", tmp_path / "b").returncode == NO  # not empty
    backup(one, tmp_path / "again")


@pytest.mark.parametrize("point", ["restore.file:kill:1", "restore.file:kill:3", "restore.noted:kill:1"])
def test_half_a_restore_is_no_store(node, make_node, receiver, tmp_path, point):
    docs = [send(node, n) for n in range(3)] + [send(node, 3, size=1100000)]
    backup(node, tmp_path / "b")
    node.stop()
    one = make_node(config=CONFIG.format(url=receiver.url("")))
    env = clean_environment(WAYBILL_FAULT=point)
    assert run_program("restore", tmp_path / "b", "--data", one.data, env=env).returncode == -9
    code, said = one.refuse()
    assert code != 0 and "a restore" in said and "was not finished" in said
    assert run_program("restore", tmp_path / "b", "--data", one.data).returncode == DONE
    one.start()
    assert set(one.documents()) == set(docs)
    clean(one)
    assert one.graphql("{ restore { waits } }") == {"restore": {"waits": True}}


# ---- to PostgreSQL --------------------------------------------------------------------------------------

MOVE_CONFIG = CONFIG.replace("do: [ {{ deliver: api }} ]",
                             'do: [ {{ replace: {{ find: "_", with: "-" }} }}, {{ deliver: api }} ]')


@POSTGRES
def test_a_store_moves_to_postgresql(make_node, receiver, store):
    one = make_node(config=MOVE_CONFIG.format(url=receiver.url("")), store=None)
    one.start()
    one.cli("secret", "add", "pass", "-", stdin="word")
    docs = {send(one, n): body(n) for n in range(20)}
    docs[send(one, 50, size=700000)] = body(50, 700000)
    docs[send(one, 51, size=1500000)] = body(51, 1500000)
    key = {"Idempotency-Key": "k1"}
    keyed = one.request("POST", "/in/in", body(60), key).json["document"]
    docs[keyed] = body(60)
    made = one.post("in", '{"to": "hub", "text": "a_b\\t\\u0007\\\\"}').json["document"]
    for doc in [*docs, made]:
        await_state(one, doc, "delivered")
    receiver.behave("/in", "status", 422)
    dead = send(one, 70)
    await_state(one, dead, "dead")
    receiver.behave("/in", "ok")
    one.cli("node", "pause", "--delivery")
    held = [one.post("in", json.dumps({"to": to, "text": f"c_{n}"})).json["document"]
            for n in range(3) for to in ("hub", "lane")]
    await_held(one, held[::2], ["pause"])
    before = {d: show(one, d) for d in [*docs, made, dead]}
    trace = one.cli("docs", "show", made, "--json").stdout
    got = run_program("migrate", "--data", one.data, "--store", store)
    assert got.returncode == NO and "in use" in got.stderr
    one.stop()
    receiver.reset()

    for fault, code in (("move.table:kill:5", -9), ("move.committed:kill:1", -9)):
        env = clean_environment(WAYBILL_FAULT=fault)
        got = run_program("migrate", "--data", one.data, "--store", store, env=env)
        assert got.returncode == code, got.stderr
    got = run_program("migrate", "--data", one.data, "--store", store)
    assert got.returncode == DONE and "has this store already" in got.stdout, got.stderr
    assert not (one.data / "waybill.db").exists()
    code, said = one.refuse()
    assert code != 0 and "waybill.db is missing" in said

    two = make_node(config=MOVE_CONFIG.format(url=receiver.url("")), data=one.data)
    two.start()
    clean(two)
    for doc, bytes_ in docs.items():
        assert payload(two, doc) == bytes_
    assert {d: show(two, d) for d in before} == before
    assert two.cli("docs", "show", made, "--json").stdout == trace
    assert b"a-b" in two.cli("docs", "payload", made, "--stage", "1", text=False).stdout
    assert two.request("POST", "/in/in", body(60), key).json["document"] == keyed
    assert set(two.documents()) == {*docs, made, dead, *held}
    two.cli("node", "resume")
    for doc in held:
        await_state(two, doc, "delivered")
    sent = receiver.requests("/in")
    assert len(sent) == len(held) and all("c-" in r["body"] for r in sent)
    assert [r["headers"]["waybill-document"] for r in sent
            if r["headers"]["waybill-document"] in held[1::2]] == held[1::2]
    await_state(two, send(two, 80), "delivered")
    clean(two)
    got = run_program("migrate", "--data", one.data, "--store", store)
    assert got.returncode == NO


def change(node, *statements):
    """Behind the back of a node that does not run."""
    with sqlite3.connect(node.data / "waybill.db") as db:
        for one in statements:
            db.execute(one)
    db.close()


@POSTGRES
def test_bytes_of_segments_that_retention_removed_move_too(make_node, receiver, store):
    one = make_node(config=MOVE_CONFIG.format(url=receiver.url("")), store=None)
    one.start()
    one.cli("node", "pause", "--delivery")
    held = [one.post("in", json.dumps({"to": "hub", "text": f"c_{n}"})).json["document"] for n in range(2)]
    await_held(one, held, ["pause"])
    one.stop()
    # As if each had been made in a segment of its own, at the same place, and was copied forward since.
    change(one, "INSERT INTO moved SELECT 1000 + num, 64, b_seg, b_pos FROM delivery",
           "UPDATE delivery SET b_seg = 1000 + num, b_pos = 64")
    got = run_program("migrate", "--data", one.data, "--store", store)
    assert got.returncode == DONE, got.stderr
    two = make_node(config=MOVE_CONFIG.format(url=receiver.url("")), data=one.data)
    two.start()
    two.cli("node", "resume")
    for doc in held:
        await_state(two, doc, "delivered")
    sent = {r["headers"]["waybill-document"]: json.loads(r["body"])["text"] for r in receiver.requests("/in")}
    assert sent == {doc: f"c-{n}" for n, doc in enumerate(held)}
    clean(two)


@POSTGRES
def test_tables_of_days_that_wait_for_being_dropped_are_dropped_after_a_move(make_node, receiver, store, request):
    one = make_node(config=MOVE_CONFIG.format(url=receiver.url("")), store=None)
    one.start()
    await_state(one, send(one, 1), "delivered")
    one.stop()
    with sqlite3.connect(one.data / "waybill.db") as db:
        day, = db.execute("SELECT min(slot) FROM part WHERE family = 2").fetchone()
        made, = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (f"done_{day}",)).fetchone()
    db.close()
    change(one, made.replace(f"done_{day}", "done_15000"), "INSERT INTO part(family, slot, value) VALUES (3, 15000, 1)")
    got = run_program("migrate", "--data", one.data, "--store", store)
    assert got.returncode == DONE, got.stderr
    two = make_node(config=MOVE_CONFIG.format(url=receiver.url("")), data=one.data)
    two.start()
    assert two.cli("retention", "run").returncode == DONE
    cluster, name = request.getfixturevalue("postgres"), re.search(r"node_[0-9a-f]+", store).group()
    until = time.monotonic() + 30
    while cluster.sql("SELECT count(*) FROM part WHERE family = 3", name) != "0":
        assert time.monotonic() < until, two.tail(10)
        time.sleep(0.1)
    assert cluster.sql("SELECT count(*) FROM pg_class WHERE relname = 'done_15000'", name) == "0"
    clean(two)


@POSTGRES
def test_a_store_that_was_started_after_its_move_is_not_put_aside(make_node, receiver, store):
    one = make_node(config=MOVE_CONFIG.format(url=receiver.url("")), store=None)
    one.start()
    await_state(one, send(one, 1), "delivered")
    one.stop()
    (one.data / "waybill.db.moved").mkdir()  # it cannot be renamed
    for _ in range(2):
        got = run_program("migrate", "--data", one.data, "--store", store)
        assert got.returncode != DONE and "may have the store by now" in got.stderr, got.stderr
        assert "nothing was changed" not in got.stderr
    (one.data / "waybill.db.moved").rmdir()
    one.start()  # nobody knew better
    late = send(one, 2)
    await_state(one, late, "delivered")
    one.stop()
    got = run_program("migrate", "--data", one.data, "--store", store)
    assert got.returncode == NO and "was started" in got.stderr and "nothing was changed" in got.stderr, got.stderr
    assert not (one.data / "waybill.db.moved").exists()
    one.start()
    await_state(one, late, "delivered")
