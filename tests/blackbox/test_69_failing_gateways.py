"""Failing gateways and silent sources: an alert of their own, a row of the failures, a place where people look."""
import itertools

import pytest

from wire import wait_until

CONFIG = """\
systems: { acme: {}, hub: {} }
types: { order: {} }
gateways:
  drop:
    kind: file
    path: ./inbox
    every: 50ms
    min_age: 0s
    after: delete
    extract: { sender: "value:acme", receiver: "value:hub", type: "value:order" }
  quiet:
    kind: file
    path: ./quiet
    every: 50ms
    min_age: 0s
    extract: { sender: "value:acme", receiver: "value:hub", type: "value:order" }
routes: []
alerts:
  silence: { quiet: 4s }
"""
SOON = "  gateway_failing: { after: 200ms }\n"


def open_alerts(node):
    return {(a["code"], a["object"]): a["message"]
            for a in node.graphql("{ alerts { code object message } }")["alerts"]}


def broken(node, name):
    return {g["name"]: g["broken"] for g in node.graphql("{ gateways { name broken } }")["gateways"]}[name]


def tell_soon(node):
    node.write_config(CONFIG + SOON)
    assert node.cli("apply", node.config_file).returncode == 0


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("IN5")
def test_a_gateway_that_fails_raises_its_own_alert(make_node):
    node = make_node(config=CONFIG)
    node.start()
    inbox = node.folder / "inbox"
    wait_until(inbox.exists)
    inbox.rename(node.folder / "away")
    wait_until(lambda: "inbox" in (broken(node, "drop") or ""), 30, "it is under Needs attention")
    wait_until(lambda: any(m["code"] == "gateway_failing" and m["object"] == "gateway drop"
                           for m in node.graphql("{ mishaps { code object count } }")["mishaps"]), 30, "a row of the failures")
    tell_soon(node)
    wait_until(lambda: ("gateway_failing", "drop") in open_alerts(node), 30)
    assert "inbox" in open_alerts(node)["gateway_failing", "drop"]
    (node.folder / "away").rename(inbox)
    wait_until(lambda: ("gateway_failing", "drop") not in open_alerts(node), 30)
    assert broken(node, "drop") is None
    node.restart()  # nothing is left of it
    assert ("gateway_failing", "drop") not in open_alerts(node) and broken(node, "drop") is None


@pytest.mark.stores("postgres")
@pytest.mark.proves("IN5", "IN11")
def test_what_fails_on_one_node_is_seen_on_all_and_tried_by_others(make_node):
    good, bad = (make_node(config=CONFIG) for _ in range(2))
    (bad.folder / "inbox").write_text("in the way")
    bad.start()
    wait_until(lambda: broken(bad, "drop"), 30)
    good.start()  # polls in its own folder
    wait_until(lambda: "node on" in (broken(good, "drop") or ""), 30)
    tell_soon(good)
    wait_until(lambda: ("gateway_failing", "drop") in open_alerts(good), 30)
    (good.folder / "inbox").mkdir(exist_ok=True)
    (good.folder / "inbox" / "a").write_bytes(b"order")
    wait_until(lambda: len(good.documents()) == 1, 30)
    bad.stop()  # a node that does not run has no troubles
    wait_until(lambda: ("gateway_failing", "drop") not in open_alerts(good), 60)


@pytest.mark.proves("IN5")
def test_a_source_that_stays_empty_raises_silence(make_node):
    node = make_node(config=CONFIG)
    node.start()
    wait_until(lambda: ("silence", "quiet") in open_alerts(node), 30)
    wait_until(lambda: any(m["code"] == "silence" and m["object"] == "gateway quiet"
                           for m in node.graphql("{ mishaps { code object } }")["mishaps"]), 30)
    names = itertools.count()

    def ends_while_it_is_fed():
        (node.folder / "quiet" / f"{next(names)}").write_bytes(b"order")
        return ("silence", "quiet") not in open_alerts(node)

    wait_until(ends_while_it_is_fed, 60)
