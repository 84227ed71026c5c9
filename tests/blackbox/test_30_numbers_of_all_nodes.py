"""Charts, map and gateway counts are those of all nodes, and are there after a restart."""
import pytest

from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
SECONDS = 60

CONFIG = """\
systems:
  hub: {}
gateways:
  in: { kind: http, auth: none, extract: { receiver: "value:hub" } }
endpoints:
  out: { kind: file, path: ./out }
routes:
  - { name: all, do: [ { deliver: out } ] }
"""

pytestmark = pytest.mark.config(CONFIG)


def charted(node, name, step=60):
    found, = node.graphql(f"{{ series(names: [{name}], step: {step}) {{ values }} }}")["series"]
    return sum(v for v in found["values"] if v is not None)


def accepted(node):
    found, = node.graphql("{ gateways { accepted repeated refused } }")["gateways"]
    return found["accepted"]


def per_minute(node, edge):
    flow = node.graphql("{ flow { from to perMinute } }")["flow"]
    return sum(e["perMinute"] for e in flow if (e["from"], e["to"]) == edge)


def take_in(node, count):
    for i in range(count):
        node.accept("in", b"%d" % i)


@BOTH
def test_numbers_survive_a_restart(node):
    take_in(node, 7)
    wait_until(lambda: charted(node, "delivered") == 7, SECONDS, "they are charted")
    assert charted(node, "accepted") == 7 and accepted(node) == 7
    node.restart()
    assert charted(node, "accepted") == charted(node, "delivered") == 7 and accepted(node) == 7
    assert charted(node, "accepted", step=10) == 7
    take_in(node, 2)
    wait_until(lambda: charted(node, "delivered") == 9, SECONDS, "the new ones are added")
    assert accepted(node) == 9


@POSTGRES
def test_numbers_are_those_of_all_nodes(make_node):
    one, two = make_node(), make_node()
    one.start()
    two.start()
    take_in(one, 5)
    take_in(two, 3)
    for node in (one, two):
        wait_until(lambda n=node: charted(n, "accepted") == 8, SECONDS, "both count all of them")
        wait_until(lambda n=node: accepted(n) == 8, SECONDS, "both count all of them")
        wait_until(lambda n=node: charted(n, "delivered", step=10) == 8, SECONDS, "and what was delivered")


@POSTGRES
def test_the_map_is_that_of_all_nodes(make_node):
    one, two = make_node(), make_node()
    one.start()
    two.start()
    take_in(one, 40)
    edge = ("gateway:in", "route:all")
    wait_until(lambda: 0 < per_minute(two, edge) <= 40, SECONDS, "the map of the other has them")


@BOTH
def test_the_rate_of_a_system_survives_a_restart(node):
    """What was sent before the start counts as long as it is recent."""
    take_in(node, 50)
    wait_until(lambda: charted(node, "delivered") == 50, SECONDS, "they are delivered")
    node.restart()
    rate = '{ system(name: "hub") { perHour } }'
    wait_until(lambda: node.graphql(rate)["system"]["perHour"], SECONDS, "the rate is known")
