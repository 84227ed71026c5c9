"""A full disk: the node starts, refuses documents with 507, delivers what it has, and opens when there is room."""
import os
import subprocess

import pytest

from wire import wait_until

MIB = 1 << 20
PATIENCE = 40
CONFIG = """\
systems: {{ hub: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in", retry: {{ first: 50ms, most: 200ms }}, breaker: {{ failures: 3, wait: 200ms }} }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root; test_no_space_by_a_fault shows the same without")
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "waybill-test", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder):
    """Take every byte."""
    with open(folder / "filling", "ab", buffering=0) as f:
        for size in (MIB, 4096, 1):
            try:
                while f.write(bytes(size)):
                    pass
            except OSError:
                pass
    assert os.statvfs(folder).f_bavail == 0


def state(node, doc):
    return node.show(doc, "state")


def readiness(node):
    answer = node.request("GET", "/readyz")
    return answer.status, " / ".join(answer.json["reasons"])


@pytest.fixture
def waiting(make_node, small_disk, receiver):
    """A stopped node on the small disk, with documents that wait for a receiver that is away."""
    node = make_node(config=CONFIG.format(url=receiver.url("")), data=small_disk / "data",
                     options="limits: { disk_reserve: 4 MiB }")
    node.start()
    receiver.stop_listening()
    node.docs = [node.accept("in", b"%d" % n) for n in range(20)]
    for doc in node.docs:
        node.await_state(doc, "held", "retrying", look=state)
    assert node.stop() == 0
    return node


@pytest.mark.proves("XC2", "IN10")
def test_a_full_disk_keeps_no_node_from_starting(waiting, small_disk, receiver):
    """It starts, says 507, delivers, and opens when there is room."""
    fill(small_disk)
    receiver.listen()
    waiting.start()
    assert waiting.request("GET", "/healthz").status == 200
    status, why = readiness(waiting)
    assert status == 503 and "disk" in why
    refused = waiting.post("in", b"more")
    assert refused.status == 507 and refused.json["error"]["code"] == "no_space"
    for doc in waiting.docs:
        waiting.await_state(doc, "delivered", look=state, seconds=PATIENCE)
    assert set(receiver.keys().values()) == {1}
    assert waiting.post("in", b"more").status == 507
    os.unlink(small_disk / "filling")
    wait_until(lambda: waiting.post("in", b"more").status == 202, PATIENCE, "acceptance")
    assert readiness(waiting)[0] == 200
    assert waiting.cli("doctor").returncode == 0


@pytest.mark.proves("XC2")
def test_a_disk_that_fills_up_under_way(waiting, small_disk, receiver):
    """What must be written gets the reserve, documents do not; it is there again afterwards."""
    waiting.start()
    wait_until((waiting.data / "reserve").exists, PATIENCE, "the reserve")
    fill(small_disk)
    wait_until(lambda: waiting.post("in", b"more").status == 507, PATIENCE, "refusal")
    receiver.listen()
    for doc in waiting.docs:
        waiting.await_state(doc, "delivered", look=state, seconds=PATIENCE)
    assert set(receiver.keys().values()) == {1}
    os.unlink(small_disk / "filling")
    wait_until(lambda: waiting.post("in", b"more").status == 202, PATIENCE, "acceptance")
    wait_until((waiting.data / "reserve").exists, PATIENCE, "the reserve")


@pytest.mark.proves("XC2")
@pytest.mark.parametrize("write", [1, 5, 9, 13, 30])
def test_no_space_by_a_fault(make_node, receiver, write):
    """The n-th write of the database finds no space, at the start or later: the node goes on by itself, and nothing is lost."""
    node = make_node(config=CONFIG.format(url=receiver.url("")), environment={"WAYBILL_FAULT": f"db.full:error:{write}"})
    node.start()
    if write == 1:
        assert "space" in node.wait_event("store.wait")["why"]
    docs = []
    for n in range(10):
        wait_until(lambda: (sent := node.post("in", b"%d" % n)).status == 202 and  # pylint: disable=cell-var-from-loop
                   docs.append(sent.json["document"]) is None, PATIENCE, "acceptance")
    for doc in docs:
        node.await_state(doc, "delivered", look=state, seconds=PATIENCE)
    assert set(receiver.keys().values()) == {1}
    wait_until(lambda: readiness(node)[0] == 200, PATIENCE, "readiness")
    assert node.cli("doctor").returncode == 0
