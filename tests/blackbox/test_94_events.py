"""GET /events: what changes is told at once, to those who may know, and to nobody for ever."""
import contextlib
import http.client
import json
import socket
import threading
import urllib.parse

import pytest

import wire

CONFIG = """\
systems: { acme: {}, hub: {} }
gateways:
  in: { kind: http, auth: none, extract: { receiver: "json:/to" } }
endpoints:
  out: { kind: file, path: ./out, system: hub }
routes:
  - { name: all, when: { receiver: hub }, do: [ { deliver: out } ] }
"""


class Listener:
    """A stream of events, read by a thread of its own."""

    def __init__(self, node, token=None, cookie=None):
        where = urllib.parse.urlsplit(node.url)
        self.connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
        login = {"Cookie": cookie} if cookie else {"Authorization": f"Bearer {token or node.token}"}
        self.connection.request("GET", "/events", headers=login)
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.events, self.over = [], False
        if self.status == 200:
            self.thread = threading.Thread(target=self._read)
            self.thread.start()

    def _read(self):
        name = None
        try:
            for line in self.response:
                word, _, rest = line.decode().rstrip("\n").partition(": ")
                if word == "event":
                    name = rest
                elif word == "data":
                    self.events.append((name, json.loads(rest)))
        except (OSError, http.client.HTTPException, ValueError):
            pass
        self.over = True

    def of(self, name):
        return [data for event, data in list(self.events) if event == name]

    def wait(self, name, true=lambda data: True):
        wire.wait_until(lambda: any(true(d) for d in self.of(name)), 30, f"an event {name}")

    def close(self):
        if self.status == 200:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            self.thread.join()
        self.response.close()
        self.connection.close()


@pytest.fixture(name="listen")
def listen_fixture():
    opened = []

    def listen(node, **options):
        opened.append(Listener(node, **options))
        return opened[-1]

    yield listen
    for one in opened:
        one.close()


@pytest.fixture(name="node")
def node_fixture(make_node):
    node = make_node(config=CONFIG)
    (node.folder / "out").mkdir()
    node.start()
    return node


def test_nobody_listens_without_a_login(node):
    assert node.request("GET", "/events").status == 401
    assert node.request("GET", "/events", headers={"Authorization": "Bearer wrong"}).status == 401
    assert node.request("POST", "/events", b"", {"Authorization": f"Bearer {node.token}"}).status == 405


def test_changes_are_told(node, listen):
    streams = [listen(node) for _ in range(5)]
    live = streams[0]
    assert live.status == 200 and live.response.getheader("Content-Type") == "text/event-stream"
    live.wait("tick")
    for n in range(3):
        assert node.post("in", json.dumps({"to": "hub", "n": n}).encode()).status == 202
    wire.wait_until(lambda: sum(t["accepted"] for t in live.of("tick")) == 3, 30, "three in ticks")
    wire.wait_until(lambda: sum(t["delivered"] for t in live.of("tick")) == 3, 30, "three delivered")
    assert set(live.of("tick")[0]) == {"time", "accepted", "delivered", "dead", "retrying", "waiting",
                                       "deadLetters"}
    assert not live.of("hold") and not live.of("dead") and not live.of("config")
    node.graphql('mutation { holdAdd(system: "hub", reason: "x", owner: "ann") { hold { id } } }')
    live.wait("hold")
    assert not live.of("pause")
    node.graphql("mutation { nodePause(what: [delivery]) { id } }")
    live.wait("pause")
    assert node.post("in", b'{"to": "nobody"}').status == 202
    live.wait("dead", lambda d: d == {"count": 1})
    live.wait("alert", lambda d: d["open"] >= 1)
    text = node.graphql("{ config { text } }")["config"]["text"]
    node.graphql("mutation($t: String!) { configApply(text: $t) { version { version } } }",
                 t=text + "\n# more\n")
    live.wait("config", lambda d: d == {"version": 2})

    # Streams are few, last longer than any other answer may, and end with the node.
    assert listen(node).status == 429
    for s in streams[:2]:
        wire.wait_until(lambda s=s: len(s.of("tick")) > 11, 60, "eleven ticks")
    streams[0].close()
    wire.wait_until(lambda: listen(node).status == 200, 30, "room for another")
    assert node.stop() == 0
    wire.wait_until(lambda: all(s.over for s in streams[1:]), 30, "their end")


def test_who_sees_some_systems_only_hears_no_numbers(node, listen):
    node.graphql('mutation { roleAdd(name: "hubs", rights: [see], systems: ["hub"]) { name } }')
    key = node.graphql('mutation { adminKeyAdd(title: "k", roles: ["hubs"]) { key } }')["adminKeyAdd"]["key"]
    some, everything = listen(node, token=key), listen(node)
    everything.wait("tick")
    assert node.post("in", b'{"to": "nobody"}').status == 202
    everything.wait("dead", lambda d: d == {"count": 1})
    node.graphql('mutation { holdAdd(system: "acme", reason: "x", owner: "ann") { hold { id } } }')
    some.wait("hold", lambda d: d == {})
    some.wait("alert", lambda d: d == {})
    assert not some.of("tick") and not some.of("dead")
