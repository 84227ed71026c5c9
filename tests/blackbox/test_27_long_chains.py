"""Chains of many steps that change the bytes: what is sent, what is kept, what is too much."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
systems: {{ hub: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  middle: {{ kind: http, url: "{url}/middle" }}
  end: {{ kind: http, url: "{url}/end" }}
routes:
  - name: orders
    when: {{ type: order }}
    do:
{steps}
"""


def counting(first, last):
    """Steps of which each changes the bytes: <first> becomes <first + 1>, and so on."""
    return [f'      - replace: {{ find: "<{n}>", with: "<{n + 1}>" }}' for n in range(first, last)]


def config(receiver, *steps):
    return CONFIG.format(url=receiver.url(""), steps="\n".join(steps))


def bodies(receiver, path):
    return [r["body"] for r in receiver.requests(path)]


def look(node, doc):
    return node.show(doc, "state error { code message }")


@BOTH
def test_twenty_steps_change_a_document(make_node):
    """Each leg sends the bytes of its place in the chain; every stage can be looked at afterwards."""
    with Receiver() as receiver:
        node = make_node(config=config(receiver, *counting(0, 8), "      - deliver: middle",
                                       *counting(8, 20), "      - deliver: end"))
        node.start()
        doc = node.accept("in", "a <0> b")
        node.await_state(doc, "delivered", look=look)
        assert bodies(receiver, "/middle") == ["a <8> b"] and bodies(receiver, "/end") == ["a <20> b"]
        for stage in (1, 8, 13, 20):
            assert node.cli("docs", "payload", doc, "--stage", str(stage)).stdout == f"a <{stage}> b"


def test_more_changes_than_a_chain_may_make(make_node):
    """32 pass; the one after them makes a dead letter that says so, and nothing was sent."""
    with Receiver() as receiver:
        node = make_node(config=config(receiver, *counting(0, 33), "      - deliver: end"))
        node.start()
        good, bad = node.accept("in", "<1>"), node.accept("in", "<0>")
        node.await_state(good, "delivered", look=look)
        shown = node.await_state(bad, "dead", look=look)
        assert shown["error"]["code"] == "limit" and "more than 32 steps" in shown["error"]["message"], shown
        assert bodies(receiver, "/end") == ["<33>"]
