"""Files that come in and files that go out, with a whole node in between that is killed on its way."""
import os
import subprocess
import time

import pytest
from peers import files_below

pytestmark = pytest.mark.on_disk  # a folder is known by its inode, which counts for less in memory
SECONDS = 90
FILES = 6

HEAD = """\
systems:
  acme: {}
  archive: {}
types:
  order: {}
gateways:
  web:
    kind: http
    auth: none
    extract: { sender: "value:acme", receiver: "value:archive", type: "value:order" }
  drop:
    kind: file
    path: ./inbox
    every: 100ms
    min_age: 0s
    after: delete
    extract: { sender: "value:acme", receiver: "value:archive", type: "value:order" }
endpoints:
  out: { kind: file, system: archive, path: ./outbox, NAMED, retry: { first: 50ms, most: 200ms },
         breaker: { failures: 3, wait: 200ms } }
routes:
  - name: all
    when: { type: order }
    do:
      - deliver: [out]
"""
CONFIG = HEAD.replace("NAMED", 'name: "${name}"')
APPENDING = HEAD.replace("NAMED", "name: all.txt, append: true")


def wait_for(node, what, condition):
    deadline = time.monotonic() + SECONDS
    while not (got := condition()):
        assert time.monotonic() < deadline, f"no {what} after {SECONDS} s:\n{node.tail()}"
        time.sleep(0.05)
    return got


def body(number):
    """Several pieces for whoever writes it, and different for each."""
    return (f"document {number}\n" * 20000).encode()


def drop(node, numbers=range(FILES)):
    """Put files into the inbox as a careful sender does."""
    inbox = node.folder / "inbox"
    inbox.mkdir(exist_ok=True)
    for number in numbers:
        (inbox / f"{number}.part").write_bytes(body(number))
        os.rename(inbox / f"{number}.part", inbox / f"{number}.txt")


def delivered(node):
    """Everything that stands under its own name in the outbox."""
    return {f.name: f.read_bytes() for f in (node.folder / "outbox").glob("[!.]*")}


def left_over(node):
    """What is unfinished, coming in or going out."""
    return [f for f in (node.folder / "outbox").glob(".*.part")] + \
        [f for f in files_below(node.folder / "inbox") if os.path.basename(f) != "lock"]


def states(node):
    return [node.show(doc, "state")["state"] for doc in node.documents()]


def crash(node, fault):
    """A life that ends at the fault point, then one without it."""
    node.environment["WAYBILL_FAULT"] = fault
    node.launch()
    drop(node)
    assert node.ended() == -9
    for name, content in delivered(node).items():
        if name != "all.txt":
            assert content == body(name.removesuffix(".txt")), f"{name} is not whole"
    del node.environment["WAYBILL_FAULT"]
    node.start()


@pytest.mark.proves("FI1", "FI5", "FI9", "IN3", "IN4")
@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.parametrize("fault", [
    "file.claimed:kill:1", "file.claimed:kill:3", "file.read:kill:2", "file.taken:kill:1", "file.taken:kill:4",
    "file.writing:kill:3", "file.staged:kill:2", "file.named:kill:2"])
def test_a_crash_loses_and_doubles_no_file(make_node, fault):
    node = make_node(config=CONFIG)
    crash(node, fault)
    want = {f"{n}.txt": body(n) for n in range(FILES)}
    wait_for(node, "all files", lambda: delivered(node) == want)
    wait_for(node, "clean folders", lambda: not left_over(node))
    assert len(node.documents()) == FILES


@pytest.mark.proves("FI6")
@pytest.mark.parametrize("fault", ["file.staged:kill:2", "file.intent:kill:2", "file.appending:kill:1",
                                   "file.appending:kill:8", "file.appended:kill:3"])
def test_a_crash_tears_and_doubles_no_append(make_node, fault):
    node = make_node(config=APPENDING)
    crash(node, fault)
    wait_for(node, "all appends", lambda: states(node) == ["delivered"] * FILES and not left_over(node))
    content = (node.folder / "outbox" / "all.txt").read_bytes()
    assert len(content) == sum(len(body(n)) for n in range(FILES))
    for number in range(FILES):
        assert content.count(body(number)) == 1


@pytest.mark.proves("FI12")
def test_an_outbox_that_is_not_mounted_is_waited_for(make_node):
    node = make_node(config=CONFIG)
    node.start()
    outbox, away = node.folder / "outbox", node.folder / "away"
    outbox.rename(away)
    outbox.mkdir()  # what is left of a mount point
    drop(node, [1])
    wait_for(node, "a delivery that waits", lambda: states(node) in (["held"], ["retrying"]))
    assert not list(outbox.iterdir())
    outbox.rmdir()
    away.rename(outbox)
    wait_for(node, "delivery", lambda: delivered(node) == {"1.txt": body(1)})


@pytest.mark.proves("IN5", "IN11", "FI12")
def test_a_failing_gateway_is_seen_and_harms_nobody(make_node):
    node = make_node(config=CONFIG)
    node.start()
    wait_for(node, "inbox", (node.folder / "inbox").exists)
    (node.folder / "inbox").rename(node.folder / "away")
    wait_for(node, "reason", lambda: node.get("/readyz").json["reasons"])
    answer = node.get("/readyz")
    assert answer.status == 200 and answer.json["ready"]
    assert "gateway drop" in answer.json["reasons"][0] and "inbox" in answer.json["reasons"][0]
    assert node.wait_event("gateway.fail")["gateway"] == "drop"
    failing = 'waybill_gateway_errors_total{gateway="drop"}'
    success = 'waybill_gateway_last_success_seconds{gateway="drop"}'
    assert node.metrics()[failing] >= 3
    wait_for(node, "age", lambda: node.metrics()[success] >= 2)  # seconds since its last success
    assert node.post("web", b"x", {"Waybill-Name": "w"}).status == 202
    (node.folder / "away").rename(node.folder / "inbox")
    drop(node, [1])
    wait_for(node, "file", lambda: "1.txt" in delivered(node))
    wait_for(node, "success", lambda: node.metrics()[success] < 2)
    wait_for(node, "no reason", lambda: not node.get("/readyz").json["reasons"])
    assert node.wait_event("gateway.recover")["gateway"] == "drop"


@pytest.mark.proves("FI2")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount")
def test_an_apply_refuses_a_folder_on_another_file_system(make_node):
    node = make_node(config=CONFIG)
    node.start()
    other = node.folder / "other"
    other.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", other], check=True)
    try:
        node.write_config(CONFIG.replace("after: delete", f"after: {{ move: {other} }}"))
        done = node.cli("apply", node.config_file)
    finally:
        subprocess.run(["umount", other], check=True)
    assert done.returncode != 0
    assert "another file system" in done.stdout + done.stderr


@pytest.mark.proves("IN12", "FI3")
@pytest.mark.stores("postgres")
def test_two_nodes_on_one_folder_take_each_file_once(make_node):
    first = make_node(config=CONFIG)
    second = make_node(config=CONFIG)
    inbox, outbox = first.folder / "inbox", first.folder / "outbox"
    inbox.mkdir()
    outbox.mkdir()
    (second.folder / "inbox").symlink_to(inbox)
    (second.folder / "outbox").symlink_to(outbox)
    first.start()
    second.start()
    drop(first, range(40))
    wait_for(first, "all files", lambda: len(delivered(first)) == 40 and not left_over(first))
    assert first.kill() == -9  # whoever is left takes over
    drop(second, range(40, 60))
    wait_for(second, "the rest", lambda: len(delivered(second)) == 60 and not left_over(second))
    assert len(second.documents()) == 60


TREE = HEAD.replace("after: delete", "depth: 2\n    after: delete").replace("NAMED", 'name: "${name}"')


def test_sub_folders_are_looked_into_oldest_first(make_node):
    """A document has the name of its file; folders stay, links are not followed, nothing below `depth` is taken."""
    node = make_node(config=TREE)
    inbox = node.folder / "inbox"
    (inbox / "x" / "y" / "z").mkdir(parents=True)
    (inbox / "x" / "way").symlink_to(node.folder)
    for number, path in enumerate(["x/y/c.txt", "a.txt", "x/b.txt", "x/y/z/deep.txt"]):
        (inbox / path).write_text(path)
        os.utime(inbox / path, (1700000000 - number,) * 2)
    node.start()
    wait_for(node, "documents", lambda: states(node) == ["delivered"] * 3)
    assert delivered(node) == {"a.txt": b"a.txt", "b.txt": b"x/b.txt", "c.txt": b"x/y/c.txt"}
    assert left_over(node) == ["x/y/z/deep.txt"]
    assert [node.show(doc, "name")["name"] for doc in reversed(node.documents())] == ["b.txt", "a.txt", "c.txt"]


DAILY = HEAD.replace("NAMED", "name: inventory.csv, exists: EXISTS")


@pytest.mark.proves("FI8")
def test_a_daily_file_replaces_that_of_yesterday(make_node):
    """With `exists: replace` each document takes the name at once; with `wait`, the default, it waits for it."""
    node = make_node(config=DAILY.replace("EXISTS", "replace"))
    node.start()
    for day in ("monday", "tuesday", "wednesday"):
        drop_one(node, day)
        wait_for(node, f"{day} in the outbox", lambda: delivered(node) == {"inventory.csv": day.encode()})
    wait_for(node, "three deliveries", lambda: states(node) == ["delivered"] * 3)
    node.write_config(DAILY.replace(", exists: EXISTS", ""))
    assert node.cli("apply", node.config_file).returncode == 0
    drop_one(node, "thursday")
    wait_for(node, "a delivery that waits", lambda: states(node)[0] in ("held", "retrying"))
    assert delivered(node) == {"inventory.csv": b"wednesday"}
    (node.folder / "outbox" / "inventory.csv").unlink()
    wait_for(node, "thursday", lambda: delivered(node) == {"inventory.csv": b"thursday"})


def drop_one(node, content):
    inbox = node.folder / "inbox"
    inbox.mkdir(exist_ok=True)
    (inbox / "one.part").write_text(content)
    os.rename(inbox / "one.part", inbox / "one.txt")


def test_replace_and_append_exclude_each_other(make_node):
    node = make_node(config=DAILY.replace("EXISTS", "replace, append: true"))
    done = node.cli("check", node.config_file)
    assert done.returncode != 0 and "exclude each other" in done.stdout + done.stderr
