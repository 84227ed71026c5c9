"""The recorder: a crash makes a suspect of the document whose own code crashed, and of no other.

A suspect runs alone, and a crash while it is alone counts against it.  So bystanders that became suspects would be seen
in two ways: after the next start they are sent one at a time, and after some crashes one of them is poison.  Here they
wait for their receivers, in every life of the node: an HTTP receiver that does not answer, and a folder whose writes
do not return (the fault `file.writing`).
"""
import contextlib
import pathlib
import signal
import sys

import pytest

from wire import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
SECONDS = 60
ALONE = 3       # crashes while alone that make a document poison
WAITING = 6     # documents that wait for each slow receiver; fewer than a system may have senders
BOMB = "explosive"
SLOW_FOLDER = "file.writing:delay_ms:600000"
CONFIG = """\
systems: {{ web: {{}}, share: {{}}, near: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "header:To" }} }}
endpoints:
  web:   {{ kind: http, system: web, url: "{url}/web", timeout: 10m }}
  share: {{ kind: file, system: share, path: ./share, timeout: 10m }}
  near:  {{ kind: http, system: near, url: "{url}/near" }}
routes:
  - {{ name: web, when: {{ receiver: web }}, do: [ {{ deliver: web }} ] }}
  - {{ name: share, when: {{ receiver: share }}, do: [ {{ deliver: share }} ] }}
  - {{ name: near, when: {{ receiver: near }}, do: [ {{ deliver: near }} ] }}
"""


@pytest.fixture
def receiver():
    with Receiver() as r:
        r.behave("/web", "no_answer")
        yield r


@pytest.fixture
def node(make_node, receiver):  # pylint: disable=function-redefined
    """It runs, and its documents wait for slow receivers."""
    one = make_node(config=CONFIG.format(url=receiver.url("")), environment={"WAYBILL_FAULT": SLOW_FOLDER})
    one.start()
    one.waiting = [send(one, to, n) for to in ("web", "share") for n in range(WAITING)]
    await_sends(one, receiver)
    yield one
    one.kill()  # an orderly stop would wait for the sends


def send(node, to, text):
    return node.accept("in", str(text), {"To": to})


def half_written(node):
    return list((node.folder / "share").glob(".*"))


def await_sends(node, receiver):
    """All of them are being sent, beside each other."""
    receiver.wait_for(WAITING, SECONDS, "/web")
    wait_until(lambda: len(half_written(node)) == WAITING, SECONDS, "the writes")


def forget_sends(node, receiver):
    """What is seen of sends from now on is of the next life."""
    with receiver.changed:
        receiver.came.clear()
    for path in half_written(node):
        path.unlink()


def state(node, doc):
    return node.show(doc, "state")


def dead(node):
    return node.graphql('{ documents(filter: { state: "dead" }) { items { id error { code } } } }')["documents"]["items"]


def others_go_on(node):
    node.await_state(send(node, "near", "a healthy one"), "delivered", look=state, seconds=SECONDS)


def all_arrive(node, receiver):
    """The receivers are quick again."""
    receiver.behave("/web", "ok")
    node.kill()
    node.environment.clear()
    node.start()
    for doc in node.waiting:
        node.await_state(doc, "delivered", look=state, seconds=SECONDS)
    assert node.cli("doctor").returncode == 0


def start_again(node, receiver):
    forget_sends(node, receiver)
    node.start()
    await_sends(node, receiver)


def start_with(node, receiver, fault):
    node.kill()
    node.environment["WAYBILL_FAULT"] = f"{SLOW_FOLDER},{fault}"
    start_again(node, receiver)


def send_and_crash(node, text):
    with contextlib.suppress(OSError):  # the answer may not come
        send(node, "near", text)
    assert node.ended() == -signal.SIGABRT


def by_signal(signo):
    def crash(node, _):
        node.process.send_signal(signo)
        assert node.ended() == -signo
    return crash


def by_another_thread(node, receiver):
    """The thread that answers senders fails an assertion of ours; it runs the code of no document."""
    start_with(node, receiver, "ack.send:abort:1")
    send_and_crash(node, "whose answer never comes")
    node.environment["WAYBILL_FAULT"] = SLOW_FOLDER


def by_another_document(node, receiver):
    """Its own code fails once."""
    start_with(node, receiver, f"road.walk:abort_on:{BOMB}")
    send_and_crash(node, BOMB)
    node.environment["WAYBILL_FAULT"] = SLOW_FOLDER


CRASHES = {"sigsegv": by_signal(signal.SIGSEGV), "sigkill": by_signal(signal.SIGKILL),
           "assertion": by_another_thread, "document": by_another_document}


@BOTH
@pytest.mark.proves("QC4")
@pytest.mark.parametrize("crash", CRASHES.values(), ids=CRASHES)
def test_a_crash_suspects_no_document_that_waits_for_its_receiver(node, receiver, crash):
    """More often than would make one of them poison, were it a suspect."""
    for _ in range(ALONE + 1):
        crash(node, receiver)
        start_again(node, receiver)
        others_go_on(node)
    assert not dead(node)
    all_arrive(node, receiver)


@BOTH
@pytest.mark.smoke
@pytest.mark.proves("QC4")
def test_a_document_that_crashes_the_node_is_suspect_alone(node, receiver):
    """It is poison in the end; those that waited beside it are not."""
    start_with(node, receiver, f"road.walk:abort_on:{BOMB}")
    send_and_crash(node, BOMB)
    for _ in range(ALONE):
        node.launch()
        assert node.ended(SECONDS) == -signal.SIGABRT
    start_again(node, receiver)
    others_go_on(node)
    (bomb,) = dead(node)
    assert bomb["error"]["code"] == "poison" and bomb["id"] not in node.waiting
    all_arrive(node, receiver)
