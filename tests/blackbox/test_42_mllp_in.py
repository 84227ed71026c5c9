"""HL7 over MLLP: what is acknowledged is stored, and nothing that comes over the wire does harm."""
import hashlib
import json
import os
import signal
import socket
import ssl
import subprocess
import threading

import hl7
import hl7.client
import pytest

import npm_folder
from mllp import SECONDS, Peer, frame, message, port_of
from peers import free_port
from running_node import clean_environment
from wire import wait_until

CONFIG = """\
systems: { lab: { ids: [HOSP] }, ehr: { ids: [CLINIC] } }
types: { "*": {} }
routes: [ { name: other, when: { type: other }, do: [ { drop: other } ] } ]
gateways:
  adt: { kind: mllp, listen: "127.0.0.1:%s"%s, extract: hl7 }
"""


def config(port=0, more=""):
    return CONFIG % (port, more)


def start(make_node, more="", port=0, **settings):
    node = make_node(config=config(port, more), **settings)
    node.start()
    return node


@pytest.fixture(name="peer")
def peer_fixture(make_node):
    """A connection to the gateway of a running node, which is `peer.node`."""
    node = start(make_node)
    with Peer(port_of(node)) as peer:
        peer.node = node
        yield peer


def payload(node, doc):
    return node.get(f"/documents/{doc}/payload").body


def stored(node):
    """The bytes of all documents."""
    return sorted(payload(node, doc) for doc in node.documents())


def in_gateways(node, field, name="adt"):
    return {g["name"]: g[field] for g in node.graphql("{ gateways { name %s } }" % field)["gateways"]}[name]


# ---- messages

@pytest.mark.smoke
@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("IN2")
def test_a_message_is_stored_and_acknowledged(make_node):
    node = start(make_node)
    body = message("MSG-7", "grün")
    with Peer(port_of(node)) as peer:
        ack = peer.ask(body)
    assert (ack.code, ack.control, ack.message) == ("AA", "MSG-7", None)
    assert ack.msh[3:7] == ["EHR", "CLINIC", "LAB", "HOSP"] and ack.msh[9] == "ACK^R01^ACK"
    assert ack.msh[11:13] == ["P", "2.5"] and len(ack.msh[10]) == 20
    [doc] = node.documents()
    assert payload(node, doc) == body
    shown = node.await_state(doc, "dead", look=lambda n, d: n.show(
        d, "state gateway sender receiver type contentType size error { code }"), seconds=SECONDS)
    assert shown == {"state": "dead", "gateway": "adt", "sender": "lab", "receiver": "ehr", "type": "ORU^R01",
                     "contentType": "application/hl7-v2", "size": len(body), "error": {"code": "no_route"}}
    node.kill()  # the acknowledgement followed the sync
    node.start()
    assert stored(node) == [body]


@pytest.mark.parametrize("code, more", [
    ("CA", "|||AL"), ("CA", "|||SU"), ("CA", "|||AL|NE"), ("AA", "|||NE|AL"), ("AA", "||||AL")])
def test_the_sender_says_which_acknowledgement_it_wants(peer, code, more):
    ack = peer.ask(message("1", more=more))
    assert (ack.code, ack.control) == (code, "1")


@pytest.mark.parametrize("more", ["|||NE", "|||ER", "|||NE|NE"])
def test_a_sender_that_wants_no_acknowledgement_gets_none(peer, more):
    peer.send(frame(message("1", more=more)))
    ack = peer.ask(message("2"))
    assert ack.control == "2", "the first one was acknowledged"
    assert len(peer.node.documents()) == 2
    # ... and learns of a refusal by the end of the connection, unless it wants to hear of errors.
    peer.send(frame(message("3", more=more) * 2))
    if more == "|||ER":
        assert peer.ack().code == "CR"
    else:
        assert peer.is_closed()
    assert len(peer.node.documents()) == 2


def test_separators_and_character_set_are_those_of_the_message(peer):
    body = message("Ü-1", "Straße", marks="#*!\\+", more="######8859/1").decode().encode("latin-1")
    ack = peer.ask(body)
    assert ack.text.startswith("MSH#*!\\+#EHR#CLINIC#LAB#HOSP#")
    assert ack.msa == ["MSA", "AA", "Ü-1"] and ack.msh[18] == "8859/1"
    assert stored(peer.node) == [body]


def test_control_characters_are_not_answered(peer):
    ack = peer.ask(message("4\x1b2\x01", sender="L\x0cAB"))
    assert ack.code == "AA" and ack.control == "42" and ack.msh[5] == "LAB"


@pytest.mark.proves("IN6")
def test_the_same_message_again_gets_the_first_acknowledgement(peer):
    first = peer.ask(message("1", "a"))
    with Peer(port_of(peer.node)) as other:
        assert other.ask(message("1", "a")).raw == first.raw
    since = len(peer.node.events)
    peer.node.restart()
    with Peer(port_of(peer.node, since=since)) as other:
        assert other.ask(message("1", "a")).raw == first.raw
        assert len(peer.node.documents()) == 1
        again = other.ask(message("1", "b"))  # a control id that was used for other bytes
        assert again.code == "AA" and again.raw != first.raw
        assert other.ask(message("1", "a", sender="LAB2")).code == "AA"
        assert len(peer.node.documents()) == 3
        for _ in range(2):  # without a control id nobody knows whether it is the same one
            assert other.ask(message("", "a")).code == "AA"
        assert len(peer.node.documents()) == 5


def test_messages_of_one_connection_are_taken_in_order(peer):
    """All frames at once, before the first acknowledgement is read."""
    peer.send(b"\r\n".join(frame(message(str(n))) for n in range(200)))
    assert [peer.ack().control for _ in range(200)] == [str(n) for n in range(200)]
    assert len(peer.node.documents()) == 200


@pytest.mark.stores("sqlite", "postgres")
def test_a_large_message_passes_through_the_spool(make_node):
    node = start(make_node)
    body = message("big") + b"".join(b"OBX|%d|TX|||%s\r" % (n, os.urandom(500).hex().encode()) for n in range(8000))
    with Peer(port_of(node)) as peer:
        assert peer.ask(body).code == "AA"
        assert peer.ask(body).code == "AA"
        assert peer.ask(message("small")).code == "AA"
    assert [hashlib.sha256(b).digest() for b in stored(node) if len(b) > 1000] == [hashlib.sha256(body).digest()]
    assert len(node.documents()) == 2


# ---- refusals

@pytest.mark.proves("IN1", "IN10")
def test_a_paused_node_answers_ae_and_stores_nothing(peer):
    node = peer.node
    assert node.cli("node", "pause", "--intake", "--reason", "test").returncode == 0
    wait_until(lambda: node.get("/readyz").status == 503, SECONDS)
    ack = peer.ask(message("1"))
    assert (ack.code, ack.control) == ("AE", "1") and "later" in ack.message
    assert peer.ask(message("2", more="|||AL")).code == "CE"
    assert node.documents() == []
    assert node.metrics()['waybill_documents_refused_total{gateway="adt"}'] == 2
    assert node.cli("node", "resume", "--intake").returncode == 0
    wait_until(lambda: node.get("/readyz").status == 200, SECONDS)
    assert peer.ask(message("1")).code == "AA"


@pytest.mark.proves("IN1")
def test_a_write_that_fails_is_ae_and_the_message_may_come_again(make_node):
    node = start(make_node, environment={"WAYBILL_FAULT": "segment.write:error:1"})
    with Peer(port_of(node)) as peer:
        ack = peer.ask(message("1"))
        assert (ack.code, ack.control) == ("AE", "1")
        assert node.documents() == []
        assert peer.ask(message("1")).code == "AA"
    assert len(node.documents()) == 1


@pytest.mark.proves("IN10")
def test_a_rate_is_kept(make_node):
    node = start(make_node, ", limits: { rate: 1/h, burst: 2 }")
    with Peer(port_of(node)) as peer:
        assert [peer.ask(message(str(n))).code for n in range(3)] == ["AA", "AA", "AE"]


@pytest.mark.proves("IN9")
@pytest.mark.parametrize("what, body, said", [
    ("no MSH", b"PID|1\r", "MSH"), ("nothing", b"", "MSH"), ("no HL7", b"{}", "MSH"),
    ("equal separators", b"MSH|^^~&|a|b\r", ""), ("half a header", b"MSH|^~", ""),
    ("a batch", b"FHS|^~\\&|a\rBHS|^~\\&|a\r" + message() + b"BTS|1\rFTS|1\r", "MSH"),
    ("two messages", message("1") + message("2"), "two messages"),
    ("a frame that was never closed", message("1") + b"\x0b" + message("2"), "two messages")])
def test_what_is_no_message_is_rejected_and_the_next_one_taken(peer, what, body, said):
    ack = peer.ask(body)
    assert ack.code == "AR" and said in ack.message, what
    assert ack.control == ("1" if "two" in said else "")
    assert peer.node.documents() == []
    assert peer.ask(message("9")).control == "9"
    assert len(peer.node.documents()) == 1


@pytest.mark.proves("IN10")
@pytest.mark.parametrize("ends", [True, False])
def test_a_message_over_the_limit_is_rejected_and_ends_the_connection(make_node, ends):
    node = start(make_node, ", limits: { size: 100 KiB }")
    with Peer(port_of(node)) as peer:
        peer.send(b"\x0b" + message("big"), b"x" * 110_000, b"\x1c\r" if ends else b"")
        ack = peer.ack()
        assert (ack.code, ack.control) == ("AR", "big") and "larger" in ack.message
        assert peer.is_closed()
    assert node.documents() == []
    with Peer(port_of(node)) as peer:
        assert peer.ask(message("1")).code == "AA"


# ---- hostile and broken clients

def test_bytes_come_one_by_one(peer):
    peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in frame(message("slow")):
        peer.send(bytes([byte]))
    assert peer.ack().control == "slow"


def test_a_missing_last_cr_is_not_waited_for_for_ever(peer):
    peer.send(frame(message("1"))[:-1])
    assert peer.ack().control == "1"
    peer.send(frame(message("2"))[:-1], frame(message("3")))  # the next frame begins at once
    assert [peer.ack().control, peer.ack().control] == ["2", "3"]
    peer.send(frame(message("4"))[:-1])
    peer.socket.shutdown(socket.SHUT_WR)
    assert peer.ack().control == "4"
    assert len(peer.node.documents()) == 4


def test_a_client_that_has_closed_its_side_gets_its_acknowledgement(peer):
    peer.send(frame(message("1")), frame(message("2")))
    peer.socket.shutdown(socket.SHUT_WR)
    assert [peer.ack().control, peer.ack().control] == ["1", "2"]
    assert peer.is_closed()


@pytest.mark.proves("IN9")
def test_half_a_frame_leaves_nothing(make_node):
    node = start(make_node, ", timeout: 1s")
    with Peer(port_of(node)) as peer:
        assert peer.ask(message("1")).code == "AA"
        peer.send(frame(message("2"))[:-40])
    with Peer(port_of(node)) as peer:  # it is silent, and cut off
        peer.send(frame(message("3"))[:-40])
        assert peer.is_closed()
    with Peer(port_of(node)) as peer:  # between messages silence is no fault
        assert peer.ask(message("4")).code == "AA"
        node.wait_event("gateway.refuse", SECONDS, gateway="adt", why="silent_connection", address="127.0.0.1")
        assert peer.ask(message("5")).code == "AA"
    assert len(node.documents()) == 3


@pytest.mark.parametrize("junk", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"\x1c\r", b"MSH|^~\\&|no frame\r"])
def test_who_does_not_speak_mllp_is_cut_off(peer, junk):
    with Peer(port_of(peer.node)) as other:
        other.send(junk)
        assert other.is_closed()
    assert peer.ask(message("1")).code == "AA"
    assert peer.node.metrics()['waybill_documents_accepted_total{gateway="adt"}'] == 1


def test_who_reads_no_acknowledgements_is_not_read_from(make_node):
    """Thousands of frames, no acknowledgement is read: the node stops reading, and others are served."""
    node = start(make_node)
    deaf = Peer(port_of(node))
    deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stop = threading.Event()

    def pour():
        try:
            while not stop.is_set():
                deaf.socket.sendall(frame(message("x")) * 100)
        except OSError:
            pass

    thread = threading.Thread(target=pour)
    thread.start()
    with Peer(port_of(node)) as peer:
        for n in range(50):
            assert peer.ask(message(str(n))).control == str(n)
    stop.set()
    deaf.socket.shutdown(socket.SHUT_RDWR)
    thread.join()
    deaf.close()
    assert len(node.documents()) == 51


@pytest.mark.proves("IN10")
def test_there_is_a_limit_of_connections(make_node):
    """The longest idle connection makes room for a new one; when all are within a message, none does."""
    node = start(make_node)
    port = port_of(node)
    peers = [Peer(port) for _ in range(256)]
    try:
        assert peers[-1].ask(message("1")).code == "AA"
        newcomer = Peer(port)
        assert newcomer.ask(message("2")).code == "AA"
        assert peers.pop(0).is_closed()
        peers.append(newcomer)
        for n, peer in enumerate(peers):  # a whole message, and the beginning of another one
            peer.send(frame(message(f"n{n}")) + b"\x0bMSH|")
        for n, peer in enumerate(peers):
            assert peer.ack().control == f"n{n}"
        assert is_refused(port)
        wait_until(lambda: node.metrics()['waybill_gateway_connections{gateway="adt"}'] == 256, SECONDS)
        peers.pop().close()
        wait_until(lambda: not is_refused(port), SECONDS)
    finally:
        for peer in peers:
            peer.close()


def is_refused(port):
    with Peer(port) as peer:
        try:
            peer.send(frame(message("once")))
            peer.ack()
        except (AssertionError, OSError):
            return True
    return False


# ---- crashes

@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("IN7")
@pytest.mark.parametrize("fault", ["group.written", "group.committed", "ack.send"])
def test_a_crash_loses_nothing_that_was_acknowledged(make_node, fault):
    crash_and_repeat(make_node, fault)


@pytest.mark.proves("IN7")
def test_a_crash_between_bytes_and_row_loses_nothing(make_node):
    crash_and_repeat(make_node, "segment.synced")  # SQLite: PostgreSQL has no segments


def crash_and_repeat(make_node, fault):
    """The node dies by itself within the n-th message; the sender repeats what was not acknowledged."""
    node = start(make_node, environment={"WAYBILL_FAULT": f"{fault}:kill:20"})
    acked, peer = [], Peer(port_of(node))
    for n in range(40):
        try:
            assert peer.ask(message(str(n))).control == str(n)
        except (AssertionError, OSError):
            break
        acked.append(n)
    peer.close()
    assert len(acked) < 40, "it did not pass here"
    node.ended(SECONDS)  # by itself
    node.environment.clear()
    since = len(node.events)
    node.start()
    have = stored(node)
    assert all(message(str(n)) in have for n in acked), "an acknowledged message is lost"
    with Peer(port_of(node, since=since)) as peer:
        for n in range(len(acked), 40):
            assert peer.ask(message(str(n))).control == str(n)
    assert stored(node) == sorted(message(str(n)) for n in range(40)), "lost or doubled"


@pytest.mark.proves("IN7")
def test_kill_between_frames(make_node):
    """Four senders repeat until they are acknowledged, while the node is killed again and again."""
    port = free_port()
    node = start(make_node, port=port)
    wanted = [[message(f"{who}-{n}") for n in range(60)] for who in range(4)]
    failures = []

    def run(bodies):
        peer = None
        for body in bodies:
            for _ in range(2000):
                try:
                    peer = peer or Peer(port, seconds=10)
                    assert peer.ask(body).code == "AA"
                    break
                except (AssertionError, OSError):
                    if peer is not None:
                        peer.close()
                    peer = None
                    pause.wait(0.05)
            else:
                failures.append(body)
                return

    pause = threading.Event()
    threads = [threading.Thread(target=run, args=(bodies,)) for bodies in wanted]
    for thread in threads:
        thread.start()
    for kill in range(3):
        wait_until(lambda k=kill: not any(t.is_alive() for t in threads) or accepted(node) >= 10 * (k + 1), SECONDS)
        node.kill()
        node.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert stored(node) == sorted(body for bodies in wanted for body in bodies)


def accepted(node):
    return node.metrics().get('waybill_documents_accepted_total{gateway="adt"}', 0)


def test_a_node_that_stops_ends_what_it_has_begun(peer):
    peer.send(frame(message("1")))
    peer.node.process.send_signal(signal.SIGTERM)
    ack = peer.ack()
    assert ack.control == "1" and ack.code in ("AA", "AE")
    assert peer.is_closed()
    assert peer.node.ended() == 0
    since = len(peer.node.events)
    peer.node.start()
    port_of(peer.node, since=since)
    assert len(peer.node.documents()) == (ack.code == "AA")


# ---- the port

def apply(node, text, *more):
    node.write_config(text)
    return node.cli("apply", node.config_file, *more)


def test_the_port_follows_the_configuration(make_node):
    first, second = free_port(), free_port()
    node = start(make_node, port=first, options="ports: any")
    old, busy = Peer(first), Peer(first)
    assert old.ask(message("1")).code == "AA"
    busy.send(frame(message("2"))[:-40])
    done = apply(node, config(first).replace("lab: {", "lab: { title: Laboratory,"))
    assert done.returncode == 0, done.stderr
    assert old.ask(message("3")).code == "AA", "another part of the configuration was changed"

    done = apply(node, config(second))
    assert done.returncode == 0, done.stderr
    with Peer(second) as new:
        assert new.ask(message("4")).code == "AA"
    assert old.is_closed()
    busy.send(frame(message("2"))[-40:])  # what had begun is taken
    assert busy.ack().control == "2" and busy.is_closed()
    wait_until(lambda: is_free(first), SECONDS)

    done = apply(node, config(second).replace("adt:", "lab:"), "--yes")  # another name: the socket stays
    assert done.returncode == 0, done.stderr
    with Peer(second) as new:
        assert new.ask(message("5")).code == "AA"
    assert node.show(node.documents()[0], "gateway") == {"gateway": "lab"}

    done = apply(node, 'types: { "*": {} }\n', "--yes")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: is_free(second), SECONDS)
    assert len(node.documents()) == 5
    for peer in (old, busy):
        peer.close()


def is_free(port):
    try:
        socket.create_connection(("127.0.0.1", port), 10).close()
    except ConnectionRefusedError:
        return True
    return False


def test_two_gateways_change_their_ports(make_node):
    one, two = free_port(), free_port()
    text = config(one) + f'  oru: {{ kind: mllp, listen: "127.0.0.1:{two}", extract: hl7 }}\n'
    node = make_node(config=text)
    node.start()
    done = apply(node, text.replace(str(one), "x").replace(str(two), str(one)).replace('1:x"', f'1:{two}"'))
    assert done.returncode == 0, done.stderr
    for port, gateway in ((one, "oru"), (two, "adt")):
        with Peer(port) as peer:
            assert peer.ask(message(gateway)).code == "AA"
        assert node.show(node.documents()[0], "gateway") == {"gateway": gateway}


def test_a_port_that_is_taken_refuses_the_version_and_the_old_one_stays(make_node):
    port = free_port()
    node = start(make_node, port=port, options="ports: any")
    with socket.socket() as taken, Peer(port) as peer:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = taken.getsockname()[1]
        done = apply(node, config(where))
        assert done.returncode == 1 and f"port {where}" in done.stdout and "taken" in done.stdout
        done = apply(node, config(port) + f'  more: {{ kind: mllp, listen: "127.0.0.1:{port}" }}\n')
        assert done.returncode == 1 and "as `adt` does" in done.stdout
        done = apply(node, config(node.url.rpartition(":")[2]))  # the node's own
        assert done.returncode == 1 and "taken" in done.stdout
        assert peer.ask(message("1")).code == "AA"


@pytest.mark.proves("IN5")
def test_a_port_that_is_taken_at_the_start_is_said_and_tried_again(make_node):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        node = start(make_node, port=port)
        node.wait_event("gateway.fail", SECONDS, gateway="adt")
        wait_until(lambda: "taken" in (in_gateways(node, "broken") or ""), SECONDS)
        wait_until(lambda: any(m["code"] == "gateway_failing" and m["object"] == "gateway adt"
                               for m in node.graphql("{ mishaps { code object count } }")["mishaps"]), SECONDS)
    node.wait_event("gateway.recover", SECONDS, gateway="adt")
    with Peer(port_of(node)) as peer:
        assert peer.ask(message("1")).code == "AA"
    wait_until(lambda: in_gateways(node, "broken") is None, SECONDS)


@pytest.mark.proves("S9")
def test_only_ports_that_the_node_allows_are_opened(make_node):
    port, other = free_port(), free_port()
    node = start(make_node, port=port)
    done = apply(node, config(other))
    assert done.returncode == 1
    assert f"may not listen on port {other}" in done.stdout and "`ports`" in done.stdout
    node.options = f"ports: [{port}, {other}]"
    node.write_config(config(port))
    node.restart()
    done = apply(node, config(other))
    assert done.returncode == 0, done.stderr
    with Peer(other) as peer:
        assert peer.ask(message("1")).code == "AA"


# ---- who may connect

def test_clear_text_beyond_loopback_must_be_meant(program, tmp_path):
    def check(more):
        file = tmp_path / "waybill.yaml"
        file.write_text(config(2575, more).replace("127.0.0.1", "0.0.0.0"))
        return program("check", file)

    refused = check("")
    assert refused.returncode == 1 and "`plaintext: true`" in refused.stderr + refused.stdout
    for more in (", plaintext: true", ", tls: { cert: c.pem, key: k.pem }"):
        done = check(more)
        assert done.returncode == 0, done.stderr + done.stdout


def test_it_does_not_answer_in_soap(program, tmp_path):
    file = tmp_path / "waybill.yaml"
    file.write_text(config(2575, ", reply: soap"))
    done = program("check", file)
    assert done.returncode == 1 and "`reply` cannot be `soap`" in done.stderr + done.stdout


def test_only_listed_addresses_may_connect(make_node):
    node = start(make_node, ", allow: [127.0.0.2, 10.0.0.0/8]")
    port = port_of(node)
    with Peer(port) as peer:
        assert peer.is_closed()
    with Peer(port, source="127.0.0.2") as peer:
        assert peer.ask(message("1")).code == "AA"
        node.wait_event("gateway.refuse", SECONDS, why="address_not_allowed", address="127.0.0.1")
        done = apply(node, config(0, ", allow: [127.0.0.3]"))  # it may not stay either
        assert done.returncode == 0, done.stderr
        assert peer.is_closed()
    with Peer(port_of(node), source="127.0.0.3") as peer:
        assert peer.ask(message("2")).code == "AA"


def openssl(folder, *args):
    subprocess.run(["openssl", *map(str, args)], cwd=folder, check=True, capture_output=True)


def make_authority(folder, name):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")


def make_signed(folder, name, authority):
    """NAME.pem and NAME.key: a certificate for localhost, signed by the authority."""
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
            "-days", "2", "-copy_extensions", "copy", "-out", f"{name}.pem")


def trusting(folder, client=None):
    context = ssl.create_default_context(cafile=folder / "authority.pem")
    if client:
        context.load_cert_chain(folder / f"{client}.pem", folder / f"{client}.key")
    return context


@pytest.fixture(name="papers")
def papers_fixture(tmp_path):
    """Certificates of two authorities."""
    folder = tmp_path / "papers"
    folder.mkdir()
    for name in ("authority", "stranger"):
        make_authority(folder, name)
    for name, signer in (("server", "authority"), ("lab", "authority"), ("imposter", "stranger")):
        make_signed(folder, name, signer)
    return folder


def tls_options(papers, ca=True):
    more = f", ca: {papers}/authority.pem" if ca else ""
    return f", tls: {{ cert: {papers}/server.pem, key: {papers}/server.key{more} }}"


def is_let_in(port, context):
    """With TLS 1.3 a client learns only after its own handshake that its certificate was refused."""
    try:
        with Peer(port, tls=context) as peer:
            return peer.ask(message("who")).code == "AA"
    except (AssertionError, OSError):
        return False


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_with_and_without_client_certificates(make_node, papers, version):
    node = start(make_node, tls_options(papers, ca=False))
    port = port_of(node)

    def context(client=None):
        made = trusting(papers, client)
        made.minimum_version = made.maximum_version = version
        return made

    big = message("big", "x" * 3_000_000)
    with Peer(port, tls=context()) as peer:
        assert peer.ask(message("1")).code == "AA" and peer.ask(big).code == "AA"
        done = apply(node, config(0, tls_options(papers)))
        assert done.returncode == 0, done.stderr
        assert peer.is_closed(), "it was made under other rules"
    port = port_of(node)
    assert not is_let_in(port, context()), "without a certificate"
    assert not is_let_in(port, context("imposter")), "with one of another authority"
    assert not is_let_in(port, None), "without TLS"
    assert is_let_in(port, context("lab"))
    node.wait_event("gateway.refuse", SECONDS, why="tls_handshake")
    assert len(node.documents()) == 3


def test_a_renewed_certificate_is_read_again(make_node, papers):
    node = start(make_node, tls_options(papers))
    port = port_of(node)
    with Peer(port, tls=trusting(papers, "lab")) as peer:
        before = peer.socket.getpeercert()["serialNumber"]
        node.wait_event("certificate.end", SECONDS, of="gateway adt")  # in two days
        make_signed(papers, "server", "authority")
        node.process.send_signal(signal.SIGHUP)
        assert peer.is_closed()
    with Peer(port, tls=trusting(papers, "lab")) as peer:
        assert peer.socket.getpeercert()["serialNumber"] != before
        assert peer.ask(message("1")).code == "AA"


@pytest.mark.parametrize("what, tls", [
    ("server.pem", "cert: {0}/none.pem, key: {0}/server.key"), ("key", "cert: {0}/server.pem, key: {0}/lab.key"),
    ("authority", "cert: {0}/server.pem, key: {0}/server.key, ca: {0}/server.key")])
def test_certificates_that_cannot_be_used_refuse_the_version(make_node, papers, what, tls):
    node = start(make_node)
    done = apply(node, config(0, f", tls: {{ {tls.format(papers)} }}"))
    assert done.returncode == 1 and "adt" in done.stdout, what
    with Peer(port_of(node)) as peer:
        assert peer.ask(message("1")).code == "AA"


# ---- other people's clients

@pytest.mark.parametrize("tls", [False, True])
def test_python_hl7_sends_a_thousand_messages(make_node, papers, tls):
    node = start(make_node, tls_options(papers) if tls else "")
    with hl7.client.MLLPClient("127.0.0.1", port_of(node)) as client:
        if tls:
            client.socket = trusting(papers, "lab").wrap_socket(client.socket, server_hostname="localhost")
        for n in range(1000):
            answer = hl7.parse(client.send_message(message(f"py-{n}").decode()).strip(b"\x0b\x1c\r").decode())
            assert str(answer.segment("MSA")[1]) == "AA" and str(answer.segment("MSA")[2]) == f"py-{n}"
            assert str(answer.segment("MSH")[9]) == "ACK^R01^ACK"
    assert len(node.documents()) == 1000


@pytest.mark.parametrize("tls", [False, True])
def test_node_hl7_client_sends_a_thousand_messages(make_node, papers, tls):
    folder = npm_folder.install("mllp")
    node = start(make_node, tls_options(papers) if tls else "")
    more = [papers / "authority.pem", papers / "lab.pem", papers / "lab.key"] if tls else []
    done = subprocess.run(["node", folder / "send.mjs", str(port_of(node)), "1000", *more], env=clean_environment(),
                          capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert [a[:2] for a in answers] == [["AA", f"node-{n}"] for n in range(1000)]
    assert len({a[2] for a in answers}) == 1000
    assert len(node.documents()) == 1000
