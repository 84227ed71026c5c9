"""The npm package `graphql` builds a client schema from our introspection, and runs queries of all
kinds and hostile ones against a node."""
import json
import os
import subprocess

import pytest

import npm_folder
import wire
from running_node import ROOT

CONFIG = """\
systems: { acme: {}, hub: { window: { days: daily } } }
types: { order: { search: { po: "json:/po" } } }
gateways:
  in:
    kind: http
    auth: none
    extract: { sender: "value:acme", receiver: "json:/to", type: "value:order" }
endpoints:
  out: { kind: file, path: ./out, system: hub }
routes:
  - { name: all, when: { receiver: hub }, do: [ { replace: { find: apple, with: pear } }, { deliver: out } ] }
"""


@pytest.fixture(name="modules", scope="session")
def modules_fixture():
    """The packages of tests/console, fetched once."""
    return npm_folder.install("console") / "node_modules"


def memory_kb(node, field):
    with open(f"/proc/{node.process.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))


def state_of(node, doc):
    return node.graphql("query($i: ID!) { document(id: $i) { state } }", i=doc)["document"]["state"]


def test_another_client_of_graphql(make_node, modules):
    node = make_node(config=CONFIG)
    (node.folder / "out").mkdir()
    node.start()
    good, dead = [node.post("in", json.dumps({"to": to, "po": "1", "what": "an apple"}).encode())
                  .json["document"] for to in ("hub", "nobody")]
    wire.wait_until(lambda: state_of(node, good) == "delivered", 30, "its delivery")
    wire.wait_until(lambda: state_of(node, dead) == "dead", 30, "its end")
    before = memory_kb(node, "VmRSS")
    done = subprocess.run(
        ["node", ROOT / "tests" / "console" / "graphql.mjs"], check=False, timeout=120, text=True,
        capture_output=True, input=json.dumps({"document": good, "dead": dead, "config": CONFIG}),
        env={**os.environ, "WAYBILL_URL": node.url, "WAYBILL_TOKEN": node.token,
             "WAYBILL_MODULES": str(modules)})
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["failures"] == []
    assert said["good"] >= 30 and said["hostile"] >= 25
    assert said["slowest"] < 20000
    if "asan" not in str(os.environ.get("WAYBILL_BIN", "")):
        assert memory_kb(node, "VmHWM") - before < 150_000
    assert node.get("/healthz").status == 200
