"""The road when the store or the bytes fail: nothing wrong is sent, nothing is forgotten."""
import contextlib
import pathlib
import sys
import threading
import time

import pytest

from conftest import own_postgres
from test_20_road import CONFIG, await_state, document, look, send

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

postgres = own_postgres()


@pytest.fixture(scope="module")
def postgres(own_postgres):
    return own_postgres


@pytest.fixture
def receiver():
    with Receiver() as r:
        yield r


@pytest.fixture
def road(make_node, receiver, tmp_path):
    node = make_node(config=CONFIG.format(url=receiver.url(""), folder=tmp_path))
    node.start()
    return node


def waiting(road, receiver, count=3):
    """Documents whose deliveries wait in the store, and a node that does not run."""
    receiver.stop_listening()
    docs = [send(road, document("invoice", region="north", text="kept whole", n=n))
            for n in range(count)]
    road.wait_event("endpoint.open")
    for doc in docs:
        await_state(road, doc, "held", "retrying")
    assert road.stop() == 0
    return docs


@pytest.mark.proves("DE4", "EX3", "DE2")
def test_damaged_bytes_are_never_sent(road, receiver):
    docs = waiting(road, receiver)
    for segment in (road.data / "payload").glob("*.seg"):
        data = segment.read_bytes()
        at = data.index(b"kept whole")
        segment.write_bytes(data[:at] + b"Kept" + data[at + 4:])
    receiver.listen()
    road.start()
    await_state(road, docs[0], "dead")
    for doc in docs[1:]:
        await_state(road, doc, "delivered")
    assert look(road, docs[0])["error"]["code"] == "payload_corrupt"
    assert {r["headers"]["waybill-document"] for r in receiver.requests()} == set(docs[1:])


@pytest.mark.proves("DE3", "EX4")
def test_bytes_that_are_gone_are_a_dead_letter(road, receiver):
    docs = waiting(road, receiver)
    for segment in (road.data / "payload").glob("*.seg"):
        segment.rename(segment.with_suffix(".away"))
    receiver.listen()
    road.start()
    for doc in docs:
        await_state(road, doc, "dead")
        assert look(road, doc)["error"]["code"] == "payload_missing"
    assert receiver.requests() == []


@pytest.mark.proves("EX1", "EX2", "EX6", "EX7", "RO1", "RO2", "RO5", "RO6", "DM1", "DE1", "DE9", "DL1")
@pytest.mark.stores("postgres")
def test_an_outcome_that_cannot_be_written_is_written_later(road, receiver, postgres):
    receiver.behave("/in", "late", 1.5)
    delivered = [send(road, document("invoice", region="north", n=n)) for n in range(3)]
    receiver.wait_for(3)
    postgres.stop_immediate()
    road.wait_event("document.unsettled", timeout=20)
    postgres.start()
    receiver.behave("/in", "ok")
    for doc in delivered:
        await_state(road, doc, "delivered", seconds=40)
    assert receiver.keys() == {f"{d}.hub-api": 1 for d in delivered}
    road.wait_event("store.reach")
    await_state(road, send(road, document("letter")), "dead")
    assert road.cli("doctor").returncode == 0


@pytest.mark.proves("XC5", "QC5")
@pytest.mark.stores("postgres")
def test_a_commit_of_which_nobody_knows_leaves_nothing_behind(road, postgres):
    """The database dies under load and stays away longer than anybody asks: what was accepted all the same runs."""
    ended = threading.Event()

    def work():
        while not ended.is_set():
            with contextlib.suppress(OSError):
                road.post("in", document("junk"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1)
        postgres.stop_immediate()
        time.sleep(8)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        postgres.start()
    road.wait_event("store.reach", timeout=30)
    until = time.monotonic() + 30
    while road.cli("docs", "ls", "--state", "received", "--limit", "1", "--json").stdout.strip():
        assert time.monotonic() < until, road.tail()
        time.sleep(0.2)
    assert road.cli("doctor").returncode == 0
