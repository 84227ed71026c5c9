"""The step `subscribe`: each subscriber gets one copy, in the commit that ends the document, or nobody does."""
import collections
import hashlib
import json
import os
import subprocess

import pytest

import wire
from running_node import BINARY
from test_87_rights import make_role, somebody

BOTH = pytest.mark.stores("sqlite", "postgres")
SECONDS = 60
CONFIG = """\
systems: {{ pim: {{}}, hub: {{}}, north: {{}}, south: {{}}, shop: {{ order: receiver }} }}
types: {{ article: {{}}, price: {{}}, list: {{}}, echo: {{}} }}
gateways:
  in: {{ kind: http, auth: none, limits: {{ size: 16 MiB }},
        extract: {{ sender: "value:pim", receiver: "value:hub", type: "header:X-Type",
                   attributes: {{ region: "header:X-Region" }} }} }}
endpoints:
  api: {{ kind: http, url: "{url}", headers: {{ X-Of: "${{receiver}}" }} }}
  away: {{ kind: http, system: hub, url: "http://127.0.0.1:9/" }}
subscriptions:
  articles: {{ to: [ shop, north ], when: {{ type: [ article, echo ] }} }}
  prices: {{ to: shop, when: {{ type: price }} }}
  everything: {{ to: [ shop ] }}
  of-the-south: {{ to: south, when: {{ region: south }} }}
  round: {{ to: hub }}
routes:
  - {{ name: hub, when: {{ receiver: hub }}, do: [ {{ replace: {{ find: "_", with: "-" }} }}, {step} ] }}
  - {{ name: lists, when: {{ receiver: hub, type: list }}, do: [ {{ split: {{ json: "", type: "value:article" }} }} ] }}
  - {{ name: echo, when: {{ receiver: hub, type: echo }}, do: [ {{ subscribe: round }} ] }}
  - {{ name: out, do: [ {{ deliver: api }} ] }}
"""
ALL = "{ subscribe: [ articles, everything, of-the-south ] }"


def example():
    """The step as `waybill help` shows it."""
    text = subprocess.run([BINARY, "help", "service", "subscribe"], capture_output=True, text=True, check=True).stdout
    assert "service subscribe - " in text and "keys:" in text, text
    return text.split("\nexample:\n")[1].splitlines()[0].strip().removeprefix("- ")


@pytest.fixture(name="begin")
def begin_fixture(make_node, receiver):
    def begin(step=ALL, header="${receiver}", **settings):
        text = CONFIG.format(url=receiver.url("/"), step=step).replace('X-Of: "${receiver}"', f'X-Of: "{header}"')
        node = make_node(config=text, **settings)
        node.start()
        return node
    return begin


def send(node, body, kind="article", region="north"):
    return node.accept("in", body, {"X-Type": kind, "X-Region": region})


def look(node, doc):
    return node.show(doc, "state error { code message } timeline { stage what outcome message }")


def ended(node, doc, state="done"):
    return node.await_state(doc, state, look=look, seconds=SECONDS)


def copies(node, doc):
    """The receivers of its copies by id; all that are made of it are copies."""
    shown = node.show(doc, "children(first: 200) { next items { id receiver sender type copyOf { id } parent { id }"
                           " attributes { name value } } }")["children"]
    assert shown["next"] is None and all(c["copyOf"] == {"id": doc} and c["parent"] is None for c in shown["items"])
    return {c["id"]: c for c in shown["items"]}


def receivers(node, doc):
    return sorted(c["receiver"] for c in copies(node, doc).values())


@BOTH
@pytest.mark.smoke
def test_each_subscriber_gets_one_copy(begin, receiver):
    node = begin()
    doc = send(node, b"1_10", region="south")
    shown = ended(node, doc)
    assert [e["message"] for e in shown["timeline"] if e["what"] == "subscribe"] == ["a copy for each of 3 subscribers"]
    assert receivers(node, doc) == ["north", "shop", "south"]  # shop once, although two subscriptions have it
    got = receiver.wait_for(3, seconds=SECONDS)
    assert {r["sha256"] for r in got} == {hashlib.sha256(b"1-10").hexdigest()}  # as changed by the step before
    assert sorted(r["headers"]["x-of"] for r in got) == ["north", "shop", "south"]
    for id, copy in copies(node, doc).items():
        assert (copy["sender"], copy["type"]) == ("pim", "article")
        assert copy["attributes"] == [{"name": "region", "value": "south"}]
        ended(node, id, "delivered")
        assert node.get(f"/documents/{id}/payload").body == b"1-10"
    assert node.cli("doctor").returncode == 0


@BOTH
def test_whom_a_subscription_is_for(begin):
    node = begin()
    for kind, region, to in (("article", "north", ["north", "shop"]), ("price", "north", ["shop"]),
                             ("price", "south", ["shop", "south"])):
        doc = send(node, b"x", kind, region)
        ended(node, doc)
        assert receivers(node, doc) == to


def test_the_example_of_the_help_runs(begin):
    node = begin(step="{ " + example() + " }")
    doc = send(node, b"x", "price")
    ended(node, doc)
    assert receivers(node, doc) == ["shop"]


@BOTH
@pytest.mark.proves("PR1")
def test_without_a_subscriber_it_is_done_and_says_so(begin):
    node = begin(step="{ subscribe: of-the-south }")
    doc = send(node, b"x")
    line, = [e for e in ended(node, doc)["timeline"] if e["what"] == "subscribe"]
    assert line["outcome"] == "dropped" and "nobody gets a copy" in line["message"]
    assert copies(node, doc) == {}


@pytest.mark.proves("RO9")
def test_subscriptions_that_lead_into_each_other_end(begin):
    node = begin()
    doc = send(node, b"x", kind="echo")
    for generation in range(1, 17):
        wire.wait_until(lambda: copies(node, doc), SECONDS, f"generation {generation}")
        doc, = copies(node, doc)
    shown = ended(node, doc, "dead")
    assert shown["error"]["code"] == "loop", shown
    assert copies(node, doc) == {}


@BOTH
def test_a_copy_of_a_part_is_that_part(begin, receiver):
    """Its number stands in a file name, so that copies of several parts do not meet at their receiver."""
    node = begin(header="${part}")
    doc = send(node, json.dumps(["a", "b", "c"]), kind="list")
    ended(node, doc)
    got = receiver.wait_for(6, seconds=SECONDS)
    assert collections.Counter(r["headers"]["x-of"] for r in got) == {"1": 2, "2": 2, "3": 2}
    parts = node.show(doc, "children(first: 5) { items { id parent { id } children(first: 5) { items { copyOf { id } receiver"
                           " attributes { name value } } } } }")["children"]["items"]
    assert len(parts) == 3 and all(p["parent"] == {"id": doc} for p in parts)
    for number, part in enumerate(parts, 1):
        assert {c["receiver"] for c in part["children"]["items"]} == {"shop", "north"}
        for copy in part["children"]["items"]:
            assert copy["copyOf"] == {"id": part["id"]}
            assert {a["name"]: a["value"] for a in copy["attributes"]}["part"] == str(number)


@BOTH
def test_large_documents_and_many_subscribers(make_node, receiver):
    """More bytes than one commit has room for, and more than fit into memory's segments."""
    names = [f"s{n}" for n in range(12)]
    node = make_node(config=CONFIG.format(url=receiver.url("/"), step="{ subscribe: many }").replace(
        "systems: {", "systems: { " + " ".join(f"{n}: {{}}," for n in names)).replace(
        "subscriptions:\n", f"subscriptions:\n  many: {{ to: [ {', '.join(names)} ] }}\n"))
    node.start()
    for size in (600 << 10, 3 << 20):
        receiver.reset()
        body = os.urandom(size)
        doc = send(node, body)
        ended(node, doc)
        assert receivers(node, doc) == sorted(names)
        got = receiver.wait_for(len(names), seconds=SECONDS)
        assert {r["sha256"] for r in got} == {hashlib.sha256(body.replace(b"_", b"-")).hexdigest()}
    assert node.cli("doctor").returncode == 0


@BOTH
def test_an_ordered_subscriber_gets_copies_in_the_order_of_their_originals(begin, receiver):
    node = begin(step="{ subscribe: everything }")
    docs = [send(node, b"%d" % n) for n in range(30)]
    got = receiver.wait_for(len(docs), seconds=SECONDS)
    assert [r["sha256"] for r in got] == [hashlib.sha256(b"%d" % n).hexdigest() for n in range(30)]


# ---- crashes and second runs -------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("PR5")
@pytest.mark.parametrize("point", ["parts.written:kill:3", "parts.counted:kill:3", "parts.committed:kill:3",
                                   "group.written:kill:40"])
def test_killed_while_copies_are_made(begin, receiver, point):
    """Each document that was acknowledged has exactly its copies, or is still on its way."""
    node = begin(environment={"WAYBILL_FAULT": point})
    docs, n = [], 0
    try:
        while n < 2000:
            docs.append(send(node, b"%d" % n))
            n += 1
    except (OSError, AssertionError):
        pass
    assert node.ended() == -9
    node.environment.clear()
    node.start()
    for doc in docs:
        ended(node, doc)
        assert receivers(node, doc) == ["north", "shop"]
    wire.wait_until(lambda: all(s["state"] in ("delivered", "done") for s in node.graphql(
        "{ documents(first: 200) { items { state } } }")["documents"]["items"]), SECONDS, "the end of all")
    assert node.cli("doctor").returncode == 0


@BOTH
def test_a_new_run_makes_no_second_copies_unless_asked(begin):
    """It is copied, and waits for a receiver that nobody has reached: a new run would be allowed, but for the copies."""
    node = begin(step="{ deliver: away }, { subscribe: prices }")
    node.graphql('mutation { holdAdd(system: "hub", reason: "test", owner: "kim") { hold { id } } }')
    doc = send(node, b"x", kind="price")
    ended(node, doc, "held")
    before = set(copies(node, doc))
    assert len(before) == 1
    got = node.cli("docs", "retry", doc, "--from", "route")
    assert got.returncode == 1 and "its subscribers have copies of it" in got.stdout + got.stderr, got.stdout
    assert set(copies(node, doc)) == before
    got = node.cli("docs", "retry", doc, "--from", "route", "--again")
    assert got.returncode == 0, got.stdout + got.stderr
    wire.wait_until(lambda: len(copies(node, doc)) == 2, SECONDS, "the second copy")


# ---- what would be -----------------------------------------------------------------------------------


@BOTH
def test_without_effect_it_is_told_who_would_get_copies(begin):
    node = begin()
    got = node.cli("send", "in", "--dry", "--json", "--header", "X-Type: article", "--header", "X-Region: south", stdin="x")
    found = json.loads(got.stdout)
    assert found["steps"] == ["replace", "subscribe"]
    assert found["deliveries"] == [{"endpoint": "a subscription", "system": s} for s in ("north", "shop", "south")]
    text = node.cli("send", "in", "--dry", "--header", "X-Type: article", stdin="x").stdout
    assert "a subscription of north" in text, text
    assert node.documents() == []


@BOTH
def test_a_rehearsal_compares_who_gets_copies(begin, receiver):
    node = begin()
    doc = send(node, b"x_y")
    ended(node, doc)
    text = CONFIG.format(url=receiver.url("/"), step=ALL)
    copy = lambda s: {"endpoint": "a subscription", "system": s}  # noqa: E731
    for old, new, kind, was, would in (
            ("to: [ shop, north ]", "to: [ shop, south ]", "delivered", ["north", "shop"], ["shop", "south"]),
            ("articles, everything,", "everything,", "delivered", ["north", "shop"], ["shop"]),
            ('with: "-"', 'with: "+"', "transformed", ["north", "shop"], ["north", "shop"])):
        got = node.cli("rehearse", "-", "--json", stdin=text.replace(old, new))
        found = {d["id"]: d for d in map(json.loads, got.stdout.splitlines()) if "id" in d}
        assert found[doc]["kinds"] == [kind], got.stdout
        assert found[doc]["was"]["deliveries"] == [copy(s) for s in was]
        assert found[doc]["would"]["deliveries"] == [copy(s) for s in would]
    assert node.cli("rehearse", "-", stdin=text).returncode == 0


# ---- looking at it -----------------------------------------------------------------------------------


def words(text):
    return [" ".join(line.split()) for line in text.splitlines()]


@BOTH
def test_the_cli_follows_a_family(begin):
    """From a list to its parts, from a part to its copies, and back; twenty of a kind, and where the others are."""
    node = begin()
    doc = send(node, json.dumps(list(range(22))), kind="list")
    ended(node, doc)
    wire.wait_until(lambda: len(node.documents()) == 1 + 22 * 3, SECONDS, "all copies")
    parts = node.show(doc, "children(kind: part) { items { id } }")["children"]["items"]
    third = parts[2]["id"]
    copy = node.show(third, "copies: children(kind: copy) { items { id } } parts: children(kind: part) { items { id } }"
                            " answers: children(kind: answer) { items { id } }")
    assert len(copy["copies"]["items"]) == 2 and copy["parts"]["items"] == copy["answers"]["items"] == []
    copy = copy["copies"]["items"][0]["id"]
    assert node.show(third, "part { number of }")["part"] == {"number": 3, "of": 22}
    assert node.show(copy, "part { number of }")["part"] == {"number": 3, "of": 22}
    assert node.show(doc, "part { number }")["part"] is None

    shown = words(node.cli("docs", "show", doc).stdout)
    assert "parts 22 of 22" in shown and f"... and more: waybill docs ls --parent {doc}" in shown, shown
    assert len([line for line in shown if line.startswith("part ") and line.endswith(" of 22")]) == 20
    shown = words(node.cli("docs", "show", third).stdout)
    assert f"part of {doc}" in shown and "part 3 of 22" in shown, shown
    trace = words(node.cli("docs", "trace", third).stdout)
    assert any(line.startswith(f"part of {doc} hub list done") for line in trace), trace
    assert any(line.startswith(f"copy {copy} north article") for line in trace), trace
    trace = words(node.cli("docs", "trace", copy).stdout)
    assert any(line.startswith(f"copy of {third} hub article done") for line in trace), trace
    got = json.loads(node.cli("docs", "show", third, "--json").stdout)
    assert got["part"] == {"number": 3, "of": 22} and got["copies"]["items"][0]["id"] == copy
    found = {json.loads(line)["id"] for line in node.cli("docs", "ls", "--parent", third, "--json").stdout.splitlines()}
    assert copy in found and len(found) == 2
    assert all(json.loads(line)["stage"] for line in node.cli("docs", "trace", third, "--json").stdout.splitlines())


@BOTH
def test_children_come_in_pages(begin):
    node = begin()
    doc = send(node, json.dumps(list(range(7))), kind="list")
    ended(node, doc)
    seen, after = [], None
    for _ in range(4):
        page = node.graphql("query($i: ID!, $a: String) { document(id: $i) { children(kind: part, first: 3, after: $a)"
                            " { items { part { number } } next } } }", i=doc, a=after)["document"]["children"]
        seen += [c["part"]["number"] for c in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert seen == [1, 2, 3, 4, 5, 6, 7] and after is None


# ---- rights ------------------------------------------------------------------------------------------


@BOTH
def test_a_copy_is_for_those_who_see_its_systems(begin):
    node = begin()
    doc = send(node, b"x", region="south")
    ended(node, doc)
    all_of_them = copies(node, doc)
    hers = {id for id, c in all_of_them.items() if c["receiver"] == "north"}
    make_role(node, "north", {"see"}, ["north"])
    make_role(node, "hub", {"see"}, ["hub"])
    north, hub = somebody(node, "north"), somebody(node, "hub")
    family = "query($id: ID!) { document(id: $id) { copyOf { id } children { items { id } next } } }"
    for id in all_of_them:
        seen = north.data(family, id=id)["document"]
        assert seen == ({"copyOf": None, "children": {"items": [], "next": None}} if id in hers else None)
    assert north.data(family, id=doc)["document"] is None
    seen = hub.data(family, id=doc)["document"]
    assert seen == {"copyOf": None, "children": {"items": [], "next": None}}
    ask = "query($p: ID!) { documents(filter: { parent: $p }) { items { id } } }"
    assert hub.data(ask, p=doc)["documents"]["items"] == []
    assert north.data(ask, p=doc)["documents"]["items"] == []


def test_the_map_has_a_way_to_each_subscriber(begin):
    edges = {(e["from"], e["to"]) for e in begin().graphql("{ flow { from to } }")["flow"]}
    assert {("route:hub", "system:shop"), ("route:hub", "system:north"), ("route:hub", "system:south"),
            ("route:echo", "system:hub")} <= edges
