"""Objects in a bucket become documents: two S3 services that really run, and one that breaks the rules."""
import json
import os
import threading
import time

import pytest

from fake_s3 import FakeS3
from moved_clock import MovedClock
from peers import Between, free_ports
from radosgw import Radosgw
from rig.process import memory_bytes, memory_peak_reset
from swift import Swift
from wire import wait_until

SECONDS = 120
PAGE = 7  # so that a list of some objects has several pages
KEYS = ["a b+c=d/é:*&?.txt", "x/../y", "%41", "/lead", "a//b", "plain.xml", "日本/語 ~'\"<>.xml"]


@pytest.fixture(scope="module", params=[Swift, Radosgw], ids=["swift", "radosgw"])
def service(request, tmp_path_factory):
    with request.param(tmp_path_factory.mktemp("s3"), page=PAGE) as one:
        yield one


class Bucket:
    """A bucket of its own, and what is in it."""
    number = 0

    def __init__(self, service):
        Bucket.number += 1
        self.service, self.client, self.name = service, service.client(), f"bucket-{Bucket.number}"
        self.client.make_bucket(self.name)

    def put(self, key, body, **headers):
        self.client.put(self.name, key, body, **headers)

    def keys(self):
        return self.client.keys(self.name)

    def gateway(self, **more):
        return {"url": self.service.url, "bucket": self.name, "access_key": self.service.access_key,
                "secret_key": self.service.secret_key, **more}


@pytest.fixture
def bucket(service):
    return Bucket(service)


def config(**gateways):
    """Each gateway a dict of what differs; documents are delivered to files that are named after their ids."""
    usual = {"kind": "s3", "every": "100ms", "min_age": "0s", "after": "delete",
             "extract": {"sender": "value:acme", "receiver": "value:archive", "type": "value:order"}}
    sections = {
        "systems": {"acme": {}, "archive": {}},
        "types": {"order": {}},
        "gateways": {n: {**usual, **g} for n, g in gateways.items()},
        "endpoints": {"out": {"kind": "file", "system": "archive", "path": "./outbox", "name": "${id}"}},
        "routes": [{"name": "all", "when": {"type": "order"}, "do": [{"deliver": ["out"]}]}],
    }
    return "".join(f"{name}: {json.dumps(content)}\n" for name, content in sections.items())


@pytest.fixture
def start(make_node):
    def run(environment=None, **gateways):
        node = make_node(config=config(**gateways), environment=environment or {})
        node.start()
        return node
    return run


def came(node):
    """[(name, bytes)] of all documents that were delivered."""
    found = []
    for doc in node.documents():
        file = node.folder / "outbox" / doc
        if file.exists():
            found.append((node.show(doc, "name")["name"], file.read_bytes()))
    return sorted(found)


def await_came(node, want):
    """These documents, each once, and no others."""
    wait_until(lambda: len(came(node)) >= len(want), SECONDS, f"{len(want)} documents")
    assert came(node) == sorted(want)
    assert len(node.documents()) == len(want)


def polls(node, gateway="drop"):
    """Waits until the gateway has polled some more times."""
    line = f'waybill_gateway_last_success_seconds{{gateway="{gateway}"}}'
    for _ in range(3):
        wait_until(lambda: node.metrics()[line] == 0, SECONDS, "a poll")
        time.sleep(0.15)


def refused(node):
    return [(e["name"], e["why"]) for e in list(node.events) if e.get("event") == "gateway.refuse"]


def last(key):
    return key.rpartition("/")[2]


@pytest.mark.smoke
@pytest.mark.proves("IN3", "FI11")
def test_odd_keys_there_and_back(start, bucket):
    """Taken, pages and all, and removed; a name that cannot be one is refused, what stands for a folder is left alone."""
    keys = KEYS + ["d/" * 8 + "deep", "k" * 1000] + [f"more/{n}" for n in range(PAGE)]
    left = ["folder/", ".hidden", "a/.git/x", "half.part", "e/" * 9 + "too-deep"]
    for key in keys + left:
        bucket.put(key, key.encode())
    bucket.put("typed", b"<a/>", **{"Content-Type": "text/xml"})
    node = start(drop=bucket.gateway(depth=8))
    await_came(node, [(last(k), k.encode()) for k in keys] + [("typed", b"<a/>")])
    wait_until(lambda: bucket.keys() == sorted(left), SECONDS, "an empty bucket")
    [typed] = [d for d in node.documents() if node.show(d, "name")["name"] == "typed"]
    assert node.show(typed, "contentType")["contentType"] == "text/xml"


@pytest.mark.proves("IN4")
def test_kept_objects_are_taken_once_and_again_when_they_are_stored_again(start, bucket):
    """Only those below the prefix and not in folders; the same bytes stored again are another document."""
    want = [(f"in-{n}", b"%d" % n) for n in range(PAGE + 2)]
    for name, body in want:
        bucket.put("a/" + name, body)
    bucket.put("a/other", b"no")
    bucket.put("a/in-folder/x", b"no")
    bucket.put("in-root", b"no")
    node = start(drop=bucket.gateway(prefix="a/in-", after="keep", match=["in-*"]))
    await_came(node, want)
    node.restart()
    polls(node)
    await_came(node, want)
    time.sleep(2.1)  # the time of an object is told in whole seconds
    bucket.put("a/in-0", b"0")
    bucket.put("a/in-1", b"changed")
    await_came(node, want + [("in-0", b"0"), ("in-1", b"changed")])
    assert len(bucket.keys()) == len(want) + 3


@pytest.mark.proves("FI4")
def test_taken_objects_are_moved_and_nothing_is_replaced(start, bucket):
    bucket.put("taken/a", b"theirs")
    for key in ("in/a", "in/sub/a", "in/b é"):
        bucket.put(key, key.encode(), **{"Content-Type": "text/x-odd"})
    node = start(drop=bucket.gateway(prefix="in/", depth=1, after={"move": "taken"}))
    await_came(node, [("a", b"in/a"), ("a", b"in/sub/a"), ("b é", "in/b é".encode())])
    wait_until(lambda: not [k for k in bucket.keys() if k.startswith("in/")], SECONDS, "moved")
    moved = {k: bucket.client.get(bucket.name, k) for k in bucket.keys()}
    assert moved.pop("taken/a") == b"theirs"
    assert sorted(moved.values()) == [b"in/a", "in/b é".encode(), b"in/sub/a"]
    assert bucket.client.head(bucket.name, "taken/b é")["content-type"] == "text/x-odd"


def test_a_marker_says_that_an_object_is_whole(start, bucket):
    bucket.put("whole.xml", b"whole")
    bucket.put("whole.xml.ok", b"")
    bucket.put("half.xml", b"half")
    node = start(drop=bucket.gateway(marker=".ok"))
    await_came(node, [("whole.xml", b"whole")])
    wait_until(lambda: bucket.keys() == ["half.xml"], SECONDS, "both removed")
    bucket.put("half.xml.ok", b"")
    await_came(node, [("whole.xml", b"whole"), ("half.xml", b"half")])


@pytest.mark.proves("IN4", "FI9")
@pytest.mark.parametrize("fault, after, left", [
    ("file.taken:kill:2", "delete", []),
    ("s3.copied:kill:2", {"move": "taken/"}, [f"taken/{n}" for n in range(4)])])
def test_a_kill_between_stored_and_removed_doubles_nothing(make_node, bucket, fault, after, left):
    """One that was copied when the kill came is not copied again under another name."""
    want = [(f"{n}", b"%d" % n) for n in range(4)]
    for name, body in want:
        bucket.put("in/" + name, body)
    node = make_node(config=config(drop=bucket.gateway(prefix="in/", after=after)), environment={"WAYBILL_FAULT": fault})
    node.launch()
    assert node.ended(SECONDS) == -9
    assert len([k for k in bucket.keys() if k.startswith("in/")]) >= 3, "something was removed too early"
    del node.environment["WAYBILL_FAULT"]
    node.start()
    await_came(node, want)
    wait_until(lambda: bucket.keys() == left, SECONDS, "what is left")


class Slow(Between):
    """Holds the answers back after some bytes, until it is told to go on."""

    def __init__(self, port, most):
        super().__init__(port)
        self.most, self.came, self.go_on = most, 0, threading.Event()

    def _back(self, client, server, doomed):
        try:
            while got := server.recv(1 << 16):
                self.came += len(got)
                if self.came > self.most:
                    self.go_on.wait(SECONDS)
                client.sendall(got)
        except OSError:
            pass
        self._end(client)
        self._end(server)


@pytest.mark.proves("IN13", "FI15")
def test_one_that_is_replaced_while_it_is_read_is_read_again(start, bucket):
    old, new = os.urandom(8 << 20), os.urandom(8 << 20)
    bucket.put("large", old)
    with Slow(bucket.service.port, 1 << 20) as way:
        node = start(drop={**bucket.gateway(), "url": way.url})
        wait_until(lambda: way.came > way.most, SECONDS, "the middle of the object")
        bucket.put("large", new)
        way.go_on.set()
        wait_until(lambda: ("large", new) in came(node), SECONDS, "the new one")
        wait_until(lambda: not bucket.keys(), SECONDS, "nothing left")
    assert came(node) == [("large", new)]


def test_a_large_one_takes_little_memory(start, bucket):
    body = os.urandom(1 << 20) * 64
    bucket.put("small", b"small")
    node = start(drop=bucket.gateway(limits={"size": "1 GiB"}))
    await_came(node, [("small", b"small")])
    pid = node.process.pid
    before = memory_bytes(pid)
    memory_peak_reset(pid)
    bucket.put("large", body)
    await_came(node, [("small", b"small"), ("large", body)])
    if "ASAN_OPTIONS" not in os.environ:
        assert memory_bytes(pid, "VmHWM") - before < 32 << 20


@pytest.mark.proves("IN5", "IN11")
def test_a_service_that_hangs_is_waited_for(start, service, bucket, tmp_path):
    """Its failure is seen, with the reason, and costs the other gateways nothing."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    [nobody] = free_ports(1)
    node = start(drop=bucket.gateway(timeout="2s"), files={"kind": "file", "path": str(inbox)},
                 gone=bucket.gateway(url=f"http://127.0.0.1:{nobody}"))
    assert "not reached" in node.wait_event("gateway.fail", SECONDS, gateway="gone")["why"]
    polls(node)
    service.pause()
    try:
        assert "silent for too long" in node.wait_event("gateway.fail", SECONDS, gateway="drop")["why"]
        (inbox / "file").write_bytes(b"file")
        await_came(node, [("file", b"file")])
        assert node.metrics()['waybill_gateway_errors_total{gateway="drop"}'] >= 1
        assert not [e for e in node.events if e.get("event") == "gateway.hang"], "the thread came back by itself"
    finally:
        service.resume()
    bucket.put("late", b"late")
    await_came(node, [("file", b"file"), ("late", b"late")])
    node.wait_event("gateway.recover", SECONDS, gateway="drop")


@pytest.mark.proves("IN5")
def test_wrong_secret_clock_region_and_bucket_are_told_apart(start, service, bucket, tmp_path):
    bucket.put("a", b"a")
    right = bucket.gateway()
    node = start(secret={**right, "secret_key": "wr0ng-secret"}, key={**right, "access_key": "nobody"},
                 region={**right, "region": "eu-nowhere-1", "match": "none"}, none={**right, "bucket": "not-there"})

    def why(gateway, of=node):
        return of.wait_event("gateway.fail", SECONDS, gateway=gateway)["why"]
    assert "`secret_key` is not the secret of this `access_key`" in why("secret")
    assert "`access_key`" in why("key")
    assert "the bucket not-there is not there" in why("none")
    if service.CHECKS_REGION:
        assert "it is us-east-1 here, and `region` says eu-nowhere-1" in why("region")
    clock = MovedClock(tmp_path)
    clock.by(2 * 3600)
    ahead = start(environment=clock.environment, drop=right)
    assert "the clock of this machine is wrong" in why("drop", ahead)
    text = json.dumps(node.events + ahead.events) + "\n".join(node.stray + ahead.stray)
    assert "wr0ng-secret" not in text and service.secret_key not in text
    assert bucket.keys() == ["a"]


# -- a service that is none

FAKE = {"bucket": "bucket", "access_key": "AKFAKE", "secret_key": "SKFAKE"}


def test_a_hundred_thousand_objects_are_a_hundred_requests(start):
    with FakeS3(many=100_000) as fake:
        start(drop={"url": fake.url, "match": "no such name", **FAKE})

        def begun():
            return [n for n, (_, path, _) in enumerate(list(fake.asked)) if "continuation-token" not in path]
        wait_until(lambda: len(begun()) >= 2, SECONDS, "the second poll")
        assert begun()[:2] == [0, 100] and fake.connections == 1


def test_one_connection_from_poll_to_poll(start):
    with FakeS3() as fake:
        start(drop={"url": fake.url, **FAKE})
        wait_until(lambda: len(fake.asked) >= 10, SECONDS, "polls")
        assert fake.connections == 1


@pytest.mark.proves("IN4")
def test_one_that_is_replaced_after_it_was_stored_is_not_removed(start):
    with FakeS3({"a": b"first"}) as fake:
        node = start(environment={"WAYBILL_FAULT": "file.taken:delay_ms:1000"}, drop={"url": fake.url, **FAKE})
        wait_until(node.documents, SECONDS, "the first")
        fake.objects["a"] = b"second"
        await_came(node, [("a", b"first"), ("a", b"second")])
        wait_until(lambda: not fake.objects, SECONDS, "nothing left")


@pytest.mark.proves("IN4")
def test_without_the_right_to_remove_an_object_is_taken_once(start):
    with FakeS3({"a": b"a"}) as fake:
        fake.refuse["DELETE"] = (403, "AccessDenied")
        node = start(drop={"url": fake.url, **FAKE})
        await_came(node, [("a", b"a")])
        assert node.wait_event("gateway.refuse", SECONDS)["name"] == "a"
        asked = len(fake.asked)
        wait_until(lambda: len(fake.asked) >= asked + 5, SECONDS, "polls")
        assert fake.count("DELETE") == 1 and len(node.documents()) == 1


def test_a_service_that_knows_no_condition_of_delete(start):
    with FakeS3({"a": b"a", "b": b"b"}) as fake:
        fake.refuse["DELETE"] = (501, "NotImplemented")
        node = start(drop={"url": fake.url, **FAKE})
        assert "NotImplemented" in node.wait_event("gateway.fail", SECONDS)["why"]
        conditions = [("If-Match" in h) for m, _, h in list(fake.asked) if m == "DELETE"]
        assert conditions[:2] == [True, False] and True not in conditions[2:]
        del fake.refuse["DELETE"]
        await_came(node, [("a", b"a"), ("b", b"b")])
        wait_until(lambda: not fake.objects, SECONDS, "nothing left")


def test_versions_that_a_list_tells_wrongly_are_reported(start):
    with FakeS3({"a": b"a", "b": b"b"}) as fake:
        fake.listed["a"] = "other"
        node = start(drop={"url": fake.url, **FAKE})
        assert "lists another version" in node.wait_event("gateway.refuse", SECONDS)["why"]
        assert refused(node) == [("a", "the service lists another version than it has")]
        await_came(node, [("b", b"b")])
        fake.listed.clear()
        await_came(node, [("a", b"a"), ("b", b"b")])


@pytest.mark.proves("IN5")
def test_a_list_without_end_and_a_page_of_a_proxy_are_failures(start, receiver):
    with FakeS3(many=5000) as fake:
        fake.same_token = True
        node = start(loop={"url": fake.url, **FAKE}, page={"url": receiver.url("/b/status/200"), **FAKE})
        assert "how its list goes on" in node.wait_event("gateway.fail", SECONDS, gateway="loop")["why"]
        assert "is `url` right" in node.wait_event("gateway.fail", SECONDS, gateway="page")["why"]
        assert not node.documents()


@pytest.mark.proves("S16")
def test_addresses_that_are_barred_are_not_connected_to(start):
    node = start(drop={"url": "http://169.254.169.254/", **FAKE})
    assert "not reached" in node.wait_event("gateway.fail", SECONDS)["why"]


@pytest.mark.proves("IN3", "IN4")
@pytest.mark.parametrize("fault, after", [("file.read:kill:2", "delete"), ("file.taken:kill:2", "keep")])
def test_a_kill_loses_and_doubles_nothing(make_node, fault, after):
    want = [(f"{n}", b"%d" % n) for n in range(4)]
    with FakeS3(dict(want)) as fake:
        node = make_node(config=config(drop={"url": fake.url, **FAKE, "after": after}),
                         environment={"WAYBILL_FAULT": fault})
        node.launch()
        assert node.ended(SECONDS) == -9 and len(fake.objects) == 4
        del node.environment["WAYBILL_FAULT"]
        node.start()
        await_came(node, want)
        wait_until(lambda: len(fake.objects) == (4 if after == "keep" else 0), SECONDS, "what is left")


def test_mistakes_in_the_configuration(make_node):
    wrong = {"name": ({"bucket": "Not A Bucket"}, "`bucket`"), "length": ({"prefix": "x" * 1025}, "`prefix`"),
             "same": ({"prefix": "in/", "after": {"move": "in"}}, "the one to look in"),
             "slash": ({"after": {"move": "/in"}}, "`after.move`"), "half": ({"secret_key": ""}, "belong together")}
    node = make_node(config=config(**{n: {"url": "http://127.0.0.1:1", **FAKE, **more} for n, (more, _) in wrong.items()}))
    node.start()
    for name, (_, words) in wrong.items():
        assert words in node.wait_event("gateway.fail", SECONDS, gateway=name)["why"]
