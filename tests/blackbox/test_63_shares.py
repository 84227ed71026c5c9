"""Shares that are not mounted: an empty folder in their place takes and gives nothing until a person says so."""
import os
import subprocess

import pytest

from wire import wait_until

pytestmark = pytest.mark.on_disk  # a folder is known by its inode, which counts for less in memory
BOTH = pytest.mark.stores("sqlite", "postgres")
TMPFS = 0x01021994

CONFIG = """\
systems: { acme: {}, archive: {} }
gateways:
  web:
    kind: http
    auth: none
    extract: { sender: "value:acme", receiver: "value:archive", type: "value:order" }
  drop:
    kind: file
    path: ./inbox
    every: 50ms
    min_age: 0s
    after: delete
    MOUNTED
    extract: { sender: "value:acme", receiver: "value:archive", type: "value:order" }
types: { order: {} }
endpoints:
  out: { kind: file, system: archive, path: ./outbox, name: "${id}", MOUNTED
         retry: { first: 20ms, most: 50ms }, breaker: { failures: 3, wait: 100ms } }
routes:
  - { name: all, do: [ { deliver: out } ] }
"""
PLAIN = CONFIG.replace("    MOUNTED\n", "").replace("MOUNTED", "")
PROVEN = CONFIG.replace("    MOUNTED\n", "    mounted: .share\n").replace("MOUNTED", "mounted: .share,")


@pytest.fixture(autouse=True)
def keeps_inodes(request, tmp_path):
    """A folder that was replaced is told by its inode, which a file system in memory does not keep."""
    kind = subprocess.run(["stat", "-f", "-c", "%t", tmp_path], capture_output=True, text=True, check=True)
    if "proven" not in request.node.name and int(kind.stdout, 16) == TMPFS:
        pytest.skip("needs a file system on a disk: this one is in memory")


def look(node, doc):
    return node.show(doc, "state deliveries { state held attempts message }")


def send(node):
    return node.accept("web", b"order")


def await_state(node, doc, *states):
    return node.await_state(doc, *states, look=look)


def unmount(node, name):
    """The share is away: an empty folder is left."""
    (node.folder / name).rename(node.folder / f"{name}-away")
    (node.folder / name).mkdir()


def mount(node, name):
    (node.folder / name).rmdir()
    (node.folder / f"{name}-away").rename(node.folder / name)


def gateway(node, name):
    return next(g for g in node.graphql("{ gateways { name broken } }")["gateways"] if g["name"] == name)


def endpoint(node, name):
    return next(e for e in node.graphql("{ endpoints { name broken } }")["endpoints"] if e["name"] == name)


@BOTH
@pytest.mark.proves("FI12")
def test_a_share_that_is_not_mounted_at_the_start_gets_nothing(make_node):
    node = make_node(config=PLAIN)
    node.start()
    await_state(node, send(node), "delivered")
    node.stop()
    unmount(node, "outbox")
    node.start()
    doc = send(node)
    seen = await_state(node, doc, "held")
    assert seen["deliveries"][0]["held"] == ["endpoint"]
    assert "mounted" in seen["deliveries"][0]["message"]
    assert "mounted" in endpoint(node, "out")["broken"]
    asked = node.cli("probe", "out")
    assert asked.returncode == 1 and "NOT the known folder" in asked.stdout
    assert os.listdir(node.folder / "outbox") == []
    mount(node, "outbox")  # the right one is not refused when it is back
    await_state(node, doc, "delivered")
    assert (node.folder / "outbox" / doc).read_bytes() == b"order"
    assert node.cli("probe", "out").returncode == 0
    assert endpoint(node, "out")["broken"] is None


@BOTH
@pytest.mark.proves("FI12")
def test_another_folder_is_used_when_a_person_accepts_it(make_node):
    node = make_node(config=PLAIN.replace("wait: 100ms", "wait: 10m"))
    node.start()
    await_state(node, send(node), "delivered")
    unmount(node, "outbox")
    doc = send(node)
    await_state(node, doc, "held")
    node.restart()  # accepted by nobody
    assert await_state(node, doc, "held")["deliveries"][0]["held"] == ["endpoint"]
    done = node.cli("probe", "out", "--accept")
    assert done.returncode == 0 and "accepted" in done.stdout, done.stdout + done.stderr
    await_state(node, doc, "delivered")  # at once, not when the breaker lets one probe
    assert os.listdir(node.folder / "outbox") == [doc]
    lines = node.graphql('{ audit(filter: { action: "probeAccept" }) { items { actor after } } }')["audit"]["items"]
    assert len(lines) == 1 and "out" in lines[0]["after"]
    node.restart()
    await_state(node, send(node), "delivered")


@BOTH
@pytest.mark.proves("FI12", "IN11")
def test_an_empty_folder_in_the_place_of_a_source_is_a_failure(make_node):
    node = make_node(config=PLAIN)
    node.start()
    wait_until((node.folder / "inbox").exists)
    wait_until(lambda: gateway(node, "drop")["broken"] is None and node.cli("probe", "drop").returncode == 0)
    node.stop()
    unmount(node, "inbox")
    node.start()
    wait_until(lambda: "mounted" in (gateway(node, "drop")["broken"] or ""))
    (node.folder / "inbox" / "early").write_bytes(b"written into the mount point")
    asked = node.cli("probe", "drop")
    assert asked.returncode == 1 and "NOT the known folder" in asked.stdout
    assert node.cli("probe", "drop", "--accept").returncode == 0
    wait_until(lambda: gateway(node, "drop")["broken"] is None)
    wait_until(lambda: len(node.documents()) == 1)


@pytest.mark.proves("FI12")
def test_a_share_below_its_mount_point_is_not_made_there(make_node):
    """The folder lies deeper in the share: without the share there is no folder, and none is made."""
    node = make_node(config=PLAIN.replace("./outbox", "./mnt/outbox").replace("./inbox", "./mnt/inbox"))
    (node.folder / "mnt").mkdir()
    node.start()
    await_state(node, send(node), "delivered")
    wait_until((node.folder / "mnt" / "inbox").exists)
    node.stop()
    unmount(node, "mnt")
    node.start()
    doc = send(node)
    await_state(node, doc, "held", "retrying")
    wait_until(lambda: gateway(node, "drop")["broken"])
    node.write_config(PLAIN.replace("./outbox", "./mnt/outbox").replace("./inbox", "./mnt/inbox") + "# again\n")
    assert node.cli("apply", node.config_file).returncode == 0  # a trial makes none either
    assert os.listdir(node.folder / "mnt") == []
    mount(node, "mnt")
    await_state(node, doc, "delivered")


@pytest.mark.proves("FI12")
def test_a_share_is_proven_by_a_file_from_the_first_start(make_node):
    node = make_node(config=PROVEN)
    node.start()
    doc = send(node)
    seen = await_state(node, doc, "held")
    assert seen["deliveries"][0]["held"] == ["endpoint"] and ".share" in seen["deliveries"][0]["message"]
    assert os.listdir(node.folder / "outbox") == []
    wait_until(lambda: ".share" in (gateway(node, "drop")["broken"] or ""))
    for name in ("outbox", "inbox"):
        (node.folder / name / ".share").touch()
    await_state(node, doc, "delivered")
    wait_until(lambda: gateway(node, "drop")["broken"] is None)


@pytest.mark.proves("FI12")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount")
def test_a_mount_that_is_away_at_the_start(make_node, request):
    node = make_node(config=PLAIN)
    outbox = node.folder / "outbox"
    outbox.mkdir()
    tmpfs = ["mount", "-t", "tmpfs", "-o", "size=1m", "waybill-test", str(outbox)]
    if subprocess.run(tmpfs, check=False).returncode != 0:
        pytest.skip("this machine lets nobody mount")
    request.addfinalizer(lambda: subprocess.run(["umount", "-l", str(outbox)], check=False, capture_output=True))
    node.start()
    await_state(node, send(node), "delivered")
    node.stop()
    subprocess.run(["umount", str(outbox)], check=True)
    node.start()
    doc = send(node)
    await_state(node, doc, "held")
    assert os.listdir(outbox) == []
    subprocess.run(tmpfs, check=True)  # another one of its kind: as after a restart of the machine
    await_state(node, doc, "delivered")
    assert os.listdir(outbox) == [doc]
    node.stop()
