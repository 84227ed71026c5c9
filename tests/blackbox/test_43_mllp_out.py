"""HL7 out over MLLP: an acknowledgement counts for its own message, and nothing else does."""
import asyncio
import contextlib
import http.client
import re
import socket
import ssl
import subprocess
import threading

import hl7
import hl7.mllp
import pytest

import npm_folder
from mllp import SECONDS, frame, message
from peers import free_port
from rig.receiver import Certificates
from running_node import clean_environment
from test_42_mllp_in import make_authority, make_signed
from wire import wait_until

CONFIG = """\
systems: {{ lab: {{ ids: [HOSP] }}, ehr: {{ ids: [CLINIC], in_doubt: {policy} }} }}
types: {{ "*": {{}} }}
gateways: {{ in: {{ kind: http, auth: none, extract: hl7 }} }}
endpoints:
  out: {{ kind: mllp, address: "{address}", system: ehr, timeout: {timeout}, retry: {{ first: 50ms, most: 1s }},
          breaker: {{ failures: 1000, wait: 200ms }}{more} }}
routes: [ {{ name: all, do: [ {{ deliver: out }} ] }} ]
"""


def ack(body, code="AA", control=None, text=""):
    """An acknowledgement of the message, or of another one."""
    own = re.search(rb"^MSH(.)", body)[1]
    control = body.split(own)[9] if control is None else control
    return frame(b"MSH|^~\\&|EHR|C|LAB|H|2026||ACK|1|P|2.5\rMSA|" + code.encode() + b"|" + control + text.encode() + b"\r")


class Receiver:
    """Takes messages; `behave(body)` says what is answered: bytes, None for silence, or "close"."""

    def __init__(self, tls=None):
        self.messages, self.open, self.connections, self.ends = [], [], 0, 0
        self.behave = ack
        self.tls = tls
        self.ended = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            self.open.append(connection)
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with contextlib.suppress(OSError), connection:
            connection.settimeout(SECONDS)
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
            while self.exchange(connection):
                pass
        self.ends += 1

    def exchange(self, connection):
        """One message; False: the end of the connection."""
        got = b""
        while b"\x1c\r" not in got:
            more = connection.recv(1 << 16)
            if not more:
                return False
            got += more
        assert got[:1] == b"\x0b" and got.endswith(b"\x1c\r"), got
        body = got[1:-2]
        self.messages.append(body)
        answer = self.behave(body)
        if answer is None:
            self.ended.wait(SECONDS)
        for piece in answer if isinstance(answer, list) else [answer]:
            if piece in ("close", None):
                return False
            connection.sendall(piece)
        return True

    def hang_up(self):
        """Ends the connections that are open now."""
        for one in self.open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: self.ends == self.connections, SECONDS, "the end of all connections")

    def close(self):
        self.ended.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # ends accept()
        self.listener.close()


@pytest.fixture(name="far")
def far_fixture():
    far = Receiver()
    yield far
    far.close()


def start(make_node, address, policy="hold", timeout="30s", more="", **settings):
    node = make_node(config=CONFIG.format(address=address, policy=policy, timeout=timeout, more=more), **settings)
    node.start()
    return node


def look(node, doc):
    return node.show(doc, "state deliveries { state code message attempts }")


def ends(node, doc, *states):
    return node.await_state(doc, *states, look=look, seconds=SECONDS)


@pytest.mark.smoke
@pytest.mark.stores("sqlite", "postgres")
def test_a_message_goes_out_and_is_acknowledged(make_node, far):
    node = start(make_node, far.address)
    body = message("out-1", "grün")
    ends(node, node.accept("in", body), "delivered")
    assert far.messages == [body]
    big = message("out-2", "x" * 3_000_000)
    ends(node, node.accept("in", big), "delivered")
    assert far.messages == [body, big]


@pytest.mark.parametrize("more, code, state", [
    ("", "AA", "delivered"), ("", "CA", "delivered"), ("", "AR", "dead"), ("", "CR", "dead"),
    (", outcome: { AE: rejected }", "AE", "dead"), (", outcome: { CE: delivered }", "CE", "delivered"),
    (", outcome: { AR: in_doubt }", "AR", "in_doubt"), (", outcome: { AA: in_doubt }", "AA", "in_doubt")])
def test_what_a_code_means(make_node, far, more, code, state):
    far.behave = lambda body: ack(body, code, text="|because")
    node = start(make_node, far.address, more=more)
    seen = ends(node, node.accept("in", message("1")), state)
    assert len(far.messages) == 1
    if state != "delivered":
        assert f"{code}: because" in seen["deliveries"][0]["message"]


@pytest.mark.parametrize("code", ["AE", "CE"])
def test_an_error_is_tried_again_with_the_same_bytes(make_node, far, code):
    far.behave = lambda body: ack(body, code if len(far.messages) < 3 else "AA")
    node = start(make_node, far.address)
    ends(node, node.accept("in", message("1")), "delivered")
    assert far.messages == [message("1")] * 3


OTHER = [
    ("another control id", lambda b: ack(b, control=b"other")), ("one that begins like it", lambda b: ack(b, control=b"1x")),
    ("none", lambda b: ack(b, control=b"")), ("another one's rejection", lambda b: ack(b, "AR", control=b"0")),
    ("another one's error", lambda b: ack(b, "AE", control=b"0")), ("an unknown code", lambda b: ack(b, "OK")),
    ("small letters", lambda b: ack(b, "aa")), ("no MSA", lambda b: frame(b"MSH|^~\\&|a\rPID|1\r")),
    ("no MSH", lambda b: frame(b"MSA|AA|1\r")), ("nothing in the frame", lambda b: frame(b"")),
    ("no MLLP", lambda b: b"HTTP/1.1 200 OK\r\n\r\n"), ("no frame", lambda b: ack(b)[1:]),
    ("half an acknowledgement", lambda b: [ack(b)[:-20]]), ("an endless one", lambda b: b"\x0b" + b"x" * 2_000_000),
    ("the late one of before, then its own", lambda b: [ack(b, control=b"0"), ack(b)]),
    ("silence", lambda b: None), ("the end", lambda b: "close")]
ENDED_BY_TIME = ("half an acknowledgement", "silence")


@pytest.mark.proves("DE6")
@pytest.mark.parametrize("what, answer", OTHER, ids=[name for name, _ in OTHER])
def test_anything_else_is_in_doubt_and_credits_nothing(make_node, far, what, answer):
    far.behave = answer
    # A busy machine needs some of it for the message that comes next.
    node = start(make_node, far.address, timeout="5s" if what in ENDED_BY_TIME else "30s")
    doc = node.accept("in", message("1"))
    seen = ends(node, doc, "in_doubt")
    assert far.messages == [message("1")] and seen["deliveries"][0]["message"], what
    far.behave = ack
    ends(node, node.accept("in", message("2")), "delivered")
    assert look(node, doc)["state"] == "in_doubt", "the acknowledgement of the next one was credited to it"


def test_acknowledgements_that_are_odd_and_right(make_node, far):
    """In pieces, without the last CR, twice, with other segments, behind line ends."""
    node = start(make_node, far.address)
    for n, answer in enumerate([
            lambda b: [bytes([c]) for c in ack(b)], lambda b: ack(b)[:-1], lambda b: ack(b) + ack(b),
            lambda b: b"\r\n" + ack(b), lambda b: ack(b).replace(b"\rMSA", b"\rSFT|x\rMSA"),
            lambda b: ack(b).replace(b"\r\x1c", b"\x1c"), lambda b: ack(b).replace(b"\rMSA", b"\nMSA")]):
        far.behave = answer
        ends(node, node.accept("in", message(str(n))), "delivered")
    assert len(far.messages) == 7


# ---- connections are kept

def test_messages_share_a_connection(make_node, far):
    node = start(make_node, far.address)
    docs = [node.accept("in", message(str(n))) for n in range(40)]
    for doc in docs:
        ends(node, doc, "delivered")
    assert far.connections == 1 and sorted(far.messages) == sorted(message(str(n)) for n in range(40))
    far.behave = lambda body: ack(body, "AR")
    ends(node, node.accept("in", message("rejected")), "dead")
    far.behave = ack
    ends(node, node.accept("in", message("next")), "delivered")
    assert far.connections == 1


def test_a_receiver_that_closes_after_each_one_gets_them_one_by_one(make_node, far):
    far.behave = lambda body: [ack(body), "close"]
    node = start(make_node, far.address, policy="resend")  # of one that closes late a message may be in doubt
    docs = [node.accept("in", message(str(n))) for n in range(20)]
    for doc in docs:
        ends(node, doc, "delivered")
    assert far.connections >= 20 and set(far.messages) == {message(str(n)) for n in range(20)}


@pytest.mark.parametrize("late", [lambda b: ack(b) + ack(b), lambda b: ack(b) + frame(b"MSH|^~\\&|EHR\rPID|1\r"),
                                  lambda b: [ack(b)[:-1], b"\r"], lambda b: [ack(b), ack(b)]],
                         ids=["twice", "a message", "its last byte", "once more"])
def test_what_comes_behind_an_acknowledgement_is_not_taken_for_the_next(make_node, far, late):
    far.behave = late
    node = start(make_node, far.address, policy="resend")  # what comes late enough meets the next one, which is in doubt
    for n in range(4):
        ends(node, node.accept("in", message(str(n))), "delivered")
    assert list(dict.fromkeys(far.messages)) == [message(str(n)) for n in range(4)]


def test_the_application_may_acknowledge_later(make_node, far):
    """CA, and the AA of the application over the same connection when it is through."""
    far.behave = lambda body: [ack(body, "CA"), ack(body, "AA")]
    node = start(make_node, far.address)
    for n in range(4):
        ends(node, node.accept("in", message(str(n), more="|||AL|AL")), "delivered")
    assert len(far.messages) == far.connections == 4


def test_a_connection_that_the_receiver_closed_is_noticed(make_node, far):
    node = start(make_node, far.address)
    ends(node, node.accept("in", message("1")), "delivered")
    far.hang_up()
    seen = ends(node, node.accept("in", message("2")), "delivered")
    assert seen["deliveries"][0]["attempts"] == 1 and far.connections == 2


def test_an_apply_keeps_the_connection_unless_it_changes_it(make_node, far):
    other = Receiver()
    try:
        node = start(make_node, far.address)
        ends(node, node.accept("in", message("1")), "delivered")
        text = CONFIG.format(address=far.address, policy="hold", timeout="29s", more="")
        for n, config in enumerate((text, text.replace("name: all", "name: everything"))):
            node.write_config(config)
            assert node.cli("apply", node.config_file).returncode == 0
            ends(node, node.accept("in", message(f"same {n}")), "delivered")
            assert far.connections == 1 and far.ends == 0
        node.write_config(text.replace(far.address, other.address))
        assert node.cli("apply", node.config_file).returncode == 0
        wait_until(lambda: far.ends == 1, SECONDS, "the end of the old connection")
        ends(node, node.accept("in", message("other")), "delivered")
        assert other.connections == 1 and other.messages == [message("other")]
    finally:
        other.close()


def test_as_many_connections_as_allowed(make_node, far):
    """Three receivers that take their time: more messages are not under way."""
    under_way, most, lock = [0], [0], threading.Lock()

    def slowly(body):
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        far.ended.wait(0.05)
        with lock:
            under_way[0] -= 1
        return ack(body)

    far.behave = slowly
    node = start(make_node, far.address, more=", connections: 3")
    docs = [node.accept("in", message(str(n))) for n in range(30)]
    for doc in docs:
        ends(node, doc, "delivered")
    assert far.connections <= 3 and most[0] <= 3


@pytest.mark.parametrize("body, said", [
    (b"hello", "no HL7 message"), (message(""), "MSH-10 is empty"), (message("1", more="|||NE|NE"), "no acknowledgement"),
    (message("1", "a\x1cb"), "0x1C"), (message("1", "a\x0bb"), "0x0B")])
def test_what_cannot_be_acknowledged_is_not_sent(make_node, far, body, said):
    node = make_node(config=CONFIG.format(address=far.address, policy="hold", timeout="30s", more="").replace(
        "extract: hl7", 'extract: { sender: "value:lab", receiver: "value:ehr", type: "value:any" }'))
    node.start()
    seen = ends(node, node.accept("in", body), "dead")
    assert said in seen["deliveries"][0]["message"] and far.messages == [] and far.connections == 0


@pytest.mark.proves("DE5")
def test_nobody_listens(make_node):
    node = start(make_node, f"127.0.0.1:{free_port()}")
    doc = node.accept("in", message("1"))
    seen = ends(node, doc, "retrying")
    assert "not reached" in seen["deliveries"][0]["message"]


@pytest.mark.proves("S16")
def test_nobody_is_sent_to_who_is_barred(make_node):
    node = start(make_node, "169.254.169.254:2575", more=", plaintext: true")
    seen = ends(node, node.accept("in", message("1")), "retrying")
    assert "not reached" in seen["deliveries"][0]["message"] and "link-local" in seen["deliveries"][0]["message"]


@pytest.mark.parametrize("fault, sends", [("mllp.commit", 1), ("mllp.sent", 1)])
def test_a_crash_while_it_is_sent(make_node, far, fault, sends):
    """With `hold` a person decides: it is never sent twice."""
    node = start(make_node, far.address, environment={"WAYBILL_FAULT": f"{fault}:kill:1"})
    with contextlib.suppress(OSError, http.client.HTTPException):  # the kill may come before the answer
        node.accept("in", message("1"))
    node.ended(SECONDS)
    node.environment.clear()
    node.start()
    doc, = node.documents()
    ends(node, doc, "in_doubt")
    assert len(far.messages) <= sends


def make_papers(folder):
    """Of a receiver and of us, from one authority, and another authority."""
    for name in ("authority", "stranger"):
        make_authority(folder, name)
    for name in ("server", "engine"):
        make_signed(folder, name, "authority")


def context_of(folder, client):
    """The receiver's; client: it wants our certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    if client:
        context.load_verify_locations(folder / "authority.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.mark.parametrize("client", [True, False])
def test_tls_and_our_own_certificate(make_node, tmp_path, client):
    make_papers(tmp_path)
    context = context_of(tmp_path, client)
    far = Receiver(tls=context)
    own = f", cert: {tmp_path}/engine.pem, key: {tmp_path}/engine.key" if client else ""
    where = far.address.replace("127.0.0.1", "localhost")
    node = start(make_node, where, more=f", tls: {{ ca: {tmp_path}/authority.pem{own} }}")
    ends(node, node.accept("in", message("1")), "delivered")
    wrong = start(make_node, where, more=f", tls: {{ ca: {tmp_path}/stranger.pem{own} }}")
    seen = ends(wrong, wrong.accept("in", message("2")), "retrying")
    assert "certificate" in seen["deliveries"][0]["message"]
    assert far.messages == [message("1")]
    far.close()


def test_an_expired_certificate(make_node, tmp_path):
    certificates = Certificates(tmp_path / "tls")
    far = Receiver(tls=certificates.context("expired"))
    node = start(make_node, far.address, more=f", tls: {{ ca: {certificates.path('ca.pem')} }}")
    seen = ends(node, node.accept("in", message("1")), "retrying")
    assert "expired" in seen["deliveries"][0]["message"] and far.messages == []
    far.close()


def test_clear_text_beyond_loopback_must_be_meant(program, tmp_path):
    def check(more):
        file = tmp_path / "waybill.yaml"
        file.write_text(CONFIG.format(address="hospital.example:2575", policy="hold", timeout="30s", more=more))
        return program("check", file)

    refused = check("")
    assert refused.returncode == 1 and "`plaintext: true`" in refused.stderr + refused.stdout
    for more in (", plaintext: true", ", tls: {}"):
        done = check(more)
        assert done.returncode == 0, done.stderr + done.stdout
    assert check(", plaintext: true, outcome: { XX: retry }").returncode == 1


def our_tls(folder):
    return f", tls: {{ ca: {folder}/authority.pem, cert: {folder}/engine.pem, key: {folder}/engine.key }}"


# ---- other people's receivers

class PythonHl7:
    """The server of python3-hl7, in a thread with a loop of its own."""

    def __init__(self, tls=None):
        self.controls = []
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self.run, args=(ready, tls), daemon=True).start()
        assert ready.wait(SECONDS)

    def run(self, ready, tls):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(hl7.mllp.start_hl7_server(self.talk, "127.0.0.1", 0, ssl=tls))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()

    async def talk(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while not writer.is_closing():
                got = await reader.readmessage()
                self.controls.append(str(got.segment("MSH")[10]))
                writer.writemessage(got.create_ack())
                await writer.drain()


@pytest.mark.parametrize("tls", [False, True])
def test_python_hl7_takes_a_thousand_messages(make_node, tmp_path, tls):
    if tls:
        make_papers(tmp_path)
    far = PythonHl7(context_of(tmp_path, True) if tls else None)
    node = start(make_node, f"localhost:{far.port}", more=our_tls(tmp_path) if tls else "")
    for doc in [node.accept("in", message(f"n{n}")) for n in range(1000)]:
        ends(node, doc, "delivered")
    assert sorted(far.controls) == sorted(f"n{n}" for n in range(1000))


@contextlib.contextmanager
def node_hl7_server(papers=None, port=None):
    """The server of npm; its port, and the control ids that it has taken so far.  It is killed at the end."""
    folder, port, taken = npm_folder.install("mllp"), port or free_port(), []
    more = [papers / "authority.pem", papers / "server.pem", papers / "server.key"] if papers else []
    listens = threading.Event()

    def read(lines):
        for line in lines:
            if line == "listening\n":
                listens.set()
            else:
                taken.append(line.strip())

    with subprocess.Popen(["node", folder / "serve.mjs", str(port), *more], env=clean_environment(), text=True,
                          stdout=subprocess.PIPE) as process:
        reader = threading.Thread(target=read, args=(process.stdout,))
        reader.start()
        try:
            assert listens.wait(SECONDS)
            yield port, taken
        finally:
            process.kill()
            reader.join()


@pytest.mark.parametrize("tls", [False, True])
def test_node_hl7_server_takes_a_thousand_messages(make_node, tmp_path, tls):
    """It acknowledges each message of a connection again with the next one: a connection serves one then."""
    if tls:
        make_papers(tmp_path)
    with node_hl7_server(tmp_path if tls else None) as (port, taken):
        node = start(make_node, f"localhost:{port}", policy="resend", more=our_tls(tmp_path) if tls else "")
        docs = [node.accept("in", message(f"n{n}")) for n in range(1000)]
        again = [look(node, doc)["deliveries"][0]["attempts"] > 1 for doc in docs if ends(node, doc, "delivered")]
    assert sum(again) <= 1, "once it has acknowledged another message, a connection serves one"
    assert set(taken) == {f"n{n}" for n in range(1000)}


@pytest.mark.proves("DE5")
def test_a_server_that_is_killed_gets_everything_later(make_node):
    with node_hl7_server() as (port, taken):
        node = start(make_node, f"localhost:{port}", policy="resend")
        ends(node, node.accept("in", message("before")), "delivered")
    docs = [node.accept("in", message(f"n{n}")) for n in range(5)]
    ends(node, docs[0], "retrying")
    with node_hl7_server(port=port) as (_, later):
        for doc in docs:
            ends(node, doc, "delivered")
    assert taken == ["before"] and set(later) == {f"n{n}" for n in range(5)}


def test_who_acknowledges_another_message_gets_one_over_a_connection(make_node, far):
    """The first message that meets it is in doubt, and no other one."""
    before = []

    def repeat(body):
        answers, before[:] = before + [ack(body)], [ack(body)]
        return b"".join(answers) if far.connections == 1 else ack(body)

    far.behave = repeat
    node = start(make_node, far.address)
    ends(node, node.accept("in", message("1")), "delivered")
    ends(node, node.accept("in", message("2")), "in_doubt")
    for n in range(3, 6):
        ends(node, node.accept("in", message(str(n))), "delivered")
        assert far.connections == n - 1
    assert far.messages == [message(str(n)) for n in range(1, 6)]
