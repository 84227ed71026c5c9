"""A store that went back in time is noticed: what was told is kept where the database is not."""
import json
import shutil

import pytest

DONE, NO, USAGE = 0, 1, 2
BEFORE, LOST = 20, 20
LARGE = 1500000

CONFIG = """\
systems: {{ hub: {{ in_doubt: hold }} }}
gateways:
  in:
    kind: http
    auth: none
    idempotency: 2d
    extract: {{ receiver: "json:/to" }}
endpoints:
  api: {{ kind: http, url: "{url}/in", timeout: 5s, retry: {{ first: 1h, most: 1h, for: 3d }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


@pytest.fixture
def node(make_node, receiver):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=receiver.url("")))
    one.start()
    return one


def body(number, size=0):
    text = json.dumps({"to": "hub", "number": number})
    return (text + " " * (size - len(text))).encode()


def send(node, numbers, size=0, key=None):
    return [node.accept("in", body(n, size), {"Idempotency-Key": f"{key}-{n}"} if key else None) for n in numbers]


def state(node, doc):
    return node.show(doc, "state")["state"]


def await_state(node, doc, *states):
    return node.await_state(doc, *states, look=lambda n, one: n.show(one, "state"))


def files(node):
    return [node.data / name for name in ("waybill.db", "waybill.db-wal")]


def copy(node, folder):
    """The database as it is while the node rests: the file and its log."""
    folder.mkdir()
    for one in files(node):
        shutil.copy(one, folder)


def put_back(node, folder):
    for one in files(node):
        shutil.copy(folder / one.name, one)
    (node.data / "waybill.db-shm").unlink(missing_ok=True)


def numbers(receiver):
    return sorted(json.loads(r["body"])["number"] for r in receiver.requests("/in"))


def released(node, receiver, docs, lost):
    """Nothing is sent until a person decides; every document is there."""
    source = node.graphql("{ restore { source waits } }")["restore"]
    assert source["waits"] and "taken in again" in source["source"], source
    assert f"{lost} documents were taken in again" in source["source"], source
    for doc in docs:
        assert state(node, doc) != "delivered"
    assert receiver.requests("/in") == []
    got = node.cli("node", "release", "--in-flight", "in_doubt")
    assert got.returncode == DONE, got.stderr
    for doc in docs:
        await_state(node, doc, "in_doubt")
    assert receiver.requests("/in") == []
    assert node.cli("doctor").returncode == DONE


def lost_documents(node, receiver, folder):
    """Documents before and after a moment; the node is killed, so its log is not checkpointed."""
    before = send(node, range(BEFORE))
    for doc in before:
        await_state(node, doc, "delivered")
    copy(node, folder)
    after = send(node, range(100, 100 + LOST))
    for doc in after:
        await_state(node, doc, "delivered")
    assert numbers(receiver) == [*range(BEFORE), *range(100, 100 + LOST)]
    node.kill()
    receiver.reset()
    return before, after


@pytest.mark.proves("FO14")
def test_an_older_database_is_noticed_and_made_up_from_the_segments(node, receiver, tmp_path):
    before, after = lost_documents(node, receiver, tmp_path / "old")
    put_back(node, tmp_path / "old")
    node.start()
    assert [state(node, doc) for doc in before] == ["delivered"] * BEFORE
    released(node, receiver, after, LOST)
    shown = node.show(after[0], "gateway size")
    assert shown == {"gateway": "in", "size": len(body(100))}


@pytest.mark.parametrize("how", ["missing", "cut", "flipped"])
@pytest.mark.proves("FO14")
def test_a_log_that_is_damaged_is_noticed(node, receiver, tmp_path, how):
    node.restart()  # a stop brings the tables from the log into the file
    _, after = lost_documents(node, receiver, tmp_path / "old")
    wal = node.data / "waybill.db-wal"
    then = (tmp_path / "old" / "waybill.db-wal").stat().st_size
    data = bytearray(wal.read_bytes())
    assert len(data) > then
    if how == "missing":
        wal.unlink()
    elif how == "cut":
        wal.write_bytes(data[:then])
    else:
        data[then + 1000] ^= 1
        wal.write_bytes(data)
    (node.data / "waybill.db-shm").unlink(missing_ok=True)
    node.start()
    got = node.graphql("{ restore { source waits } }")["restore"]
    assert got["waits"]
    for doc in after:
        assert state(node, doc) != "delivered"
    assert node.cli("node", "release", "--in-flight", "in_doubt").returncode == DONE
    for doc in after:
        await_state(node, doc, "in_doubt")
    assert receiver.requests("/in") == []


def damage(node, text):
    """One byte of a payload that has this text."""
    for segment in (node.data / "payload").glob("*.seg"):
        data = bytearray(segment.read_bytes())
        at = data.find(text)
        if at >= 0:
            data[at] ^= 1
            segment.write_bytes(data)
            return
    raise AssertionError(f"no segment has {text}")


@pytest.mark.proves("FO14")
def test_doctor_takes_in_again_what_was_lost(node, receiver, tmp_path):
    """Without --recover it only says so; with it, it tells what it took in and what it could not."""
    before, after = lost_documents(node, receiver, tmp_path / "old")
    put_back(node, tmp_path / "old")
    damage(node, body(105))
    found = node.cli("doctor", "--data", node.data)
    assert found.returncode == NO and "FAIL  lost-documents" in found.stdout, found.stdout
    assert f"with {LOST} documents" in found.stdout and "doctor --recover" in found.stdout
    got = node.cli("doctor", "--recover", "--data", node.data, "--json")
    assert got.returncode == NO, got.stdout + got.stderr
    checks = {line["name"]: line for line in map(json.loads, got.stdout.splitlines())}
    whole = [doc for doc in after if doc != after[5]]
    assert sorted(checks["recovery"]["taken_in"]) == sorted(whole)
    assert [one["id"] for one in checks["recovery"]["unread"]] == [after[5]]
    assert "digest differs" in checks["recovery"]["unread"][0]["why"]
    assert all(c["ok"] for name, c in checks.items() if name != "recovery"), checks
    again = node.cli("doctor", "--recover", "--data", node.data)
    assert again.returncode == DONE and "nothing was to be taken in again" in again.stdout, again.stdout
    node.start()
    assert [state(node, doc) for doc in before] == ["delivered"] * BEFORE
    released(node, receiver, whole, LOST - 1)


def test_doctor_recovers_a_stopped_store_only(node):
    for args, word in ((["--recover"], "--data"),
                       (["--recover", "--data", node.data, "--store", "postgres:///x"], "SQLite")):
        got = node.cli("doctor", *args)
        assert got.returncode == USAGE and word in got.stderr, got.stderr


def test_a_young_database_without_its_log_is_refused(node):
    """Its tables are in the log alone; an empty database would begin beside the documents."""
    send(node, [1])
    node.kill()
    for name in ("waybill.db-wal", "waybill.db-shm"):
        (node.data / name).unlink()
    code, said = node.refuse()
    assert code != DONE and "payloads of its documents" in said


def test_keys_and_large_documents_come_back_too(node, receiver, tmp_path):
    copy(node, tmp_path / "old")
    keyed = send(node, range(5), key="k")
    large = send(node, [50], LARGE)
    for doc in keyed + large:
        await_state(node, doc, "delivered")
    node.kill()
    receiver.reset()
    put_back(node, tmp_path / "old")
    node.start()
    assert send(node, range(5), key="k") == keyed
    assert node.show(large[0], "size")["size"] == LARGE
    released(node, receiver, keyed + large, 6)


def test_a_recovery_that_is_killed_goes_on(node, receiver, tmp_path):
    copy(node, tmp_path / "old")
    docs = send(node, range(150))
    for doc in docs:
        await_state(node, doc, "delivered")
    node.kill()
    receiver.reset()
    put_back(node, tmp_path / "old")
    node.environment["WAYBILL_FAULT"] = "recover.taken:kill:1"
    node.launch()
    node.ended()
    del node.environment["WAYBILL_FAULT"]
    node.start()
    assert set(node.documents()) >= set(docs)
    assert node.cli("node", "release", "--in-flight", "cancel").returncode == DONE
    for doc in docs:
        await_state(node, doc, "cancelled")
    assert node.cli("doctor").returncode == DONE


def test_a_kill_is_no_step_back(node, receiver):
    """The last group may have its bytes on the disk and no row: nobody was told, nothing is held."""
    docs = send(node, range(10))
    node.kill()
    node.environment["WAYBILL_FAULT"] = "group.written:kill:1"
    node.launch()
    node.ended()
    del node.environment["WAYBILL_FAULT"]
    node.start()
    for doc in docs:
        await_state(node, doc, "delivered", "in_doubt")
    assert node.graphql("{ restore { waits } }")["restore"] in (None, {"waits": False})
