"""All kinds of endpoints beside each other: the table of what they do (peers_table.py), and cells that no other file has."""
import ast
import collections
import contextlib
import email
import email.policy
import hashlib
import os
import re
import socket
import sqlite3
import subprocess
import threading

import ftp_peer
import proxy
import pytest
import smtp_peer
import sshd

from fake_api import FakeApi, Reply
from mllp import message
from peers_table import BEHAVIOURS, TABLE, WITHOUT_COLUMN, Reason
from running_node import ROOT
from wire import wait_until

SECONDS = 90
SMALL = 200  # documents of each kind at once
MIB = 1 << 20
CONFIG = """\
systems: {{ acme: {{}}, sftp: {{}}, ftp: {{}}, smtp: {{}}, mllp: {{}}, soap: {{}} }}
types: {{ "*": {{}} }}
gateways:
  in:
    kind: http
    auth: none
    limits: {{ size: 128 MiB }}
    extract: {{ sender: "value:acme", receiver: "header:To", type: "header:Of" }}
endpoints:
  sftp: {{ kind: sftp, system: sftp, url: "{sftp}", password: "{password}", host_key: "{print}", {names} }}
  ftp: {{ kind: ftp, system: ftp, url: "ftp://127.0.0.1:{ftp}/in", user: waybill, password: right, {names} }}
  smtp: {{ kind: smtp, system: smtp, url: "smtp://127.0.0.1:{smtp}", from: w@example.com, to: ann@example.org, {names} }}
  mllp: {{ kind: mllp, system: mllp, address: "127.0.0.1:{mllp}", {often} }}
  soap: {{ kind: http, system: soap, url: "{soap}/in", soap: {{ action: "urn:a" }}, {often} }}
routes:
"""
OFTEN = "timeout: 60s, retry: { first: 50ms, most: 300ms }, breaker: { failures: 1000, wait: 200ms }"
NAMES = 'name: "${name}", ' + OFTEN
KINDS = ("sftp", "ftp", "smtp", "mllp", "soap")
ROUTES = "".join(f"""\
  - {{ name: {kind}, when: {{ receiver: {kind}, type: whole }}, do: [ {{ deliver: {kind} }} ] }}
  - {{ name: {kind}-empty, when: {{ receiver: {kind}, type: empty }},
       do: [ {{ replace: {{ find: something, with: "" }} }}, {{ deliver: {kind} }} ] }}
""" for kind in KINDS)


EMPTY_ROW = """\
systems: {{ acme: {{}}, far: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "value:far", type: "value:order" }} }}
endpoints:
  out: {{ kind: sql, system: far, dsn: "Driver=SQLite3;Database={path}",
         statement: "insert into docs (id, body) values (:id, :payload)", retry: {{ first: 50ms, most: 300ms }} }}
routes:
  - {{ name: all, do: [ {{ replace: {{ find: something, with: "" }} }}, {{ deliver: out }} ] }}
"""


# ---- the table ----------------------------------------------------------------------------------

def functions(path):
    """The names of the tests in a file."""
    text = path.read_text()
    if path.suffix == ".c":
        return set(re.findall(r"^TEST\((\w+)\)", text, re.M))
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def wrong_with(row, cell):
    """Why a cell proves nothing, or None."""
    if isinstance(cell, Reason):
        page = " ".join((ROOT / "docs" / cell.page).read_text().split())
        return None if cell.words in page else f"docs/{cell.page} does not say: {cell.words}"
    file, _, function = cell.partition("::")
    path = ROOT / (file if "/" in file else f"tests/blackbox/{file}")
    if not path.exists() or function not in functions(path):
        return f"there is no test {cell}"
    if row not in BEHAVIOURS and row not in path.read_text():
        return f"{file} does not kill at {row}"
    return None


def endpoints():
    return set(re.findall(r"^ENDPOINT\((\w+)\)", (ROOT / "src/connectors.def").read_text(), re.M))


def points_of(kind):
    """The fault points that are of this kind alone."""
    prefix = {"smtp": "mail"}.get(kind, kind)
    return set(re.findall(rf'"({prefix}\.\w+)"', (ROOT / "src/base/fault.def").read_text()))


@pytest.mark.smoke
def test_every_cell_is_proven(capsys):
    missing = endpoints() - WITHOUT_COLUMN - set(TABLE)
    assert not missing, f"peers_table.py has no column for {missing}"
    problems, line = [], []
    for kind, column in TABLE.items():
        if kind not in endpoints() | {"soap"}:
            continue
        wanted = set(BEHAVIOURS) | points_of(kind)
        wrong = {row: "nothing is named" for row in wanted - set(column)}
        wrong |= {row: why for row, cell in column.items() if (why := wrong_with(row, cell))}
        assert set(column) >= wanted or wrong
        line.append(f"{kind} {len(column) - len([row for row in wrong if row in column])} of {len(wanted | set(column))}")
        problems += [f"{kind}, {row}: {why}" for row, why in wrong.items()]
    with capsys.disabled():
        print(f"\npeers: {', '.join(line)}")
    assert not problems, "\n".join(problems)


def test_a_cell_that_proves_nothing_is_seen():
    assert wrong_with("empty", "test_48_peers.py::test_an_empty_document") is None
    assert "no test" in wrong_with("empty", "test_48_peers.py::test_of_nothing")
    assert "no test" in wrong_with("empty", "test_48_nobody.py::test_an_empty_document")
    assert "does not kill" in wrong_with("far.away", "test_42_sftp.py::test_a_large_one")
    assert "does not say" in wrong_with("taken", Reason("mllp.md", "these words stand nowhere"))


# ---- all servers and one node -------------------------------------------------------------------

class Hl7:
    """Acknowledges whole messages, of any size, and keeps their digests."""

    def __init__(self):
        self.messages, self.connections, self.ends = [], 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                self.connections += 1
                threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with contextlib.suppress(OSError), connection:
            while self.exchange(connection):
                pass
        self.ends += 1

    def exchange(self, connection):
        """One message; False: the end of the connection."""
        got = bytearray()
        while not got.endswith(b"\x1c\r"):
            more = connection.recv(MIB)
            if not more:
                return False
            got += more
        body = bytes(got[1:-2])
        self.messages.append(hashlib.sha256(body).digest())
        control = body.split(b"|", 10)[9]
        connection.sendall(b"\x0bMSH|^~\\&|EHR|C|LAB|H|2026||ACK|1|P|2.5\rMSA|AA|" + control + b"\r\x1c\r")
        return True

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # ends accept()
        self.listener.close()


class Servers:
    """One of each; `came(kind)` counts what arrived by its digest."""

    def __init__(self, folder):
        if why := sshd.missing():
            pytest.skip(why)
        self.sftp, self.ftp, self.smtp = sshd.Sshd(), ftp_peer.Peer(folder / "ftp"), smtp_peer.Peer(folder / "smtp")
        self.mllp, self.soap = Hl7(), FakeApi()
        self.soap.answer(Reply(b"", 202))
        self.all = (self.sftp, self.ftp, self.smtp, self.mllp, self.soap)

    def config(self, sftp_folder=None):
        return CONFIG.format(sftp=self.sftp.url(sftp_folder), password=self.sftp.password, print=self.sftp.print(),
                             ftp=self.ftp.port, smtp=self.smtp.port, mllp=self.mllp.port, soap=self.soap.url,
                             names=NAMES, often=OFTEN) + ROUTES

    def came(self, kind):
        return {"sftp": lambda: [digest(body) for body in self.sftp.files().values()],
                "ftp": lambda: [digest(f.read_bytes()) for f in self.ftp.inbox.iterdir() if not f.name.startswith(".")],
                "smtp": lambda: [digest(content(raw)) for _, raw in self.smtp.mails()],
                "mllp": lambda: list(self.mllp.messages),
                "soap": lambda: [digest(inside(r.body)) for r in self.soap.requests]}[kind]()

    def close(self):
        for server in self.all:
            server.close()


def digest(body):
    return hashlib.sha256(body).digest()


def content(mail):
    return email.message_from_bytes(mail, policy=email.policy.default).get_content()


def inside(envelope):
    """What stands in its body."""
    return envelope.partition(b"<soap:Body>")[2].rpartition(b"</soap:Body>")[0]


@pytest.fixture(scope="module", name="servers")
def servers_fixture(tmp_path_factory):
    servers = Servers(tmp_path_factory.mktemp("servers"))
    yield servers
    servers.close()


@pytest.fixture(name="node")
def node_fixture(make_node, servers):
    node = make_node(config=servers.config())
    node.start()
    return node


def body_of(kind, name, size=40):
    """Bytes that the kind takes."""
    filler = "x" * size
    if kind == "mllp":
        return message(name, filler)
    return f"<a>{name} {filler}</a>".encode()


def send(node, kind, name, body, of="whole"):
    return node.accept("in", body, {"To": kind, "Of": of, "Waybill-Name": name})


def look(node, doc):
    return node.show(doc, "state deliveries { state code message attempts } timeline { message }")


def test_an_empty_document(node, servers):
    """A file, an object or a mail may have no bytes; a message and an envelope may not."""
    docs = {kind: send(node, kind, f"empty-{kind}", b"something", "empty") for kind in KINDS}
    for kind in ("sftp", "ftp", "smtp"):
        node.await_state(docs[kind], "delivered", look=look, seconds=SECONDS)
        assert digest(b"") in servers.came(kind), kind
    for kind, words in (("mllp", "no HL7 message"), ("soap", "not XML")):
        seen = node.await_state(docs[kind], "dead", look=look, seconds=SECONDS)
        assert words in seen["deliveries"][0]["message"], seen
        assert digest(b"") not in servers.came(kind)


@pytest.mark.skipif("sql" not in endpoints(), reason="this build has no endpoint of kind sql")
def test_an_empty_document_in_a_database(make_node, tmp_path):
    folder = tmp_path / "database"
    folder.mkdir()
    with contextlib.closing(sqlite3.connect(folder / "docs.db")) as db:
        db.execute("create table docs (id varchar(60) primary key, body blob not null)")
        node = make_node(config=EMPTY_ROW.format(path=folder / "docs.db"))
        node.start()
        doc = node.accept("in", b"something")
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
        assert db.execute("select id, length(body) from docs").fetchall() == [(doc, 0)]


def test_200_small_ones(node, servers):
    kinds = ("ftp", "smtp", "soap")
    expected = {kind: [body_of(kind, f"{kind}-{n}") for n in range(SMALL)] for kind in kinds}

    def offer(kind):
        for n, body in enumerate(expected[kind]):
            send(node, kind, f"{kind}-{n}", body)

    threads = [threading.Thread(target=offer, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(lambda: node.metrics()['waybill_deliveries_total{outcome="delivered"}'] >= SMALL * len(kinds), SECONDS, "all delivered")
    for kind in kinds:
        came = collections.Counter(servers.came(kind))
        assert all(came[digest(body)] for body in expected[kind]), kind
        assert kind != "ftp" or all(came[digest(body)] == 1 for body in expected[kind])


def test_a_document_of_64_mib(node, servers):
    kinds = ("ftp", "mllp", "soap")
    for kind in kinds:
        body = body_of(kind, f"large-{kind}", 64 * MIB)
        doc = send(node, kind, f"large-{kind}", body)
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
        assert servers.came(kind).count(digest(body)) == 1, kind


def test_a_large_document_over_a_slow_line_is_not_cut(make_node, servers, tmp_path):
    """Above 1 MiB `timeout` counts silence, whatever the kind: it arrives, and once."""
    rate, size = MIB, 30 * MIB
    slow_ftp = ftp_peer.Peer(tmp_path / "slow", rate=rate)
    with contextlib.ExitStack() as stack:
        stack.callback(slow_ftp.close)
        text, ports = servers.config(), {"sftp": servers.sftp.port, "smtp": servers.smtp.port, "mllp": servers.mllp.port}
        for port in ports.values():
            line = stack.enter_context(proxy.Proxy(port))
            line.rate = rate
            line.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)  # what waits in it is silence
            text = text.replace(f":{port}", f":{line.port}")
        text = text.replace(f":{servers.ftp.port}/", f":{slow_ftp.port}/")
        node = make_node(config=text.replace("timeout: 60s", "timeout: 20s"))
        node.start()
        bodies = {kind: body_of(kind, f"slow-{kind}", size if kind != "smtp" else size * 2 // 3)  # it takes 32 MiB
                  for kind in (*ports, "ftp")}
        docs = {kind: send(node, kind, f"slow-{kind}", body) for kind, body in bodies.items()}
        for kind, doc in docs.items():
            seen = node.await_state(doc, "delivered", look=look, seconds=SECONDS)
            assert [d["attempts"] for d in seen["deliveries"]] == [1], (kind, seen)
        for kind in ports:
            assert servers.came(kind).count(digest(bodies[kind])) == 1, kind
        assert [digest(f.read_bytes()) for f in slow_ftp.inbox.iterdir()] == [digest(bodies["ftp"])]


def test_an_sftp_server_without_space(make_node, servers):
    """Nothing has the name, and when there is room again it goes there."""
    small = servers.sftp.home / "small"
    small.mkdir()
    servers.sftp.kill()  # it sees what was mounted before its start
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=1m,uid={sshd.UID}", "waybill-test", small], check=True)
    try:
        servers.sftp.start()
        (small / "theirs").write_bytes(b"x" * 900_000)
        node = make_node(config=servers.config(small))
        node.start()
        doc = send(node, "sftp", "large", os.urandom(600_000))
        words = "write large: the server says"
        wait_until(lambda: words in str(look(node, doc)), SECONDS, words)
        assert sorted(f.name for f in small.iterdir() if not f.name.startswith(".")) == ["theirs"]
        (small / "theirs").unlink()
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
        assert [f.name for f in small.iterdir()] == ["large"]
    finally:
        servers.sftp.kill()
        subprocess.run(["umount", small], check=True)
        servers.sftp.start()


# ---- connections --------------------------------------------------------------------------------

class Load:
    """Documents without end, for sftp and mllp in turn, until it is closed."""

    def __init__(self, node, begin):
        self.node, self.docs, self.looked_at, self.ended = node, [], 0, threading.Event()
        self.thread = threading.Thread(target=self.work, args=(begin,))
        self.thread.start()

    def work(self, begin):
        n = 0
        while not self.ended.wait(0.01):
            kind = ("sftp", "mllp")[n % 2]
            self.docs.append(send(self.node, kind, f"{begin}-{n}", body_of(kind, f"{begin}-{n}")))
            n += 1

    def go_on(self, count=20):
        """So many more are accepted, and then all of them have arrived."""
        until = len(self.docs) + count
        wait_until(lambda: len(self.docs) >= until or not self.thread.is_alive(), SECONDS, "more documents")
        assert self.thread.is_alive(), "a document was not accepted"
        self.arrived()

    def arrived(self):
        """What was accepted so far is delivered."""
        until = len(self.docs)
        for doc in self.docs[self.looked_at:until]:
            self.node.await_state(doc, "delivered", look=look, seconds=SECONDS)
        self.looked_at = until

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def apply(node, text):
    node.write_config(text)
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stdout + applied.stderr


@pytest.fixture(name="other")
def other_fixture(servers):
    """Another MLLP receiver; the password of the SFTP server is the old one again afterwards."""
    other = Hl7()
    yield other
    other.close()
    servers.sftp.set_password(sshd.PASSWORD)


def test_an_apply_under_load_makes_no_connection_anew(make_node, servers, other):
    """The servers count; a new password, or for want of one a new address, closes the old connections."""
    text = servers.config().replace("kind: sftp,", "kind: sftp, connections: 1,")
    node = make_node(config=text)
    logins, connections, ended = servers.sftp.logins(), servers.mllp.connections, servers.mllp.ends
    node.start()
    with Load(node, "load") as load:
        load.go_on()
        for route in ("soap-empty", "sftp", "mllp"):  # one that nobody takes, and those of the load
            apply(node, text.replace(f"name: {route},", f"name: another-{route},"))
            load.go_on()
        assert servers.sftp.logins() == logins + 1
        assert (servers.mllp.connections, servers.mllp.ends) == (connections + 1, ended)
        first = set(servers.sftp.processes())
        servers.sftp.set_password("another battery")
        apply(node, text.replace(sshd.PASSWORD, "another battery"))
        load.go_on()
        # Of a connection sshd has two processes; those of the old one end, those of the new one begin.
        wait_until(lambda: servers.sftp.logins() == logins + 2, SECONDS, "a login with the new password")
        wait_until(lambda: len(first - set(servers.sftp.processes())) >= 2, SECONDS, "the end of the old connection")
        assert (servers.mllp.connections, servers.mllp.ends) == (connections + 1, ended)
        apply(node, text.replace(sshd.PASSWORD, "another battery").replace(f":{servers.mllp.port}", f":{other.port}"))
        wait_until(lambda: servers.mllp.ends == ended + 1, SECONDS, "the end of the old connection")
        load.go_on()
        assert (servers.mllp.connections, other.connections, other.ends) == (connections + 1, 1, 0)
    load.arrived()
    assert servers.sftp.logins() == logins + 2
