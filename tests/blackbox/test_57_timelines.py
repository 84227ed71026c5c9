"""Timelines: how a story ended stays in it, whose pause it was, and which node did it."""
import json
import time

import pytest

BOTH = pytest.mark.stores("sqlite", "postgres")
ATTEMPTS = 200

CONFIG = """\
systems: {{ hub: {{}}, shelf: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api:   {{ kind: http, url: "{url}/in", retry: {{ first: 1ms, most: 1ms }}, breaker: {{ failures: 100000 }},
            keep: {{ answers: {answers} }} }}
  shelf: {{ kind: file, system: shelf, path: "{folder}/shelf", name: "${{id}}.json" }}
routes:
  - {{ name: orders, when: {{ type: order }}, do: [ {{ deliver: [api, shelf] }} ] }}
"""
LINES = "state deliveries { endpoint state held attempts } timeline { time node stage what outcome attempt message }"


def start(make_node, receiver, tmp_path, answers="failures", **settings):
    one = make_node(config=CONFIG.format(url=receiver.url(""), folder=tmp_path, answers=answers), **settings)
    one.start()
    return one


def look(node, doc):
    return node.show(doc, LINES)


def lines_of(seen, stage):
    return [line for line in seen["timeline"] if line["stage"] == stage]


@BOTH
@pytest.mark.parametrize("answers", ["failures", "none"])
def test_a_timeline_keeps_its_end(make_node, receiver, tmp_path, answers):
    """More attempts than it has room for: the middle goes, with a line that counts it; first and last stay."""
    node = start(make_node, receiver, tmp_path, answers)
    receiver.behave("/in", "status", 503, None, "not yet, " + "for such a reason " * 30)
    doc = node.accept("in", "{}")
    receiver.wait_for(ATTEMPTS, seconds=120, path="/in")
    receiver.behave("/in", "status", 200)
    seen = node.await_state(doc, "delivered", look=look, seconds=60)
    attempts = [line for line in lines_of(seen, "delivery") if line["what"] == "api" and line["attempt"]]
    (gap,) = [line for line in lines_of(seen, "document") if "left out" in line["message"]]
    left = int(gap["message"].split()[0])
    last = attempts[-1]
    assert (attempts[0]["attempt"], last["outcome"]) == (1, "delivered")
    assert last["attempt"] > ATTEMPTS and left + len(attempts) == last["attempt"]
    assert [line["attempt"] for line in attempts[-20:]] == list(range(last["attempt"] - 19, last["attempt"] + 1))
    assert gap["message"] == f"{left} attempts are left out here"
    assert {(d["endpoint"], d["state"]) for d in seen["deliveries"]} == {("api", "delivered"), ("shelf", "delivered")}
    assert gap["message"] in node.cli("docs", "trace", doc).stdout


@pytest.mark.proves("DE8")
def test_a_pause_that_the_receiver_asks_for_is_a_pause(make_node, receiver, tmp_path):
    """Not a rate: nobody on our side set one."""
    node = start(make_node, receiver, tmp_path)
    receiver.behave("/in", "status", 429, 3600, times=1)
    first = node.accept("in", "{}")
    receiver.wait_for(1, path="/in")
    node.await_state(first, "retrying", look=look)
    second = node.accept("in", "{}")
    seen = node.await_state(second, "held", look=look)
    assert next(d["held"] for d in seen["deliveries"] if d["endpoint"] == "api") == ["pause"]
    assert any(line["message"] == "held: pause" for line in lines_of(seen, "delivery"))
    assert "pause" in node.cli("docs", "show", second).stdout


@BOTH
def test_nodes_have_names(make_node, receiver, tmp_path):
    """Lists and timelines have the name, also that of a node which is gone; a name serves as an id."""
    node = start(make_node, receiver, tmp_path, options="name: north")
    doc = node.accept("in", "{}")
    node.await_state(doc, "delivered", look=look)
    assert {line["node"] for line in look(node, doc)["timeline"] if line["stage"] != "accept"} == {"north"}
    node.stop()
    node.config_file.write_text(node.config_file.read_text().replace("name: north", "name: south"))
    node.start()
    assert [n["name"] for n in node.graphql("{ nodes { name state } }")["nodes"] if n["state"] == "alive"] == ["south"]
    assert {line["node"] for line in look(node, doc)["timeline"] if line["stage"] != "accept"} == {"north"}
    assert node.graphql("{ about { name } }")["about"]["name"] == "south"
    got = node.cli("node", "pause", "south", "--intake", "--json")
    assert got.returncode == 0, got.stderr
    assert [json.loads(line)["pauses"][0]["what"] for line in got.stdout.splitlines()
            if json.loads(line)["name"] == "south"] == ["intake"]
    assert node.cli("node", "resume", "nowhere").returncode == 1
    assert node.cli("node", "resume", "south").returncode == 0
    until = time.monotonic() + 20
    while node.post("in", "{}").status != 202:
        assert time.monotonic() < until
        time.sleep(0.05)
