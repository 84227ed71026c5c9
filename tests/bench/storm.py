"""100 000 failures of one kind: one alert, one clear, at most ten lines in the log.

Documents that no route takes come in as fast as wrk sends them; a webhook hears what is told.
Lines are those that speak of trouble (warn and error): a line for each document that is taken in is
what level info is for.
"""

import http.server
import json
import threading
import time

from bench.measure import say, wrk
from rig.node import Api
from rig.process import RigError, wait_for

FAILURES, LINES_MOST = 100_000, 10
ROUTES = """\
systems: { acme: {}, shop: {}, nobody: {} }
types: { order: {} }
endpoints:
  shelf: { kind: file, system: shop, path: shelf }
routes:
  - { name: shop, when: { receiver: shop }, do: [ { deliver: shelf } ] }
alerts:
  to: { ears: { url: "http://127.0.0.1:%d/" } }
  disk: off
"""


class Ears(http.server.ThreadingHTTPServer):
    """Hears notices."""

    def __init__(self):
        self.heard = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.server.heard.append((self.headers["Idempotency-Key"], json.loads(body)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def kinds(self):
        return [notice["notice"] for notice in dict(self.heard).values()]


def storm(bench, store):
    failures = 3_000 if bench.quick else FAILURES
    ears = Ears()
    node = bench.node(store, gateway={"extract": {
        "sender": "value:acme", "receiver": "value:nobody", "type": "value:order"}}, more=ROUTES % ears.server_port)
    try:
        node.start()
        node.key_add()
        api = Api(node, admin=True)
        began, sent = time.monotonic(), 0
        while sent < failures:
            sent += wrk("plain", node.port, 1 if bench.quick else 5, node.key).requests
        wait_for("all are dead", lambda: counted(api) >= failures, 600)
        took = time.monotonic() - began
        say(f"{counted(api)} dead letters after {took:.0f} s")
        wait_for("the alert counts them", lambda: sum(a["count"] for a in shown(api)) >= failures, 60)
        discard(api)
        wait_for("the clear", lambda: "cleared" in ears.kinds(), 120)
        lines = trouble(node.log)
        alerts = shown(api)
        bench.verdict(
            f"storm {store}", f"{sent} failures of one kind in {took:.0f} s: {len(alerts)} alert, told "
            f"{', '.join(ears.kinds())}, {len(lines)} lines of trouble",
            alerts=(len(alerts) == 1, f"{len(alerts)} alerts"),
            count=(alerts[0]["count"] >= failures, f"it counts {alerts[0]['count']}"),
            told=(ears.kinds() == ["raised", "cleared"], "not told once each"),
            lines=(len(lines) <= LINES_MOST, f"more than {LINES_MOST} lines: {lines[:12]}"))
    finally:
        bench.discard(node)
        ears.shutdown()
        ears.server_close()


def counted(api):
    return sum(g["count"] for g in api.graphql("{ deadGroups { count } }", {})["deadGroups"])


def shown(api):
    return api.graphql("{ alerts(cleared: true) { code object state count } }", {})["alerts"]


def discard(api):
    after = None
    while True:
        bulk = api.graphql("mutation($a: String) { deadDiscard(after: $a) { next } }", {"a": after})["deadDiscard"]
        after = bulk["next"]
        if after is None:
            return


def trouble(log):
    with open(log, "rb") as lines:
        found = [json.loads(line) for line in lines if line.startswith(b"{")]
    if not found:
        raise RigError("the log is empty")
    return [e["event"] for e in found if e["level"] in ("warn", "error")]
