"""Files of FTP servers that become documents: pyftpdlib (MLSD), which does as it is told, and vsftpd (LIST)."""
import os
import signal
import time

import proxy
import pytest

from ftp_servers import LOGIN, authority, both, certificates, peer, peers, vsftpd_server  # noqa: F401
from peers import files_below
from rig.process import memory_bytes
from running_node import BINARY

SECONDS = 60
SIZE_MIB = int(os.environ.get("WAYBILL_STREAM_MIB", "96"))
LISTED = int(os.environ.get("WAYBILL_LISTED", "3000"))
GROWN_MOST = 32 << 20
CONFIG = """\
systems: {{ acme: {{}}, archive: {{}} }}
types: {{ order: {{}} }}
gateways:
  web:
    kind: http
    auth: none
    extract: {{ sender: "value:acme", receiver: "value:archive", type: "value:order" }}
  drop:
    kind: ftp
    url: "{url}"
    every: {every}
    min_age: 0s
    after: {after}
    timeout: {timeout}
    extract: {{ sender: "value:acme", receiver: "value:archive", type: "value:order" }}
    limits: {{ size: {size} }}
    {more}
endpoints:
  out: {{ kind: file, system: archive, path: ./outbox, name: "${{name}}", timeout: 60s,
          retry: {{ first: 50ms, most: 200ms }} }}
routes:
  - {{ name: all, when: {{ type: order }}, do: [ {{ deliver: out }} ] }}
"""


def config(server, more=LOGIN, scheme="ftp", folder="in", after="delete", timeout="30s", every="100ms",
           size="2 GiB"):
    return CONFIG.format(url=f"{scheme}://127.0.0.1:{server.port}/{folder}", more=more.replace("\n", "\n    "),
                         after=after, timeout=timeout, every=every, size=size)


@pytest.fixture
def make(make_node):
    """A node with one FTP gateway."""
    def run(server, more=LOGIN, environment=None, **rest):
        node = make_node(config=config(server, more, **rest), environment=environment or {})
        node.start()
        return node
    return run


def wait_for(node, what, condition):
    until = time.monotonic() + SECONDS
    while not (got := condition()):
        assert time.monotonic() < until, f"no {what}:\n{node.tail()}"
        time.sleep(0.05)
    return got


def drop(server, files):
    """Puts files there as a careful sender does."""
    for name, content in files.items():
        path = server.inbox / name
        path.parent.mkdir(exist_ok=True)
        part = path.parent / "new.part"
        part.write_bytes(content)
        part.chmod(0o666)
        part.rename(path)


def delivered(node):
    return {f.name: f.read_bytes() for f in (node.folder / "outbox").glob("[!.]*")}


def left(server):
    """Files, also claimed ones."""
    return files_below(server.inbox)


def taken(node, server, files, leaves=()):
    """All of them arrive, and what is left there is this."""
    wait_for(node, f"all of {len(files)} files", lambda: delivered(node) == files)
    wait_for(node, "clean folder", lambda: left(server) == sorted(leaves))
    assert len(node.documents()) == len(files)


def refused(node, name, words):
    return wait_for(node, f"complaint about {name!r}", lambda: any(
        e["event"] == "gateway.refuse" and e["name"] == name and words in e["why"] for e in list(node.events)))


def fails(node, words, since=0):
    why = node.wait_event("gateway.fail", SECONDS, since=since, gateway="drop")["why"]
    assert words in why, why
    return why


def logins(peer):
    return sum(line.startswith("PASS") for line in peer.log())


FILES = {"a.xml": b"one", "b c.bin": bytes(range(256)) * 5000 + b"\r\n.\n", "empty": b""}


# ---- it comes in ----------------------------------------------------------------------------------

@pytest.mark.smoke
@pytest.mark.proves("IN3")
def test_files_become_documents(make, peer):
    drop(peer, FILES)
    node = make(peer)
    taken(node, peer, FILES)
    assert list(peer.inbox.iterdir()) == [peer.inbox / ".waybill"] and not list((peer.inbox / ".waybill").iterdir())
    more = {f"{n}.txt": b"%d" % n for n in range(40)}
    drop(peer, more)
    taken(node, peer, FILES | more)
    log = peer.log()
    assert any(line.startswith("MLSD") for line in log) and not any(line.startswith("LIST") for line in log)
    assert logins(peer) == 1  # for all polls
    assert not any(e["event"] in ("gateway.fail", "gateway.refuse") for e in node.events)


def test_names_are_what_they_are(make, peer):
    names = ["é ü.txt", " lead", "a%41b", "a;type=a", "x?y#z", "a+b=c&d", "'q\"", "~", "*", "-l", "n" * 250, "a -> b"]
    hostile = ["new\nline", "ta\tb", "back\\..\\slash\x7f"]
    drop(peer, {name: name.encode() for name in names + hostile})
    (peer.inbox / os.fsdecode(b"\xff\xfe")).write_bytes(b"not UTF-8")
    (peer.inbox / ".hidden").write_bytes(b"x")
    (peer.inbox / "half.part").write_bytes(b"x")
    node = make(peer)
    taken(node, peer, {name: name.encode() for name in names},
          hostile + [".hidden", "half.part", os.fsdecode(b"\xff\xfe")])
    for name in ("ta\tb", "back\\..\\slash\x7f"):
        assert refused(node, name, "control")


@pytest.mark.proves("IN4")
def test_what_stays_is_taken_once(make, peer):
    """`after: keep`: also over a restart; a new content is a new document."""
    drop(peer, {"a": b"one", "b": b"two"})
    node = make(peer, after="keep")
    taken(node, peer, {"a": b"one", "b": b"two"}, ["a", "b"])
    node.restart()
    (node.folder / "outbox" / "b").unlink()
    drop(peer, {"b": b"three", "c": b"new"})
    taken_after = {"a": b"one", "b": b"three", "c": b"new"}
    wait_for(node, "new files", lambda: delivered(node) == taken_after)
    assert len(node.documents()) == 4 and left(peer) == ["a", "b", "c"]


def test_files_are_moved_on(make, peer):
    (peer.inbox / "done").mkdir()
    (peer.inbox / "done" / "a").write_bytes(b"theirs")
    drop(peer, {"a": b"one", "b": b"two"})
    node = make(peer, LOGIN + "\ndepth: 1", after="{ move: ./done/ }")
    wait_for(node, "documents", lambda: delivered(node) == {"a": b"one", "b": b"two"})
    wait_for(node, "moved files", lambda: len(list((peer.inbox / "done").iterdir())) == 3)
    moved = {f.name: f.read_bytes() for f in (peer.inbox / "done").iterdir()}
    assert moved.pop("a") == b"theirs" and moved.pop("b") == b"two"
    (name, content), = moved.items()
    assert name.startswith("a.") and content == b"one" and len(node.documents()) == 2


def test_sub_folders_markers_and_patterns(make, peer):
    """Oldest first; a file counts when its marker is there; a link leads nowhere."""
    for number, path in enumerate(["x/y/c.txt", "a.txt", "x/b.txt", "x/y/z/deep.txt", "x/no.csv", "unmarked.txt"]):
        drop_at = peer.inbox / path
        drop_at.parent.mkdir(parents=True, exist_ok=True)
        drop_at.write_text(path)
        os.utime(drop_at, (1700000000 - number,) * 2)
        if path != "unmarked.txt":
            (peer.inbox / f"{path}.ok").touch()
    node = make(peer, LOGIN + '\ndepth: 2\nmatch: "*.txt"\nmarker: .ok')
    files = {"a.txt": b"a.txt", "b.txt": b"x/b.txt", "c.txt": b"x/y/c.txt"}
    taken(node, peer, files, ["unmarked.txt", "x/no.csv", "x/no.csv.ok", "x/y/z/deep.txt", "x/y/z/deep.txt.ok"])
    assert [node.show(doc, "name")["name"] for doc in reversed(node.documents())] == ["b.txt", "a.txt", "c.txt"]


@pytest.mark.proves("IN13", "FI15")
def test_a_file_that_grows_is_read_again(make, peer):
    peer.script(RETR="grow")
    drop(peer, {"a": b"one"})
    node = make(peer)
    wait_for(node, "second try", lambda: sum(line.startswith("RETR") for line in peer.log()) >= 2)
    assert not delivered(node) and not node.documents()
    peer.script()
    wait_for(node, "file", lambda: delivered(node))
    content, = delivered(node).values()
    assert content.startswith(b"one++") and set(content[3:]) == {ord("+")} and len(node.documents()) == 1


# ---- encrypted, and on other servers ---------------------------------------------------------------

def test_files_are_encrypted(make, peers, certificates, authority, tmp_path):
    for scheme, implicit in (("ftp", False), ("ftps", True)):
        peer = peers(tls=both(certificates, "good", tmp_path), implicit=implicit)
        drop(peer, FILES)
        node = make(peer, LOGIN + f"\ntls: {{ ca: '{authority}' }}", scheme=scheme)
        taken(node, peer, FILES)
        assert any(line.startswith("PROT P") for line in peer.log()) and logins(peer) == 1


@pytest.mark.parametrize("encrypted", [False, True])
def test_vsftpd_gives_files(make, vsftpd_server, certificates, authority, encrypted):
    server = vsftpd_server(*([certificates.path("good.pem"), certificates.path("good.key")] if encrypted else []),
                           mkdir=True)
    drop(server, FILES | {"sub/ lead é": b"x"})
    (server.inbox / "sub").chmod(0o777)
    (server.inbox / "link").symlink_to("/etc/passwd")
    node = make(server, (f"tls: {{ ca: '{authority}' }}\n" if encrypted else "") + "depth: 1")
    taken(node, server, FILES | {" lead é": b"x"}, ["link"])
    assert refused(node, "link", "symbolic link") and (server.inbox / ".waybill").is_dir()


@pytest.mark.proves("IN4")
def test_without_a_work_folder_files_are_read_where_they_lie(make, vsftpd_server):
    """What may not be removed is taken once, also over a restart."""
    server = vsftpd_server()
    drop(server, {"a": b"one", "b": b"two"})
    node = make(server, "depth: 0")
    taken(node, server, {"a": b"one", "b": b"two"})
    assert refused(node, "127.0.0.1", "no work folder")
    drop(server, {"c": b"three"})
    server.inbox.chmod(0o555)
    wait_for(node, "the third", lambda: "c" in delivered(node))
    assert refused(node, "c", "cannot be removed")
    node.restart()
    server.inbox.chmod(0o777)
    drop(server, {"d": b"four"})
    wait_for(node, "the fourth", lambda: "d" in delivered(node))
    assert len(node.documents()) == 4


# ---- what goes wrong ------------------------------------------------------------------------------

@pytest.mark.proves("IN5", "IN11")
def test_a_wrong_login_is_told_and_harms_nobody(make, peer):
    node = make(peer, "user: waybill\npassword: wr0ng-secret")
    assert "530" in fails(node, "check `user` and the password")
    wait_for(node, "reason", lambda: node.get("/readyz").json["reasons"])
    assert node.post("web", b"x", {"Waybill-Name": "w"}).status == 202
    drop(peer, {"a": b"one"})
    node.write_config(config(peer))
    assert node.cli("apply", node.config_file).returncode == 0
    wait_for(node, "file", lambda: delivered(node) == {"a": b"one", "w": b"x"})
    assert "wr0ng-secret" not in "".join(str(event) for event in node.events)


def test_what_is_not_encrypted_gets_no_password(make, peers, certificates, authority, tmp_path):
    plain = peers()
    assert make(plain, LOGIN + "\ntls: explicit").wait_event("gateway.fail", SECONDS)["why"].count("no encryption") == 1
    expired = peers(tls=both(certificates, "expired", tmp_path))
    node = make(expired, LOGIN + f"\ntls: {{ ca: '{authority}' }}")
    fails(node, "its certificate is not right")
    assert logins(plain) == logins(expired) == 0


@pytest.mark.parametrize("answers, words", [
    ({"CWD": "550 gone"}, "the folder in `url` is not there"), ({"MLSD": "550 no"}, "check the rights"),
    ({"EPSV": "500 no", "PASV": "500 no"}, "data connection"), ({"RETR": "cut"}, "connection broke"),
    ({"SIZE": "502 what"}, "does not know SIZE"), ({"DELE": "550 no"}, "cannot be removed")])
def test_what_the_server_refuses_is_tried_again(make, peer, answers, words):
    peer.script(**answers)
    drop(peer, {"a": b"one"})
    node = make(peer)
    fails(node, words)
    peer.script()
    taken(node, peer, {"a": b"one"})
    node.wait_event("gateway.recover", SECONDS, gateway="drop")


def test_one_file_that_is_refused_harms_no_other(make, peer):
    """It cannot be read, or is too large: it is put back, and told once."""
    peer.script(RETR="550 not yours")
    drop(peer, {"a": b"one"})
    node = make(peer, size="100")
    assert refused(node, "a", "cannot be read")
    peer.script()
    drop(peer, {"large": b"x" * 101, "small": b"x" * 100})
    taken(node, peer, {"a": b"one", "small": b"x" * 100}, ["large"])
    assert refused(node, "large", "limits.size")


def test_a_kept_login_that_is_silent_is_no_failure(make, peer):
    """Nothing comes back over the old one: the look goes on over a new one."""
    with proxy.Proxy(peer.port) as between:
        node = make(between)
        drop(peer, {"a": b"one"})
        taken(node, peer, {"a": b"one"})
        between.mute = b"NOOP"
        wait_for(node, "new login", lambda: logins(peer) > 1)
        between.mute = None
        drop(peer, {"b": b"two"})
        taken(node, peer, {"a": b"one", "b": b"two"})
        assert not any(e["event"] in ("gateway.fail", "gateway.hang") for e in node.events)


@pytest.mark.proves("IN11")
def test_a_server_that_dies_or_stands_still_is_waited_for(make, peer):
    node = make(peer, timeout="2s")
    wait_for(node, "poll", lambda: logins(peer))
    peer.signal(signal.SIGSTOP)
    fails(node, "in time")
    assert node.post("web", b"x", {"Waybill-Name": "w"}).status == 202
    seen = len(node.events)
    peer.signal(signal.SIGKILL)
    drop(peer, {"a": b"one"})
    peer.start()
    wait_for(node, "file", lambda: delivered(node) == {"a": b"one", "w": b"x"})
    node.wait_event("gateway.recover", SECONDS, since=seen, gateway="drop")
    assert not any(e["event"] == "gateway.hang" for e in node.events)  # it ends by itself


@pytest.mark.proves("IN3", "IN4")
@pytest.mark.parametrize("fault", ["file.claimed:kill:2", "file.read:kill:2", "file.taken:kill:1"])
def test_a_crash_loses_and_doubles_no_file(make_node, peer, fault):
    node = make_node(config=config(peer), environment={"WAYBILL_FAULT": fault})
    drop(peer, FILES)
    node.launch()
    assert node.ended() == -9
    del node.environment["WAYBILL_FAULT"]
    node.start()
    taken(node, peer, FILES)


@pytest.mark.proves("IN4")
@pytest.mark.parametrize("fault", ["file.read:kill:1", "file.taken:kill:1"])
def test_a_crash_without_a_work_folder_doubles_no_file(make_node, vsftpd_server, fault):
    server = vsftpd_server()
    node = make_node(config=config(server, ""), environment={"WAYBILL_FAULT": fault})
    drop(server, FILES)
    node.launch()
    assert node.ended(SECONDS) == -9
    del node.environment["WAYBILL_FAULT"]
    node.start()
    taken(node, server, FILES)


def test_a_server_that_dies_at_a_claim_loses_nothing(make, peer):
    """The rename is done, and its answer is lost."""
    peer.script(RNTO="drop")
    drop(peer, {"a": b"one"})
    node = make(peer)
    fails(node, "")
    peer.script()
    taken(node, peer, {"a": b"one"})


# ---- much -----------------------------------------------------------------------------------------

def test_memory_does_not_grow_with_a_file(make, vsftpd_server):
    """WAYBILL_STREAM_MIB says how large it is."""
    server = vsftpd_server(mkdir=True)
    drop(server, {"warm": b"x" * (4 << 20)})
    node = make(server, "depth: 0")
    wait_for(node, "small file", lambda: "warm" in delivered(node))
    with open(f"/proc/{node.process.pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the peak begins again
    before = memory_bytes(node.process.pid)
    large = server.inbox / "new.part"
    with open(large, "wb") as file:
        for n in range(SIZE_MIB):
            file.write(n.to_bytes(4, "big") * (1 << 18))
    large.chmod(0o666)
    large.rename(server.inbox / "large")
    out = node.folder / "outbox" / "large"
    wait_for(node, "large file", lambda: out.exists() and not left(server))
    grown = memory_bytes(node.process.pid, "VmHWM") - before
    print(f"ftp in: {SIZE_MIB} MiB, grown by {grown >> 20} MiB")
    assert out.stat().st_size == SIZE_MIB << 20
    assert grown < GROWN_MOST or BINARY.parent.name == "asan"  # which keeps what is freed for a while
    with open(out, "rb") as file:
        assert all(file.read(1 << 20) == n.to_bytes(4, "big") * (1 << 18) for n in range(SIZE_MIB))


@pytest.mark.proves("FI13")
def test_many_files_do_not_hide_one(make, peer):
    """WAYBILL_LISTED says how many; one login for all."""
    for n in range(LISTED):
        (peer.inbox / f"file-with-a-long-name-{n:07}.csv").touch()
    drop(peer, {"one.xml": b"one"})
    node = make(peer, LOGIN + '\nmatch: "*.xml"', every="1s")
    wait_for(node, "file", lambda: delivered(node) == {"one.xml": b"one"})
    wait_for(node, "clean folder", lambda: len(left(peer)) == LISTED)
    assert logins(peer) == 1
