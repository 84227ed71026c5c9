"""Rehearsing is looking: a proposed version may extract any part of a payload, so what it finds is shown
only to those who may view that payload, and every rehearsal is in the audit log."""
import base64
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from test_87_rights import OBJECTS, SDL, codes, make_role, somebody  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
CANARY = "canary-4711"
CONFIG = """\
systems: {{ acme: {{}}, erp: {{}}, hub: {{}} }}
types: {{ "*": {{}} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type" }}
endpoints:
  hub: {{ kind: file, path: "{folder}/hub", name: "${{id}}.json" }}
routes:
  - name: all
    do: [ {{ deliver: hub }} ]
"""
# What a thief proposes: the text of a payload as an attribute, as a name, as a reason, as a part of a batch.
STOLEN = {
    "attribute": lambda t: t.replace('type: "json:/type" }', 'type: "json:/type",\n'
                                     '      attributes: { loot: "regex:(?s)(.{0,900})" } }'),
    "sender": lambda t: t.replace('sender: "json:/from"', 'sender: "json:/text"'),
    "receiver": lambda t: t.replace('receiver: "json:/to"', 'receiver: "json:/text"'),
    "type": lambda t: t.replace('type: "json:/type"', 'type: "json:/text"'),
    "part": lambda t: t.replace('type: "json:/type" }', 'type: "json:/type",\n'
                                '      attributes: { loot: "json:/text" } }')
    .replace("do: [ { deliver: hub } ]", "do: [ { batch: loot } ]")
    + 'batches: { loot: { count: 10, join: text, by: "${loot}", do: [ { deliver: hub } ] } }\n',
}
WAY = "{ sender receiver type attributes { name value } route deliveries { endpoint system } message error { code message } }"
ASK = """query($t: String!, $a: RehearseAgainst) { rehearsePast(text: $t, against: $a) {
    problems { message } looked left leftSome { id message } differences {
    id gateway name received kinds was %s would %s redefined payloads { diff } } } }""" % (WAY, WAY)


@pytest.fixture
def node(make_node):
    one = make_node(config=CONFIG.format(folder="."))
    (one.folder / "hub").mkdir()
    one.text = CONFIG.format(folder=".")
    one.start()
    return one


def send(node, sender, receiver="hub"):
    got = node.post("in", json.dumps({"from": sender, "to": receiver, "type": "t", "text": CANARY}),
                    {"Waybill-Name": "n.json"})
    assert got.status == 202
    doc = got.json["document"]
    node.await_state(doc, "delivered", look=lambda n, d: n.show(d, "state"))
    return doc


def look(who, text, against="happened"):
    got = who.ask(ASK, t=text, a=against)
    assert not got.get("errors"), got
    assert not got["data"]["rehearsePast"]["problems"], got
    return got["data"]["rehearsePast"]


def logged(node, action):
    return node.graphql("query($a: String!) { audit(filter: { action: $a }) { items { actor object after } } }",
                        a=action)["audit"]["items"]


@BOTH
@pytest.mark.smoke
@pytest.mark.proves("S13")
def test_to_configure_is_not_to_look_into_payloads(node):
    """The answer tells that documents change; neither their bytes nor their ids."""
    doc = send(node, "acme")
    make_role(node, "builder", {"configure"})
    thief = somebody(node, "builder", title="thief")
    for how, change in STOLEN.items():
        text = change(node.text)
        assert text != node.text, how
        for against in ("happened", "live"):
            got = look(thief, text, against)
            assert got["looked"] == 1 and len(got["differences"]) == 1, (how, got)
            one = got["differences"][0]
            assert one["kinds"] and one["gateway"] == "in", (how, one)
            assert CANARY not in json.dumps(got) and doc not in json.dumps(got), (how, got)
            assert one["would"] is None and one["was"] is None and one["payloads"] is None, (how, one)
    lines = logged(node, "rehearsePast")
    assert len(lines) == 2 * len(STOLEN) and {line["actor"] for line in lines} == {"key thief"}
    assert all(CANARY not in (line["after"] or "") and "bytes)" in line["after"] for line in lines)


@BOTH
def test_who_may_view_payloads_sees_what_would_be(node, tmp_path):
    send(node, "acme")
    make_role(node, "reader", {"configure", "see", "payload"})
    reader = somebody(node, "reader", title="reader")
    got = look(reader, STOLEN["attribute"](node.text))
    assert CANARY in json.dumps(got["differences"][0]["would"]["attributes"])
    assert [line["actor"] for line in logged(node, "rehearsePast")] == ["key reader"]

    # The same on the command line; with fewer rights it says what is missing, and does not fail.
    file = tmp_path / "proposed.yaml"
    file.write_text(STOLEN["sender"](node.text))
    done = node.cli("rehearse", str(file), "--token", reader.key)
    assert done.returncode == 1 and CANARY in done.stdout, done.stderr
    make_role(node, "seer", {"configure", "see"})
    done = node.cli("rehearse", str(file), "--token", somebody(node, "seer").key)
    assert done.returncode == 1 and CANARY not in done.stdout and "shown with the right" in done.stdout, done.stdout
    make_role(node, "builder", {"configure"})
    done = node.cli("rehearse", str(file), "--token", somebody(node, "builder").key)
    assert done.returncode == 1 and "out of your scope" in done.stdout and CANARY not in done.stdout, done.stdout


@BOTH
@pytest.mark.proves("S7")
def test_the_scope_is_that_of_the_stored_document(node):
    """Whoever may view the payloads of one system cannot make others' documents its own by extracting
    its name from them, neither in the proposal nor in the version in force."""
    mine, foreign = send(node, "acme"), send(node, "erp")
    make_role(node, "desk", {"see", "payload"}, ["acme"])
    make_role(node, "builder", {"configure"})
    both = somebody(node, "desk", "builder", title="both")
    claim = STOLEN["attribute"](node.text.replace('sender: "json:/from"', 'sender: "value:acme"'))
    for against in ("happened", "live"):
        found = {d["id"]: d for d in look(both, claim, against)["differences"]}
        assert set(found) == {mine, None} and foreign not in json.dumps(found), found
        assert CANARY in json.dumps(found[mine]) and CANARY not in json.dumps(found[None])
    assert both.data("mutation($t: String!) { configApply(text: $t) { problems { message } } }",
                     t=claim)["configApply"]["problems"] == []
    found = {d["id"]: d for d in look(both, node.text, "live")["differences"]}
    assert CANARY in json.dumps(found[mine]["was"]), "the version in force finds it, now"
    assert found[None]["was"] is None and found[None]["would"] is None


def test_was_with_another_version_needs_the_payload(node):
    """Who may see and configure may choose the version in force: `was` with it is no history."""
    send(node, "acme")
    make_role(node, "seer", {"configure", "see"})
    seer = somebody(node, "seer")
    one = look(seer, STOLEN["attribute"](node.text))["differences"][0]
    assert one["id"] and one["was"]["sender"] == "acme" and one["would"] is None
    seer.data("mutation($t: String!) { configApply(text: $t) { problems { message } } }",
              t=STOLEN["attribute"](node.text))
    one = look(seer, node.text, "live")["differences"][0]
    assert one["was"] is None and CANARY not in json.dumps(one)


def test_each_portion_of_a_rehearsal_is_a_line(node):
    """As with a scan."""
    for _ in range(3):
        send(node, "acme")
    text, after, portions = STOLEN["attribute"](node.text), None, 0
    while portions == 0 or after:
        page = node.graphql("query($t: String!, $a: String) { rehearsePast(text: $t, most: 1, after: $a) { next } }",
                            t=text, a=after)["rehearsePast"]
        after, portions = page["next"], portions + 1
    assert len(logged(node, "rehearsePast")) == portions >= 3


# ---- the whole schema: what can the caller choose, and what does the answer then tell ----


def test_every_field_that_takes_arguments_says_what_its_answer_tells():
    """The answer stands beside the field, in a comment `# tells:`; of a field without arguments, its right
    says all."""
    lines, missing = SDL.splitlines(), []
    for field in OBJECTS["Query"].fields:
        if all(a.name.value in ("first", "after") for a in field.arguments):
            continue
        at = next(i for i, line in enumerate(lines) if line.startswith(f"  {field.name.value}("))
        if not any(line.startswith("  # tells: ") for line in lines[at - 2:at]):
            missing.append(field.name.value)
    assert not missing, missing


def test_a_check_of_a_configuration_tells_nothing_of_secrets(node):
    """A proposal may put a secret wherever a text goes: the problem that is found there does not quote it."""
    node.graphql('mutation { secretAdd(name: "deep", value: "%s") { name } }' % CANARY)
    make_role(node, "builder", {"configure"})
    thief = somebody(node, "builder")
    ask = "query($t: String!) { configCheck(text: $t) { problems { message hint } warnings { message hint } } }"
    for old, new in (('path: "', 'path: "${secret:deep}'), ('name: "${id}.json"', 'name: "${secret:deep}${nix}"'),
                     ('type: "json:/type" }', 'type: "json:/type" }\n    limits: { rate: "${secret:deep}" }'),
                     ("kind: file, path:", "kind: http, url: \"http://${secret:deep}:x/\", path:"),
                     ("- name: all", "- name: ${secret:deep}"), ("acme: {}", "acme: { ids: [\"${secret:deep}\", secret:deep] }")):
        text = node.text.replace(old, new)
        assert text != node.text, old
        got = thief.ask(ask, t=text)
        assert CANARY not in json.dumps(got), (old, got)
        got = thief.ask(ASK, t=text, a="live")
        assert CANARY not in json.dumps(got), (old, got)


def test_a_rehearsed_step_does_not_show_a_secret(node):
    """Secrets are written, never read: a step that puts one into a document shows a stand-in when rehearsed."""
    send(node, "acme")
    node.graphql('mutation { secretAdd(name: "deep", value: "sesame-%s") { name } }' % CANARY)
    make_role(node, "reader", {"configure", "see", "payload"})
    reader = somebody(node, "reader")
    text = node.text.replace("do: [ { deliver: hub } ]",
                             'do: [ { replace: { find: "canary", with: "${secret:deep}" } }, { deliver: hub } ]')
    got = reader.ask(ASK, t=text, a="happened")
    assert f"sesame-{CANARY}" not in json.dumps(got), got
    assert "(secret deep)" in json.dumps(got), got
    loot = STOLEN["attribute"](node.text).replace("regex:(?s)(.{0,900})", "value:${secret:deep}")
    assert f"sesame-{CANARY}" not in json.dumps(reader.ask(ASK, t=loot, a="happened"))

    # Once a version in force has it in a step, it is in documents, and a rehearsal finds no difference.
    applied = node.cli("apply", "-", stdin=text)
    assert applied.returncode == 0, applied.stderr
    send(node, "acme")
    assert len(look(reader, text)["differences"]) == 1, "the document from before, not the new one"
    assert look(reader, text, "live")["differences"] == []


def test_records_are_for_who_sees_the_payloads_of_all_systems(node):
    """A proposed step can put any record into a document of the caller's own system."""
    doc = send(node, "acme")
    table = node.folder / "prices.csv"
    table.write_text("key,price\nacme,7.50\n")
    done = node.cli("records", "import", "prices", str(table))
    assert done.returncode == 0, done.stderr
    make_role(node, "builder", {"configure"})
    make_role(node, "desk", {"see", "payload"}, ["acme"])
    make_role(node, "all", {"configure", "see", "payload"})
    text = node.text.replace("do: [ { deliver: hub } ]",
                             "do: [ { enrich: { set: prices, key: 'json:/from', into: /found } }, { deliver: hub } ]")
    assert text != node.text
    one = look(somebody(node, "desk", "builder"), text)
    assert len(one["differences"]) == 1 and "7.50" not in json.dumps(one) and doc not in json.dumps(one), one
    assert "7.50" in json.dumps(look(somebody(node, "all"), text))


def test_a_rehearsal_of_one_document_is_for_its_sender(node):
    """With `edit` for one system, the paths of others are not found by inventing documents."""
    make_role(node, "desk", {"see", "payload", "edit"}, ["acme"])
    desk = somebody(node, "desk")

    def ask(sender):
        paper = base64.b64encode(json.dumps({"from": sender, "to": "hub", "type": "t"}).encode()).decode()
        return desk.ask("query($p: String!) { rehearse(gateway: \"in\", payload: $p) { route sender } }", p=paper)
    assert ask("acme")["data"]["rehearse"]["route"] == "all"
    assert codes(ask("erp")) == {"forbidden"}
