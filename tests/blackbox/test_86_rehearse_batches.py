"""A proposed configuration over past documents that go with others: members, and what batches became."""
import pytest

from test_83_batches import await_that, built, close
from test_86_rehearse import BOTH, NO, World

CONFIG = """\
systems: {{ acme: {{}}, hub: {{}}, archive: {{}} }}
types: {{ order: {{}}, note: {{}}, claim: {{}}, junk: {{}} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type",
               attributes: {{ po: "json:/po" }} }}
endpoints:
  hub:   {{ kind: file, path: "{folder}/hub", name: "${{id}}.json" }}
  shelf: {{ kind: file, system: archive, path: "{folder}/shelf", name: "${{id}}.json" }}
batches:
  nightly: {{ count: 1000, join: json, do: [ {{ deliver: hub }} ] }}
  spare:   {{ count: 1000, join: json, do: [ {{ deliver: hub }} ] }}
  singly:  {{ count: 1000, join: each, do: [ {{ replace: {{ find: "_", with: "-" }} }}, {{ deliver: hub }} ] }}
  onward:  {{ count: 1000, join: each, do: [ {{ route: {{ type: "value:junk" }} }} ] }}
routes:
  - {{ name: orders, when: {{ type: order }}, do: [ {{ replace: {{ find: "_", with: "+" }} }}, {{ batch: nightly }} ] }}
  - {{ name: notes,  when: {{ type: note }},  do: [ {{ batch: singly }} ] }}
  - {{ name: claims, when: {{ type: claim }}, do: [ {{ batch: onward }} ] }}
  - {{ name: junk,   when: {{ type: junk }},  do: [ {{ deliver: shelf }} ] }}
"""
ORDERS = 'do: [ { replace: { find: "_", with: "+" } }, { batch: nightly } ]'
NIGHTLY = "nightly: { count: 1000, join: json, do: [ { deliver: hub } ] }"
IN_NIGHTLY = {"endpoint": "batch nightly", "system": "hub"}
TO_HUB, TO_SHELF = {"endpoint": "hub", "system": "hub"}, {"endpoint": "shelf", "system": "archive"}


@pytest.fixture
def world(make_node, tmp_path):
    folder = tmp_path / "out"
    for name in ("hub", "shelf"):
        (folder / name).mkdir(parents=True)
    node = make_node(config=CONFIG.format(folder=folder))
    node.start()
    made = World(node, folder)
    made.config = CONFIG.format(folder=folder)
    return made


def await_route(world, doc, route):
    await_that(world.node, lambda: world.one(doc)["route"] == route)


# -- members

@BOTH
def test_members_that_would_go_elsewhere(world):
    """Dropped, in another batch, sent at once, in another part: each is a difference."""
    doc = world.send("order")
    await_route(world, doc, "orders")
    before = world.traces()
    assert world.rehearse(world.config)[0] == {}
    for to, expected in (("{ drop: {} }", []),
                         ("{ batch: spare }", [{"endpoint": "batch spare", "system": "hub"}]),
                         ("{ batch: { name: nightly, by: \"${po}\" } }",
                          [{"endpoint": "batch nightly, part 1", "system": "hub"}]),
                         ("{ deliver: hub }", [TO_HUB])):
        found, total = world.rehearse(world.changed(("{ batch: nightly }", to)))
        assert set(found) == {doc} and found[doc]["kinds"] == ["delivered"], to
        assert found[doc]["was"]["deliveries"] == [IN_NIGHTLY] and found[doc]["would"]["deliveries"] == expected
        assert total["left"] == 0
    got = world.node.cli("rehearse", "-", stdin=world.changed(("{ batch: nightly }", '{ drop: { reason: "too late" } }')))
    assert got.returncode == NO, got.stdout
    assert "  delivery    - batch nightly of hub\n  ends        - -> dropped: too late\n" in got.stdout
    found, _ = world.rehearse(world.changed(("when: { type: order }", "when: { type: order, po: 7 }")))
    assert found[doc]["kinds"] == ["rejected"]
    # one that is sent, and would be a member
    junk = world.send("junk")
    world.await_state(junk, "delivered")
    found, _ = world.rehearse(world.changed(("do: [ { deliver: shelf } ] }", "do: [ { batch: spare } ] }")))
    assert set(found) == {junk} and found[junk]["kinds"] == ["delivered"]
    assert world.traces()[1] == before[1]


@BOTH
@pytest.mark.parametrize("text", ["a_b", ("x" * 1999 + "_") * 900], ids=["small", "large"])
def test_members_with_other_bytes(world, text):
    """What a step before `batch` makes is compared."""
    doc = world.send("order", text=text)
    await_route(world, doc, "orders")
    assert world.rehearse(world.config)[0] == {}
    for steps in ('{ replace: { find: "_", with: "#" } }, ', "", '{ replace: { find: "_", with: "" } }, '):
        found, _ = world.rehearse(world.changed((ORDERS, "do: [ %s{ batch: nightly } ]" % steps)))
        assert set(found) == {doc} and found[doc]["kinds"] == ["transformed"], steps
        [payload] = found[doc]["payloads"]
        assert payload["endpoint"] == "batch nightly" and payload["system"] == "hub"
        assert len(text) > 100 or '-{"from"' in payload["diff"] and '"a+b"' in payload["diff"]


# -- what batches became

def nightly(world):
    """The document that a batch of two became; it was delivered."""
    members = [world.send("order"), world.send("order")]
    assert close(world.node, "nightly", 2) == 1
    [doc] = built(world.node, "nightly")
    world.await_state(doc, "delivered")
    for member in members:
        world.await_state(member, "done")
    return doc


@BOTH
def test_what_a_batch_became(world):
    """It goes through the steps of its batch in both walks; one that would be made otherwise is left."""
    doc = nightly(world)
    before = world.traces()
    none = {"different": 0, "looked": 3, "left": 0, "kinds": {}, "changes": {}, "leftSome": []}
    assert world.rehearse(world.config) == ({}, none)
    assert world.rehearse(world.config, "--against", "live") == ({}, none)
    catch_all = world.config + "  - { name: rest, do: [ { deliver: shelf } ] }\n"
    assert world.rehearse(catch_all) == ({}, none)
    found, _ = world.rehearse(world.changed((NIGHTLY, NIGHTLY.replace("deliver: hub", "deliver: shelf"))))
    assert set(found) == {doc} and found[doc]["kinds"] == ["delivered"]
    assert found[doc]["was"]["deliveries"] == [TO_HUB] and found[doc]["would"]["deliveries"] == [TO_SHELF]
    assert found[doc]["was"]["route"] == "nightly" == found[doc]["would"]["route"]
    found, _ = world.rehearse(world.changed((NIGHTLY, NIGHTLY.replace(
        "do: [", 'do: [ { replace: { find: "a+b", with: "c" } },'))))
    assert set(found) == {doc} and found[doc]["kinds"] == ["transformed"]
    found, _ = world.rehearse(world.changed(('/hub", name', '/shelf", name')))
    assert set(found) == {doc} and found[doc]["redefined"] == ["hub"]
    for change in (("join: json", "join: text"), ("join: json", "join: json, root: all"),
                   ("join: json", 'join: json, header: "[", footer: "]"'), ("join: json", "join: json, type: junk")):
        found, total = world.rehearse(world.changed((NIGHTLY, NIGHTLY.replace(*change))))
        assert found == {} and total["left"] == 1 and total["leftSome"][0]["id"] == doc, change
        assert "batch nightly would be made of its members in another way" in total["leftSome"][0]["message"]
    assert world.traces() == before


@BOTH
def test_a_batch_that_is_gone(world):
    """As if its gateway were; where the version in force has none either, nothing can be said."""
    doc = nightly(world)
    gone = world.changed((f"  {NIGHTLY}\n", ""), ("{ batch: nightly }", "{ batch: spare }"))
    found, total = world.rehearse(gone)
    assert len(found) == 3 and total["kinds"] == {"rejected": 1, "delivered": 2}
    assert found[doc]["would"]["error"] == {"code": "refused", "message": "there is no batch nightly"}
    world.apply(gone)
    found, total = world.rehearse(gone, "--against", "live")
    assert found == {} and total["left"] == 1 and total["leftSome"][0]["id"] == doc
    assert "batch nightly is not in the version in force" in total["leftSome"][0]["message"]


# -- one by one

@BOTH
@pytest.mark.parametrize("closed", [False, True], ids=["waiting", "gone on"])
def test_members_that_go_on_one_by_one(world, closed):
    """Their route and the steps of their batch count, whether it has closed or not."""
    note, claim = world.send("note"), world.send("claim")
    await_route(world, note, "notes")
    await_route(world, claim, "claims")
    if closed:
        assert close(world.node, "singly", 1) == 1 and close(world.node, "onward", 1) == 1
        world.await_state(note, "delivered")
        world.await_state(claim, "delivered")
        assert world.one(note)["route"] == "singly" and world.one(claim)["route"] == "junk"
    assert world.rehearse(world.config)[1]["left"] == 0
    assert world.rehearse(world.config)[0] == {} == world.rehearse(world.config, "--against", "live")[0]
    in_singly, in_onward = ({"endpoint": f"batch {name}", "system": "hub"} for name in ("singly", "onward"))
    found, _ = world.rehearse(world.changed(("{ batch: singly }", "{ drop: {} }")))
    assert set(found) == {note} and found[note]["kinds"] == ["delivered"]
    assert found[note]["was"]["deliveries"] == [in_singly, TO_HUB] and found[note]["would"]["deliveries"] == []
    found, _ = world.rehearse(world.changed(("{ batch: singly }", "{ batch: onward }")))
    assert set(found) == {note} and found[note]["would"]["deliveries"] == [in_onward, TO_SHELF]
    found, _ = world.rehearse(world.changed(('{ find: "_", with: "-" }', '{ find: "_", with: "*" }')))
    assert set(found) == {note} and found[note]["kinds"] == ["transformed"]
    assert '"a*b"' in found[note]["payloads"][0]["diff"]
    found, _ = world.rehearse(world.changed(("name: notes,", "name: remarks,")))
    assert set(found) == {note} and found[note]["kinds"] == ["routed"] and found[note]["was"]["route"] == "notes"
    found, _ = world.rehearse(world.changed(("do: [ { deliver: shelf } ] }", "do: [ { deliver: hub } ] }")))
    assert set(found) == {claim} and found[claim]["kinds"] == ["delivered"]
    found, total = world.rehearse(world.changed(("do: [ { deliver: shelf } ] }", "do: [ { batch: nightly } ] }")))
    assert found == {} and [one["id"] for one in total["leftSome"]] == [claim]
    assert total["leftSome"][0]["message"] == "it goes from one batch into another"


@BOTH
def test_a_member_that_goes_on_though_its_route_does_not_lead_there_any_more(world):
    """It joined under one version and went on under the next: what it did last is rehearsed."""
    note = world.send("note")
    await_route(world, note, "notes")
    newer = world.changed(("{ batch: singly }", "{ drop: {} }"))
    world.apply(newer)
    assert close(world.node, "singly", 1) == 1
    seen = world.await_state(note, "delivered")
    assert seen["route"] == "singly" and seen["config"] == 2
    assert world.rehearse(newer) == ({}, {"different": 0, "looked": 1, "left": 0, "kinds": {}, "changes": {},
                                          "leftSome": []})
    found, _ = world.rehearse(newer.replace('{ find: "_", with: "-" }', '{ find: "_", with: "*" }'))
    assert set(found) == {note} and found[note]["kinds"] == ["transformed"]
    assert found[note]["was"]["route"] == "singly" and found[note]["was"]["deliveries"] == [TO_HUB]
