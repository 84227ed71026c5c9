"""Finding documents: by what was found in them, by name, key, size, state, error text, and by what
their payloads say, at every moment and on both databases."""
import json
import pathlib
import sys

import pytest

from running_node import clean_environment, run_program
from wire import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
systems:
  acme: {{}}
  beta: {{}}
  hub:  {{}}
  sink: {{}}
types:
  order:
    search: {{ po: [ "json:/po", "xml:/Order/@number" ], line: "json:/lines/0/item" }}
  note: {{}}
  urgent: {{ search: {{ ticket: "json:/ticket" }} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type",
                attributes: {{ region: "json:/region" }} }}
  blind: {{ kind: http, auth: none, extract: {{ receiver: "json:/to", type: "json:/type" }} }}
  keyed: {{ kind: http, auth: key, extract: {{ receiver: "value:sink", type: "value:note" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in", timeout: 5s, retry: {{ first: 50ms, most: 100ms, for: 1s }} }}
routes:
  - {{ name: urgent, when: {{ receiver: hub, type: note }},
       do: [ {{ route: {{ type: "value:urgent" }} }} ] }}
  - {{ name: passed-on, when: {{ receiver: sink, type: note, region: elsewhere }},
       do: [ {{ route: {{ receiver: "json:/next", type: "value:order" }} }} ] }}
  - {{ name: pay, when: {{ receiver: hub, type: order, po: "77" }}, do: [ {{ drop: "by its attribute" }} ] }}
  - {{ name: hub, when: {{ receiver: hub }}, do: [ {{ deliver: api }} ] }}
  - {{ name: rest, do: [ {{ drop: done }} ] }}
"""


@pytest.fixture(name="far")
def far_fixture():
    with Receiver() as r:
        yield r


@pytest.fixture(name="node")
def node_fixture(far, make_node):
    node = make_node(config=CONFIG.format(url=far.url("")))
    node.start()
    return node


def send(node, gateway="in", name=None, key=None, bearer=None, **what):
    fields = {"from": "acme", "to": "sink", "type": "order", **what}
    headers = {"Waybill-Name": name, "Idempotency-Key": key,
               "Authorization": bearer and f"Bearer {bearer}"}
    return node.accept(gateway, json.dumps(fields), {k: v for k, v in headers.items() if v})


def find(node, first=20, **wanted):
    """Ids, newest first, over all pages."""
    found, after = [], None
    while True:
        page = node.graphql("query($f: DocumentFilter, $a: String, $n: Int) { documents(filter: $f, first: $n,"
                            " after: $a) { items { id } next } }", f=wanted, a=after, n=first)["documents"]
        found += [d["id"] for d in page["items"]]
        after = page["next"]
        if after is None:
            return found


def where(**attributes):
    return [{"name": k, "value": v} for k, v in attributes.items()]


def ls(node, *args):
    """Ids that `docs ls` prints, and what it says."""
    done = node.cli("docs", "ls", "--json", *args)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["id"] for line in done.stdout.splitlines()], done.stderr


def state(node, doc):
    return node.graphql("query($i: ID!) { document(id: $i) { state } }", i=doc)["document"]["state"]


def await_state(node, doc, want):
    wait_until(lambda: state(node, doc) == want, 20, f"{doc} is {want}")


def refusal(node, query, **variables):
    """What the node says to a question that it does not answer."""
    answer = node.request("POST", "/graphql", json.dumps({"query": query, "variables": variables}),
                          {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"})
    return answer.json["errors"][0]["message"]


@BOTH
def test_sizes_that_no_document_has_are_no_trouble(node):
    small = send(node)
    await_state(node, small, "done")
    size = node.graphql("query($i: ID!) { document(id: $i) { size } }", i=small)["document"]["size"]
    assert find(node, maxSize=0) == [] and find(node, minSize=1, maxSize=size) == [small]
    for step in range(0, 50):   # also one that is as many classes too high as there are tables
        assert find(node, minSize=1 << step, maxSize=(1 << step) - 1) == []
        assert find(node, minSize=64 + (1 << step), maxSize=1) == []
    assert find(node, minSize=(1 << 63) - 1) == [] and find(node, maxSize=(1 << 63) - 1) == [small]


@BOTH
@pytest.mark.proves("DL3")
def test_an_empty_word_of_a_filter_is_not_any(node):
    docs = [send(node, to="mars"), send(node, to="venus")]
    for doc in docs:
        await_state(node, doc, "dead")
    for field in ("state", "gateway", "sender", "receiver", "type", "name", "error", "key", "parent"):
        for verb in ("documents", "documentsCancel", "documentsRetry", "documentsDiscard"):
            kind, asked = ("query", "items { id }") if verb == "documents" else ("mutation", "count")
            said = refusal(node, f"{kind}($f: DocumentFilter) {{ {verb}(filter: $f) {{ {asked} }} }}", f={field: ""})
            assert said == f"{field} of the filter is empty; leave it out for any"
    for field in ("gateway", "name", "error"):
        said = refusal(node, "mutation($f: DeadFilter) { deadDiscard(filter: $f) { count } }", f={field: ""})
        assert said == f"{field} of the filter is empty; leave it out for any"
    for args in (["docs", "cancel", "--receiver", ""], ["dead", "discard", "--gateway", ""], ["dead", "retry", "--error", ""]):
        done = node.cli(*args, "--yes")
        assert done.returncode == 2 and f"{args[2]} is empty; leave it out for any" in done.stderr
    assert [state(node, doc) for doc in docs] == ["dead", "dead"]


@BOTH
@pytest.mark.proves("DL3")
def test_a_group_of_dead_letters_is_exactly_its_letters(node):
    known = [send(node, to="mars") for _ in range(2)]
    nobody = [node.accept("blind", json.dumps({"n": n})) for n in range(3)]
    for doc in known + nobody:
        await_state(node, doc, "dead")
    groups = node.graphql("{ deadGroups(by: receiver) { key count } }")["deadGroups"]
    assert {(g["key"], g["count"]) for g in groups} == {("mars", 2), (None, 3)}
    counted = {receiver: node.graphql("mutation($f: DeadFilter) { deadDiscard(filter: $f, dry: true) { count } }",
                                      f={"receiver": receiver})["deadDiscard"]["count"] for receiver in ("", "mars")}
    assert counted == {"": 3, "mars": 2}
    done = node.graphql("mutation($f: DeadFilter) { deadDiscard(filter: $f) { done } }", f={"receiver": "", "type": ""})
    assert done["deadDiscard"]["done"] == 3
    assert [state(node, d) for d in known + nobody] == ["dead"] * 2 + ["cancelled"] * 3


@BOTH
@pytest.mark.proves("DL3")
def test_what_died_after_the_count_is_not_meant(node):
    change = "mutation($f: DeadFilter, $d: Boolean, $a: String) { deadDiscard(filter: $f, dry: $d, after: $a)" \
             " { count done begin next } }"
    many = "mutation($f: DocumentFilter, $d: Boolean, $a: String) { documentsDiscard(filter: $f, dry: $d, after: $a)" \
           " { count done begin next } }"
    early = [send(node, to="mars") for _ in range(2)]
    for doc in early:
        await_state(node, doc, "dead")
    counted = node.graphql(change, f={"receiver": "mars"}, d=True)["deadDiscard"]
    all_counted = node.graphql(many, f={"receiver": "mars"}, d=True)["documentsDiscard"]
    late = send(node, to="mars")
    await_state(node, late, "dead")
    done = node.graphql(change, f={"receiver": "mars"}, a=counted["begin"])["deadDiscard"]
    assert (counted["count"], done["done"], done["begin"], done["next"]) == (2, 2, counted["begin"], None)
    done = node.graphql(many, f={"receiver": "mars"}, a=all_counted["begin"])["documentsDiscard"]
    assert (all_counted["count"], done["done"]) == (2, 0)
    assert [state(node, d) for d in early + [late]] == ["cancelled", "cancelled", "dead"]


@BOTH
def test_documents_are_found_by_their_search_attributes(node):
    docs = [send(node, po=str(n % 7), lines=[{"item": f"bolt-{n}"}], region="north") for n in range(30)]
    plain = send(node, type="note", po="3", region="south")
    for doc in docs + [plain]:
        await_state(node, doc, "done")
    for _ in range(2):  # once while the index may run behind, once after a new start
        assert find(node, where=where(po="3")) == docs[3::7][::-1]
        assert find(node, where=where(po="3", line="bolt-10")) == [docs[10]]
        assert find(node, where=where(line="bolt-10"), sender="acme", type="order") == [docs[10]]
        assert find(node, where=where(line="bolt-10"), sender="beta") == []
        assert find(node, where=where(region="south")) == [plain], "attributes of `extract` are found, too"
        assert find(node, where=where(po="33")) == []
        node.restart()
    assert ls(node, "--type", "order", "--where", "po=3", "--where", "line=bolt-17")[0] == [docs[17]]
    shown = node.graphql("query($i: ID!) { document(id: $i) { attributes { name value } } }", i=docs[8])
    assert {a["name"]: a["value"] for a in shown["document"]["attributes"]} == {
        "po": "1", "line": "bolt-8", "region": "north"}


def test_a_document_is_found_as_soon_as_it_is_settled(node):
    """The index of SQLite runs behind; nothing is invisible meanwhile."""
    for n in range(40):
        doc = send(node, po=f"n{n}", name=f"live-{n}.json", to="sink")
        await_state(node, doc, "done")
        assert find(node, where=where(po=f"n{n}")) == [doc]
        assert find(node, name=f"live-{n}.*") == [doc]
        assert find(node, receiver="sink")[0] == doc


@BOTH
def test_search_attributes_route_and_follow_the_type(node, far):
    paid = send(node, to="hub", po="77")
    moved = send(node, to="hub", type="note", ticket="T-9")
    await_state(node, paid, "done")
    await_state(node, moved, "delivered")
    assert len(far.requests("/in")) == 1
    assert find(node, where=where(po="77")) == [paid]
    assert find(node, where=where(ticket="T-9")) == [moved], "of the type that the route gave it"
    odd = send(node, to="hub", po="4\u0001" + "711")
    await_state(node, odd, "delivered")
    lines = node.graphql("query($i: ID!) { document(id: $i) { timeline { stage what outcome message } } }",
                         i=odd)["document"]["timeline"]
    noted = [line for line in lines if line["what"] == "search"]
    assert len(noted) == 1 and noted[0]["outcome"] == "failed" and "control" in noted[0]["message"]


@BOTH
def test_dead_letters_of_unknown_systems_are_found_by_their_search_attributes(node, far):
    """They have their type: at the gateway, after a step that routes, and when they start at the router again."""
    came = send(node, **{"from": "a partner nobody knows"}, po="4711")
    passed = send(node, type="note", region="elsewhere", next="nobody either", po="4711")
    told = send(node, to="nobody at all", po="4711", ship="2026-11-16")
    for doc in (came, passed, told):
        await_state(node, doc, "dead")
    assert find(node, where=where(po="4711"), error="unknown_system") == [told, passed, came]
    assert sorted(ls(node, "--where", "po=4711")[0]) == sorted([came, passed, told])
    assert find(node, where=where(ship="2026-11-16")) == []
    text = CONFIG.format(url=far.url("")).replace("search: { po:", 'search: { ship: "json:/ship", po:')
    assert node.cli("apply", "-", stdin=text).returncode == 0
    assert node.cli("docs", "retry", told).returncode == 0
    wait_until(lambda: find(node, where=where(ship="2026-11-16")) == [told], 20, "found by what it has now")
    await_state(node, told, "dead")


@pytest.mark.smoke
@BOTH
def test_names_sizes_times_and_keys(node):
    key, _ = node.add_key("keyed")
    files = [send(node, name=f"{'ORD' if n % 2 else 'INV'}_2026{n:03}.json", pad="x" * (n * 100))
             for n in range(24)]
    keyed = send(node, gateway="keyed", key="4711/a", bearer=key)
    again = node.post("keyed", json.dumps({"from": "acme", "to": "sink", "type": "order"}),
                      {"Authorization": f"Bearer {key}", "Idempotency-Key": "4711/a"})
    assert again.json["document"] == keyed
    for doc in files + [keyed]:
        await_state(node, doc, "done")
    assert find(node, name="ORD_*") == files[1::2][::-1]
    assert find(node, name="ORD_2026003.json") == [files[3]]
    assert find(node, name="ORD_2026003*", sender="acme") == [files[3]]
    assert find(node, name="nothing*") == []
    assert find(node, key="4711/a") == [keyed] and find(node, key="4711/a", gateway="keyed") == [keyed]
    assert find(node, key="4711/a", parent=keyed) == []
    assert find(node, key="4711/a", gateway="in") == [] and find(node, key="4711") == []
    assert find(node, minSize=2000, gateway="in") == files[20:][::-1]
    assert find(node, minSize=1000, maxSize=1500, gateway="in") == files[10:15][::-1]
    received = {d: node.graphql("query($i: ID!) { document(id: $i) { received } }", i=d)["document"]["received"]
                for d in files}
    assert find(node, since=received[files[5]], until=received[files[9]]) == files[5:9][::-1]
    assert find(node, since=received[files[5]], until=received[files[9]], name="INV*") == files[6:9:2][::-1]
    assert ls(node, "--key", "4711/a")[0] == [keyed]
    assert ls(node, "--min-size", "2KiB", "--name", "ORD*")[0] == files[21::2][::-1]
    bad = node.cli("docs", "ls", "--min-size", "much")
    assert bad.returncode == 2 and "size" in bad.stderr


@BOTH
def test_states_and_what_went_wrong(node, far):
    far.behave("/in", "status", 422)
    bad = [send(node, to="hub") for _ in range(3)]
    lost = send(node, to="nobody-knows-me")
    for doc in bad + [lost]:
        await_state(node, doc, "dead")
    far.behave("/in", "ok")
    good = send(node, to="hub")
    await_state(node, good, "delivered")
    assert find(node, state="dead") == [lost] + bad[::-1]
    assert find(node, state="dead", receiver="hub") == bad[::-1]
    assert find(node, state="dead", error="NOBODY-KNOWS") == [lost], "a part of the message"
    assert find(node, state="dead", error="unknown_system") == [lost]
    assert find(node, error="rejected") == bad[::-1] and find(node, error="no such thing") == []
    assert find(node, receiver="nobody-knows-me") == [lost], "as it was found"
    assert find(node, receiver="hub", state="delivered") == [good]
    assert ls(node, "--state", "dead", "--error", "422")[0] == bad[::-1]
    assert node.cli("docs", "cancel", bad[0]).returncode == 0
    assert find(node, state="cancelled") == [bad[0]] and find(node, state="dead", receiver="hub") == bad[:0:-1]
    assert find(node, parent=good) == [] and find(node, parent="no id") == []


TROUBLE = """\
systems: {{ shop: {{}}, hub: {{}}, slow: {{}}, lost: {{}}, lot: {{}}, late: {{}}, odd: {{}}, wait: {{}} }}
types: {{ "*": {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "value:shop", receiver: "header:x-to", type: "value:order" }} }}
endpoints:
  hub:  {{ kind: http, url: "{url}/hub", retry: {{ first: 50ms, most: 100ms, for: 1s }} }}
  slow: {{ kind: http, url: "{url}/slow", retry: {{ first: 1h, most: 1h, for: 5h }} }}
batches:
  lot:  {{ count: 2, do: [ {{ deliver: hub }} ] }}
  late: {{ count: 2, do: [ {{ deliver: slow }} ] }}
  odd:  {{ count: 2, join: json, bad: all, do: [ {{ deliver: hub }} ] }}
  wait: {{ count: 1000, do: [ {{ deliver: hub }} ] }}
routes:
  - {{ name: hub,  when: {{ receiver: hub }}, do: [ {{ deliver: hub }} ] }}
  - {{ name: slow, when: {{ receiver: slow }}, do: [ {{ deliver: slow }} ] }}
  - {{ name: lot,  when: {{ receiver: lot }}, do: [ {{ batch: lot }} ] }}
  - {{ name: late, when: {{ receiver: late }}, do: [ {{ batch: late }} ] }}
  - {{ name: odd,  when: {{ receiver: odd }}, do: [ {{ batch: odd }} ] }}
  - {{ name: wait, when: {{ receiver: wait }}, do: [ {{ batch: wait }} ] }}
"""
EXPECTED = {"hub": "dead", "slow": "retrying", "lost": "dead", "nobody": "dead", "lot": "dead", "late": "retrying",
            "odd": "dead", "wait": "active"}
STATES = ("received", "active", "held", "retrying", "dead", "in_doubt", "delivered", "done", "cancelled")


def shown(node, doc):
    return node.graphql("query($i: ID!) { document(id: $i) { state receiver error { code message } } }", i=doc)["document"]


@BOTH
def test_every_kind_of_trouble_is_found_by_its_error(make_node, far):
    """Retrying, dead, without a route, members of batches: as looking at every document would find them."""
    node = make_node(config=TROUBLE.format(url=far.url("")))
    node.start()
    good = node.accept("in", "{}", {"x-to": "hub"})
    await_state(node, good, "delivered")
    far.behave("/hub", "status", 422)
    far.behave("/slow", "status", 503)
    sent = [(to, node.accept("in", "no JSON", {"x-to": to})) for _ in range(4) for to in EXPECTED]
    for to, doc in sent:
        await_state(node, doc, EXPECTED[to])
    over = sent[0][1]
    assert node.cli("docs", "cancel", over).returncode == 0
    every = [(doc, shown(node, doc)) for doc in find(node)]
    assert len(every) == 1 + len(sent) + 4, "the batches of lot and late became documents"
    dead = [doc for doc, d in every if d["state"] == "dead"]
    assert find(node, state="dead") == dead and {doc for to, doc in sent if to in ("lot", "odd")} <= set(dead)
    codes = {d["error"]["code"] for _, d in every if d["error"]}
    assert len(codes) == 5 and {"rejected", "no_route", "unknown_system"} < codes
    for text in [*codes, "json", "422", "no such thing"]:
        want = [doc for doc, d in every if d["error"] and (d["error"]["code"] == text
                or text.lower() in d["error"]["message"].lower())]
        assert (want == []) == (text == "no such thing"), text
        for first in (1, 2, 20):
            assert find(node, first=first, error=text) == want, text
        by_state = [doc for s in STATES for doc in find(node, error=text, state=s)]
        assert [doc for doc in want if doc in by_state] == want, text
        assert len(by_state) == len(set(by_state)) and set(by_state) <= set(want)
        for to in ("hub", "slow", "lot"):
            assert find(node, error=text, receiver=to, sender="shop") == [
                doc for doc in want if shown(node, doc)["receiver"] == to]
    rejected = find(node, error="rejected")
    assert over not in rejected and good not in rejected and sent[8][1] in rejected and sent[4][1] in rejected
    node.restart()
    assert find(node, error="rejected", first=3) == rejected
    assert ls(node, "--error", "rejected")[0] == rejected


@BOTH
def test_payloads_are_scanned_in_portions(node):
    docs = [send(node, text=f"needle-{n}" if n % 10 == 3 else "hay", n=n) for n in range(40)]
    big = node.post("in", json.dumps({"from": "acme", "to": "sink", "type": "note"}) + " " * 700_000 + "needle-big")
    docs.append(big.json["document"])
    assert big.status == 202
    want = [docs[n] for n in (40, 33, 23, 13, 3)]
    found, said = ls(node, "--text", "needle-")
    assert found == want and "looked into 41 documents" in said
    found, said = ls(node, "--text", "needle-13", "--type", "order")
    assert found == [docs[13]] and "looked into 40 documents" in said
    assert ls(node, "--text", "needle-", "--limit", "2")[0] == want[:2]
    page = node.graphql('{ scan(text: "needle-3", filter: { sender: "acme" })'
                        " { items { id } looked bytes skipped next } }")["scan"]
    assert [d["id"] for d in page["items"]] == [docs[33], docs[3]] or page["next"]
    assert page["looked"] > 0 and page["bytes"] > 700_000 and page["skipped"] == 0


def test_the_cli_says_what_a_scan_takes(tmp_path):
    done = run_program("docs", "ls", "--text", "", "--url", "http://127.0.0.1:1", cwd=tmp_path,
                       env=clean_environment())
    assert done.returncode == 2 and "--text" in done.stderr
