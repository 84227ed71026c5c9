"""The file is the truth: `node.config: file` and `serve --apply`, for people who deploy by Git."""
import signal

import pytest

BOTH = pytest.mark.stores("sqlite", "postgres")
NO = 1

CONFIG = """\
systems: { hub: {} }
gateways:
  one: { kind: http, auth: none, extract: { receiver: "value:hub" } }
"""
TWO = CONFIG + "  two: { kind: http, auth: none, extract: { receiver: \"value:hub\" } }\n"
THREE = TWO.replace("two:", "three:")
APPLY = "mutation($t: String!) { configApply(text: $t) { version { version } problems { message } } }"


def accepts(node, gateway):
    return node.post(gateway, b"x").status


def versions(node):
    return [v["version"] for v in node.graphql("{ configHistory { version } }")["configHistory"]]


def hang_up(node):
    """SIGHUP, and the end of what it does."""
    seen = len(node.events)
    node.process.send_signal(signal.SIGHUP)
    node.wait_event("node.reload", 60, since=seen)
    return node.events[seen:]


def refusals(events):
    return [e["why"] for e in events if e["event"] == "config.refuse"]


@pytest.fixture(params=["key", "flag"])
def node(request, make_node):
    one = make_node(config=CONFIG, options="config: file" if request.param == "key" else "")
    if request.param == "flag":
        one.arguments = ["--apply"]
    one.start()
    return one


@BOTH
def test_the_file_is_applied_at_start_and_at_sighup(node):
    assert versions(node) == [1] and accepts(node, "two") == 404
    node.write_config(TWO)
    events = hang_up(node)
    assert [(e["version"], e["file"]) for e in events if e["event"] == "config.apply"] == [(2, str(node.config_file))]
    assert accepts(node, "two") == 202 and versions(node) == [2, 1]
    assert not refusals(hang_up(node)) and versions(node) == [2, 1]     # nothing new in it
    seen = len(node.events)
    node.stop()
    node.write_config(TWO + "types: { order: {} }\n")
    node.start()
    assert versions(node) == [3, 2, 1]
    assert not [e for e in node.events[seen:] if e["event"] in ("config.differ", "config.refuse")]
    node.restart()
    assert versions(node) == [3, 2, 1]
    by = node.graphql("{ configHistory { by note } }")["configHistory"][0]
    assert by == {"by": "configuration file", "note": str(node.config_file)}
    assert "configuration file" in node.cli("audit", "ls", "--json").stdout


def test_a_file_that_is_not_valid_changes_nothing(node):
    node.write_config("gatewais: {}\n")
    assert any("gatewais" in why for why in refusals(hang_up(node)))
    assert accepts(node, "one") == 202 and versions(node) == [1]
    troubles = node.graphql("{ health { troubles reasons } }")["health"]
    assert any("is not in force" in t for t in troubles["troubles"]) and troubles["reasons"] == []
    node.write_config(CONFIG + "endpoints: { api: { kind: http, system: hub, url: \"secret:nix\" } }\n")
    assert any("nix" in why for why in refusals(hang_up(node)))         # valid but for this node
    assert versions(node) == [1]
    node.write_config(TWO)
    hang_up(node)
    assert versions(node) == [2, 1]
    assert not any("is not in force" in t for t in node.graphql("{ health { troubles } }")["health"]["troubles"])


@BOTH
def test_a_file_that_removes_what_is_in_use_is_refused_unless_confirmed(node):
    node.write_config(TWO)
    hang_up(node)
    node.accept("two", b"x")
    node.write_config(THREE)
    why = refusals(hang_up(node))
    assert any("gateway `two` is removed: " in w for w in why), why
    assert accepts(node, "two") == 202 and versions(node) == [2, 1]
    node.restart()                                                     # it starts, with what was in force
    assert accepts(node, "two") == 202 and versions(node) == [2, 1]
    node.stop()
    node.arguments = [*node.arguments, "--yes"]
    node.start()
    assert versions(node) == [3, 2, 1] and accepts(node, "two") == 404 and accepts(node, "three") == 202


def test_a_file_that_was_cut_off_is_not_the_truth(make_node):
    """Cut off before `node.config`, it says no more that it is the truth."""
    node = make_node(config=TWO, options="config: file")
    node.start()
    node.options = ""
    node.write_config("")
    assert any("does not say" in why for why in refusals(hang_up(node)))
    assert accepts(node, "one") == 202 and versions(node) == [1]


@BOTH
def test_nobody_else_changes_the_configuration(node):
    shown = node.graphql("{ about { configFile } }")["about"]["configFile"]
    assert shown == str(node.config_file)
    (node.folder / "new.yaml").write_text(TWO)
    refused = node.cli("apply", node.folder / "new.yaml")
    assert refused.returncode == NO and "its file" in refused.stderr and "SIGHUP" in refused.stderr, refused.stderr
    assert "its file" in node.cli("config", "revert", "1").stderr
    assert versions(node) == [1] and accepts(node, "two") == 404
    # looking is allowed
    assert node.cli("config", "diff", "file", node.folder / "new.yaml").returncode == NO


def test_where_the_store_is_the_truth_the_file_is_not_applied(make_node):
    node = make_node(config=CONFIG)
    node.start()
    assert node.graphql("{ about { configFile } }")["about"]["configFile"] is None
    node.write_config(TWO)
    hang_up(node)
    assert versions(node) == [1] and accepts(node, "two") == 404
    assert node.graphql(APPLY, t=TWO)["configApply"]["version"]["version"] == 2
