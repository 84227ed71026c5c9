"""Steps that run in processes of their own: chains of them, many results, and what happens while documents wait."""
import contextlib
import hashlib
import os
import pathlib
import signal
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
SECONDS = 60

CONFIG = """\
systems: {{ hub: {{}} }}
types: {{ order: {{}}, other: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
  beside: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:other" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in" }}
routes:
  - {{ name: others, when: {{ type: other }}, do: [ {{ deliver: api }} ] }}
  - name: orders
    when: {{ type: order }}
    do:
{steps}
"""

# Some work, so that a document is not through at once; the time depends on the machine, the result does not.
WORK = "local n = 0 for i = 1, 3000000 do n = n + i % 7 end "


def lua(script, **options):
    more = "".join(f", {key}: {value}" for key, value in options.items())
    return f"      - lua: {{ script: '{script}'{more} }}"


def config(receiver, *steps):
    return CONFIG.format(url=receiver.url(""), steps="\n".join(steps))


def look(node, doc):
    return node.show(doc, "state error { code message }")


def bodies(receiver):
    return sorted(r["body"] for r in receiver.requests("/in"))


def wait_for(true, node, seconds=SECONDS):
    until = time.monotonic() + seconds
    while not (got := true()):
        assert time.monotonic() < until, node.tail()
        time.sleep(0.05)
    return got


@BOTH
def test_a_chain_of_scripts(make_node):
    """Each in a process of its own, other steps between them; what they log is in the timeline."""
    with Receiver() as receiver:
        node = make_node(config=config(
            receiver, lua('log("came with " .. #doc.bytes) return doc.bytes:upper()'),
            '      - replace: { find: "A", with: "-" }', lua('return doc.bytes .. doc.type'),
            "      - deliver: api"))
        node.start()
        docs = [node.accept("in", f"banana {n}") for n in range(40)]
        for doc in docs:
            node.await_state(doc, "delivered", look=look, seconds=SECONDS)
        assert bodies(receiver) == sorted(f"B-N-N- {n}order" for n in range(40))
        lines = node.show(docs[0], "timeline { stage outcome what message }")["timeline"]
        assert {"stage": "step", "outcome": "noted", "what": "lua", "message": "came with 8"} in lines, lines
        for stage, text in ((1, "BANANA 0"), (2, "B-N-N- 0"), (3, "B-N-N- 0order")):  # computed again, and stored
            assert node.cli("docs", "payload", docs[0], "--stage", str(stage)).stdout == text


@pytest.mark.proves("PR1")
def test_nothing_comes_out(make_node):
    with Receiver() as receiver:
        node = make_node(config=config(receiver, lua("return nil"), "      - deliver: api"))
        node.start()
        ended = node.metrics()["waybill_documents_ended_total"]
        doc = node.accept("in", "a")
        node.await_state(doc, "done", look=look, seconds=SECONDS)
        lines = node.show(doc, "timeline { what message }")["timeline"]
        assert {"what": "lua", "message": "nothing came out"} in lines and not receiver.requests("/in")
        found = node.graphql('{ documents(filter: { state: "done" }) { items { id } } }')["documents"]["items"]
        assert found == [{"id": doc}]
        wait_for(lambda: node.metrics()["waybill_documents_ended_total"] == ended + 1, node)  # it is counted


@BOTH
def test_a_script_makes_documents(make_node):
    """They take the way of their own type; one that no system receives is a dead letter by itself."""
    many = ('return { { bytes = "1", type = "other" }, { bytes = "2", type = "other" }, '
            '{ bytes = "3", receiver = "nobody" } }')
    with Receiver() as receiver:
        node = make_node(config=config(receiver, lua(many, many="true")))
        node.start()
        parent = node.accept("in", "all")
        node.await_state(parent, "done", look=look, seconds=SECONDS)
        receiver.wait_for(2, path="/in")
        assert bodies(receiver) == ["1", "2"]
        ask = "children { items { id state error { code } } }"
        wait_for(lambda: sorted(c["state"] for c in node.show(parent, ask)["children"]["items"]) ==
                 ["dead", "delivered", "delivered"], node)
        (dead,) = [c for c in node.show(parent, ask)["children"]["items"] if c["state"] == "dead"]
        assert dead["error"]["code"] == "unknown_system"
        assert node.show(dead["id"], "parent { id }")["parent"]["id"] == parent


@pytest.mark.proves("PR8")
def test_a_script_that_loops_leaves_the_node_to_others(make_node):
    """Its documents die of their budget; those that wait behind it do not take the node's memory, and other routes
    go on."""
    count = 300
    with Receiver() as receiver:
        node = make_node(config=config(receiver, lua("while true do end", limits="{ time: 200ms, concurrency: 2 }"),
                                       "      - deliver: api"))
        node.start()
        looping = [node.accept("in", "loop") for _ in range(count)]
        for doc in looping[:2]:
            shown = node.await_state(doc, "dead", look=look, seconds=SECONDS)
            assert shown["error"]["code"] == "budget", shown
        wait_for(lambda: node.metrics()["waybill_flights"] < count / 2, node)
        beside = [node.accept("beside", f"free {n}") for n in range(20)]
        for doc in beside:
            node.await_state(doc, "delivered", look=look, seconds=SECONDS)
        assert bodies(receiver) == sorted(f"free {n}" for n in range(20))
        states = [look(node, doc)["state"] for doc in looping]
        assert "dead" in states and set(states) <= {"dead", "active", "received"}, set(states)
        assert states.count("dead") < count  # the others did not wait for all of them


@BOTH
def test_a_node_stops_while_documents_wait_for_a_step(make_node):
    """It stops in order; what waited is given back, and runs when the node is there again: each is sent once."""
    with Receiver() as receiver:
        node = make_node(config=config(
            receiver, lua(WORK + 'return doc.bytes .. "!"', limits="{ time: 60s, concurrency: 1 }"),
            "      - deliver: api"))
        node.start()
        docs = [node.accept("in", f"doc {n}") for n in range(25)]
        receiver.wait_for(1, path="/in")
        assert node.stop() == 0
        node.start()
        for doc in docs:
            node.await_state(doc, "delivered", look=look, seconds=3 * SECONDS)
        assert bodies(receiver) == sorted(f"doc {n}!" for n in range(25))


def test_a_new_version_while_documents_wait_for_a_step(make_node, tmp_path):
    """Who was accepted under the old version ends with its script."""
    with Receiver() as receiver:
        def steps(word):
            script = WORK + f'return doc.bytes .. " {word}"'
            return config(receiver, lua(script, limits="{ time: 60s, concurrency: 1 }"), "      - deliver: api")
        node = make_node(config=steps("old"))
        node.start()
        before = [node.accept("in", f"doc {n}") for n in range(10)]
        (tmp_path / "new.yaml").write_text(steps("new"))
        assert node.cli("apply", str(tmp_path / "new.yaml")).returncode == 0
        after = [node.accept("in", f"doc {n}") for n in range(10, 15)]
        for doc in before + after:
            node.await_state(doc, "delivered", look=look, seconds=3 * SECONDS)
        assert bodies(receiver) == sorted([f"doc {n} old" for n in range(10)] + [f"doc {n} new" for n in range(10, 15)])


@BOTH
def test_a_large_document_passes_a_process(make_node):
    """In pieces, there and back; what it made is sent from the store, and is the stage that was stored."""
    body = "banana " * 400_000
    with Receiver() as receiver:
        node = make_node(config=config(receiver, lua("return doc.bytes:upper()"), lua("return doc.bytes"),
                                       '      - replace: { find: "B", with: "b" }', "      - deliver: api"))
        node.start()
        doc = node.accept("in", body)
        node.await_state(doc, "delivered", look=look, seconds=SECONDS)
        wanted = body.upper().replace("B", "b").encode()
        assert [r["sha256"] for r in receiver.requests("/in")] == [hashlib.sha256(wanted).hexdigest()]
        assert node.cli("docs", "payload", doc, "--stage", "1").stdout == body.upper()
        assert node.cli("docs", "payload", doc, "--stage", "3").stdout == body.upper().replace("B", "b")
        large = node.data / "large"  # as received, and as sent; empty with PostgreSQL
        wait_for(lambda: len(list(large.iterdir())) in (0, 2), node)


LISTS = """\
routes:
  - { name: lists, when: { type: list }, do: [ { split: { lines: 1, type: "value:order" } } ] }
"""


@BOTH
@pytest.mark.proves("PR11")
def test_two_bad_ones_among_a_hundred_cost_the_others_nothing(make_node):
    """They are claimed together and wait for one process.  One is a mistake, one brings the process down each time it
    runs: these two are dead, and each of the others ran once and was sent once."""
    script = ('if doc.bytes == "poison\\n" then while true do end end '
              'if doc.bytes == "bad\\n" then error("no") end return doc.bytes')
    with Receiver() as receiver:
        text = config(receiver, lua(script, limits="{ time: 60s, concurrency: 1 }"), "      - deliver: api")
        node = make_node(config=text.replace("types: {", "types: { list: {},").replace(
            'type: "value:other"', 'type: "value:list"').replace("routes:\n", LISTS))
        node.start()
        items = [f"line {n}" for n in range(98)]
        items[40:40], items[60:60] = ["poison"], ["bad"]
        parent = node.accept("beside", "".join(item + "\n" for item in items))
        ask = "children(first: 200) { items { id state error { code message } timeline { stage outcome message } } }"

        def bad_ones():
            for process in processes_at_work(node):
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(process, signal.SIGKILL)
            found = node.show(parent, ask)["children"]["items"]
            return len(found) == 100 and all(c["state"] in ("dead", "delivered") for c in found) and found

        found = wait_for(bad_ones, node, 3 * SECONDS)
        assert bodies(receiver) == sorted(f"line {n}\n" for n in range(98))
        assert set(receiver.keys().values()) == {1}
        dead = {len([line for line in c["timeline"] if line["outcome"] == "retrying"]): c["error"] for c in found
                if c["state"] == "dead"}
        assert sorted(dead) == [0, 2] and {e["code"] for e in dead.values()} == {"service_failed"}, dead
        assert "line 1: no" in dead[0]["message"] and "SIGKILL" in dead[2]["message"], dead
        for good in (c for c in found if c["state"] == "delivered"):
            steps = [line["outcome"] for line in good["timeline"] if line["stage"] == "step"]
            assert steps == ["done"], good


BATCHED = """\
systems: {{ hub: {{}} }}
types: {{ order: {{}}, other: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in" }}
batches:
  pair: {{ count: 2, join: each, do: [ {{ route: {{ type: "value:other" }} }} ] }}
routes:
  - {{ name: orders, when: {{ type: order }}, do: [ {{ batch: pair }} ] }}
  - name: others
    when: {{ type: other }}
    do:
{step}
      - deliver: api
"""


def stat_of(process):
    """Its name, and the fields behind it."""
    name, _, fields = pathlib.Path(f"/proc/{process}/stat").read_text().partition("(")[2].rpartition(")")
    return name, fields.split()


def is_below(process, ancestor):
    """A process of a step is a child of its mould or of the keeper, and that one is the node's."""
    while process > 1 and process != ancestor:
        process = int(stat_of(process)[1][1])
    return process == ancestor


def processes_at_work(node, least=0.2):
    """The processes of steps that have used so many seconds: those that have begun a document."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name, fields = stat_of(path.name)
            if name.startswith("cage ") and is_below(int(path.name), node.process.pid):
                if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") >= least:
                    found.append(int(path.name))
        except OSError:
            continue
    return found


def kill_one_at_work(node, docs):
    """Kills the process that is at work at these documents; False: they were through before it was seen."""
    found = []

    def at_work_or_through():
        found.extend(processes_at_work(node, 0.1))
        return found or all(look(node, doc)["state"] == "delivered" for doc in docs)

    wait_for(at_work_or_through, node, 3 * SECONDS)
    for process in found:
        os.kill(process, signal.SIGKILL)
    return bool(found)


@BOTH
def test_a_member_that_waits_for_a_step_does_not_join_again(make_node):
    """Its process is killed: it runs once more, with the chain of its batch and not from its route."""
    with Receiver() as receiver:
        node = make_node(config=BATCHED.format(
            url=receiver.url(""), step=lua(12 * WORK + "return doc.bytes", limits="{ time: 60s, concurrency: 1 }")))
        node.start()
        pairs = []
        for turn in range(20):  # a fast machine may be through with a pair before it is seen
            pairs.append([node.accept("in", f"doc {turn} {n}") for n in range(2)])
            killed = kill_one_at_work(node, pairs[-1])
            for doc in pairs[-1]:
                node.await_state(doc, "delivered", look=look, seconds=3 * SECONDS)
            lines = [line["message"] for doc in pairs[-1] for line in
                     node.show(doc, "timeline { message }")["timeline"]]
            if killed and any("SIGKILL" in (line or "") for line in lines):
                break
        assert bodies(receiver) == sorted(f"doc {turn} {n}" for turn in range(len(pairs)) for n in range(2))
        assert sum("SIGKILL" in (line or "") for line in lines) == 1, lines
        assert sum("joins batch pair" in (line or "") for line in lines) == 2, lines
        assert len(node.graphql("{ batches(ended: true) { batches { id } } }")["batches"]["batches"]) == len(pairs)
