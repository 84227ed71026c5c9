"""Documents that go out over SFTP, to OpenSSH's own server: what arrives, what is refused, and what happens when the
server, the line or the node itself fails in the middle."""
import hashlib
import json
import os
import time

import proxy
import pytest
import sshd

SECONDS = 90
MIB = 1 << 20
pytestmark = [pytest.mark.skipif(bool(sshd.missing()), reason=str(sshd.missing()))]

CONFIG = """\
systems: {{ acme: {{}}, far: {{ in_doubt: {policy} }}, near: {{}} }}
types: {{ order: {{}} }}
gateways:
  web:
    kind: http
    auth: none
    limits: {{ size: 128 MiB }}
    extract: {{ sender: "value:acme", receiver: "header:To", type: "value:order" }}
endpoints:
  out: {{ kind: sftp, system: far, url: "{url}", password: "{password}", host_key: "{print}", name: "{name}",
         retry: {{ first: 50ms, most: 300ms }}, breaker: {{ failures: 1000, wait: 200ms }}{more} }}
  near: {{ kind: file, system: near, path: ./near }}
routes:
  - {{ name: far, when: {{ receiver: far }}, do: [ {{ deliver: out }} ] }}
  - {{ name: near, when: {{ receiver: near }}, do: [ {{ deliver: near }} ] }}
"""


def config(server, port=None, folder=None, policy="resend", name="${name}", more="", password=sshd.PASSWORD, told=None):
    return CONFIG.format(url=server.url(folder, port), password=password, print=told or server.print(), name=name,
                         policy=policy, more=f", {more}" if more else "")


@pytest.fixture
def server():
    with sshd.Sshd() as s:
        yield s


@pytest.fixture
def wire(server):
    """The way to the server, for tests that cut it."""
    with proxy.Proxy(server.port) as p:
        yield p


@pytest.fixture
def run(make_node, server):
    def make(**settings):
        node = make_node(config=config(server, **settings))
        node.start()
        return node
    return make


def send(node, name, body=b"a document", to="far"):
    return node.accept("web", body, {"To": to, "Waybill-Name": name})


def look(node, doc):
    return node.show(doc, "state error { code message } deliveries { state held heldWhy code message attempts }")


def await_state(node, doc, *states, seconds=SECONDS):
    return node.await_state(doc, *states, look=look, seconds=seconds)


def trace(node, doc):
    """Everything that the timeline says."""
    return json.dumps(node.show(doc, "timeline { stage outcome message }"))


def wait_for(node, what, condition, seconds=SECONDS):
    until = time.monotonic() + seconds
    while not (got := condition()):
        assert time.monotonic() < until, f"no {what} after {seconds} s:\n{node.tail()}"
        time.sleep(0.05)
    return got


def message(seen):
    """Why a delivery waits."""
    return json.dumps(seen["deliveries"])


def await_words(node, doc, *words):
    """The delivery waits, and says these."""
    return wait_for(node, " ".join(words), lambda: all(w in trace(node, doc) + message(look(node, doc)) for w in words))


def others_go_on(node):
    """A delivery of another system is not kept."""
    await_state(node, send(node, "x", b"near", to="near"), "delivered")


# ---- what arrives

@pytest.mark.smoke
@pytest.mark.proves("FI7")
def test_a_document_becomes_a_file(run, server):
    node = run(name="${sender}/${name}")
    body = bytes(range(256)) * 300
    for name, bytes_ in (("order 1.xml", body), ("größe.txt", b"x")):
        assert await_state(node, send(node, name.encode().decode("latin-1"), bytes_), "delivered")
    assert server.files(server.folder / "acme") == {"order 1.xml": body, "größe.txt": b"x"}
    assert server.left_over() == []
    assert server.logins() == 1


def test_many_small_ones_share_four_connections(run, server):
    node = run()
    docs = {f"{n}.txt": send(node, f"{n}.txt", f"document {n}".encode()) for n in range(500)}
    wait_for(node, "all files", lambda: len(server.files()) == len(docs))
    assert server.files() == {f"{n}.txt": f"document {n}".encode() for n in range(500)}
    for doc in docs.values():
        await_state(node, doc, "delivered")
    assert 1 <= server.logins() <= 4
    assert server.left_over() == []


def test_a_large_one(run, server):
    node = run()
    body = os.urandom(MIB) * 64
    await_state(node, send(node, "large", body), "delivered")
    assert hashlib.sha256((server.folder / "large").read_bytes()).digest() == hashlib.sha256(body).digest()


# ---- logins

KEYS = {"ed25519": ("ed25519", (), ""), "ecdsa": ("ecdsa", (), ""), "rsa": ("rsa", (), ""),
        "pem": ("rsa", ("-m", "PEM"), ""), "pkcs8": ("ecdsa", ("-m", "PKCS8"), ""), "locked": ("ed25519", (), "open sesame"),
        "lockedpem": ("rsa", ("-m", "PEM"), "open sesame")}


def test_every_kind_of_key_logs_in(make_node, server):
    """Keys are secrets; the server may be known by any of its own keys."""
    lines = []
    for n, (name, (kind, options, passphrase)) in enumerate(KEYS.items()):
        key = sshd.keygen(server.base / f"id_{name}", kind, *options, passphrase=passphrase)
        server.allow(key)
        lock = f", passphrase: {json.dumps(passphrase)}" if passphrase else ""
        lines.append(f'  {name}: {{ kind: sftp, system: far, url: "{server.url()}", private_key: secret:{name}{lock}, '
                     f'host_key: {server.print(sshd.HOST_KEYS[n % 3])}, name: {name} }}\n')
    node = make_node(config=config(server))
    node.start()
    for name in KEYS:
        done = node.cli("secret", "add", name, stdin=(server.base / f"id_{name}").read_text())
        assert done.returncode == 0, done.stderr
    node.write_config(config(server).replace("  near: {", "".join(lines) + "  near: {", 1)
                      .replace("deliver: out", f"deliver: [{', '.join(KEYS)}]"))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr
    await_state(node, send(node, "x"), "delivered")
    assert sorted(server.files()) == sorted(KEYS)


def test_a_server_that_asks_for_the_password(make_node):
    with sshd.Sshd(pam=True) as server:
        node = make_node(config=config(server))
        node.start()
        await_state(node, send(node, "x"), "delivered")
        assert "keyboard-interactive" in server.log()


@pytest.mark.proves("DE19")
def test_a_wrong_password_opens_the_breaker(run, server):
    node = run(password="hunter2")
    doc = send(node, "x")
    await_words(node, doc, "refuses the login of sftpu", "password")
    assert "breaker" in wait_for(node, "held", lambda: look(node, doc)["deliveries"][0]["held"])
    assert "hunter2" not in node.tail(10000) + trace(node, doc)
    others_go_on(node)
    node.write_config(config(server))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr
    await_state(node, doc, "delivered")


def test_another_host_key_gets_nothing(run, server):
    node = run()
    known = server.print()
    await_state(node, send(node, "first"), "delivered")
    server.kill()
    server.new_host_keys()
    server.start()
    logins = server.logins()
    doc = send(node, "second")
    await_words(node, doc, "another host key", server.print(), "host_key")
    assert server.logins() == logins and "second" not in server.files()
    others_go_on(node)
    node.write_config(config(server, told=f'{known}", "{server.print("rsa")}').replace(
        f'host_key: "{known}", "', f'host_key: [ "{known}", "').replace('", name:', '" ], name:', 1))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr
    await_state(node, doc, "delivered")


def test_any_host_key_is_a_risk_that_is_told(program, server, tmp_path):
    path = tmp_path / "w.yaml"
    path.write_text(config(server, told="any"))
    checked = program("check", path)
    assert checked.returncode == 0 and "host_key: any" in checked.stdout + checked.stderr
    for wrong, words in (("SHA256:short", "43"), ("MD5:aa", "43")):
        path.write_text(config(server, told=wrong))
        checked = program("check", path)
        assert checked.returncode != 0 and words in checked.stdout + checked.stderr
    path.write_text(config(server).replace(f'host_key: "{server.print()}", ', ""))
    checked = program("check", path)
    assert checked.returncode != 0 and "host_key" in checked.stdout + checked.stderr


# ---- what the server refuses

@pytest.mark.proves("DE5", "FI12")
def test_a_folder_that_is_gone_is_waited_for(run, server):
    node = run()
    server.folder.rename(server.home / "away")
    doc = send(node, "x")
    await_words(node, doc, "create a file for x", "No such file")
    assert not server.folder.exists()
    others_go_on(node)
    (server.home / "away").rename(server.folder)
    await_state(node, doc, "delivered")
    assert server.files() == {"x": b"a document"}


def test_a_folder_without_the_right_to_write(run, server):
    node = run()
    os.chown(server.folder, 0, 0)
    doc = send(node, "x")
    await_words(node, doc, "create a file for x", "Permission denied")
    os.chown(server.folder, sshd.UID, sshd.UID)
    await_state(node, doc, "delivered")


@pytest.mark.proves("FI8")
def test_a_name_that_is_taken_is_waited_for(run, server):
    node = run()
    for theirs in (b"something else", b"A DOCUMENT"):  # another size, the same size
        name = f"taken{len(theirs)}"
        (server.folder / name).write_bytes(theirs)
        doc = send(node, name)
        await_words(node, doc, f"{name} is there already and is not replaced")
        assert server.files()[name] == theirs and server.left_over() == []
        (server.folder / name).unlink()
        await_state(node, doc, "delivered")
        assert server.files()[name] == b"a document"


def test_a_name_that_is_taken_is_replaced_if_that_is_said(run, server):
    node = run(more="exists: replace")
    for n in range(3):
        await_state(node, send(node, "inventory.csv", b"n" * (n + 1)), "delivered")
    (server.folder / "folder").mkdir()
    (server.folder / "link").symlink_to("inventory.csv")
    for name in ("folder", "link"):
        await_words(node, send(node, name), f"{name} is there already and is not replaced")
    assert server.files() == {"inventory.csv": b"nnn", "link": b"nnn"} and (server.folder / "folder").is_dir()
    assert server.left_over() == []


@pytest.mark.proves("FI11")
def test_hostile_names_stay_in_the_folder(run, server):
    node = run()
    for name in ("..", "../x", "/etc/x", "a/b", "n" * 256, ".ssh", "."):
        seen = await_state(node, send(node, name), "dead")
        assert "the name of the file" in json.dumps(seen), seen
    await_state(node, send(node, "n" * 255), "delivered")
    await_state(node, send(node, "-rf *;$(x)`y`\\"), "delivered")
    assert sorted(server.files()) == sorted(["n" * 255, "-rf *;$(x)`y`\\"])
    assert sorted(f.name for f in server.home.iterdir()) == ["keys", "out"]


def test_where_this_node_sends_nothing(make_node, server):
    node = make_node(config=config(server).replace("127.0.0.1", "169.254.1.1"))
    node.start()
    await_words(node, send(node, "x"), "link-local address", "node.egress")


# ---- the server, the line and the node fail

@pytest.mark.proves("FI7", "DE6")
def test_a_server_that_dies_in_the_middle(run, server):
    node = run(more="timeout: 60s")
    doc = send(node, "large", os.urandom(MIB) * 64)
    wait_for(node, "temporary file", lambda: [f for f in server.folder.glob(".*.part") if f.stat().st_size > 0])
    server.kill()
    assert "large" not in server.files()
    await_words(node, doc, "large")
    server.start()
    await_state(node, doc, "delivered")
    assert (server.folder / "large").stat().st_size == 64 * MIB and server.left_over() == []


@pytest.mark.proves("QC7")
def test_a_server_that_stands_still_costs_an_attempt(run, server):
    """No thread is lost in it, and what it does later with requests of that attempt tears nothing."""
    node = run(more="timeout: 2s")
    await_state(node, send(node, "before"), "delivered")
    server.freeze()
    body = os.urandom(900 * 1024)
    docs = {f"{n}": send(node, f"{n}", body + bytes([n])) for n in range(6)}
    await_words(node, docs["0"], "no answer in time")
    others_go_on(node)
    assert not [e for e in node.events if e.get("event") == "endpoint.hang"]
    server.thaw()
    for name, doc in docs.items():
        await_state(node, doc, "delivered")
        assert server.files()[name] == body + bytes([int(name)])


@pytest.mark.proves("FI16", "DE6")
@pytest.mark.parametrize("slam", [False, True], ids=["swallowed", "cut"])
@pytest.mark.parametrize("exists", ["wait", "replace"])
def test_the_answer_to_the_rename_is_lost(run, server, wire, slam, exists):
    # Two thirds of the time pass before an answer that is swallowed is missed; the rest must do.
    node = run(port=wire.port, policy="hold", more=f"timeout: {'60s' if slam else '15s'}, exists: {exists}")
    final = server.folder / "x"
    wire.slam = slam
    wire.lose = lambda: final.exists() and not wire.lost
    doc = send(node, "x")
    await_state(node, doc, "delivered")
    assert wire.lost == 1 and wire.connections == 2
    assert server.files() == {"x": b"a document"} and server.left_over() == []


@pytest.mark.proves("FI16")
def test_a_file_that_was_taken_away_meanwhile_is_in_doubt(run, server, wire):
    node = run(port=wire.port, policy="hold", more="timeout: 60s")
    final = server.folder / "x"

    def lose():
        if wire.lost or not final.exists():
            return False
        final.unlink()
        return True

    wire.slam, wire.lose = True, lose
    seen = await_state(node, send(node, "x"), "in_doubt")
    assert "the connection was lost before x had its name" in json.dumps(seen) + trace(node, node.documents()[0])
    assert server.files() == {}


@pytest.mark.proves("DE6")
@pytest.mark.parametrize("policy", ["resend", "probe"])
def test_every_answer_after_the_rename_is_lost(run, server, wire, policy):
    """The server cannot be asked in the same attempt: a later one finds the file by its bytes."""
    node = run(port=wire.port, policy=policy, more="timeout: 3s")
    final = server.folder / "x"
    deaf = [True]
    wire.lose = lambda: final.exists() and deaf[0]
    doc = send(node, "x")
    wait_for(node, "answers that are lost", lambda: wire.lost >= 2)
    assert look(node, doc)["state"] != "delivered"
    deaf[0] = False
    await_state(node, doc, "delivered")
    assert "is there with these bytes" in trace(node, doc)
    assert server.files() == {"x": b"a document"} and server.left_over() == []


@pytest.mark.parametrize("after", [500, 3000, 200_000, 2_000_000])
def test_a_line_that_is_cut_tears_nothing(run, server, wire, after):
    node = run(port=wire.port)
    body = os.urandom(3 * MIB)
    wire.cut_after = after
    doc = send(node, "x", body)
    wait_for(node, "cuts", lambda: wire.lost >= 2)
    assert server.files() == {}
    wire.cut_after = None
    await_state(node, doc, "delivered")
    assert server.files() == {"x": body} and server.left_over() == []


@pytest.mark.proves("DE10", "DE11", "FI9")
@pytest.mark.parametrize("point", ["sftp.writing:kill:1", "sftp.staged:kill:2", "sftp.named:kill:2", "send.answered:kill:1"])
def test_our_own_crash_loses_and_doubles_no_file(make_node, server, point):
    node = make_node(config=config(server), environment={"WAYBILL_FAULT": point})
    node.launch()
    node.await_ready()
    sent = {}
    try:
        for n in range(6):
            sent[f"{n}"] = node.accept("web", f"document {n}" * 1000, {"To": "far", "Waybill-Name": f"{n}"})
    except OSError:  # it has ended already
        pass
    assert node.ended() == -9
    assert all(body == f"document {name}".encode() * 1000 for name, body in server.files().items())
    del node.environment["WAYBILL_FAULT"]
    node.start()
    for name, doc in sent.items():
        await_state(node, doc, "delivered")
        assert server.files()[name] == f"document {name}".encode() * 1000
    wait_for(node, "clean folder", lambda: server.left_over() == [])


def end_half_way(node, server, name):
    """A delivery that is cancelled in the middle of its file.  Returns what it leaves."""
    doc = send(node, name, os.urandom(MIB) * 64)
    parts = wait_for(node, "temporary file", lambda: [f for f in server.folder.glob(".*.part") if f.stat().st_size > 0])
    server.kill()
    wait_for(node, "a failed attempt", lambda: look(node, doc)["deliveries"][0]["attempts"] > 0)
    wait_for(node, "cancelled", lambda: node.cli("docs", "cancel", doc).returncode == 0)  # not while it is sent
    await_state(node, doc, "cancelled")
    server.start()
    return parts[0]


@pytest.mark.proves("FI9")
def test_what_a_cancelled_delivery_left_is_removed(run, server):
    """By a later delivery, when nobody has written to it for an hour; what is not ours stays."""
    node = run(more="timeout: 60s")
    left = end_half_way(node, server, "cancelled")
    for other in (".notes", ".x.part", f".{'0' * 36}.out.part", left.name.replace(".out.", ".other.")):
        (server.folder / other).write_text("not ours")
    young = server.folder / (left.name[:-10] + "f.out.part" if left.name[-10] != "f" else left.name[:-10] + "e.out.part")
    young.write_text("another attempt writes it")
    for f in server.folder.glob(".*"):
        if f != young:
            os.utime(f, (time.time() - 7200,) * 2)
    assert left.exists() and young.exists() and left != young
    node.restart()  # a sweep is due at the first delivery
    await_state(node, send(node, "x"), "delivered")
    assert not left.exists() and young.exists() and len(list(server.folder.glob(".*"))) == 5
    assert server.files() == {"x": b"a document"}


# ---- connections are kept

def test_an_apply_keeps_connections_unless_it_changes_them(run, server):
    node = run()
    await_state(node, send(node, "one"), "delivered")
    assert server.logins() == 1
    other = config(server).replace("receiver: near }", "receiver: near, type: order }")
    node.write_config(other)
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr
    await_state(node, send(node, "two"), "delivered")
    assert server.logins() == 1
    connected = server.processes()

    key = sshd.keygen(server.base / "id", "ed25519")
    server.allow(key)
    node.write_config(other.replace(f'password: "{sshd.PASSWORD}"', f"private_key: {json.dumps(key.read_text())}"))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stderr
    wait_for(node, "a closed connection", lambda: len(server.processes()) < len(connected))
    await_state(node, send(node, "three"), "delivered")
    assert server.logins() == 2


def test_a_connection_that_the_server_closed_is_noticed(run, server):
    node = run(policy="hold")
    await_state(node, send(node, "one"), "delivered")
    server.kill()
    server.start()
    doc = send(node, "two")
    seen = await_state(node, doc, "delivered")
    assert seen["deliveries"][0]["attempts"] == 1, trace(node, doc)
    assert sorted(server.files()) == ["one", "two"]


def test_no_more_connections_than_allowed(run, server):
    node = run(more="connections: 1")
    docs = [send(node, f"{n}") for n in range(40)]
    for doc in docs:
        await_state(node, doc, "delivered")
    assert server.logins() == 1 and len(server.files()) == 40
