"""Keys that would do nothing: they run, or `apply` refuses them; what this build cannot run says so."""
import os

import pytest

from wire import wait_until

POSTGRES = pytest.mark.stores("postgres")
NO = 1

CONFIG = """\
systems: {{ acme: {{}}, hub: {{}} }}
types: {{ order: {{}} }}
gateways:
  front: {{ kind: http, auth: none, area: dmz, extract: {{ sender: "value:acme", receiver: "value:hub", type: "value:order" }} }}
  any:   {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api:   {{ kind: http, url: "{url}", area: dmz, retry: {{ first: 50ms, most: 100ms }} }}
  shelf: {{ kind: file, system: hub, path: "{folder}/${{gateway}}", area: dmz }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
alerts: {{ receiver_failing: {{ after: 100ms }} }}
"""


def look(node, doc):
    return node.show(doc, "state deliveries { state held }")


def open_alerts(node):
    return {(a["code"], a["object"]) for a in node.graphql("{ alerts { code object } }")["alerts"]}


def text_of(receiver, folder):
    return CONFIG.format(url=receiver.url("/in"), folder=folder).replace("/${gateway}", "/shelf")


@POSTGRES
@pytest.mark.proves("SC7")
def test_only_nodes_of_its_area_run_a_gateway_and_an_endpoint(make_node, receiver, tmp_path):
    inner = make_node(config=text_of(receiver, tmp_path), options="area: internal")
    inner.start()
    refused = inner.post("front", b"x")
    assert refused.status == 404 and "dmz" in refused.json["error"]["message"]
    doc = inner.accept("any", b"x")
    seen = inner.await_state(doc, "held", look=look)
    assert seen["deliveries"] == [{"state": "held", "held": ["endpoint"]}]
    assert not (tmp_path / "shelf").exists()  # not even looked at
    broken = {e["name"]: e["broken"] for e in inner.graphql("{ endpoints { name broken } }")["endpoints"]}
    assert "dmz" in broken["api"] and "dmz" in broken["shelf"]
    assert "dmz" in {g["name"]: g["broken"] for g in inner.graphql("{ gateways { name broken } }")["gateways"]}["front"]
    inner.write_config(text_of(receiver, tmp_path).replace("alerts: {", "alerts: { gateway_failing: { after: 100ms },"))
    assert inner.cli("apply", inner.config_file).returncode == 0
    for alert in (("receiver_failing", "api"), ("gateway_failing", "front")):
        wait_until(lambda: alert in open_alerts(inner), 30)  # pylint: disable=cell-var-from-loop
    assert receiver.requests() == []
    outer = make_node(config=text_of(receiver, tmp_path), options="area: dmz")
    outer.start()
    inner.await_state(doc, "delivered", look=look)
    assert outer.post("front", b"y").status == 202
    wait_until(lambda: len(receiver.requests()) == 2)
    last = inner.accept("any", b"z")  # taken in here, sent there
    inner.await_state(last, "delivered", look=look)
    assert inner.metrics()['waybill_deliveries_total{outcome="delivered"}'] == 0
    assert not [g for g in inner.graphql("{ gateways { broken } endpoints { broken } }")["gateways"] if g["broken"]]


STEPS = "do: [ { deliver: api } ]"
REFUSED = [
    (STEPS, 'do: [ { enrich: { url: "http://127.0.0.1:9/", query: "select 1" } }, { deliver: api } ]', "`query`"),
    (STEPS, 'do: [ { enrich: { set: a, key: "json:/a", rows: all } }, { deliver: api } ]', "`rows`"),
]
PLAIN = """\
systems: { acme: {}, hub: {} }
types: { order: {} }
gateways:
  any: { kind: http, auth: none, extract: { sender: "value:acme", receiver: "value:hub", type: "value:order" } }
endpoints:
  api: { kind: http, url: "http://127.0.0.1:9/", retry: { first: 1s } }
routes:
  - { name: all, do: [ { deliver: api } ] }
"""


@pytest.mark.proves("RO13")
def test_keys_without_effect_are_refused(make_node):
    node = make_node(config=PLAIN)
    node.start()
    for before, after, name in REFUSED:
        text = PLAIN.replace(before, after, 1)
        assert text != PLAIN
        node.write_config(text)
        for verb in ("apply", "check"):
            done = node.cli(verb, node.config_file)
            said = done.stdout + done.stderr
            assert done.returncode == NO and name in said and "is for `dsn`" in said, (verb, name, said)
        assert node.graphql("{ config { version } }")["config"]["version"] == 1
    assert node.accept("any", b"x")


@pytest.mark.proves("RO13")
def test_keys_without_effect_do_not_become_the_first_version(make_node):
    node = make_node(config=PLAIN.replace(*REFUSED[0][:2], 1))
    code, said = node.refuse()
    assert code != 0 and "`query` is for `dsn`" in said
    assert not (node.data / "waybill.db").exists() or os.path.getsize(node.data / "waybill.db") > 0
    node.write_config(PLAIN)
    node.start()


@pytest.mark.proves("RO13")
def test_an_endpoint_of_a_kind_that_does_not_run_is_told(make_node):
    node = make_node(config=PLAIN.replace("endpoints:", """\
endpoints:
  pages: { kind: content, store: main, space: s }"""))
    node.start()
    shown = {g["name"]: g["broken"] for g in node.graphql("{ gateways { name broken } }")["gateways"]}
    assert shown["any"] is None
    troubles = node.graphql("{ health { troubles } }")["health"]["troubles"]
    assert any("pages" in t and "content" in t for t in troubles), troubles
    assert node.get("/readyz").json["ready"]
