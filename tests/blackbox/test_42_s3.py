"""Objects in a bucket: two S3 services that really run, what arrives there, and everything that goes wrong between."""
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import re

import pytest

from moved_clock import MovedClock
from peers import Between
from radosgw import Radosgw
from rig.receiver import Certificates
from swift import Swift
from wire import wait_until

BUCKET = "orders"
SECONDS = 120
KEYS = ["a b+c=d/é:*&?.txt", "x/../y", "%41", "/lead"]


@pytest.fixture(scope="module", params=[Swift, Radosgw], ids=["swift", "radosgw"])
def service(request, tmp_path_factory):
    """A service with a bucket; tests use keys of their own."""
    with request.param(tmp_path_factory.mktemp("s3")) as one:
        one.client().make_bucket(BUCKET)
        yield one


@pytest.fixture
def client(service):
    return service.client()


def endpoint(service, url=None, **more):
    keys = {"kind": "s3", "system": "hub", "url": url or service.url, "bucket": BUCKET, "name": "${id}",
            "access_key": service.access_key, "secret_key": service.secret_key,
            "retry": {"first": "50ms", "most": "500ms"}, "breaker": {"wait": "200ms"}, **more}
    return {k: v for k, v in keys.items() if v is not None}


def config(endpoints, in_doubt="resend"):
    """One route for each endpoint, which the document names in its header."""
    sections = {
        "systems": {"acme": {}, "hub": {"in_doubt": in_doubt}},
        "gateways": {"in": {"kind": "http", "auth": "none", "limits": {"size": "256 MiB"},
                            "extract": {"sender": "value:acme", "receiver": "value:hub", "type": "header:X-To"}}},
        "types": {"*": {}},
        "endpoints": endpoints,
        "routes": [{"name": n, "when": {"type": n}, "do": [{"deliver": n}]} for n in endpoints],
    }
    return "".join(f"{name}: {json.dumps(content)}\n" for name, content in sections.items())


@pytest.fixture
def start(make_node, service):
    """A node with these endpoints of the service, by their names: each a dict of what differs from endpoint()."""
    def run(in_doubt="resend", environment=None, **endpoints):
        node = make_node(config=config({n: endpoint(service, **e) for n, e in endpoints.items()}, in_doubt),
                         environment=environment or {})
        node.start()
        return node
    return run


def send(node, to, body, name=None, **headers):
    more = {"Waybill-Name": name.encode()} if name else {}
    return node.accept("in", body, {"X-To": to, **more, **headers})


def look(node, doc):
    return node.show(doc, "state deliveries { id state code message attempts } timeline { message }")


def await_state(node, doc, *states):
    return node.await_state(doc, *states, look=look, seconds=SECONDS)


def said(found):
    return " ".join([d["message"] or "" for d in found["deliveries"]] + [t["message"] or "" for t in found["timeline"]])


def await_said(node, doc, words):
    wait_until(lambda: words in said(look(node, doc)), SECONDS, words)
    return look(node, doc)


@pytest.mark.smoke
@pytest.mark.proves("DE1")
def test_bytes_type_and_metadata_arrive(start, client):
    node = start(store={"name": "whole/${type}/${id}.xml"})
    for body in (b"<a>1</a>", b"\0", os.urandom(300_000)):
        doc = send(node, "store", body, **{"Content-Type": "text/xml"})
        found = await_state(node, doc, "delivered")
        key = f"whole/store/{doc}.xml"
        assert client.get(BUCKET, key) == body
        head = client.head(BUCKET, key)
        assert head["content-type"] == "text/xml"
        assert head["x-amz-meta-waybill-delivery"] == found["deliveries"][0]["id"]
        assert head["x-amz-meta-waybill-document"] == doc
        assert head["x-amz-meta-waybill-sha256"] == hashlib.sha256(body).hexdigest()
        assert "stored as " + BUCKET + "/" + key in said(found)


def test_an_empty_document(make_node, client, service):
    """A step may leave nothing of a document."""
    text = config({"store": endpoint(service, name="empty/${id}")})
    deliver, nothing = '[{"deliver": "store"}]', '[{"replace": {"find": "x", "with": ""}}, {"deliver": "store"}]'
    assert deliver in text
    node = make_node(config=text.replace(deliver, nothing))
    node.start()
    doc = send(node, "store", b"x")
    await_state(node, doc, "delivered")
    head = client.head(BUCKET, f"empty/{doc}")
    assert head["content-length"] == "0" and head["x-amz-meta-waybill-sha256"] == hashlib.sha256(b"").hexdigest()


def test_500_small_ones(start, client):
    node = start(store={"name": "many/${id}"})
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        docs = list(threads.map(lambda n: send(node, "store", b"%d" % n), range(500)))
    wait_until(lambda: node.metrics()['waybill_deliveries_total{outcome="delivered"}'] >= 500, SECONDS, "all delivered")
    assert [k for k in client.keys(BUCKET) if k.startswith("many/")] == sorted(f"many/{d}" for d in docs)
    for n in (0, 250, 499):
        assert client.get(BUCKET, f"many/{docs[n]}") == b"%d" % n


def test_a_large_one_in_parts(start, client):
    node = start(store={"name": "large/${id}"})
    body = os.urandom(1 << 20) * 70 + b"end"
    doc = send(node, "store", body)
    found = await_state(node, doc, "delivered")
    assert "in 5 parts" in said(found)
    assert hashlib.sha256(client.get(BUCKET, f"large/{doc}")).digest() == hashlib.sha256(body).digest()
    head = client.head(BUCKET, f"large/{doc}")
    assert head["x-amz-meta-waybill-sha256"] == hashlib.sha256(body).hexdigest()
    assert head["x-amz-meta-waybill-delivery"] == found["deliveries"][0]["id"]
    assert client.uploads(BUCKET) == []


def test_one_that_is_read_from_the_store_is_one_request(start, client):
    """More than what stays in memory, less than what is sent in parts."""
    node = start(store={"name": "medium/${id}"})
    body = os.urandom(5 << 20)
    doc = send(node, "store", body)
    assert "parts" not in said(await_state(node, doc, "delivered"))
    assert client.get(BUCKET, f"medium/{doc}") == body


def test_the_bucket_in_the_name_of_the_host(start, client, service):
    """Every name below localhost is this machine."""
    node = start(store={"url": f"http://localhost:{service.port}", "style": "host", "name": "host/a b/${id}"})
    body = os.urandom(65 << 20)
    docs = {send(node, "store", b"small"): b"small", send(node, "store", body): body}
    for doc, sent in docs.items():
        await_state(node, doc, "delivered")
        assert client.get(BUCKET, f"host/a b/{doc}") == sent


def test_over_tls_the_certificate_must_be_right(start, client, service, tmp_path):
    certificates = Certificates(tmp_path / "tls")
    with Between(service.port, tls=certificates.context("good")) as good, \
            Between(service.port, tls=certificates.context("wrong_name")) as wrong, \
            Between(service.port, tls=certificates.context("expired")) as old:
        node = start(good={"url": good.url, "name": "tls/${id}", "tls": {"ca": certificates.path("ca.pem")}},
                     unknown={"url": good.url, "name": "tls/${id}"},
                     other={"url": wrong.url, "name": "tls/${id}", "tls": {"ca": certificates.path("ca.pem")}},
                     old={"url": old.url, "name": "tls/${id}", "tls": {"ca": certificates.path("ca.pem")}})
        doc = send(node, "good", b"<a/>")
        await_state(node, doc, "delivered")
        assert client.get(BUCKET, f"tls/{doc}") == b"<a/>"
        for to in ("unknown", "other", "old"):
            await_said(node, send(node, to, b"<a/>"), "the service was not reached")
        assert [k for k in client.keys(BUCKET) if k.startswith("tls/")] == [f"tls/{doc}"]


@pytest.mark.proves("FI11")
def test_odd_keys_there_and_back(start, client):
    """Written by the template; and by a document's name, as far as it may."""
    node = start(named={"name": "odd/${name}"}, **{f"k{n}": {"name": key} for n, key in enumerate(KEYS)})
    for n, key in enumerate(KEYS):
        body = key.encode()
        await_state(node, send(node, f"k{n}", body), "delivered")
        assert client.get(BUCKET, key) == body and key in client.keys(BUCKET)
    for name in ("a b+c=d é:*&?.txt", "%41", "~x'\"<>", "日本語.xml"):
        await_state(node, send(node, "named", name.encode(), name), "delivered")
        assert client.get(BUCKET, "odd/" + name) == name.encode()


@pytest.mark.proves("FI11")
def test_hostile_names_are_refused(start, client):
    before = client.keys(BUCKET)
    node = start(named={"name": "hostile/${name}"}, bucket={"bucket": "${name}"})
    for name, why in (("x/../../etc/passwd", "has a `/`"), ("../x", "begins with a dot"), ("..", "begins with a dot"), ("a/b", "has a `/`"),
                      (".hidden", "begins with a dot"), ("x" * 1020, "1024")):
        found = await_state(node, send(node, "named", b"x", name), "dead")
        assert found["deliveries"][0]["code"] == "rejected" and why in said(found), name
    found = await_state(node, send(node, "bucket", b"x", "Not A Bucket"), "dead")
    assert "bucket" in said(found)
    assert client.keys(BUCKET) == before


@pytest.mark.proves("FI8")
def test_a_name_that_is_taken_is_waited_for(start, client, service):
    client.put(BUCKET, "taken/a", b"theirs")
    node = start(store={"name": "taken/a"})
    first = send(node, "store", b"ours")
    await_said(node, first, "taken/a is there already and is not replaced")
    assert client.get(BUCKET, "taken/a") == b"theirs"
    client.delete(BUCKET, "taken/a")
    await_state(node, first, "delivered")
    assert client.get(BUCKET, "taken/a") == b"ours"
    # Its own object is not a reason to wait; that of another delivery is.
    second = send(node, "store", b"ours")
    await_said(node, second, "taken/a is there already and is not replaced")
    client.delete(BUCKET, "taken/a")
    await_state(node, second, "delivered")
    assert service.KNOWS_CONDITION or client.get(BUCKET, "taken/a") == b"ours"


def test_a_name_that_is_taken_is_replaced_if_so_told(start, client):
    client.put(BUCKET, "replaced/inventory.csv", b"yesterday")
    node = start(store={"name": "replaced/inventory.csv", "exists": "replace"})
    await_state(node, send(node, "store", b"today"), "delivered")
    assert client.get(BUCKET, "replaced/inventory.csv") == b"today"
    large = os.urandom(1 << 20) * 65
    await_state(node, send(node, "store", large), "delivered")
    assert client.get(BUCKET, "replaced/inventory.csv") == large


@pytest.mark.proves("DE5")
def test_wrong_secret_clock_and_region_are_told_apart(start, service, tmp_path):
    node = start(secret={"secret_key": "wr0ng-secret", "name": "wrong/${id}"},
                 key={"access_key": "nobody", "name": "wrong/${id}"},
                 region={"region": "eu-nowhere-1", "name": "wrong/${id}"})
    # What is refused is ours, not the document: it waits, and the alert names the endpoint.
    found = await_said(node, send(node, "secret", b"x"), "`secret_key` is not the secret of this `access_key`")
    assert found["state"] in ("active", "held", "retrying") and "wr0ng-secret" not in said(found)
    await_said(node, send(node, "key", b"x"), "`access_key`")
    wrong = send(node, "region", b"x")
    if service.CHECKS_REGION:
        await_said(node, wrong, "it is us-east-1 here, and `region` says eu-nowhere-1")
    else:
        await_state(node, wrong, "delivered")
    clock = MovedClock(tmp_path)
    clock.by(2 * 3600)
    ahead = start(environment=clock.environment, store={"name": "wrong/${id}"})
    found = await_said(ahead, send(ahead, "store", b"x"), "the clock of this machine is wrong")
    assert found["state"] in ("active", "held", "retrying")
    text = json.dumps(node.events + ahead.events) + "\n".join(node.stray + ahead.stray)
    assert "wr0ng-secret" not in text and service.secret_key not in text


def test_a_key_without_the_right(start, client, service):
    access_key, secret_key = service.guest
    node = start(store={"access_key": access_key, "secret_key": secret_key, "name": "guest/${id}"})
    doc = send(node, "store", b"x")
    wait_until(lambda: re.search("may not do that in this bucket|403", said(look(node, doc))), SECONDS, "a refusal")
    found = look(node, doc)
    assert found["state"] in ("active", "held", "retrying") and client.head(BUCKET, f"guest/{doc}") is None
    assert secret_key not in said(found)


def test_a_bucket_that_is_missing_is_waited_for(start, client, service):
    node = start(store={"bucket": "not-yet-there"})
    doc = send(node, "store", b"x")
    await_said(node, doc, "the bucket not-yet-there is not there: create it")
    client.make_bucket("not-yet-there")
    await_state(node, doc, "delivered")
    assert client.get("not-yet-there", doc) == b"x"


@pytest.mark.proves("DE5")
def test_a_service_that_is_killed_gets_everything_later(start, client, service):
    node = start(store={"name": "killed/${id}"})
    service.kill()
    docs = [send(node, "store", b"%d" % n) for n in range(5)]
    await_said(node, docs[0], "the service was not reached")
    service.start()
    for n, doc in enumerate(docs):
        await_state(node, doc, "delivered")
        assert client.get(BUCKET, f"killed/{doc}") == b"%d" % n


@pytest.mark.proves("DE6")
def test_a_service_that_hangs_gets_everything_later(start, client, service):
    node = start(store={"name": "hung/${id}", "timeout": "2s"})
    await_state(node, send(node, "store", b"first"), "delivered")
    service.pause()
    try:
        doc = send(node, "store", b"second")
        wait_until(lambda: "too long" in said(look(node, doc)), SECONDS, "an end")
    finally:
        service.resume()
    await_state(node, doc, "delivered")
    assert client.get(BUCKET, f"hung/{doc}") == b"second"
    assert not [e for e in node.events if e.get("event") == "endpoint.hang"], "the thread came back by itself"


@pytest.mark.proves("DE6", "DE12")
@pytest.mark.parametrize("policy", ["resend", "probe"])
def test_an_answer_that_is_swallowed_is_found_out(start, client, service, policy):
    """The object is there: the next attempt, or the probe, recognises it, and nothing is stored twice."""
    with Between(service.port) as way:
        node = start(in_doubt=policy, store={"url": way.url, "name": f"lost/{policy}-${{id}}"})
        await_state(node, send(node, "store", b"first"), "delivered")  # it knows the service now
        way.lose("PUT")
        doc = send(node, "store", b"once")
        found = await_state(node, doc, "delivered")
        assert way.lost == 1
        key = f"lost/{policy}-{doc}"
        assert client.get(BUCKET, key) == b"once"
        words = "asked: " if policy == "probe" else ""
        assert f"{words}{BUCKET}/{key} is there" in said(found), said(found)


@pytest.mark.proves("DE9")
def test_a_probe_that_finds_nothing_sends_again(start, client, service):
    with Between(service.port) as way:
        node = start(in_doubt="probe", store={"url": way.url, "name": "again/${id}", "timeout": "3s"})
        await_state(node, send(node, "store", b"first"), "delivered")
        way.drop("PUT")
        doc = send(node, "store", b"once")
        found = await_state(node, doc, "delivered")
        assert way.lost == 1 and "is not there; it is sent again" in said(found)
        assert client.get(BUCKET, f"again/{doc}") == b"once"


@pytest.mark.proves("DE10")
def test_our_own_kill_in_the_middle_of_an_upload(start, client, service):
    """Nothing of it is to be seen; the next start sends it whole, and the broken upload is gone."""
    body = os.urandom(1 << 20) * 66
    with Between(service.port) as way:
        node = start(store={"url": way.url, "name": "torn/${id}"})
        way.hold(20 << 20)
        doc = send(node, "store", body)
        wait_until(lambda: way.held > 0, SECONDS, "the second part")
        assert client.uploads(BUCKET) == [f"torn/{doc}"] and client.head(BUCKET, f"torn/{doc}") is None
        node.kill()
        way.release()
        node.start()
        await_state(node, doc, "delivered")
    assert client.get(BUCKET, f"torn/{doc}") == body
    assert client.uploads(BUCKET) == []


@pytest.mark.proves("DE11")
@pytest.mark.parametrize("fault", ["send.begin:kill:1", "send.answered:kill:1"])
def test_our_own_kill_around_a_send(make_node, client, service, fault):
    node = make_node(config=config({"store": endpoint(service, name="kill/${name}")}),
                     environment={"WAYBILL_FAULT": fault})
    node.start()
    name = fault.replace(":", "-")
    with contextlib.suppress(ConnectionError, http.client.HTTPException):  # its answer may be lost, it is not
        node.post("in", b"once", {"X-To": "store", "Waybill-Name": name})
    wait_until(lambda: node.process.poll() is not None, SECONDS, "the kill")
    node.kill()
    node.environment = {}
    node.start()
    [doc] = node.documents()
    await_state(node, doc, "delivered")
    assert client.get(BUCKET, "kill/" + name) == b"once"


def test_an_upload_that_fails_is_aborted(start, client, service):
    with Between(service.port) as way:
        node = start(store={"url": way.url, "name": "failed/${id}", "timeout": "3s"})
        way.hold(20 << 20)
        doc = send(node, "store", os.urandom(1 << 20) * 66)
        await_said(node, doc, "silent for too long")
        assert client.head(BUCKET, f"failed/{doc}") is None
        way.release()
        await_state(node, doc, "delivered")
    assert client.uploads(BUCKET) == []


@pytest.mark.proves("DE18")
@pytest.mark.parametrize("exists", ["wait", "replace"])
def test_a_page_is_not_an_answer_of_a_service(start, receiver, service, exists):
    """What a proxy or the wrong server answers, even with 200, is not taken for an object that was stored."""
    node = start(store={"url": receiver.url("/b/status/200"), "exists": exists})
    doc = send(node, "store", b"x")
    wait_until(receiver.requests, SECONDS, "a request")
    await_said(node, doc, "is `url` right")
    assert service.secret_key not in said(await_state(node, doc, "held", "retrying"))


@pytest.mark.proves("S16")
def test_addresses_that_are_barred_are_not_connected_to(start):
    node = start(store={"url": "http://169.254.169.254/"})
    found = await_said(node, send(node, "store", b"x"), "not reached")
    assert "169.254" in said(found) or "link-local" in said(found)
