"""Nodes whose documents ended long ago, for tests of retention."""
import json
import time

from moved_clock import MovedClock

DAY = 86400

CONFIG = """\
systems: {{ acme: {{}}, shop: {{}}, slow: {{}} }}
types: {{ order: {{}}, deed: {{ retention: 90d }}, note: {{ retention: 1d }} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "value:acme", receiver: "header:X-To", type: "header:X-Type" }}
endpoints:
  out: {{ kind: file, path: {out}, name: "${{id}}" }}
routes:
  - {{ name: all, when: {{ receiver: [shop, slow] }}, do: [ {{ deliver: out }} ] }}
retention: {{ {retention} }}
"""


class Aged:
    """A node whose documents ended `days` ago."""

    def __init__(self, make_node, tmp_path, days=50, retention="default: 45d", **settings):
        self.clock = MovedClock(tmp_path)
        self.out = tmp_path / "out"
        self.out.mkdir()
        self.config = CONFIG.format(out=json.dumps(str(self.out)), retention=retention)
        environment = {**self.clock.environment, **settings.pop("environment", {})}
        self.node = make_node(config=self.config, environment=environment, **settings)
        self.clock.by(-days * DAY)
        self.node.start()

    def send(self, body, to="shop", kind="order", state="delivered"):
        answer = self.node.post("in", body, {"X-To": to, "X-Type": kind})
        assert answer.status == 202, answer.body
        document = answer.json["document"]
        wait_for(self.node, lambda: state_of(self.node, document) == state)
        return document

    def today(self):
        """The clock is right again, and the node knows nothing of it."""
        assert self.node.stop() == 0
        self.clock.by(0)
        self.node.start()


def wait_for(node, true, seconds=30):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, node.tail()
        time.sleep(0.05)


def state_of(node, document):
    found = node.graphql("query($id: ID!) { document(id: $id) { state } }", id=document)["document"]
    return found and found["state"]


def retention(node):
    return node.graphql("{ retention { state documents kept dueDays gone goneBytes waiting steady guarded"
                        " deadDiscarded trouble lastLook archives { name folder documents sha256 } } }")["retention"]


def run(node, gone):
    """Ask it to let go now, and wait until so many went."""
    done = node.cli("retention", "run", "--json")
    assert done.returncode == 0, done.stderr
    wait_for(node, lambda: retention(node)["gone"] >= gone and retention(node)["state"] == "rests")
    assert retention(node)["gone"] == gone


def doctor(node):
    done = node.cli("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
