"""What people do to links, and see of their rows, is in the audit log; who may not is refused."""
import json
import random

import pytest

from links import LINK, SECONDS, TABLE, Databases, Link
from tables import row
from wire import wait_until

ITEM = f"{LINK}/{TABLE}"
RULE = "    verify:\n      - { mode: full, every: 1h }\n"


@pytest.fixture
def link(make_node, postgres, tmp_path):
    databases = Databases(postgres, tmp_path)
    source, dest = databases.of("postgres"), databases.of("postgres")
    source.make(TABLE)
    dest.make(TABLE, more=", constraint cheap check (price < 1000000000)")
    source.fill(TABLE, [row(random.Random(6), n) for n in range(20)])
    made = Link(make_node, source, dest, more=RULE)
    yield made
    databases.close()


def test_each_verb_is_a_line(link):
    node = link.node

    def lines(action):
        text = "query($a: String!) { audit(filter: { action: $a }) { items { actor object reason after } } }"
        return node.graphql(text, a=action)["audit"]["items"]

    link.cli("install", LINK, "--yes", "--reason", "as agreed")
    link.await_equal()
    link.await_state("current")
    done, = lines("linkInstall")
    assert (done["object"], done["reason"]) == (LINK, "as agreed")
    link.source.run(f"update {TABLE} set price = 2000000000 where id in (7, 8)")
    wait_until(lambda: link.state()["setAside"] == 2, SECONDS)
    shown = link.cli("quarantine", ITEM)
    assert len(lines("linkQuarantine")) >= 1 and "2000000000" not in "".join(line["after"] for line in lines("linkQuarantine"))
    first, second = (text.split()[0] for text in shown.splitlines() if ITEM in text.split())
    link.cli("quarantine", "retry", first, "--reason", "once more")
    link.cli("quarantine", "discard", second, "--reason", "nobody wants it")
    assert [(line["object"], line["reason"]) for line in lines("linkQuarantineRetry")] == [(first, "once more")]
    assert [(line["object"], line["reason"]) for line in lines("linkQuarantineDiscard")] == [(second, "nobody wants it")]
    link.cli("verify", ITEM, "--wait", "--reason", "before the audit", code=1)
    ordered, = lines("linkVerify")
    assert ordered["object"] == LINK and TABLE in ordered["after"] and ordered["reason"] == "before the audit"
    node.cli("repl", "diff", ITEM)
    assert lines("linkDiff") and all(LINK in line["after"] and TABLE in line["after"] for line in lines("linkDiff"))
    link.cli("resync", ITEM, "--reason", "all again")
    link.cli("go-on", ITEM, "--reason", "it is right")
    assert [line["reason"] for line in lines("linkResync") + lines("linkGoOn")] == ["all again", "it is right"]
    link.cli("remove", LINK, "--yes")
    assert len(lines("linkRemove")) == 1
    assert node.cli("audit", "verify").returncode == 0


@pytest.mark.proves("ME5")
def test_who_does_not_see_all_systems_sees_nothing_of_links(link):
    node = link.node
    link.install()
    link.await_equal()
    link.await_state("current")
    link.source.run(f"update {TABLE} set price = 2000000000 where id = 7")
    wait_until(lambda: link.state()["setAside"] == 1, SECONDS)
    link.cli("verify", ITEM, "--wait", code=1)
    node.graphql("mutation { roleAdd(name: \"desk\", rights: [see, payload], systems: [\"acme\"]) { name } }")
    key = node.graphql("mutation { adminKeyAdd(title: \"desk\", roles: [\"desk\"]) { key } }")["adminKeyAdd"]["key"]

    def ask(text):
        return node.request("POST", "/graphql", json.dumps({"query": text}),
                            {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}).json

    done = node.graphql("{ linkPasses { items { id missing different } } }")["linkPasses"]["items"][0]
    assert done["missing"] + done["different"] == 1
    of_pass = f'(pass: {json.dumps(done["id"])})'
    seen = node.graphql(f"{{ linkQuarantine {{ items {{ id }} }} linkFindings{of_pass} {{ items {{ key }} }} }}")
    assert len(seen["linkQuarantine"]["items"]) == len(seen["linkFindings"]["items"]) == 1
    for number in (done["id"], "999999"):
        assert ask(f'{{ linkFindings(pass: "{number}") {{ items {{ key }} }} }}') == {"data": {"linkFindings": {"items": []}}}
        said = ask(f'{{ linkDiff(link: "{LINK}", table: "{TABLE}", pass: "{number}") {{ items {{ key }} }} }}')
        assert "for all systems" in said["errors"][0]["message"] and not (said.get("data") or {}).get("linkDiff")
    assert ask("{ links { name } linkPasses { items { id } } linkQuarantine { items { id } } }") == {
        "data": {"links": [], "linkPasses": {"items": []}, "linkQuarantine": {"items": []}}}
