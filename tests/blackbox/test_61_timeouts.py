"""A time-out ends what does not go on, not what is large: above 1 MiB it counts silence."""

LARGE = 24 << 20    # more than the buffers of two sockets take
CONFIG = """
systems: {{ hub: {{}} }}
types: {{ film: {{}} }}
gateways:
  in: {{ kind: http, auth: none, limits: {{ size: 64MiB }},
        extract: {{ sender: "value:hub", receiver: "value:hub", type: "value:film" }} }}
endpoints:
  out: {{ kind: http, url: "{url}", timeout: {timeout}, retry: {{ first: 1h, most: 1h }}, breaker: {{ failures: 50 }} }}
routes:
  - {{ name: all, do: [ {{ deliver: out }} ] }}
"""


def seen(node, doc):
    return node.graphql("query($id: ID!) { document(id: $id) { state } }", id=doc)["document"]


def sent(make_node, receiver, timeout, body):
    node = make_node(config=CONFIG.format(url=receiver.url("/in"), timeout=timeout))
    node.start()
    answer = node.post("in", body)
    assert answer.status == 202, answer.body
    return node, answer.json["document"]


def test_a_large_body_that_goes_on_steadily_is_not_cut(make_node, receiver):
    receiver.behave("/in", "steady", 8)
    node, doc = sent(make_node, receiver, "2s", b"x" * LARGE)
    node.await_state(doc, "delivered", look=seen, seconds=120)
    assert [r["size"] for r in receiver.requests("/in")] == [LARGE]


def test_a_large_body_that_nobody_takes_is_given_up(make_node, receiver):
    receiver.behave("/in", "stall")
    node, doc = sent(make_node, receiver, "1s", b"x" * LARGE)
    node.await_state(doc, "retrying", look=seen, seconds=120)
    assert len(receiver.requests("/in")) == 1


def test_for_a_small_one_the_time_out_is_over_all(make_node, receiver):
    receiver.behave("/in", "slow", 0.2)
    node, doc = sent(make_node, receiver, "1s", b"x")
    node.await_state(doc, "retrying", look=seen, seconds=60)
