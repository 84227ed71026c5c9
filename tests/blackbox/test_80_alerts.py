"""Alerts: raised once, cleared once, told until somebody hears."""
import http.server
import json
import socket
import threading
import time

import pytest

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
systems: {{ acme: {{}}, shop: {{}}, other: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "json:/to", type: "value:order" }} }}
  quiet: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "value:other", type: "value:order" }} }}
endpoints:
  shop-api: {{ kind: http, system: shop, url: "http://127.0.0.1:{port}/in", breaker: {{ failures: 1, wait: 100ms }} }}
routes:
  - {{ name: shop, when: {{ receiver: shop }}, do: [ {{ deliver: shop-api }} ] }}
alerts:
{alerts}
"""


class Ears:
    """A receiver of webhooks, and of documents: answers what `status` says."""

    def __init__(self, port=0):
        self.heard = []  # (path, headers, JSON or None)
        self.status = 200
        ears = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                ears.heard.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(ears.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def notices(self, kind=None, code=None):
        return [n for _, _, n in self.heard if "notice" in n and kind in (None, n["notice"])
                and code in (None, n["alert"]["code"])]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def ears():
    one = Ears()
    yield one
    one.close()


def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def config(alerts, port=None, to=None):
    lines = [f'  to: {{ ops: {{ url: "http://127.0.0.1:{to}/hook", retry: {{ first: 100ms, most: 1s }},'
             ' headers: { X-Token: "${secret:hook}" } } }'] if to else []
    return CONFIG.format(port=port or closed_port(), alerts="\n".join(lines + ["  " + a for a in alerts] or ["  {}"]))


def wait_for(what, node, seconds=30):
    until = time.monotonic() + seconds
    while True:
        got = what()
        if got:
            return got
        assert time.monotonic() < until, node.tail()
        time.sleep(0.05)


def alerts(node, cleared=False):
    return node.graphql("query($c: Boolean) { alerts(cleared: $c) { id code object message state count raised last "
                        "cleared ended waiting givenUp notices { kind to state attempts sent error } } }",
                        c=cleared)["alerts"]


def open_one(node, code):
    return next((a for a in alerts(node) if a["code"] == code), None)


def send(node, to):
    answer = node.post("in", json.dumps({"to": to}))
    assert answer.status == 202, answer.body
    return answer.json["document"]


def discard_all(node):
    while node.graphql("mutation { deadDiscard { next done } }")["deadDiscard"]["next"]:
        pass


@BOTH
@pytest.mark.proves("DL2", "SC16")
def test_a_flood_of_dead_letters_is_one_alert_and_one_clear(make_node, ears):
    node = make_node(config=config(["receiver_failing: off"], to=ears.port))
    node.config_file.write_text(node.config_file.read_text().replace("${secret:hook}", "open sesame"))
    node.start()
    count = 300
    for _ in range(count):
        send(node, "other")
    wait_for(lambda: (open_one(node, "dead_letters") or {}).get("count", 0) >= count or time.sleep(0.2), node, 60)
    told = wait_for(lambda: ears.notices("raised"), node)
    assert len(told) == 1 and told[0]["alert"]["code"] == "dead_letters"
    assert told[0]["alert"]["object"] == "store" and told[0]["alert"]["cleared"] is None
    assert "dead_letters raised" in told[0]["text"]
    path, headers, _ = ears.heard[0]
    assert path == "/hook" and headers["X-Token"] == "open sesame"
    assert headers["Idempotency-Key"].startswith("alert-notice-")
    assert headers["Content-Type"] == "application/json"

    assert "dead_letters" in node.cli("alerts", "ls").stdout
    node.restart()  # it is still so: nobody is told again
    assert open_one(node, "dead_letters")["count"] >= count
    discard_all(node)
    cleared = wait_for(lambda: ears.notices("cleared"), node)
    assert [n["notice"] for n in ears.notices(code="dead_letters")] == ["raised", "cleared"]
    assert cleared[0]["alert"]["id"] == told[0]["alert"]["id"] and cleared[0]["alert"]["cleared"]
    assert [a["state"] for a in alerts(node, True) if a["code"] == "dead_letters"] == ["cleared"]
    shown = node.cli("alerts", "show", cleared[0]["alert"]["id"])
    assert shown.returncode == 0 and "ops" in shown.stdout and "sent" in shown.stdout
    assert node.cli("alerts", "show", "4711").returncode == 1
    node.stop()
    lines = [e["event"] for e in node.events if e["level"] in ("warn", "error")]
    assert lines.count("alert.raise") == 1 and len(lines) <= 10, lines
