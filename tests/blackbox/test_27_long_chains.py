"""Chains of many steps that change the bytes: what is sent, what is kept, what is too much."""
import collections
import contextlib
import http.client
import json
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402
from wire import wait_until  # noqa: E402

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
    keep: {keep}
    do:
{steps}
"""


def counting(first, last):
    """Steps of which each changes the bytes: <first> becomes <first + 1>, and so on."""
    return [f'      - replace: {{ find: "<{n}>", with: "<{n + 1}>" }}' for n in range(first, last)]


def config(receiver, *steps, keep="ends"):
    return CONFIG.format(url=receiver.url(""), steps="\n".join(steps), keep=keep)


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


@BOTH
def test_every_stage_is_stored(make_node):
    """With `keep: stages`, also of a document that died on its way: what came out of the step before is there."""
    fails = """      - lua: { script: 'if doc.bytes == "<3>" then error("no") end return doc.bytes' }"""
    with Receiver() as receiver:
        node = make_node(config=config(receiver, *counting(0, 3), fails, "      - deliver: end", keep="stages"))
        node.start()
        for body, state in (("<0>", "dead"), ("<0>.", "delivered")):
            doc = node.accept("in", body)
            node.await_state(doc, state, look=look)
            stages = node.show(doc, "stages { stage stored }")["stages"]
            assert [s["stored"] for s in stages][:4] == [True] * 4, stages
            assert node.cli("docs", "payload", doc, "--stage", "2").stdout == body.replace("0", "2")


STREAMS = """\
systems: {{ hub: {{}} }}
types: {{ order: {{}}, line: {{}} }}
gateways:
  in:
    kind: http
    auth: none
    limits: {{ size: 128 MiB }}
    extract: {{ receiver: "value:hub", type: "value:order" }}
endpoints:
  shelf: {{ kind: file, path: {folder}, name: "${{id}}.bin" }}
  end: {{ kind: http, url: "{url}/end" }}
routes:
  - {{ name: lines, when: {{ type: line }}, do: [ {{ deliver: end }} ] }}
  - {{ name: orders, when: {{ type: order }}, do: [ {steps} ] }}
"""


@BOTH
def test_documents_larger_than_memory_has_room_for(make_node, tmp_path):
    """Over 64 MiB pass through steps that stream; one that needs all of it in memory refuses it."""
    steps = "{{ compress: gzip }}, {{ decompress: {{ format: gzip, most: 128 MiB }} }}, {more}{{ deliver: shelf }}"
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    body = os.urandom(1 << 20) * 70
    with Receiver() as receiver:
        def version(more):
            return STREAMS.format(url=receiver.url(""), folder=json.dumps(str(shelf)),
                                  steps=steps.format(more=more))
        node = make_node(config=version(""))
        node.start()
        doc = node.accept("in", body)
        node.await_state(doc, "delivered", look=look, seconds=120)
        assert (shelf / f"{doc}.bin").read_bytes() == body
        (tmp_path / "new.yaml").write_text(version('{ replace: { find: "a", with: "b" } }, '))
        assert node.cli("apply", str(tmp_path / "new.yaml")).returncode == 0
        doc = node.accept("in", body)
        shown = node.await_state(doc, "dead", look=look, seconds=120)
        assert shown["error"]["code"] == "limit" and "too large for a step" in shown["error"]["message"], shown


@BOTH
def test_a_document_becomes_many(make_node, tmp_path):
    """Each part takes its own way, and carries its number; the parent is done when all are there."""
    count = 2345
    (tmp_path / "shelf").mkdir()
    with Receiver() as receiver:
        node = make_node(config=STREAMS.format(url=receiver.url(""), folder=json.dumps(str(tmp_path / "shelf")),
                                               steps='{ split: { lines: 1, type: "value:line" } }'))
        node.start()
        parent = node.accept("in", "".join(f"line {n}\n" for n in range(count)))
        node.await_state(parent, "done", look=look, seconds=60)
        receiver.wait_for(count, seconds=120, path="/end")
        assert sorted(bodies(receiver, "/end")) == sorted(f"line {n}\n" for n in range(count))
        assert node.show(parent, "parts { made total }")["parts"] == {"made": count, "total": count}


def numbers_of_parts(node, parent):
    """How often each number is there."""
    found, after = collections.Counter(), None
    while True:
        page = node.graphql("query($p: ID!, $a: String) { documents(filter: { parent: $p }, first: 200, after: $a)"
                            " { next items { attributes { name value } } } }", p=parent, a=after)["documents"]
        found.update(a["value"] for item in page["items"] for a in item["attributes"] if a["name"] == "part")
        after = page["next"]
        if after is None:
            return found


@BOTH
@pytest.mark.proves("PR2")
@pytest.mark.parametrize("point", ["parts.written:kill:2", "parts.committed:kill:1"])
def test_killed_between_chunks_each_part_is_made_once(make_node, tmp_path, point):
    """The parent goes on where it was, and is not done before the last part is there."""
    count, ask = 2345, "state parts { made total }"
    (tmp_path / "shelf").mkdir()
    with Receiver() as receiver:
        node = make_node(config=STREAMS.format(url=receiver.url(""), folder=json.dumps(str(tmp_path / "shelf")),
                                               steps='{ split: { lines: 1, type: "value:line" } }'),
                         environment={"WAYBILL_FAULT": point})
        node.start()
        with contextlib.suppress(http.client.HTTPException, OSError):  # it may die before it has answered
            node.post("in", "".join(f"line {n}\n" for n in range(count)))
        assert node.ended(60) == -9
        node.environment["WAYBILL_FAULT"] = "parts.written:delay_ms:1000"
        node.start()
        parent = node.documents()[-1]
        seen = [node.show(parent, ask)]
        while seen[-1]["state"] != "done":
            assert seen[-1]["state"] != "dead", seen[-1]
            seen.append(node.show(parent, ask))
        assert seen[-1]["parts"] == {"made": count, "total": count}
        assert any(0 < one["parts"]["made"] < count and one["parts"]["total"] == count for one in seen), seen[0]
        assert numbers_of_parts(node, parent) == {str(n): 1 for n in range(1, count + 1)}
        wait_until(lambda: set(bodies(receiver, "/end")) == {f"line {n}\n" for n in range(count)}, 240, "every part")
