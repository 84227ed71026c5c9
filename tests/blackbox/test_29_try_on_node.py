"""A step is tried on a document of a node: with the rights of who deploys it, bounded, and audited."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from test_87_rights import codes, make_role, somebody  # noqa: E402

CANARY = "canary-4711"
CONFIG = """\
systems: { acme: {}, erp: {}, hub: {} }
types: { "*": {} }
services: { tidy: { replace: { find: canary, with: bird } } }
gateways:
  in:
    kind: http
    auth: none
    extract: { sender: "json:/from", receiver: "value:hub", type: "value:t" }
endpoints:
  hub: { kind: file, path: ./hub, name: "${id}.json" }
routes:
  - { name: all, do: [ { replace: { find: one, with: two } }, { deliver: hub } ] }
"""
ASK = """query($d: ID!, $s: Int, $t: String!) { tryStep(document: $d, stage: $s, step: $t) {
    problems { line column message } end count notes duration memory error { code message }
    results { sender receiver type size text truncated isText } } }"""


@pytest.fixture
def node(make_node):
    one = make_node(config=CONFIG)
    (one.folder / "hub").mkdir()
    one.start()
    return one


def send(node, sender="acme"):
    got = node.post("in", json.dumps({"from": sender, "text": CANARY, "n": ["one", "two"]}))
    assert got.status == 202
    node.await_state(got.json["document"], "delivered", look=lambda n, d: n.show(d, "state"))
    return got.json["document"]


def attempt(node, document, step, stage=0):
    return node.graphql(ASK, d=document, s=stage, t=step)["tryStep"]


def logged(node, action):
    return node.graphql("query($a: String!) { audit(filter: { action: $a }) { items { actor object after } } }",
                        a=action)["audit"]["items"]


@pytest.mark.smoke
def test_what_comes_out(node):
    doc = send(node)
    got = attempt(node, doc, "jq: .n")
    assert got["end"] == "bytes" and got["count"] == 1 and got["duration"] > 0 and not got["problems"]
    assert got["results"][0]["text"] == '["one","two"]' and got["results"][0]["isText"]
    assert attempt(node, doc, "jq: .n", 1)["results"][0]["text"] == '["two","two"]'  # after its step
    assert "bird-4711" in attempt(node, doc, "tidy")["results"][0]["text"]
    said = attempt(node, doc, 'lua: "log(doc.sender) return doc.type .. doc.gateway"')
    assert said["notes"] == ["acme"] and said["results"][0]["text"] == "tin"
    parts = attempt(node, doc, 'split: { json: /n, type: "value:word" }')
    assert parts["end"] == "parts" and parts["count"] == 2
    assert [(r["text"], r["type"], r["sender"]) for r in parts["results"]] == [
        ('"one"', "word", "acme"), ('"two"', "word", "acme")]
    assert attempt(node, doc, "jq: empty")["end"] == "none"
    assert attempt(node, doc, "jq: .n", 7) is None
    assert attempt(node, "00000000-0000-7000-8000-000000000000", "jq: .n") is None
    # Nothing was stored or sent.
    assert len(node.cli("docs", "ls", "--json").stdout.splitlines()) == 1
    assert len(list((node.folder / "hub").glob("*.json"))) == 1


def test_what_is_wrong(node):
    doc = send(node)
    dead = attempt(node, doc, "jq: .n[]")
    assert dead["end"] == "dead" and dead["error"]["code"] == "service_failed" and not dead["results"]
    wrong = attempt(node, doc, "jqq: .n")
    assert wrong["end"] is None and wrong["duration"] is None and wrong["problems"][0]["column"] == 1
    assert "syntax error" in attempt(node, doc, "jq: '.n |'")["problems"][0]["message"]
    slow = attempt(node, doc, "lua: { script: 'while true do end', limits: { time: 100ms } }")
    assert slow["error"]["code"] == "budget"
    make_role(node, "all", {"configure", "see", "payload"})
    one = somebody(node, "all")
    for step, said in (("lua: { script: 'return doc.bytes', limits: { time: 1m } }", "at most 10 s"),
                       ("deliver: hub", "makes nothing"), ("drop: no", "makes nothing")):
        assert said in json.dumps(one.ask(ASK, d=doc, s=0, t=step)["errors"])


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("S14")
def test_to_try_a_script_takes_the_right_to_deploy_one(node):
    mine, foreign = send(node), send(node, "erp")
    step = "jq: ."
    make_role(node, "reader", {"see", "payload", "download", "edit", "operate"})
    reader = somebody(node, "reader", title="reader").ask(ASK, d=mine, s=0, t=step)
    assert codes(reader) == {"forbidden"} and CANARY not in json.dumps(reader)
    # To deploy scripts is not to look into payloads.
    make_role(node, "builder", {"configure", "see"})
    got = somebody(node, "builder", title="builder").ask(ASK, d=mine, s=0, t=step)
    assert got["data"]["tryStep"] is None and CANARY not in json.dumps(got)
    # Both, for the payloads of one system.
    make_role(node, "desk", {"see", "payload"}, ["acme"])
    both = somebody(node, "desk", "builder", title="both")
    assert CANARY in both.ask(ASK, d=mine, s=0, t=step)["data"]["tryStep"]["results"][0]["text"]
    assert both.ask(ASK, d=foreign, s=0, t=step)["data"]["tryStep"] is None
    lines = logged(node, "tryStep")
    assert {line["actor"] for line in lines} == {"key builder", "key both"}
    assert any(mine in json.dumps(line) for line in lines)


def test_a_secret_is_its_name(node):
    doc = send(node)
    assert node.cli("secret", "add", "word", stdin="hush-hush").returncode == 0
    shown = attempt(node, doc, 'replace: { find: canary, with: "secret:word" }')
    assert "hush-hush" not in json.dumps(shown)
    assert "(secret word)" in shown["results"][0]["text"]


@pytest.mark.proves("S14")
def test_a_step_has_the_secrets_that_it_has_in_force_and_no_other(node):
    """What a step in force sends to a partner, or opens documents with, is not read by trying another step."""
    doc = send(node)
    for name in ("token", "word", "other"):
        assert node.cli("secret", "add", name, stdin=f"hush-{name}").returncode == 0
    text = CONFIG.replace("routes:", """routes:
  - name: asks
    when: { type: never }
    do: [ { call: { url: "https://api.example/", headers: { X-Token: "secret:token" } } }, { deliver: hub } ]
  - name: signs
    when: { type: nowhere }
    do: [ { replace: { find: canary, with: "secret:word" } }, { deliver: hub } ]""")
    # Sections may stand in any order: the endpoints behind the routes.
    ends = 'endpoints:\n  hub: { kind: file, path: ./hub, name: "${id}.json" }\n'
    text = text.replace(ends, "") + ends + '  web: { kind: http, system: erp, url: "https://erp.example/", headers: { A: "secret:other" } }\n'
    applied = node.cli("apply", "-", stdin=text)
    assert applied.returncode == 0, applied.stderr
    for name in ("token", "other"):
        shown = attempt(node, doc, f'replace: {{ find: canary, with: "secret:{name}" }}')
        assert f"hush-{name}" not in json.dumps(shown) and f"(secret {name})" in shown["results"][0]["text"]
    other = attempt(node, doc, 'replace: { find: "4711", with: "secret:word" }')
    assert "hush-word" not in json.dumps(other) and "(secret word)" in other["results"][0]["text"]
    same = attempt(node, doc, 'replace: { find: canary, with: "secret:word" }')
    assert "hush-word-4711" in same["results"][0]["text"], "it does that to documents already"


def test_records_are_for_who_sees_the_payloads_of_all_systems(node):
    doc = send(node)
    table = node.folder / "prices.csv"
    table.write_text("key,price\nacme,7.50\n")
    done = node.cli("records", "import", "prices", str(table))
    assert done.returncode == 0, done.stderr
    make_role(node, "builder", {"configure", "see"})
    make_role(node, "desk", {"see", "payload"}, ["acme"])
    both = somebody(node, "desk", "builder", title="both")
    for step in ("enrich: { set: prices, key: 'json:/from', into: /found }", "store: { set: prices, key: 'json:/from' }"):
        got = both.ask(ASK, d=doc, s=0, t=step)
        assert "7.50" not in json.dumps(got) and "for all systems" in json.dumps(got["errors"]), got
        assert "7.50" in attempt(node, doc, step)["results"][0]["text"]
