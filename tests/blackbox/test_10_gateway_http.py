"""POST /in/GATEWAY: what a sender is told, for good requests and for bad ones."""
import base64
import ctypes
import hashlib
import json
import os
import re
import time

import pytest

from wire import Closed, Wire, at_once, chunk, head, wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
MIB = 1 << 20

CONFIG = """\
systems: { acme: {}, hub: {} }
types: { "*": {} }
gateways:
  open:   { kind: http, auth: none }
  small:  { kind: http, auth: none, limits: { size: 100 KiB } }
  orders: { kind: http, auth: key }
  bills:  { kind: http, auth: key }
"""
pytestmark = pytest.mark.config(CONFIG)


def bearer(key, **more):
    return {"Authorization": f"Bearer {key}", **more}


def error(answer):
    """The code of an error answer, which also has a message for people."""
    assert answer.headers["Content-Type"] == "application/json"
    told = json.loads(answer.body)
    assert set(told) == {"error"} and len(told["error"]["message"]) > 10
    return told["error"]["code"]


def leftovers(node):
    """Files of bodies that came in part."""
    folder = node.data / "large"
    return sorted(os.listdir(folder)) if folder.exists() else []


# ---- good requests --------------------------------------------------------------------------


@BOTH
def test_a_document_is_accepted_and_read_back(node):
    key, _ = node.add_key("orders")
    other, _ = node.add_key("bills")
    body = b"<Order>\xc3\xa9\x00\xff</Order>"
    got = node.post("orders", body, bearer(key, **{"Content-Type": "application/xml",
                                                   "Waybill-Name": "o 1.xml"}))
    assert got.status == 202
    ident = got.json["document"]
    assert got.json == {"document": ident}
    assert got.headers["Location"] == f"/documents/{ident}"
    assert got.headers["Content-Type"] == "application/json"

    for token in (key, node.token):
        shown = node.get(got.headers["Location"], token)
        assert shown.status == 200
        assert shown.json["id"] == ident and shown.json["state"] == "received"
        assert shown.json["gateway"] == "orders" and shown.json["name"] == "o 1.xml"
        assert shown.json["size"] == len(body)
        assert shown.json["sha256"] == hashlib.sha256(body).hexdigest()
        assert node.get(f"/documents/{ident}/payload", token).body == body
    shown = node.request("GET", f"/documents/{ident}", headers={"X-API-Key": key})
    assert shown.status == 200 and shown.json["id"] == ident

    # Another key learns nothing, not even that the document exists.
    unknown = ident[:-4] + "0000"
    for path in (f"/documents/{ident}", f"/documents/{ident}/payload"):
        hidden = node.get(path, other)
        missing = node.get(path.replace(ident, unknown), other)
        assert hidden.status == missing.status == 404
        assert hidden.body == missing.body and error(hidden) == "unknown_document"
        assert node.get(path, "").status == node.get(path, "nonsense").status == 401
    for path in ("/documents/", "/documents/x", f"/documents/{ident}/nonsense",
                 f"/documents/{ident}/payload/x", f"/documents/{ident}x"):
        assert node.get(path).status == 404, path


@BOTH
def test_a_document_of_a_gateway_without_keys_is_the_admins(node):
    ident = node.post("open", b"x").json["document"]
    key, _ = node.add_key("orders")
    assert node.get(f"/documents/{ident}").status == 200
    assert node.get(f"/documents/{ident}", key).status == 404


def test_names_of_gateways(node):
    assert node.post("nowhere", b"x").status == 404
    assert error(node.post("nowhere", b"x")) == "unknown_gateway"
    for path in ("/in/", "/in/open/", "/in/open/x", "/in/OPEN", "/in/" + "x" * 500, "/in/open%00",
                 "/in/../in/open"):
        assert node.request("POST", path, b"x").status == 404, path
    assert node.request("POST", "/in/op%65n", b"x").status == 202
    assert node.request("POST", "/in/open?from=acme&n=1", b"x").status == 202
    assert len(node.documents()) == 2


def test_methods(node):
    for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
        got = node.request(method, "/in/open", b"x")
        assert got.status == 405 and got.headers["Allow"] == "POST", method
    assert node.request("BREW", "/in/open", b"x").status == 501
    assert node.documents() == []


@BOTH
def test_a_large_body_goes_through_the_spool(node):
    block = os.urandom(MIB)
    body = b"".join(bytes([i]) + block for i in range(20))
    digest = hashlib.sha256(body).hexdigest()
    sized = node.post("open", body).json["document"]
    chunked = node.request("POST", "/in/open", iter([body[i:i + 100_000] for i in
                                                     range(0, len(body), 100_000)]))
    assert chunked.status == 202
    for ident in (sized, chunked.json["document"]):
        assert node.get(f"/documents/{ident}").json["sha256"] == digest
        assert node.get(f"/documents/{ident}/payload").body == body
    assert node.cli("doctor").returncode == 0
    assert not [n for n in leftovers(node) if n.endswith(".part")]


@BOTH
def test_sizes_around_the_limit_of_memory(node):
    ids = {}
    for size in (1, 65535, 65536, MIB - 1, MIB, MIB + 1, 2 * MIB):
        body = os.urandom(size)
        ids[node.post("open", body).json["document"]] = body
    for ident, body in ids.items():
        assert node.get(f"/documents/{ident}/payload").body == body, len(body)
    node.restart()
    for ident, body in ids.items():
        assert node.get(f"/documents/{ident}/payload").body == body, len(body)


@BOTH
@pytest.mark.parametrize("size", [1000, 3 * MIB])
def test_ranges(node, size):
    body = os.urandom(size)
    path = f"/documents/{node.post('open', body).json['document']}/payload"

    def ask(text, method="GET"):
        return node.request(method, path, headers=bearer(node.token, Range=text))

    whole = node.get(path)
    assert whole.status == 200 and whole.headers["Accept-Ranges"] == "bytes"
    assert whole.headers["ETag"] == f'"{hashlib.sha256(body).hexdigest()}"'
    for text, first, last in (("bytes=0-0", 0, 0), ("bytes=10-19", 10, 19), ("bytes=900-", 900, size - 1),
                              ("bytes=-7", size - 7, size - 1), (f"bytes=-{size * 2}", 0, size - 1),
                              (f"bytes=5-{size * 9}", 5, size - 1),
                              (f"bytes={size - 1}-{size - 1}", size - 1, size - 1)):
        got = ask(text)
        assert got.status == 206, text
        assert got.headers["Content-Range"] == f"bytes {first}-{last}/{size}"
        assert got.body == body[first:last + 1], text
    for text in (f"bytes={size}-", f"bytes={size + 5}-{size + 9}", "bytes=-0"):
        got = ask(text)
        assert got.status == 416 and got.headers["Content-Range"] == f"bytes */{size}", text
    for text in ("lines=1-2", "bytes=5", "bytes=a-b", "bytes=9-5", "bytes=0-1,4-5"):
        assert ask(text).status == 200 and ask(text).body == body, text
    top = node.request("HEAD", path, headers=bearer(node.token))
    assert top.status == 200 and top.headers["Content-Length"] == str(size) and top.body == b""
    top = ask("bytes=0-9", "HEAD")
    assert top.status == 206 and top.headers["Content-Length"] == "10"
    with Wire(node) as w:  # nothing follows the head: the connection can go on
        for _ in range(2):
            w.send(head(path, f"Authorization: Bearer {node.token}", method="HEAD"))
            assert w.answer("HEAD").status == 200
        assert w.is_silent(0.2)


# ---- who is sending --------------------------------------------------------------------------


@BOTH
def test_keys(node):
    key, ident = node.add_key("orders")
    other, _ = node.add_key("bills")
    missing = node.post("orders", b"x")
    assert missing.status == 401 and missing.headers["WWW-Authenticate"].startswith("Bearer")
    assert error(missing) == "unauthorized"
    wrong = (key[:-1] + ("A" if key[-1] != "A" else "B"), "nonsense", "wbk_", "wbk__", key + "x",
             "x" * 5000, key.split("_")[1])
    for token in wrong:
        got = node.post("orders", b"x", bearer(token))
        assert got.status == 401 and "WWW-Authenticate" in got.headers, token
    got = node.post("orders", b"x", bearer(other))
    assert got.status == 403 and error(got) == "other_gateway"

    assert node.post("orders", b"x", bearer(key)).status == 202
    assert node.post("orders", b"x", {"X-API-Key": key}).status == 202
    assert node.post("orders", b"x", {"authorization": f"bearer {key}"}).status == 202
    assert node.post("orders", b"x", {"Authorization": f"Basic {key}"}).status == 401
    assert node.post("orders", b"x", bearer(node.token)).status == 202
    node.restart()
    assert node.post("orders", b"x", bearer(key)).status == 202
    with Wire(node) as w:  # a connection that is open already learns of it too
        w.send(head("/in/orders", f"Authorization: Bearer {key}", "Content-Length: 1"), b"x")
        assert w.answer().status == 202
        assert node.graphql("mutation($i: ID!) { keyRemove(id: $i) }", i=ident)["keyRemove"]
        w.send(head("/in/orders", f"Authorization: Bearer {key}", "Content-Length: 1"), b"x")
        assert w.answer().status == 401
    assert node.post("orders", b"x", {"X-API-Key": key}).status == 401
    assert len(node.documents()) == 6


def test_a_key_is_nowhere_in_the_clear(node):
    key, _ = node.add_key("orders")
    assert node.post("orders", b"x", bearer(key)).status == 202
    assert node.post("orders", b"x", bearer(key + "wrong")).status == 401
    node.stop()
    secret = key.rpartition("_")[2].encode()
    for path in node.data.iterdir():
        if path.is_file():
            assert secret not in path.read_bytes(), path
    assert secret.decode() not in json.dumps(node.events)


def argon2id(password, mebibytes=64):
    """The hash of a password, made by libsodium as `waybill` reads it; less memory takes less time."""
    sodium = ctypes.CDLL("libsodium.so.23")
    out = ctypes.create_string_buffer(128)
    assert sodium.sodium_init() >= 0
    assert sodium.crypto_pwhash_str(out, password, ctypes.c_ulonglong(len(password)),
                                    ctypes.c_ulonglong(2), ctypes.c_size_t(mebibytes * MIB)) == 0
    return out.value.decode()


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def test_basic_auth(make_node):
    node = make_node(config=f"""\
gateways:
  mail:
    kind: http
    auth: basic
    users: {{ ann: "{argon2id('pässwort:1'.encode())}", bob: "{argon2id(b'other')}" }}
""")
    node.start()
    missing = node.post("mail", b"x")
    assert missing.status == 401 and missing.headers["WWW-Authenticate"].startswith("Basic")

    def timed(headers):
        start = time.monotonic()
        return node.post("mail", b"x", headers).status, time.monotonic() - start

    status, first = timed(basic("ann", "pässwort:1"))
    assert status == 202
    again = min(timed(basic("ann", "pässwort:1"))[1] for _ in range(5))
    assert again < first / 3, f"the pair is not remembered: {first:.3f} s, then {again:.3f} s"
    for user, password in (("ann", "pässwort"), ("ann", ""), ("ann", "other"), ("bob", "pässwort:1"),
                           ("nobody", "other"), ("", "")):
        assert timed(basic(user, password))[0] == 401, user
    for text in ("Basic", "Basic !!!!", "Basic YW5u", "Basic " + "A" * 3000, "Bearer x"):
        assert timed({"Authorization": text})[0] == 401, text
    assert timed(basic("bob", "other"))[0] == 202
    assert timed(bearer(node.token))[0] == 202
    # One user's keys are not another's.
    one = node.post("mail", b"1", {**basic("ann", "pässwort:1"), "Idempotency-Key": "k"})
    two = node.post("mail", b"2", {**basic("bob", "other"), "Idempotency-Key": "k"})
    assert one.status == two.status == 202
    assert "pässwort" not in json.dumps(node.events, ensure_ascii=False)


@pytest.mark.proves("IN10", "S1")
def test_who_is_sending_is_asked_before_the_body(node):
    """Each head promises a body and sends none of it."""
    other, _ = node.add_key("bills")
    heads = (("/in/orders", "Authorization: Bearer wrong", 401), ("/in/orders", "X: y", 401),
             ("/in/orders", f"Authorization: Bearer {other}", 403), ("/in/nowhere", "X: y", 404),
             ("/in/small", "X: y", 413), ("/in/open", "Content-Encoding: gzip", 415),
             ("/in/open", f"Idempotency-Key: {'k' * 256}", 400))
    for path, field, status in heads:
        with Wire(node) as w:
            w.send(head(path, field, "Content-Length: 1000000"))
            assert w.answer().status == status, field
        with Wire(node) as w:  # no 100 either
            w.send(head(path, field, "Content-Length: 1000000", "Expect: 100-continue"))
            assert w.answer().status == status, field
            assert w.is_closed(), field
    with Wire(node) as w:
        w.send(head("/in/open", "Content-Length: 5", "Expect: 100-continue"))
        assert w.answer().status == 100
        w.send(b"hello")
        assert w.answer().status == 202
    assert len(node.documents()) == 1


@pytest.mark.proves("S17")
def test_a_payload_is_asked_for_by_its_id_alone(node):
    ident = node.post("open", b"x").json["document"]
    assert node.get(f"/documents/{ident}/payload").status == 200
    for name in ("../../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "%2fetc%2fpasswd", ".", "..", "payload",
                 "token", "waybill.db", f"{ident}/..", f"../documents/{ident}", f"{ident}%00", f"{ident}x", ident[:-1]):
        for path in (f"/documents/{name}/payload", f"/documents/{name}", f"/documents/{ident}/payload?stage={name}"):
            got = node.get(path)
            assert got.status in (400, 404), path
            assert b"root:" not in got.body and node.token.encode() not in got.body


@pytest.mark.proves("S18")
def test_only_http_1_1_is_spoken(node):
    with Wire(node) as w:   # the preface of HTTP/2
        w.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
        assert w.answer().status in (400, 505) and w.is_closed()
    upgrade = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__", "Content-Length: 1")
    with Wire(node) as w:
        w.send(head("/in/open", *upgrade), b"x")
        assert w.answer().status == 202, "it goes on as before"


# ---- sizes -----------------------------------------------------------------------------------


@pytest.mark.proves("IN10", "S5")
def test_too_large(node):
    most = 100 * 1024
    assert node.post("small", b"x" * most).status == 202
    got = node.post("small", b"x" * (most + 1))
    assert got.status == 413 and error(got) == "too_large"
    assert node.request("POST", "/in/small", iter([b"x" * most])).status == 202
    with Wire(node) as w:
        w.send(head("/in/small", "Transfer-Encoding: chunked"), chunk(b"x" * most), chunk(b"x"))
        assert w.answer().status == 413
        assert w.is_closed()
    with Wire(node) as w:
        w.send(head("/in/small", "Content-Length: 99999999999999999999"))
        assert w.answer().status in (400, 413)
    # Over the limit of memory too, so that the spool is on it already.
    with Wire(node) as w:
        w.send(head("/in/open", "Transfer-Encoding: chunked"))
        with pytest.raises((AssertionError, ConnectionError)):
            for _ in range(70):
                w.send(chunk(bytes(MIB)))
            assert w.answer().status != 413
    assert len(node.documents()) == 2
    wait_until(lambda: leftovers(node) == [], what="removal of the part that came")


def test_nothing_is_not_a_document(node):
    for fields, body in ((("Content-Length: 0",), b""), ((), b""),
                         (("Transfer-Encoding: chunked",), b"0\r\n\r\n")):
        with Wire(node) as w:
            w.send(head("/in/open", *fields), body)
            got = w.answer()
            assert got.status == 400 and error(got) == "empty_body"
    assert node.documents() == []


def test_encodings_and_names(node):
    got = node.post("open", b"x", {"Content-Encoding": "gzip"})
    assert got.status == 415 and got.headers["Accept-Encoding"] == "identity"
    assert node.post("open", b"x", {"Content-Encoding": "identity"}).status == 202
    assert node.post("open", b"x", {"Waybill-Name": "n" * 1024}).status == 202
    assert node.post("open", b"x", {"Waybill-Name": "n" * 1025}).status == 400
    assert node.post("open", b"x", {"Waybill-Name": b"\xff\xfe"}).status == 400
    assert node.post("open", b"x", {"Waybill-Name": "é".encode()}).status == 202
    assert node.get(f"/documents/{node.documents()[0]}").json["name"] == "é"


# ---- bodies that are not what they should be ---------------------------------------------------


@BOTH
@pytest.mark.proves("IN9", "IN1")
def test_a_body_that_does_not_end_leaves_nothing(node):
    cuts = [
        (head("/in/open", "Content-Length: 100"), b"x" * 99),
        (head("/in/open", "Content-Length: 9000000"), b"x" * 3 * MIB),
        (head("/in/open", "Transfer-Encoding: chunked"), chunk(b"x" * 10) + b"5\r\nab"),
        (head("/in/open", "Transfer-Encoding: chunked"), chunk(bytes(2 * MIB)) + chunk(b"y")),
        (head("/in/open", "Transfer-Encoding: chunked"), chunk(b"x") + b"0\r\n"),
        (head("/in/open", "Content-Length: 5"), b""),
    ]
    for start, part in cuts:
        for reset in (False, True):
            with Wire(node) as w:
                w.send(start, part)
                if reset:  # close() then sends RST
                    w.socket.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")
                else:
                    w.socket.shutdown(1)
                    assert w.is_closed()
    assert node.post("open", b"good").status == 202
    assert len(node.documents()) == 1
    wait_until(lambda: leftovers(node) == [], what="removal of what came in part")
    assert node.cli("doctor").returncode == 0


@pytest.mark.proves("IN9")
def test_chunks_that_are_wrong(node):
    for bad in (b"x\r\n", b"-1\r\n", b"5\r\nhelloX\r\n", b"5\nhello\n0\n\n", b"5 \r\nhello\r\n",
                b"0x5\r\nhello\r\n", b"fffffffffffffffff\r\n", b"\r\n", b"5;" + b"e" * 70000,
                b"5\r\nhello0\r\n\r\n"):
        with Wire(node) as w:
            w.send(head("/in/open", "Transfer-Encoding: chunked"), bad)
            assert w.answer().status in (400, 431), bad
            assert w.is_closed(), bad
    assert node.documents() == []


SMUGGLING = {
    "both lengths": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nabc",
    "both, other order": b"POST /in/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                         b"Content-Length: 3\r\n\r\n0\r\n\r\nabc",
    "two lengths": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                   b"Content-Length: 2\r\n\r\nab",
    "one length twice": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                        b"Content-Length: 1\r\n\r\na",
    "a list of lengths": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\na",
    "signed length": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na",
    "negative length": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\na",
    "hex length": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 0x1\r\n\r\na",
    "length with a space": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 1 1\r\n\r\na",
    "gzip coding": b"POST /in/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nabc",
    "chunked not last": b"POST /in/open HTTP/1.1\r\nHost: x\r\n"
                        b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "two codings": b"POST /in/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n"
                   b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "misspelt coding": b"POST /in/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n"
                       b"0\r\n\r\n",
    "coding in quotes": b'POST /in/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "chunked"\r\n\r\n'
                        b"0\r\n\r\n",
    "coding in HTTP/1.0": b"POST /in/open HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "folded field": b"POST /in/open HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\nContent-Length: 1\r\n\r\na",
    "folded coding": b"POST /in/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"
                     b"0\r\n\r\n",
    "bare LF": b"POST /in/open HTTP/1.1\nHost: x\nContent-Length: 1\n\na",
    "bare LF in one line": b"POST /in/open HTTP/1.1\r\nHost: x\nContent-Length: 1\r\n\r\na",
    "bare CR": b"POST /in/open HTTP/1.1\r\nHost: x\r\nX: a\rb\r\nContent-Length: 1\r\n\r\na",
    "space before colon": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\n\r\na",
    "tab before colon": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length\t: 1\r\n\r\na",
    "NUL in a value": b"POST /in/open HTTP/1.1\r\nHost: x\r\nX: a\0b\r\nContent-Length: 1\r\n\r\na",
    "NUL in a name": b"POST /in/open HTTP/1.1\r\nHost: x\r\nX\0: a\r\nContent-Length: 1\r\n\r\na",
    "NUL in the target": b"POST /in/open\0 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
    "field without colon": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length 1\r\n\r\na",
    "field without name": b"POST /in/open HTTP/1.1\r\nHost: x\r\n: a\r\nContent-Length: 1\r\n\r\na",
    "no Host": b"POST /in/open HTTP/1.1\r\nContent-Length: 1\r\n\r\na",
    "two Hosts": b"POST /in/open HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 1\r\n\r\na",
    "two targets": b"POST /in/open /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
    "two spaces": b"POST  /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
    "no version": b"POST /in/open\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
    "two keys": b"POST /in/open HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n"
                b"Content-Length: 1\r\n\r\na",
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    "a head within the body": b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
                              b"Content-Length: 44\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.proves("IN9")
def test_ambiguous_requests_are_refused_and_the_connection_ends(node):
    for name, data in SMUGGLING.items():
        with Wire(node) as w:
            w.send(data, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert w.answer().status == 400, name
            assert w.is_closed(), name  # what follows is never taken for a request
    assert node.documents() == []
    assert node.metrics()['waybill_http_refused_total{reason="bad_request"}'] == len(SMUGGLING)


def test_limits_of_the_head(node):
    def status(data):
        with Wire(node) as w:
            try:
                return w.send(data).answer().status
            except Closed:
                return None

    length = "Content-Length: 1"
    assert status(head("/in/open", *[f"X-{i}: y" for i in range(80)], length) + b"x") == 202
    assert status(head("/in/open", *[f"X-{i}: y" for i in range(300)], length) + b"x") == 431
    assert status(head("/in/open", "X: " + "y" * 8000, length) + b"x") == 202
    assert status(head("/in/open", "X: " + "y" * 100_000, length) + b"x") == 431
    assert status(head("/in/open?" + "q" * 4000, length) + b"x") == 202
    assert status(head("/in/open?" + "q" * 100_000, length) + b"x") == 414
    assert status(head("/in/open", length, version="HTTP/2.0") + b"x") == 505
    assert status(head("/in/open", length, "Expect: magic") + b"x") == 417
    assert len(node.documents()) == 3


def test_many_requests_on_one_connection(node):
    """Pipelined, of all kinds: each answer in its turn."""
    turns = [(head("/in/open", "Content-Length: 3") + b"one", 202),
             (head("/in/nowhere", "Content-Length: 3") + b"two", 404),
             (head("/healthz", method="GET"), 200),
             (head("/in/open", "Transfer-Encoding: chunked") + chunk(b"three") + b"0\r\n\r\n", 202),
             (head("/in/open", "Content-Length: 0"), 400),
             (head("/in/orders", "Content-Length: 4") + b"four", 401),
             (head("/in/open", "Content-Length: 2000000") + b"5" * 2_000_000, 202),
             (head("/in/open", "Content-Length: 3", "Connection: close") + b"six", 202)]
    with Wire(node) as w:
        w.send(b"".join(data for data, _ in turns))
        ids = []
        for _, status in turns:
            got = w.answer()
            assert got.status == status
            if status == 202:
                ids.append(json.loads(got.body)["document"])
        assert w.is_closed()
    assert [node.get(f"/documents/{i}/payload").body for i in ids] == [
        b"one", b"three", b"5" * 2_000_000, b"six"]
    with Wire(node) as w:  # byte by byte
        for byte in head("/in/open", "Content-Length: 2") + b"ab":
            w.send(bytes([byte]))
        assert w.answer().status == 202


@pytest.mark.proves("IN9")
def test_slow_senders_are_cut_off(node):
    """All at once, because the limits are 10 s: a slow head, a body that stands still, a body
    under 1 KiB/s, and one over it that is left alone."""
    def slow(first, bit, pause, most):
        with Wire(node, timeout=20) as w:
            start = time.monotonic()
            w.send(first)
            while w.is_silent(pause) and time.monotonic() - start < most:
                try:
                    w.send(bit)
                except OSError:
                    break
            took = time.monotonic() - start
            return w.answer().status, took, w.is_closed()

    def slow_head(_):
        return slow(b"POST /in/open HTTP/1.1\r\nHost: x\r\n", b"X-More: y\r\n", 0.5, 18)

    def still(_):
        return slow(head("/in/open", "Content-Length: 100000"), b"", 0.5, 18)

    def slow_body(_):
        return slow(head("/in/open", "Content-Length: 100000"), b"x" * 250, 0.5, 25)

    def good(_):
        with Wire(node, timeout=20) as w:
            w.send(head("/in/open", "Content-Length: 23000"))
            for _ in range(23):
                w.send(b"x" * 1000)
                time.sleep(0.5)
            return w.answer().status, 0, True

    work = [slow_head, still, slow_body, good]
    results = at_once(len(work), lambda i: work[i](i))
    for one, (status, took, closed) in zip(work[:-1], results):
        assert status == 408 and closed, one.__name__
        assert 9 <= took <= 16, f"{one.__name__} {took:.1f} s"
    assert results[-1][0] == 202
    assert len(node.documents()) == 1


# ---- idempotency keys --------------------------------------------------------------------------


def keyed(node, key, body=b"x", gateway="open", **fields):
    return node.post(gateway, body, {"Idempotency-Key": key, **fields})


@BOTH
@pytest.mark.proves("IN6")
def test_a_key_is_answered_again(node):
    first = keyed(node, "a")
    again = keyed(node, "a")
    assert first.status == again.status == 202
    assert first.body == again.body and first.headers["Location"] == again.headers["Location"]
    differs = keyed(node, "a", b"y")
    assert differs.status == 422 and error(differs) == "key_reused"
    assert keyed(node, "a").body == first.body  # a 422 changes nothing
    assert keyed(node, "b").body != first.body
    assert keyed(node, "A").body != first.body
    node.restart()
    assert keyed(node, "a").body == first.body
    assert keyed(node, "a", b"y").status == 422
    node.kill()
    node.start()
    assert keyed(node, "a").body == first.body
    assert len(node.documents()) == 3
    counts = node.metrics()
    assert counts['waybill_documents_repeated_total{gateway="open"}'] == 1


@BOTH
@pytest.mark.proves("IN6")
def test_a_key_is_one_callers_at_one_gateway(node):
    one, two = node.add_key("orders")[0], node.add_key("orders")[0]
    third = node.add_key("bills")[0]
    answers = [keyed(node, "k", b"1", "orders", **bearer(one)),
               keyed(node, "k", b"2", "orders", **bearer(two)),
               keyed(node, "k", b"3", "bills", **bearer(third)),
               keyed(node, "k", b"4", "bills", **bearer(node.token)),
               keyed(node, "k", b"5", "open")]
    assert [a.status for a in answers] == [202] * 5
    assert len({a.body for a in answers}) == 5
    assert keyed(node, "k", b"1", "orders", **bearer(one)).body == answers[0].body


@BOTH
@pytest.mark.proves("IN6")
def test_equal_bytes_without_a_key_are_two_documents(node):
    """Equal documents may be meant; only the sender knows, and says so with a key."""
    first, second = (node.post("open", b"the same") for _ in range(2))
    assert first.status == second.status == 202
    assert first.json["document"] != second.json["document"]
    assert len(node.documents()) == 2
    assert node.metrics().get('waybill_documents_repeated_total{gateway="open"}', 0) == 0


@BOTH
def test_lengths_of_keys(node):
    long = keyed(node, "k" * 255)
    assert long.status == 202 and keyed(node, "k" * 255).body == long.body
    assert keyed(node, "k" * 254).body != long.body
    assert keyed(node, "k" * 256).status == 400
    assert keyed(node, "").status == 400
    assert keyed(node, "sp ace; ü".encode()).status == 202
    assert len(node.documents()) == 3


@BOTH
@pytest.mark.proves("IN6", "EN3")
def test_many_at_the_same_time_with_one_key(node):
    for round_ in range(3):
        same = at_once(12, lambda _: keyed(node, f"r{round_}", b"same"))  # pylint: disable=cell-var-from-loop
        assert [a.status for a in same] == [202] * 12 and len({a.body for a in same}) == 1
    mixed = at_once(12, lambda i: keyed(node, "m", b"%d" % (i % 3)))
    won = [a for a in mixed if a.status == 202]
    assert len({a.body for a in won}) == 1 and len(won) == 4
    assert sorted({a.status for a in mixed}) == [202, 422]
    large = at_once(3, lambda _: keyed(node, "l", b"L" * 3 * MIB))
    assert [a.status for a in large] == [202] * 3 and len({a.body for a in large}) == 1
    assert len(node.documents()) == 5
    assert node.cli("doctor").returncode == 0


@BOTH
@pytest.mark.proves("IN9", "EN4")
def test_large_bodies_that_no_document_took_go(node, request):
    body = b"L" * 2 * MIB
    first = keyed(node, "l", body)
    assert keyed(node, "l", body).body == first.body
    assert keyed(node, "l", b"other" + body).status == 422
    with Wire(node) as w:
        w.send(head("/in/open", "Content-Length: 9000000"), body)

    def stored():
        if node.store is None:
            return len(leftovers(node))
        server, database = request.getfixturevalue("postgres"), node.store.rpartition("/")[2]
        tables = server.sql("SELECT tablename FROM pg_tables WHERE tablename ~ '^payload_piece_[0-9]+$'", database)
        pieces = " UNION ".join(f"SELECT upload FROM {name}" for name in tables.split())
        return int(server.sql(f"SELECT count(DISTINCT upload) + (SELECT count(*) FROM payload_upload) FROM ({pieces}) AS p", database))

    wait_until(lambda: stored() == 1, 30, "removal")
    assert node.get(f"/documents/{first.json['document']}/payload").body == body
    assert node.cli("doctor").returncode == 0


@BOTH
@pytest.mark.proves("IN6")
def test_the_second_waits_for_the_first(make_node):
    """The first is in its commit for a while; the second comes meanwhile, and a third with
    another body."""
    node = make_node(environment={"WAYBILL_FAULT": "group.written:delay_ms:500"})
    node.start()
    with Wire(node) as one, Wire(node) as two, Wire(node) as three:
        begun = time.monotonic()
        for w, body in ((one, b"x"), (two, b"x"), (three, b"y")):
            w.send(head("/in/open", "Idempotency-Key: k", "Content-Length: 1"), body)
            time.sleep(0.15)
        second = two.answer()
        took = time.monotonic() - begun
        first, third = one.answer(), three.answer()
    assert first.status == second.status == 202
    assert first.body == second.body and third.status == 422
    assert took >= 0.5, "the second was answered before the commit"
    assert len(node.documents()) == 1


@BOTH
@pytest.mark.config(CONFIG.replace("auth: none }", "auth: none, idempotency: 1s }", 1))
def test_a_key_is_over_after_its_time(node):
    def twice(body):
        """The second time it is the same answer, unless this machine is so slow that the time is over."""
        began = time.monotonic()
        first, again = keyed(node, "k", body), keyed(node, "k", body)
        assert first.status == again.status == 202
        assert first.body == again.body or time.monotonic() - began >= 1
        return again

    first = twice(b"x")
    time.sleep(1.3)
    assert twice(b"y").body != first.body


@BOTH
@pytest.mark.proves("IN6")
def test_a_shorter_time_leaves_earlier_keys_alone(node, tmp_path):
    first = keyed(node, "k")
    text = node.config_file.read_text()
    (tmp_path / "new.yaml").write_text(text.replace("open:   { kind: http, auth: none }",
                                                    "open: { kind: http, auth: none, idempotency: 1m }"))
    assert node.cli("apply", tmp_path / "new.yaml").returncode == 0
    assert keyed(node, "k").body == first.body
    assert keyed(node, "new").body == keyed(node, "new").body


@BOTH
def test_only_what_was_accepted_is_kept(node):
    """A refusal with a key is no answer to remember."""
    assert keyed(node, "k", b"x" * 200_000, "small").status == 413
    got = keyed(node, "k", b"x", "small")
    assert got.status == 202 and "Idempotent-Replay" not in got.headers
    assert keyed(node, "k", b"x", "small").headers["Idempotent-Replay"] == "true"


def test_what_the_head_said_is_kept_without_secrets(node):
    """Fields and query are stored for extraction; credentials are not."""
    key, _ = node.add_key("orders")
    got = node.request("POST", "/in/orders?lane=7", b"x",
                       bearer(key, **{"X-Sender": "acme-4711", "Cookie": "c00kie",
                                      "X-API-Key": "another-s3cret"}))
    assert got.status == 202
    node.stop()
    stored = b"".join((node.data / n).read_bytes() for n in ("waybill.db", "waybill.db-wal")
                      if (node.data / n).exists())
    assert b"acme-4711" in stored and b"lane=7" in stored
    for secret in (b"c00kie", b"another-s3cret", key.encode()):
        assert secret not in stored
    assert re.search(rb"(?i)x-sender: acme-4711", stored)
