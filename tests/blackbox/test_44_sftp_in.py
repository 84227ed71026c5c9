"""Files that are polled over SFTP, from OpenSSH's own server: what is taken, what becomes of it, what is refused, and
what happens when the server, the line or the node itself fails in the middle."""
import hashlib
import json
import os
import pathlib
import threading
import time

import proxy
import pytest
import sshd
from peers import files_below

SECONDS = 90
MIB = 1 << 20
pytestmark = [pytest.mark.skipif(bool(sshd.missing()), reason=str(sshd.missing()))]

GATEWAY = """\
  {name}: {{ kind: sftp, url: "{url}", password: "{password}", host_key: "{print}", every: 100ms, min_age: {min_age},
           limits: {{ size: 128 MiB }}, extract: {{ sender: "value:acme", receiver: "value:archive", type: "value:order" }}{more} }}
"""
CONFIG = """\
systems: {{ acme: {{}}, archive: {{}} }}
types: {{ order: {{}} }}
gateways:
{gateways}  near: {{ kind: file, path: ./near, every: 100ms, min_age: 0s, after: delete,
          extract: {{ sender: "value:acme", receiver: "value:archive", type: "value:order" }} }}
endpoints:
  out: {{ kind: file, system: archive, path: ./outbox, name: "{name}", timeout: 10m }}
routes:
  - {{ name: all, when: {{ type: order }}, do: [ {{ deliver: out }} ] }}
"""


@pytest.fixture(scope="module")
def the_server():
    with sshd.Sshd() as s:
        yield s


@pytest.fixture
def server(the_server):
    """The server with a folder of its own; one that a test has ended is begun again."""
    if the_server.process is None:
        the_server.start()
    number = len(list(the_server.home.glob("in*")))
    the_server.inbox = folder(the_server, f"in{number}")
    the_server.since = the_server.logins()
    return the_server


def folder(server, name):
    made = server.home / name
    made.mkdir(parents=True)
    os.chown(made, sshd.UID, sshd.UID)
    return made


def gateway(server, name="edi", path=None, more="after: delete", password=sshd.PASSWORD, told=None, port=None, min_age="0s"):
    return GATEWAY.format(name=name, url=server.url(path or server.inbox, port), password=password,
                          print=told or server.print(), more=f", {more}" if more else "", min_age=min_age)


def config(*gateways, name="${name}"):
    return CONFIG.format(gateways="".join(gateways), name=name)


@pytest.fixture
def run(make_node):
    def make(*gateways, **more):
        node = make_node(config=config(*gateways, **more))
        node.start()
        return node
    return make


def put(at, name, body=b"a document", when=None):
    """As a careful sender does; the file is the login's own."""
    path = pathlib.Path(at) / name
    if not path.parent.exists():
        path.parent.mkdir()
        os.chown(path.parent, sshd.UID, sshd.UID)
    part = pathlib.Path(f"{path}.part")
    part.write_bytes(body)
    os.chown(part, sshd.UID, sshd.UID)
    if when is not None:
        os.utime(part, (when, when))
    part.rename(path)
    return path


def arrived(node):
    return {f.name: f.read_bytes() for f in (node.folder / "outbox").glob("[!.]*")}


def here(at):
    """Every file that is left there, with its path; nothing of ours is among them."""
    return files_below(at)


def wait_for(node, what, condition, seconds=SECONDS):
    until = time.monotonic() + seconds
    while not (got := condition()):
        assert time.monotonic() < until, f"no {what} after {seconds} s:\n{node.tail()}"
        time.sleep(0.05)
    return got


def all_in(node, at, files):
    """Each of the files is one document, and gone."""
    wait_for(node, "documents", lambda: arrived(node) == files and len(node.documents()) == len(files))
    wait_for(node, "an empty folder", lambda: here(at) == [])
    assert len(node.documents()) == len(files)


def others_go_on(node, name="near.txt"):
    """Another gateway is not kept."""
    (node.folder / "near").mkdir(exist_ok=True)
    (node.folder / "near" / name).write_text("near")
    wait_for(node, "file of another gateway", lambda: arrived(node).get(name) == b"near")


def refused(node, name, *words):
    """The one complaint about it."""
    event = wait_for(node, f"complaint about {name}", lambda: [
        e for e in node.events if e.get("event") == "gateway.refuse" and e["name"] == name])[0]
    assert all(w in json.dumps(event) for w in words) and event["hint"], event


def failed(node, *words):
    """It fails, says this, and what to do about it."""
    def why():
        shown = {g["name"]: g["broken"] for g in node.graphql("{ gateways { name broken } }")["gateways"]}
        return shown["near"] is None and shown["edi"] and all(w in shown["edi"] for w in words)
    wait_for(node, f"failure: {words}", why)


def apply(node, text, *options):
    node.write_config(text)
    done = node.cli("apply", node.config_file, *options)
    assert done.returncode == 0, done.stdout + done.stderr


def count(node, at):
    """How many documents there are after one more whole look: a file that is put there now is taken by it."""
    name = f"zz{time.monotonic_ns()}"
    put(at, name)
    wait_for(node, "one more look", lambda: (node.folder / "outbox" / name).exists())
    taken = [node.show(doc, "name")["name"] for doc in node.documents()]
    return len([n for n in taken if not n.startswith("zz")])


# ---- what is taken

@pytest.mark.smoke
@pytest.mark.proves("IN3")
def test_files_become_documents_and_go(run, server):
    node = run(gateway(server))
    files = {"order 1.xml": bytes(range(256)) * 300, "größe.txt": b"x", "empty": b""}
    for name, body in files.items():
        put(server.inbox, name, body)
    (server.inbox / "half.part").write_bytes(b"half")
    (server.inbox / ".hidden").write_bytes(b"hidden")
    wait_for(node, "documents", lambda: arrived(node) == files)
    wait_for(node, "removal", lambda: here(server.inbox) == [".hidden", "half.part"])
    more = {f"{n}": f"document {n}".encode() for n in range(520)}  # more than one look takes
    for name, body in more.items():
        put(server.inbox, name, body)
    wait_for(node, "all of them", lambda: arrived(node) == files | more)
    assert len(node.documents()) == 523
    wait_for(node, "removal", lambda: here(server.inbox) == [".hidden", "half.part"])
    assert server.logins() - server.since == 1  # the connection is kept
    assert list((server.inbox / ".waybill").iterdir()) == []


def test_a_large_one_is_read_in_pieces(run, server):
    body = os.urandom(MIB) * 48 + b"the end"
    put(server.inbox, "large", body)
    node = run(gateway(server))
    wait_for(node, "document", lambda: "large" in arrived(node))
    assert hashlib.sha256(arrived(node)["large"]).digest() == hashlib.sha256(body).digest()
    wait_for(node, "removal", lambda: here(server.inbox) == [])


def test_kept_files_are_taken_once_and_again_when_they_change(run, server):
    put(server.inbox, "a", b"first", when=1700000000)
    node = run(gateway(server, more="after: keep"))
    wait_for(node, "document", lambda: arrived(node).get("a") == b"first")
    node.restart()
    assert count(node, server.inbox) == 1
    (node.folder / "outbox" / "a").unlink()
    put(server.inbox, "a", b"other")
    wait_for(node, "second document", lambda: arrived(node).get("a") == b"other")
    assert "a" in here(server.inbox)


def test_taken_files_are_moved_and_both_are_kept(run, server):
    """The folder lies in the one that is looked through, and nothing in it is taken again."""
    done = folder(server, f"{server.inbox.name}/sub/done")
    os.chown(server.inbox / "sub", sshd.UID, sshd.UID)
    node = run(gateway(server, more="depth: 3, after: { move: sub/done }"))
    for number, body in enumerate((b"one", b"two")):
        put(server.inbox, "x", body)
        wait_for(node, "move", lambda n=number: len(here(done)) == n + 1)
        wait_for(node, "delivery", lambda b=body: arrived(node).get("x") == b)
        (node.folder / "outbox" / "x").unlink()
    put(server.inbox, "sub/y", b"three")
    wait_for(node, "move", lambda: len(here(done)) == 3)
    assert sorted((done / n).read_bytes() for n in here(done)) == [b"one", b"three", b"two"]
    assert count(node, server.inbox) == 3 and (done / "x").read_bytes() == b"one"
    done.rename(server.home / f"{server.inbox.name}-away")
    failed(node, "the folder of `after: move`", "is not there", "`move`")


def test_which_files_and_in_which_order(run, server):
    for number, path in enumerate(["x/c.xml", "a.xml", "x/b.xml", "no.txt", "x/y/deep.xml", "unmarked.xml"]):
        put(server.inbox, path, path.encode(), when=1700000000 - number)
        if number < 5:
            put(server.inbox, f"{path}.ok", b"")
    node = run(gateway(server, more='depth: 1, match: "*.xml", marker: .ok, after: delete'))
    files = {"c.xml": b"x/c.xml", "a.xml": b"a.xml", "b.xml": b"x/b.xml"}
    wait_for(node, "documents", lambda: arrived(node) == files)
    wait_for(node, "removal", lambda: here(server.inbox) == ["no.txt", "no.txt.ok", "unmarked.xml", "x/y/deep.xml",
                                                             "x/y/deep.xml.ok"])
    assert [node.show(doc, "name")["name"] for doc in reversed(node.documents())] == ["b.xml", "a.xml", "c.xml"]
    put(server.inbox, "unmarked.xml.ok", b"")
    wait_for(node, "the last", lambda: "unmarked.xml" in arrived(node))


@pytest.mark.proves("IN13")
def test_a_file_that_grows_is_taken_whole(run, server):
    """Claimed or not.  It grows for longer than `min_age`, which is longer than a busy machine makes us pause."""
    other = folder(server, f"{server.inbox.name}-kept")
    node = run(gateway(server, min_age="5s"), gateway(server, "kept", other, "after: keep", min_age="5s"))
    body = b""
    with open(server.inbox / "slow", "wb", buffering=0) as one, open(other / "kept", "wb", buffering=0) as two:
        os.fchown(one.fileno(), sshd.UID, sshd.UID)
        for n in range(24):
            one.write(b"%d\n" % n)
            two.write(b"%d\n" % n)
            body += b"%d\n" % n
            time.sleep(0.25)
    assert all(got == body for got in arrived(node).values())
    wait_for(node, "documents", lambda: arrived(node) == {"slow": body, "kept": body})
    wait_for(node, "the end of the claim", lambda: here(server.inbox) == [])
    assert len(node.documents()) == 2 and here(other) == ["kept"]


# ---- what is refused

def test_hostile_names_and_what_is_no_file(run, server):
    inbox = os.fsencode(server.inbox)
    for name in (b"new\nline", b"not utf-8 \xff", b"-rf *;$(x)`y`\\", b"n" * 255):
        with open(inbox + b"/" + name, "wb") as f:
            f.write(b"x")
            os.fchown(f.fileno(), sshd.UID, sshd.UID)
    (server.inbox / "link").symlink_to("/etc/passwd")
    os.mkfifo(server.inbox / "pipe")
    put(server.inbox, "too large", b"x" * 2000)
    secret = put(server.inbox, "not for us", b"x")
    os.chown(secret, 0, 0)
    secret.chmod(0o600)
    node = run(gateway(server).replace("128 MiB", "1 KiB"))
    wait_for(node, "documents", lambda: sorted(arrived(node)) == ["-rf *;$(x)`y`\\", "n" * 255])
    refused(node, "new\nline", "control character", "Rename")
    refused(node, "not utf-8 \ufffd", "not UTF-8", "Rename")
    refused(node, "link", "symbolic link")
    refused(node, "pipe", "no plain file")
    refused(node, "too large", "limits.size")
    refused(node, "not for us", "cannot be read", "right to read")
    assert count(node, server.inbox) == 2
    assert len([e for e in node.events if e.get("event") == "gateway.refuse"]) == 6  # each once
    wait_for(node, "removal", lambda: len(os.listdir(os.fsencode(server.inbox))) == 7)  # the six, and the work folder


@pytest.mark.proves("IN5", "IN11")
def test_what_is_wrong_is_said_and_harms_nobody(run, server):
    put(server.inbox, "x")
    node = run(gateway(server, password="hunter2"))
    failed(node, "refuses the login of sftpu", "correct `user`, `password` or `private_key`")
    others_go_on(node, "1")
    shown = wait_for(node, "reason", lambda: node.get("/readyz").json["reasons"])
    assert "gateway edi" in shown[0] and node.metrics()['waybill_gateway_errors_total{gateway="edi"}'] >= 3
    apply(node, config(gateway(server, told="SHA256:" + "A" * 43)))
    failed(node, "another host key", server.print(), "`host_key`")
    apply(node, config(gateway(server, path=server.home / "nowhere")))
    failed(node, "the folder", "nowhere is not there: make it, or correct `url`")
    apply(node, config(gateway(server, path=server.home / "keys")))
    failed(node, "keys is no folder", "`url`")
    apply(node, config(gateway(server, more="after: { move: . }")))
    failed(node, "the one to look in", "`move`")
    apply(node, config(gateway(server).replace("127.0.0.1", "169.254.1.1")))
    failed(node, "link-local address", "node.egress")
    others_go_on(node, "2")
    assert here(server.inbox) == ["x"]
    apply(node, config(gateway(server)))
    all_but_near = {"1": b"near", "2": b"near", "x": b"a document"}
    wait_for(node, "document", lambda: arrived(node) == all_but_near)
    assert "hunter2" not in node.tail(100000)
    assert node.wait_event("gateway.recover")["gateway"] == "edi"


def test_a_configuration_that_cannot_work_is_refused(program, server, tmp_path):
    path = tmp_path / "w.yaml"
    good = config(gateway(server))
    for wrong, words in ((good.replace(f'host_key: "{server.print()}", ', ""), "host_key"),
                         (good.replace(server.print(), "SHA256:short"), "43"),
                         (good.replace("sftpu@", ""), "which user"),
                         (good.replace(f'password: "{sshd.PASSWORD}", ', ""), "how to log in")):
        path.write_text(wrong)
        checked = program("check", path)
        assert checked.returncode != 0 and words in checked.stdout + checked.stderr, words
    path.write_text(good.replace(server.print(), "any"))
    checked = program("check", path)
    assert checked.returncode == 0 and "host_key: any" in checked.stdout + checked.stderr


# ---- rights

@pytest.mark.proves("IN4")
@pytest.mark.parametrize("mode", [0o755, 0o1777], ids=["read-only", "sticky"])
def test_what_cannot_be_renamed_or_removed_is_taken_once(run, server, mode):
    """The folder is somebody else's; in the sticky one the login may write, but not touch these files."""
    for name in ("a", "b"):
        os.chown(put(server.inbox, name, name.encode()), 0, 0)
    os.chown(server.inbox, 0, 0)
    server.inbox.chmod(mode)
    node = run(gateway(server))
    wait_for(node, "documents", lambda: arrived(node) == {"a": b"a", "b": b"b"})
    refused(node, str(server.inbox), "cannot be claimed", "Permission denied", "after: keep")
    for name in ("a", "b"):
        refused(node, name, "Permission denied", "not taken again")
    node.restart()
    put(server.inbox, "c", b"c")
    wait_for(node, "third", lambda: "c" in arrived(node))
    assert count(node, server.inbox) == 3
    assert {"a", "b"} <= set(here(server.inbox)) and not any(n.startswith(".") for n in here(server.inbox))
    os.chown(server.inbox, sshd.UID, sshd.UID)  # now it may
    node.restart()
    wait_for(node, "removal", lambda: here(server.inbox) == [])
    assert count(node, server.inbox) == 3


def test_a_right_that_is_lost_meanwhile_loses_nothing(run, server):
    """Claims worked; then the folder is closed to writers, and opened again."""
    node = run(gateway(server))
    put(server.inbox, "a", b"a")
    wait_for(node, "document", lambda: "a" in arrived(node) and here(server.inbox) == [])
    os.chown(server.inbox, 0, 0)
    for name in ("b", "c"):
        (server.inbox / name).write_text(name)
    wait_for(node, "documents", lambda: arrived(node) == {n: n.encode() for n in "abc"})
    refused(node, str(server.inbox), "cannot be claimed", "Permission denied")
    os.chown(server.inbox, sshd.UID, sshd.UID)
    put(server.inbox, "d", b"d")
    wait_for(node, "document", lambda: "d" in arrived(node) and not (server.inbox / "d").exists())
    assert len(node.documents()) == 4


# ---- the server, the line and the node fail

@pytest.mark.proves("IN3", "IN4")
@pytest.mark.parametrize("point, after", [("file.claimed:kill:3", "delete"), ("file.read:kill:2", "delete"),
                                          ("file.taken:kill:2", "delete"), ("file.taken:kill:1", "keep"),
                                          ("file.claimed:kill:2", "{ move: done }"), ("file.taken:kill:3", "{ move: done }")])
def test_our_own_crash_loses_and_doubles_no_file(make_node, server, point, after):
    files = {f"{n}": f"document {n}\n".encode() * 20000 for n in range(6)}
    done = folder(server, f"{server.inbox.name}/done")
    for name, body in files.items():
        put(server.inbox, name, body)
    node = make_node(config=config(gateway(server, more=f"after: {after}")), environment={"WAYBILL_FAULT": point})
    node.launch()
    assert node.ended() == -9
    del node.environment["WAYBILL_FAULT"]
    node.start()
    wait_for(node, "documents", lambda: arrived(node) == files)
    left = sorted(files) if after == "keep" else [f"done/{n}" for n in sorted(files)] if "move" in after else []
    wait_for(node, "the end", lambda: here(server.inbox) == left)
    assert count(node, server.inbox) == len(files)
    assert len([n for n in here(done) if n in files]) == (6 if "move" in after else 0)


@pytest.mark.proves("IN11")
def test_a_server_that_dies_in_the_middle(run, server):
    files = {f"{n}": os.urandom(MIB) * 8 for n in range(4)}
    for name, body in files.items():
        put(server.inbox, name, body)
    node = run(gateway(server))
    wait_for(node, "claim", lambda: list(server.inbox.glob(".waybill/*/*")))
    server.kill()
    failed(node, "127.0.0.1")
    others_go_on(node)
    server.start()
    wait_for(node, "documents", lambda: arrived(node) == files | {"near.txt": b"near"})
    wait_for(node, "removal", lambda: here(server.inbox) == [])
    assert len(node.documents()) == 5


@pytest.mark.proves("IN11")
def test_a_server_that_stands_still_costs_no_thread(run, server):
    node = run(gateway(server, more="after: delete, timeout: 2s"))
    put(server.inbox, "before")
    wait_for(node, "document", lambda: "before" in arrived(node))
    server.freeze()
    try:
        put(server.inbox, "after")
        failed(node, "no answer in time")
        others_go_on(node)
    finally:
        server.thaw()
    wait_for(node, "document", lambda: "after" in arrived(node))
    assert not [e for e in node.events if e.get("event") == "gateway.hang"] and len(node.documents()) == 3
    server.freeze()
    try:
        node.stop()  # no poll keeps it
    finally:
        server.thaw()


def test_a_line_that_is_cut_anywhere_loses_and_doubles_nothing(run, server):
    files = {f"{n}": os.urandom(30_000) for n in range(60)}
    with proxy.Proxy(server.port) as wire:
        wire.cut_after = 6000  # of what the node sends, the login included
        for name, body in files.items():
            put(server.inbox, name, body)
        node = run(gateway(server, port=wire.port))
        wait_for(node, "cuts", lambda: wire.lost >= 3)
        wire.cut_after = None
        all_in(node, server.inbox, files)


# ---- connections

def test_an_apply_keeps_the_connection_unless_it_changes_it(run, server):
    node = run(gateway(server))
    put(server.inbox, "1")
    wait_for(node, "document", lambda: "1" in arrived(node))
    apply(node, config(gateway(server)).replace("type: order }", "type: order, sender: acme }"))
    put(server.inbox, "2")
    wait_for(node, "document", lambda: "2" in arrived(node))
    assert server.logins() - server.since == 1
    connected = len(server.processes())
    key = sshd.keygen(server.base / "id", "ed25519")
    server.allow(key)
    with_key = gateway(server).replace(f'password: "{sshd.PASSWORD}"', f"private_key: {json.dumps(key.read_text())}")
    apply(node, config(with_key))
    put(server.inbox, "3")
    wait_for(node, "document", lambda: "3" in arrived(node))
    wait_for(node, "another login", lambda: server.logins() - server.since == 2)
    wait_for(node, "one connection", lambda: len(server.processes()) == connected)
    server.kill()  # the kept connection is dead, which is noticed before it is used
    server.start()
    put(server.inbox, "4")
    wait_for(node, "document", lambda: "4" in arrived(node))
    apply(node, config(), "--yes")
    wait_for(node, "no connection", lambda: len(server.processes()) < connected)


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not os.environ.get("WAYBILL_LONG"), reason="takes minutes: WAYBILL_LONG=1")
def test_a_hundred_thousand_names_and_a_gibibyte_take_bounded_memory(run, server):
    node = run(gateway(server).replace("128 MiB", "2 GiB"))
    put(server.inbox, "first")
    wait_for(node, "document", lambda: "first" in arrived(node))

    def resident():
        text = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) >> 10

    before, most, ending = resident(), [0], threading.Event()

    def watch():
        while not ending.wait(0.05):
            most[0] = max(most[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with open(server.inbox / "gib.part", "wb") as f:
            for _ in range(1024):
                f.write(b"%01048576d" % 7)
        os.chown(server.inbox / "gib.part", sshd.UID, sshd.UID)
        (server.inbox / "gib.part").rename(server.inbox / "gib")
        began = time.monotonic()
        wait_for(node, "document", lambda: (node.folder / "outbox" / "gib").exists(), 800)
        print("1 GiB in and out:", time.monotonic() - began, "s, MiB:", before, most[0])
        for n in range(100_000):
            (server.inbox / f"{n:06}.part").touch()
        put(server.inbox, "last")
        wait_for(node, "document", lambda: (node.folder / "outbox" / "last").exists(), 800)
    finally:
        ending.set()
        watcher.join()
    print("100 000 names, MiB:", before, most[0])
    assert most[0] - before <= 32


def test_a_probe_takes_nothing_and_names_what_is_wrong(run, server):
    node = run(gateway(server, more="after: delete, match: '*.xml'"), gateway(server, name="shut", password="wrong"))
    put(server.inbox, "other.txt")
    good, bad = node.cli("probe", "edi"), node.cli("probe", "shut")
    assert good.returncode == 0 and "can be" in good.stdout and here(server.inbox) == ["other.txt"], good.stdout
    assert bad.returncode == 1 and "login" in bad.stdout and "password" in bad.stdout, bad.stdout + bad.stderr
