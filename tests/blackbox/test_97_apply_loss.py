"""A slip of the hand: a file that is empty, or nearly, is valid, and must not wipe what is in use."""
import json
import threading

import pytest

from running_node import clean_environment, run_program

BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO = 0, 1

CONFIG = """\
systems: { hub: {}, spare: {} }
gateways:
  orders: { kind: http, auth: none, extract: { receiver: "value:hub" } }
  quiet:  { kind: http, auth: none, extract: { receiver: "value:hub" } }
endpoints:
  api:  { kind: http, system: hub, url: "http://127.0.0.1:9/", retry: { first: 1h, most: 1h }, breaker: { failures: 1, wait: 1h } }
  idle: { kind: http, system: spare, url: "http://127.0.0.1:9/" }
routes:
  - { name: all, do: [ { deliver: api } ] }
"""
NEARLY_EMPTY = "systems: { hub: {} }\n"
CHECK = "query($t: String!) { configCheck(text: $t) { problems { message } losses { kind name left } confirm } }"
APPLY = ("mutation($t: String!, $c: String) { configApply(text: $t, confirm: $c)"
         " { version { version } problems { message } losses { kind name left } confirm } }")


@pytest.fixture
def node(make_node):
    """`orders` has traffic, deliveries wait for `api` and `hub`, `spare` has a hold."""
    one = make_node(config=CONFIG)
    one.start()
    doc = one.accept("orders", b"x")
    one.await_state(doc, "held", "retrying", look=lambda n, d: n.show(d, "state"), seconds=60)
    one.graphql('mutation { holdAdd(system: "spare", reason: "their move", owner: "kim") { hold { id } } }')
    return one


def live(node):
    return node.graphql("{ config { version } }")["config"]["version"]


def apply(node, text, *flags):
    node.write_config(text)
    got = node.cli("apply", node.config_file, *flags)
    return got.returncode, got.stdout + got.stderr


def losses(result):
    return {(x["kind"], x["name"]): x["left"] for x in result["losses"]}


@BOTH
@pytest.mark.proves("RO12")
@pytest.mark.parametrize("text", ["", NEARLY_EMPTY], ids=["empty", "nearly_empty"])
def test_an_empty_file_wipes_nothing_that_is_in_use(node, text):
    code, said = apply(node, text)
    assert code == NO and live(node) == 1, said
    assert "gateway `orders` is removed: it received documents in the last 7 days" in said
    assert "endpoint `api` is removed: 1 delivery waits for it" in said
    assert "system `spare` is removed: a hold is placed on it" in said
    assert "removes gateway `quiet`" in said and "removes route `all`" in said and "--yes" in said
    assert node.post("orders", b"y").status == 202
    code, said = apply(node, text, "--yes")
    assert code == DONE and "gateway `orders` is removed" in said and said.splitlines()[-1] == "version 2 is live", said
    assert node.post("orders", b"z").status == 404
    code, said = apply(node, CONFIG)
    assert code == DONE and "removed" not in said, said


@BOTH
def test_the_api_removes_what_was_named_and_nothing_else(node):
    checked = node.graphql(CHECK, t=NEARLY_EMPTY)["configCheck"]
    assert checked["problems"] == [] and checked["confirm"]
    found = losses(checked)
    assert set(found) == {("gateway", "orders"), ("gateway", "quiet"), ("endpoint", "api"), ("endpoint", "idle"),
                          ("system", "spare"), ("route", "all")}
    assert {k for k, left in found.items() if left} == {("gateway", "orders"), ("endpoint", "api"), ("system", "spare")}
    for wrong in (None, "", "yes", "true", checked["confirm"][:-1]):
        refused = node.graphql(APPLY, t=NEARLY_EMPTY, c=wrong)["configApply"]
        assert refused["version"] is None and refused["confirm"] == checked["confirm"] and refused["problems"], wrong
    # what is confirmed is this list: another text, and a list that has grown since, are refused
    other = node.graphql(APPLY, t="", c=checked["confirm"])["configApply"]
    assert other["version"] is None and other["confirm"] != checked["confirm"]
    node.accept("quiet", b"x")
    grown = node.graphql(APPLY, t=NEARLY_EMPTY, c=checked["confirm"])["configApply"]
    assert grown["version"] is None and losses(grown)["gateway", "quiet"]
    assert any("changed meanwhile" in p["message"] for p in grown["problems"])
    assert live(node) == 1
    done = node.graphql(APPLY, t=NEARLY_EMPTY, c=grown["confirm"])["configApply"]
    assert done["version"]["version"] == 2 and done["problems"] == []


def test_revert_asks_as_well(node):
    assert apply(node, CONFIG + "types: { order: {} }\n")[0] == DONE
    assert apply(node, NEARLY_EMPTY, "--yes")[0] == DONE
    assert apply(node, CONFIG)[0] == DONE
    refused = node.cli("config", "revert", "3")
    assert refused.returncode == NO and "gateway `orders` is removed" in refused.stdout + refused.stderr
    assert live(node) == 4
    done = node.cli("config", "revert", "3", "--yes")
    assert done.returncode == DONE and done.stdout.splitlines()[-1] == "version 5 is live"


def test_what_nobody_uses_is_listed_and_goes(node):
    code, said = apply(node, "".join(x + "\n" for x in CONFIG.splitlines() if "quiet" not in x))
    assert code == DONE and "removes gateway `quiet`" in said, said


@BOTH
def test_check_compares_with_the_live_version(node):
    node.write_config(NEARLY_EMPTY)
    file = node.config_file
    got = node.cli("check", file, "--url", node.url)
    assert got.returncode == DONE, got.stdout + got.stderr
    assert "warning: gateway `orders` of the live version is removed: it received documents" in got.stdout
    assert "removes gateway `quiet`" in got.stdout and got.stdout.splitlines()[-1].endswith(": valid")
    listed = [json.loads(x) for x in node.cli("check", file, "--url", node.url, "--json").stdout.splitlines()]
    assert {"severity": "loss", "kind": "route", "name": "all"} in listed
    assert len([x for x in listed if x["severity"] == "warning"]) == 3
    # a file alone: nothing to compare with, and nothing to complain of
    alone = run_program("check", file, env=clean_environment(), cwd=node.folder.parent)
    assert (alone.returncode, alone.stdout, alone.stderr) == (DONE, f"{file}: valid\n", "")
    off = node.cli("check", file, "--url", node.url, "--offline")
    assert (off.returncode, off.stdout, off.stderr) == (DONE, f"{file}: valid\n", "")
    node.stop()
    gone = node.cli("check", file, "--url", node.url)
    assert gone.returncode == DONE and "valid" in gone.stdout and "not compared with the live version" in gone.stderr


def test_check_tells_what_the_running_node_would_refuse(node):
    node.write_config(CONFIG.replace('"http://127.0.0.1:9/" }', '"http://127.0.0.1:9/", headers: { X: "secret:nix" } }'))
    got = node.cli("check", node.config_file, "--url", node.url)
    assert got.returncode == NO and "nix" in got.stdout and "on the running node" in got.stdout
    assert node.cli("check", node.config_file, "--offline").returncode == DONE


@BOTH
def test_a_version_is_never_replaced_by_the_one_before(node):
    """The node follows the store once a second, beside the applies."""
    seen, stop = [], threading.Event()

    def look():
        while not stop.is_set():
            seen.append(node.graphql("{ about { config } }")["about"]["config"])

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for i in range(60):
            made = node.graphql(APPLY, t=CONFIG + f"types: {{ t{i % 2}: {{}} }}\n")["configApply"]["version"]
            assert made["version"] == i + 2
            assert node.graphql("{ about { config } }")["about"]["config"] == i + 2
    finally:
        stop.set()
        watcher.join()
    assert seen == sorted(seen)
