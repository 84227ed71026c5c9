"""One of two nodes is frozen inside a transaction; the other one goes on."""
import signal
import threading
import time

import pytest

from wire import wait_until

CONFIG = """\
systems:
  hub: { order: receiver }
gateways:
  open: { kind: http, auth: none, extract: { receiver: "value:hub" } }
"""
pytestmark = [pytest.mark.config(CONFIG), pytest.mark.stores("postgres")]
STALL_MOST = 10  # seconds; the open transaction of a frozen node stopped the others for 30


def open_transactions(server, store):
    """Sessions of this store that are inside the transaction of an accept and wait for their node."""
    return int(server.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
                          f" AND datname = '{store.rpartition('/')[2]}' AND query ~ 'order_seq|idem_|claim_number|num_block'"))


@pytest.mark.proves("QC2", "PR14")
def test_a_frozen_node_stops_nobody(make_node, postgres, store):
    """With an ordered system, documents of all nodes are numbered in the order of their commits."""
    one = make_node(environment={"WAYBILL_FAULT": "group.written:delay_ms:700"})
    two = make_node()
    one.start()
    two.start()
    two.accept("open", b"before")
    answers = {}

    def key(n):
        return {"Idempotency-Key": f"k{n}"}

    def send(n):
        answers[n] = one.request("POST", "/in/open", b"frozen", key(n), 60)

    def send_and_freeze(n):
        """The sender; None: its transaction was over before the node stood still."""
        sender = threading.Thread(target=send, args=(n,))
        sender.start()
        wait_until(lambda: open_transactions(postgres, store) > 0 or not sender.is_alive(), 60, "an open transaction")
        one.process.send_signal(signal.SIGSTOP)
        if open_transactions(postgres, store) > 0:
            return sender
        one.process.send_signal(signal.SIGCONT)
        sender.join()
        return None

    for last in range(20):
        if (sender := send_and_freeze(last)) is not None:
            break
    assert sender is not None
    try:
        for n in range(5):
            begun = time.monotonic()
            two.accept("open", f"beside {n}".encode())
            assert time.monotonic() - begun < STALL_MOST
        wait_until(lambda: open_transactions(postgres, store) == 0, 20, "the end of the transaction")
    finally:
        one.process.send_signal(signal.SIGCONT)
    sender.join()
    # The same again, on the other node: each has its document, and one only.
    for n in range(last + 1):
        first, again = answers.get(n), two.post("open", b"frozen", key(n))
        assert again.status == 202
        assert first is None or first.status != 202 or first.json["document"] == again.json["document"]
    assert len(two.documents()) == 6 + last + 1
