"""Removing what documents wait for: refused with their number, held with the reason when confirmed, sent elsewhere."""
import pytest

from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
NO = 1
COUNT = 3

CONFIG = """\
systems: { acme: {}, hub: {}, shop: {} }
types: { order: {} }
gateways:
  in: { kind: http, auth: none, extract: { sender: "value:acme", receiver: "json:/to", type: "value:order" } }
endpoints:
  dead:  { kind: http, system: hub, url: "http://127.0.0.1:9/", retry: { first: 1h, most: 1h }, breaker: { failures: 1, wait: 1h } }
  open:  { kind: http, url: "http://127.0.0.1:9/", retry: { first: 1h, most: 1h }, breaker: { failures: 1, wait: 1h } }
  shelf: { kind: file, system: hub, path: ./shelf }
routes:
  - { name: hub, when: { receiver: hub }, do: [ { deliver: dead } ] }
  - { name: shop, when: { receiver: shop }, do: [ { deliver: open } ] }
"""
WITHOUT_ENDPOINT = "".join(line + "\n" for line in CONFIG.replace("deliver: dead", "deliver: shelf").splitlines()
                           if "  dead: " not in line)
WITHOUT_SYSTEM = "".join(line + "\n" for line in CONFIG.replace(", shop: {}", "").splitlines()
                         if "name: shop" not in line)


def look(node, doc):
    return node.show(doc, "state deliveries { endpoint state held heldWhy }")


def waiting(node, to):
    docs = [node.accept("in", b'{"to":"%s"}' % to.encode()) for _ in range(COUNT)]
    for doc in docs:
        node.await_state(doc, "held", "retrying", look=lambda node, doc: node.show(doc, "state"))
    return docs


def apply(node, text, *flags):
    node.write_config(text)
    return node.cli("apply", node.config_file, *flags)


def version(node):
    return node.graphql("{ config { version } }")["config"]["version"]


@BOTH
@pytest.mark.proves("RO12")
def test_removing_an_endpoint_that_documents_wait_for(make_node):
    node = make_node(config=CONFIG)
    node.start()
    docs = waiting(node, "hub")
    refused = apply(node, WITHOUT_ENDPOINT)
    said = refused.stdout + refused.stderr
    assert refused.returncode == NO and f"endpoint `dead` is removed: {COUNT} deliveries wait for it" in said, said
    assert version(node) == 1
    done = apply(node, WITHOUT_ENDPOINT, "--yes")
    said = done.stdout + done.stderr
    assert done.returncode == 0 and f"{COUNT} deliveries wait" in said and "--from route" in said, said
    for doc in docs:
        held = node.await_state(doc, "held", look=look)["deliveries"][0]
        assert "endpoint" in held["held"] and "removed" in held["heldWhy"], held
    assert "was removed" in node.cli("docs", "show", docs[0]).stdout
    node.restart()
    assert node.await_state(docs[0], "held", look=look)["deliveries"][0]["held"]
    sent = node.cli("docs", "retry", "--receiver", "hub", "--state", "held", "--from", "route", "--yes")
    assert sent.returncode == 0, sent.stdout + sent.stderr
    for doc in docs:
        seen = node.await_state(doc, "delivered", look=look)
        assert ("shelf", "delivered") in [(d["endpoint"], d["state"]) for d in seen["deliveries"]]


@BOTH
@pytest.mark.proves("RO12")
def test_removing_a_system_that_documents_wait_for(make_node):
    node = make_node(config=CONFIG)
    node.start()
    docs = waiting(node, "shop")
    refused = apply(node, WITHOUT_SYSTEM)
    said = refused.stdout + refused.stderr
    assert refused.returncode == NO and f"system `shop` is removed: {COUNT} deliveries wait for it" in said, said
    done = apply(node, WITHOUT_SYSTEM, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    for doc in docs:  # the endpoint is still there, and nothing is sent
        held = node.await_state(doc, "held", look=look)["deliveries"][0]
        assert "endpoint" in held["held"] and "system was removed" in held["heldWhy"], held
    assert apply(node, CONFIG).returncode == 0  # it is back
    wait_until(lambda: not any("removed" in (look(node, d)["deliveries"][0]["heldWhy"] or "") for d in docs))


@pytest.mark.proves("RO12")
def test_removing_a_gateway_whose_documents_are_not_routed(make_node):
    text = CONFIG[:CONFIG.index("routes:")]
    node = make_node(config=text)
    node.start()
    for _ in range(COUNT):
        node.accept("in", b'{"to":"hub"}')
    other = text.replace("  in: {", "  out: {")
    refused = apply(node, other)
    said = refused.stdout + refused.stderr
    assert refused.returncode == NO and f"gateway `in` is removed: {COUNT} documents of it are not routed yet" in said, said
    checked = node.graphql("query($t: String!) { configCheck(text: $t) { confirm losses { kind name left } } }", t=other)
    assert checked["configCheck"]["confirm"] and checked["configCheck"]["losses"][0]["name"] == "in"
    assert apply(node, other, "--yes").returncode == 0


def test_what_nobody_waits_for_is_removed_without_a_question(make_node):
    node = make_node(config=CONFIG)
    node.start()
    assert apply(node, WITHOUT_ENDPOINT).returncode == 0
    assert apply(node, WITHOUT_SYSTEM.replace("deliver: dead", "deliver: shelf")).returncode == 0
