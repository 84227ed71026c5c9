"""Documents that go out as files on FTP servers: pyftpdlib, which does as it is told, and vsftpd."""
import hashlib
import http.client
import signal
import time

import proxy
import pytest

from ftp_servers import LOGIN, authority, both, certificates, peer, peers, vsftpd_server  # noqa: F401
from wire import wait_until

SECONDS = 60
CONFIG = """\
systems: {{ acme: {{}}, edi: {{ in_doubt: {policy} }} }}
types: {{ order: {{}} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "value:acme", receiver: "value:edi", type: "value:order" }}
endpoints:
  edi:
    kind: ftp
    system: edi
    url: "{url}"
    name: "${{name}}"
    timeout: {timeout}
    retry: {{ first: 50ms, most: 200ms }}
    breaker: {{ failures: 1000, wait: 200ms }}
    {more}
routes:
  - {{ name: all, do: [ {{ deliver: edi }} ] }}
"""


def config(url, more=LOGIN, policy="resend", timeout="60s"):
    return CONFIG.format(url=url, more=more.replace("\n", "\n    "), policy=policy, timeout=timeout)


@pytest.fixture
def make(make_node):
    """A node with one FTP endpoint."""
    def run(peer, more=LOGIN, environment=None, scheme="ftp", folder="in", **rest):
        node = make_node(config=config(f"{scheme}://127.0.0.1:{peer.port}/{folder}", more, **rest),
                         environment=environment or {})
        node.start()
        return node
    return run


def look(node, doc):
    return node.show(doc, "state deliveries { state code message attempts } timeline { stage outcome message }")


def end(node, doc, *states):
    return node.await_state(doc, *states, look=look, seconds=SECONDS)


def said(seen):
    return "; ".join(line["message"] or "" for line in seen["timeline"])


def until_said(node, doc, words):
    """It waits, and says why."""
    until = time.monotonic() + SECONDS
    while (seen := look(node, doc))["state"] not in ("retrying", "held") or words not in said(seen):
        assert time.monotonic() < until, f"{words}: {seen}"
        time.sleep(0.02)
    return seen


def send(node, name, body=b"bytes"):
    return node.accept("in", body, {"Waybill-Name": name.encode()})


def files(peer):
    return {p.name: p.read_bytes() for p in peer.inbox.iterdir()}


# ---- it arrives -----------------------------------------------------------------------------------

@pytest.mark.smoke
@pytest.mark.proves("FI7")
def test_a_document_arrives_as_a_file(make, peer):
    node = make(peer)
    body = bytes(range(256)) * 40 + b"\r\n.\n"
    seen = end(node, send(node, "order 7.bin", body), "delivered")
    assert files(peer) == {"order 7.bin": body} and "written as order 7.bin" in said(seen)
    log = peer.log()
    stored = next(n for n, line in enumerate(log) if line.startswith("STOR"))
    assert ".part" in log[stored] and any(line.startswith("RNTO") for line in log[stored:])
    large = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(3 << 15))  # 3 MiB: from the store
    end(node, send(node, "large", large), "delivered")
    assert files(peer)["large"] == large and len(files(peer)) == 2


def test_names_are_what_they_are(make, peer):
    node = make(peer)
    names = ["é ü.txt", "a%41b", "a;type=a", "x?y#z", "a+b=c&d", "'q\"", "~", "*", "n" * 250]
    for name in names:
        end(node, send(node, name, name.encode()), "delivered")
    assert files(peer) == {name: name.encode() for name in names}
    for name in ("..", "a/b", ".ssh", "n" * 300, "../x", "."):
        seen = end(node, send(node, name), "dead")
        assert "name of the file" in seen["deliveries"][0]["message"], seen
    assert len(files(peer)) == len(names)


@pytest.mark.proves("FI8")
def test_a_foreign_file_is_not_replaced(make, peer):
    (peer.inbox / "a").write_bytes(b"theirs")
    (peer.inbox / "b").write_bytes(b"THEIR")  # as long as ours
    node = make(peer)
    docs = [send(node, name) for name in ("a", "b")]
    for doc in docs:
        until_said(node, doc, "not replaced")
    assert files(peer) == {"a": b"theirs", "b": b"THEIR"}
    for name in ("a", "b"):
        (peer.inbox / name).unlink()
    for doc in docs:
        end(node, doc, "delivered")
    assert files(peer) == {"a": b"bytes", "b": b"bytes"}


@pytest.mark.proves("FI8")
def test_a_daily_file_replaces_that_of_yesterday(make, peer):
    """Also on a server that renames over nothing; a folder is left alone."""
    (peer.inbox / "a").write_bytes(b"yesterday")
    (peer.inbox / "sub").mkdir()
    node = make(peer, LOGIN + "\nexists: replace")
    end(node, send(node, "a"), "delivered")
    assert (peer.inbox / "a").read_bytes() == b"bytes" and not any(line.startswith("DELE") for line in peer.log())
    peer.script(RNTO="once 553 it is there")
    end(node, send(node, "a", b"newer"), "delivered")
    assert (peer.inbox / "a").read_bytes() == b"newer" and any(line.startswith("DELE") for line in peer.log())
    doc = send(node, "sub")
    until_said(node, doc, "does not rename")
    (peer.inbox / "sub").rmdir()
    end(node, doc, "delivered")
    assert files(peer) == {"a": b"newer", "sub": b"bytes"}


def test_what_replaced_ours_is_not_overwritten(make, peer):
    """The answer to the rename is lost, and another file has the name by then: a person decides."""
    peer.script(RNTO="replace")
    node = make(peer, LOGIN + "\nexists: replace", policy="probe")
    doc = send(node, "a")
    wait_until(lambda: "may have replaced ours" in said(look(node, doc)), SECONDS)
    assert end(node, doc, "in_doubt") and files(peer) == {"a": b"newer"}


# ---- TLS ------------------------------------------------------------------------------------------

def test_files_are_encrypted(make, peers, certificates, authority, tmp_path):
    for scheme, implicit in (("ftp", False), ("ftps", True)):
        peer = peers(tls=both(certificates, "good", tmp_path), implicit=implicit)
        node = make(peer, LOGIN + f"\ntls: {{ ca: '{authority}' }}", scheme=scheme)
        end(node, send(node, "a"), "delivered")
        assert files(peer) == {"a": b"bytes"} and any(line.startswith("PROT P") for line in peer.log())


@pytest.mark.proves("DE5")
def test_a_wrong_certificate_gets_no_file(make, peers, certificates, authority, tmp_path):
    peer = peers(tls=both(certificates, "expired", tmp_path))
    node = make(peer, LOGIN + f"\ntls: {{ ca: '{authority}' }}")
    seen = until_said(node, send(node, "a"), "its certificate is not right")
    assert "expired" in said(seen) and not any(line.startswith("PASS") for line in peer.log())


def test_explicit_needs_encryption(make, peer):
    node = make(peer, LOGIN + "\ntls: explicit")
    until_said(node, send(node, "a"), "it offers no encryption")
    assert files(peer) == {} and not any(line.startswith("PASS") for line in peer.log())


# ---- what goes wrong ------------------------------------------------------------------------------

@pytest.mark.proves("DE19")
def test_a_wrong_login_opens_the_breaker(make, peer):
    node = make(peer, "user: waybill\npassword: wr0ng-secret")
    doc = send(node, "a")
    seen = until_said(node, doc, "refused the login")
    assert "530" in said(seen) and "wr0ng-secret" not in said(seen)
    node.write_config(config(f"ftp://127.0.0.1:{peer.port}/in"))
    assert node.cli("apply", node.config_file).returncode == 0
    end(node, doc, "delivered")
    assert "wr0ng-secret" not in "".join(str(event) for event in node.events)


@pytest.mark.parametrize("answers, words", [
    ({"CWD": "550 gone"}, "the folder in `url`"), ({"STOR": "550 not allowed"}, "does not take the file"),
    ({"STOR": "552 quota"}, "552 quota"), ({"RNTO": "550 not allowed"}, "does not rename"),
    ({"SIZE": "213 3"}, "not replaced"), ({"STOR": "cut"}, ""), ({"EPSV": "500 no", "PASV": "500 no"}, "data connection")])
def test_what_the_server_refuses_is_tried_again(make, peer, answers, words):
    peer.script(**answers)
    node = make(peer)
    doc = send(node, "a")
    until_said(node, doc, words)
    assert "a" not in files(peer)
    peer.script()
    end(node, doc, "delivered")
    assert files(peer) == {"a": b"bytes"}  # and nothing temporary


@pytest.mark.proves("FI16")
@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.parametrize("policy", ["resend", "probe", "hold"])
def test_a_lost_answer_doubles_nothing(make, peer, policy):
    peer.script(RNTO="drop")
    node = make(peer, policy=policy)
    doc = send(node, "a")
    if policy == "hold":
        seen = end(node, doc, "in_doubt")
        assert "no answer came" in seen["deliveries"][0]["message"]
        peer.script()
        assert node.cli("docs", "resolve", doc, "--resend").returncode == 0
    seen = end(node, doc, "delivered")
    assert "is there with these bytes" in said(seen) and files(peer) == {"a": b"bytes"}
    assert sum(line.startswith("STOR") for line in peer.log()) == 1


@pytest.mark.proves("DE5")
def test_a_server_that_dies_or_stands_still_is_waited_for(make, peer):
    node = make(peer, timeout="2s")
    peer.signal(signal.SIGSTOP)
    doc = send(node, "a")
    until_said(node, doc, "in time")
    peer.signal(signal.SIGKILL)
    until_said(node, doc, "no connection could be made")
    peer.start()
    end(node, doc, "delivered")
    assert files(peer) == {"a": b"bytes"}


@pytest.mark.proves("DE10", "FI7")
@pytest.mark.parametrize("fault", ["send.begin:kill:1", "ftp.staged:kill:1", "ftp.named:kill:1", "settle.submit:kill:1"])
def test_a_crash_loses_and_doubles_nothing(make, peer, fault):
    node = make(peer, environment={"WAYBILL_FAULT": fault})
    try:
        send(node, "a")
    except (OSError, http.client.HTTPException):
        pass  # it died before it answered
    assert node.ended() == -9
    assert set(files(peer)) <= {"a"} or all(name.endswith(".part") for name in files(peer))
    del node.environment["WAYBILL_FAULT"]
    node.start()
    doc, = node.documents()
    end(node, doc, "delivered")
    assert files(peer) == {"a": b"bytes"}


def test_no_more_connections_than_allowed(make, peer):
    """The server answers nobody before all of them could have come."""
    peer.script(STOR="swallow")
    node = make(peer, LOGIN + "\nconnections: 3")
    docs = [send(node, str(n)) for n in range(8)]

    def begun():
        return [line for line in peer.log() if line.startswith("STOR ")]

    wait_until(lambda: len(begun()) >= 3, SECONDS, "three files")
    for doc in docs:
        node.await_state(doc, "active", "retrying", look=look, seconds=SECONDS)
    assert len(begun()) == 3
    peer.script()
    peer.signal(signal.SIGKILL)  # ends those that wait
    peer.start()
    for doc in docs:
        end(node, doc, "delivered")
    assert files(peer) == {str(n): b"bytes" for n in range(8)}


# ---- one login for many documents -----------------------------------------------------------------

def logins(peer):
    return sum(line.startswith("PASS") for line in peer.log())


def delivers(node, name):
    """At the first attempt."""
    seen = end(node, send(node, name), "delivered")
    assert seen["deliveries"][0]["attempts"] == 1, seen


def apply(node, text):
    node.write_config(text)
    done = node.cli("apply", node.config_file)
    assert done.returncode == 0, done.stderr


def test_a_login_serves_many_documents(make, peers):
    """Also when other things are configured anew; another password is another login, and the old one ends."""
    peer = peers(passwords=["right", "right too"])
    node = make(peer, LOGIN + "\nconnections: 1")
    for n in range(8):
        delivers(node, f"a{n}")
    text = config(f"ftp://127.0.0.1:{peer.port}/in", LOGIN + "\nconnections: 1")
    apply(node, text.replace("order: {}", "order: {}, invoice: {}"))
    delivers(node, "b")
    assert logins(peer) == 1
    apply(node, text.replace("password: right", "password: right too"))
    delivers(node, "c")
    wait_until(lambda: "FTP session closed" in (peer.folder / "stderr").read_text(), SECONDS, "the end of the old login")
    for n in range(4):
        delivers(node, f"d{n}")
    assert logins(peer) == 2 and set(files(peer)) == {*(f"a{n}" for n in range(8)), "b", "c", *(f"d{n}" for n in range(4))}


@pytest.mark.parametrize("gone", ["restart", "421 it is late", "cut"])
def test_a_login_that_is_gone_is_no_failure(make, peer, gone):
    """The server was started again, ends what was idle, or closes the connection in the moment in which it is used."""
    node = make(peer, LOGIN + "\nconnections: 1")
    delivers(node, "a")
    if gone == "restart":
        peer.signal(signal.SIGKILL)
        peer.start()
    else:
        peer.script(NOOP=gone)
    delivers(node, "b")
    assert files(peer) == {"a": b"bytes", "b": b"bytes"} and logins(peer) == 2


def test_a_kept_login_that_is_silent_costs_no_attempt(make, peer):
    """Nothing comes back over the old one; a new one is made with most of the time."""
    with proxy.Proxy(peer.port) as between:
        node = make(between, LOGIN + "\nconnections: 1", timeout="40s")
        delivers(node, "a")
        between.mute = b"NOOP"
        delivers(node, "b")
        assert between.connections == 2 and files(peer) == {"a": b"bytes", "b": b"bytes"} and logins(peer) == 2


def test_a_server_with_tls_13_alone(make, peers, certificates, authority, tmp_path):
    """A session of TLS 1.3 is good for one file: each document has its login."""
    peer = peers(tls=both(certificates, "good", tmp_path), newest=True)
    node = make(peer, LOGIN + f"\ntls: {{ ca: '{authority}' }}\nconnections: 1")
    for name in ("a", "b"):
        delivers(node, name)
    assert files(peer) == {"a": b"bytes", "b": b"bytes"} and logins(peer) == 2


# ---- vsftpd ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("encrypted", [False, True])
def test_vsftpd_takes_files(make, vsftpd_server, certificates, authority, encrypted):
    server = vsftpd_server(*([certificates.path("good.pem"), certificates.path("good.key")] if encrypted else []))
    node = make(server, f"tls: {{ ca: '{authority}' }}" if encrypted else "keep: { answers: none }")
    large = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(3 << 15))
    for name, body in (("é 1.txt", b"x"), ("large", large)):
        end(node, send(node, name, body), "delivered")
    assert files(server) == {"é 1.txt": b"x", "large": large}
    doc = send(node, "large", b"y" * len(large))
    until_said(node, doc, "not replaced")
    (server.inbox / "large").unlink()
    end(node, doc, "delivered")
    wait_until(lambda: files(server)["large"] == b"y" * len(large), SECONDS)


@pytest.mark.parametrize("encrypted", [False, True])
def test_vsftpd_takes_many_files_of_one_login(make, vsftpd_server, certificates, authority, encrypted):
    """With TLS each file wants the session of the login again.  The folder is the one that has the name now."""
    server = vsftpd_server(*([certificates.path("good.pem"), certificates.path("good.key")] if encrypted else []))
    node = make(server, "connections: 1" + (f"\ntls: {{ ca: '{authority}' }}" if encrypted else ""))
    for n in range(10):
        delivers(node, f"a{n}")
    old = server.inbox.rename(server.inbox.parent / "old")
    server.inbox.mkdir()
    server.inbox.chmod(0o777)
    delivers(node, "b")
    assert server.logins() == 1 and set(files(server)) == {"b"} and len(list(old.iterdir())) == 10
