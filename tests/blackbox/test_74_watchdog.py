"""What grows old while nobody looks: queues per system, dead letters, certificates."""
import json
import socket
import subprocess
import time

import pytest

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
systems: {{ acme: {{}}, shop: {{}}, other: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "json:/to", type: "value:order" }} }}
endpoints:
  shop-api: {{ kind: http, system: shop, url: "{scheme}://127.0.0.1:{port}/in", {tls}
              breaker: {{ failures: 1, wait: 1h }} }}
routes:
  - {{ name: shop, when: {{ receiver: shop }}, do: [ {{ deliver: shop-api }} ] }}
"""


def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def certificate(folder, days):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", str(days), "-subj", "/CN=x", "-keyout", str(folder / f"{days}.key"),
                    "-out", str(folder / f"{days}.pem")], check=True, capture_output=True)


def send(node, to):
    answer = node.post("in", json.dumps({"to": to}))
    assert answer.status == 202, answer.body
    return answer.json["document"]


def await_states(node, documents, state):
    until = time.monotonic() + 20
    for doc in documents:
        while node.graphql("query($id: ID!) { document(id: $id) { state } }", id=doc)["document"]["state"] != state:
            assert time.monotonic() < until, node.tail()
            time.sleep(0.02)


@BOTH
@pytest.mark.proves("DL2")
def test_queues_and_dead_letters_are_counted_and_told(make_node):
    node = make_node(config=CONFIG.format(scheme="http", port=closed_port(), tls=""))
    node.start()
    assert node.metrics()["waybill_dead_letters"] == 0
    await_states(node, [send(node, "shop") for _ in range(3)], "held")
    await_states(node, [send(node, "other") for _ in range(2)], "dead")
    seen = len(node.events)
    node.restart()  # it looks when it starts, and each quarter of a minute
    counts = node.metrics()
    assert counts['waybill_system_queue_depth{system="shop"}'] == 3
    assert counts["waybill_queue_depth"] == 3 and counts["waybill_queues_stuck"] == 0
    assert counts["waybill_dead_letters"] == 2
    told = node.wait_event("dead.wait", since=seen)
    assert told["count"] == 2 and "dead ls" in told["hint"]
    assert [e["event"] for e in node.events[seen:]].count("dead.wait") == 1


@pytest.mark.proves("DE19")
def test_a_certificate_that_ends_soon_is_told(make_node, tmp_path):
    """30 days ahead: of two that have a day more and a day less, one is told."""
    certificate(tmp_path, 29)
    certificate(tmp_path, 32)
    text = CONFIG.format(scheme="https", port=closed_port(),
                         tls=f'tls: {{ cert: "{tmp_path}/29.pem", key: "{tmp_path}/29.key" }},')
    node = make_node(config=text, options=f'tls: {{ cert: "{tmp_path}/32.pem", key: "{tmp_path}/32.key" }}')
    node.start()
    told = node.wait_event("certificate.end")
    assert told["of"] == "endpoint shop-api" and told["days"] in (28, 29) and told["over"] is False
    node.stop()
    assert [e["of"] for e in node.events if e["event"] == "certificate.end"] == ["endpoint shop-api"]
