"""What is in doubt is resolved by a filter: counted first, and the reason is kept."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
REASON = "their log has all of them"
RESOLVE = ("mutation($f: DocumentFilter, $as: Resolution!, $r: String, $dry: Boolean, $after: String)"
           " { documentsResolve(filter: $f, as: $as, reason: $r, dry: $dry, after: $after)"
           " { count done skipped begin next } }")


def config(url):
    return f"""\
systems: {{ erp: {{ in_doubt: hold }}, shop: {{ in_doubt: hold }} }}
gateways: {{ in: {{ kind: http, auth: none, extract: {{ receiver: "header:To" }} }} }}
endpoints:
  erp-api: {{ kind: http, system: erp, url: "{url}/erp", breaker: {{ failures: 1000 }} }}
  shop-api: {{ kind: http, system: shop, url: "{url}/shop", breaker: {{ failures: 1000 }} }}
routes:
  - {{ name: erp, when: {{ receiver: erp }}, do: [ {{ deliver: erp-api }} ] }}
  - {{ name: shop, when: {{ receiver: shop }}, do: [ {{ deliver: shop-api }} ] }}
"""


@pytest.fixture
def receiver():
    with Receiver() as r:
        r.behave("/erp", "status", 500)
        r.behave("/shop", "status", 500)
        yield r


@pytest.fixture
def node(make_node, receiver):
    one = make_node(config=config(receiver.url("")))
    one.start()
    return one


def look(node, doc):
    return node.show(doc, "state timeline { stage what message }")


def doubtful(node, to, count):
    docs = [node.accept("in", f"{to} {i}", {"To": to}) for i in range(count)]
    for doc in docs:
        node.await_state(doc, "in_doubt", look=look, seconds=60)
    return docs


def resolve(node, filter, **more):
    return node.graphql(RESOLVE, f=filter, **{"as": "delivered", "r": REASON, **more})["documentsResolve"]


@BOTH
def test_resolve_takes_a_filter_and_counts_first(node):
    erp, shop = doubtful(node, "erp", 7), doubtful(node, "shop", 3)
    counted = node.cli("docs", "resolve", "--receiver", "erp", "--delivered", "--dry")
    assert counted.returncode == 0 and counted.stdout == "7 documents\n"
    asked = node.cli("docs", "resolve", "--receiver", "erp", "--delivered")     # no terminal, no --yes
    assert asked.returncode == 2 and "7 documents; say --yes" in asked.stderr
    assert all(look(node, d)["state"] == "in_doubt" for d in erp)
    done = node.cli("docs", "resolve", "--receiver", "erp", "--delivered", "--reason", REASON, "--yes", "--by", "ada")
    assert done.returncode == 0 and done.stdout == "7 documents resolved\n"
    for doc in erp:
        found = look(node, doc)
        assert found["state"] == "delivered"
        line, = [x for x in found["timeline"] if x["stage"] == "operator"]
        assert "ada" in line["what"] and line["message"] == f"resolved as delivered: erp-api; {REASON}"
    assert all(look(node, d)["state"] == "in_doubt" for d in shop)
    lines = node.graphql("{ audit(first: 20) { items { action reason before } } }")["audit"]["items"]
    assert {"action": "documentsResolve", "reason": REASON, "before": "in doubt"} in lines, lines


@BOTH
def test_resolve_by_a_filter_sends_again(node, receiver):
    docs = doubtful(node, "erp", 3)
    receiver.behave("/erp", "ok")
    done = node.cli("docs", "resolve", "--receiver", "erp", "--resend", "--yes")
    assert done.returncode == 0 and done.stdout == "3 documents resolved\n"
    for doc in docs:
        node.await_state(doc, "delivered", look=look, seconds=60)


@BOTH
def test_what_comes_into_doubt_after_the_count_is_left_alone(node):
    """A document that had come before the count and is in doubt after it: nobody has asked its receiver."""
    first, = doubtful(node, "erp", 1)
    added = node.cli("hold", "add", "erp", "--until", "1h", "--reason", "waits", "--json")
    late = node.accept("in", b"late", {"To": "erp"})
    node.await_state(late, "held", look=look, seconds=60)
    counted = resolve(node, {"receiver": "erp"}, dry=True)
    assert counted["count"] == 1
    assert node.cli("hold", "end", json.loads(added.stdout)["id"]).returncode == 0
    node.await_state(late, "in_doubt", look=look, seconds=60)
    done = resolve(node, {"receiver": "erp"}, after=counted["begin"])
    assert (done["done"], done["skipped"]) == (1, 1)
    assert look(node, first)["state"] == "delivered" and look(node, late)["state"] == "in_doubt"


def test_a_reason_is_one_line(node):
    with pytest.raises(Exception, match="a reason is one line"):
        resolve(node, {}, r="x" * 501)
    with pytest.raises(Exception, match="a reason is one line"):
        resolve(node, {}, r="two\nlines")
    both = node.cli("docs", "resolve", "--receiver", "erp", "--delivered", "--resend", "--yes")
    assert both.returncode == 2 and "either --delivered or --resend" in both.stderr
