"""Files in multipart/form-data: curl, and forms that no client would send."""
import os
import socket
import subprocess
import time
import urllib.parse

import pytest

PATIENCE = 60
MIB = 1 << 20

CONFIG = """\
systems: { acme: {}, hub: {} }
types: { order: {} }
gateways:
  up:
    kind: http
    auth: none
    form: true
    extract: { sender: "query:from", receiver: "query:to", type: "query:kind", attributes: { note: "query:note" } }
    limits: { size: 8 MiB }
  plain: { kind: http, auth: none }
  soap:  { kind: http, auth: none, form: true, reply: soap }
routes:
  - { name: all, do: [ { drop: "it is only looked at" } ] }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    from running_node import Node  # pylint: disable=import-outside-toplevel
    one = Node(tmp_path_factory.mktemp("forms"), config=CONFIG)
    one.start()
    yield one
    one.stop()


def curl(node, *arguments, gateway="up"):
    """The status and the body."""
    done = subprocess.run(["curl", "-s", "-o", "-", "-w", "\n%{http_code}", "--max-time", str(PATIENCE), *arguments,
                           f"{node.url}/in/{gateway}"], capture_output=True, text=True, check=True)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def new_document(node, act):
    """What `act` did: the id of the one document that came of it."""
    before = set(node.documents())
    status, body = act()
    assert status == 202, body
    doc, = set(node.documents()) - before
    return doc


def facts(node, doc):
    until = time.monotonic() + PATIENCE
    while (seen := node.show(doc, "state name contentType sender receiver type size attributes { name value }"))["state"] == "received":
        assert time.monotonic() < until
        time.sleep(0.05)
    del seen["state"]
    return seen


def payload(node, doc):
    return node.get(f"/documents/{doc}/payload").body


@pytest.mark.smoke
def test_the_file_is_the_document(made, tmp_path):
    path = tmp_path / "order ü.xml"
    path.write_bytes(b"<order>\r\n--x\r\n</order>")
    doc = new_document(made, lambda: curl(made, "-F", "from=acme", "-F", f"file=@{path};type=text/xml", "-F", "kind=order", "-F", "to=hub"))
    assert payload(made, doc) == path.read_bytes()
    assert facts(made, doc) == {"name": "order ü.xml", "contentType": "text/xml", "sender": "acme", "receiver": "hub",
                                "type": "order", "size": path.stat().st_size, "attributes": []}


@pytest.mark.parametrize("size", [1, 4095, 65536, MIB - 1, MIB + 1, 6 * MIB])
def test_sizes(made, tmp_path, size):
    path = tmp_path / "a"
    path.write_bytes((b"\r\n--" + os.urandom(61)) * (size // 65 + 1))
    os.truncate(path, size)
    doc = new_document(made, lambda: curl(made, "-F", f"f=@{path}", "-F", "from=acme"))
    assert payload(made, doc) == path.read_bytes()
    assert facts(made, doc)["sender"] == "acme"


def test_fields_may_hold_anything(made):
    doc = new_document(made, lambda: curl(made, "-F", "note=a&to=hub%41+ü=1", "-F", "kind=order", "-F", "f=x;filename=a"))
    seen = facts(made, doc)
    assert seen["attributes"] == [{"name": "note", "value": "a&to=hub%41+ü=1"}]
    assert (seen["receiver"], seen["type"]) == (None, "order")


def test_the_address_goes_first(made):
    boundary = "b"
    body = form(part("from", b"later"), part("f", b"x", "a.txt"), boundary=boundary)
    answer = made.request("POST", "/in/up?from=acme&to=hub", body, {"Content-Type": f"multipart/form-data; boundary={boundary}"})
    assert answer.status == 202
    seen = facts(made, answer.json["document"])
    assert (seen["sender"], seen["receiver"]) == ("acme", "hub")


def test_without_the_option_a_form_is_a_document(made, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x")
    doc = new_document(made, lambda: curl(made, "-F", f"f=@{path}", gateway="plain"))
    assert b"Content-Disposition" in payload(made, doc)


def test_other_requests_are_taken_as_they_are(made):
    doc = new_document(made, lambda: curl(made, "-H", "Content-Type: text/plain", "-d", "order"))
    assert payload(made, doc) == b"order"


def test_a_name_of_the_request_goes_first(made):
    body = form(part("f", b"x", "C:\\dir\\b.txt"))
    for headers, name in (({}, "b.txt"), ({"Waybill-Name": "mine.txt"}, "mine.txt")):
        doc = made.accept("up", body, {"Content-Type": TYPE, **headers})
        assert facts(made, doc)["name"] == name


def test_a_repetition_is_known_by_the_file(made):
    headers = {"Content-Type": TYPE, "Idempotency-Key": "k1"}
    first = made.accept("up", form(part("f", b"x", "a")), headers)
    other = {"Content-Type": "multipart/form-data; boundary=another", "Idempotency-Key": "k1"}
    assert made.accept("up", form(part("f", b"x", "a"), boundary="another"), other) == first


# ---- forms by hand

TYPE = "multipart/form-data; boundary=AaB03x"


def part(name, body, file=None, head=b""):
    file = b"" if file is None else b'; filename="' + file.encode() + b'"'
    return b'Content-Disposition: form-data; name="' + name.encode() + b'"' + file + b"\r\n" + head + b"\r\n" + body


def form(*parts, boundary="AaB03x", end=b"--\r\n"):
    mark = b"--" + boundary.encode()
    return b"".join(mark + b"\r\n" + p + b"\r\n" for p in parts) + mark + end


FILE = part("f", b"x", "a.txt")
WRONG = {
    "nothing": (b"x", "before its last boundary"),
    "no file": (form(part("a", b"1")), "no file"),
    "no file chosen": (form(part("a", b"1"), part("f", b"", "")), "no file"),
    "two files": (form(FILE, FILE), "more than one file"),
    "empty file": (form(part("f", b"", "a.txt")), "is empty"),
    "cut": (form(FILE)[:-10], "before its last boundary"),
    "not closed": (form(FILE, end=b"\r\n"), "before its last boundary"),
    "no name": (form(b"\r\nx"), "no name"),
    "base64": (form(part("f", b"eA==", "a.txt", b"Content-Transfer-Encoding: base64\r\n")), "transfer encoding"),
    "long head": (form(b"X: " + b"x" * 5000 + b"\r\n" + FILE), "4 KiB"),
    "many parts": (form(*[part("a", b"1")] * 101), "100 parts"),
    "large fields": (form(part("a", b"x" * 20000), FILE), "16 KiB"),
    "large field of blanks": (form(part("a", b" " * 8000), FILE), "16 KiB"),
    "long name": (form(part("f", b"x", "x" * 2000)), "1024 bytes"),
    "name of bytes": (form(FILE.replace(b"a.txt", b"\xff.txt")), "not readable"),
    "name with a tab": (form(FILE.replace(b"a.txt", b"a\tb")), "not readable"),
    "long beginning": (b"x" * 5000 + form(FILE), "begin with its boundary"),
    "longer boundary": (form(FILE).replace(b"AaB03x\r\n", b"AaB03xy\r\n"), "line of its own"),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_forms_that_are_wrong(made, what, piece):
    body, says = WRONG[what]
    before = len(made.documents())
    status, answer = chunked(made, body, piece)
    assert status == 400 and b"bad_form" in answer and says.encode() in answer, (status, answer)
    assert len(made.documents()) == before


def chunked(node, body, piece):
    """In chunks; those of one byte as one write, so that it does not take for ever."""
    where = urllib.parse.urlsplit(node.url)
    pieces = [body[i:i + piece] for i in range(0, len(body), piece)]
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as s:
        s.sendall(b"POST /in/up HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
                  b"Content-Type: " + TYPE.encode() + b"\r\n\r\n")
        try:
            s.sendall(b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was refused before its end
        answer = s.makefile("rb").read()
    return int(answer.split()[1]), answer


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_a_form_in_pieces(made, piece):
    body = bytes(range(256)) + b"\r\n--AaB03" + b"\r\r\n--AaB03\r\n-"
    status, answer = chunked(made, form(part("from", b"acme"), part("f", body, "a.bin"), part("to", b"hub")), piece)
    assert status == 202, answer
    doc = made.documents()[0]
    assert payload(made, doc) == body
    assert (facts(made, doc)["sender"], facts(made, doc)["receiver"]) == ("acme", "hub")


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=" + "x" * 71,
                                  "multipart/form-data; boundary=a; boundary=b", 'multipart/form-data; boundary="a'])
def test_boundaries_that_are_wrong(made, kind):
    answer = made.post("up", form(FILE), {"Content-Type": kind})
    assert (answer.status, answer.json["error"]["code"]) == (400, "bad_form")


def test_a_form_has_the_size_of_its_gateway(made, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * (8 * MIB))
    status, body = curl(made, "-H", "Expect: 100-continue", "-F", f"f=@{path}")
    assert (status, "too_large" in body) == (413, True)


def test_a_form_is_refused_by_a_fault_where_soap_is_spoken(made):
    answer = made.post("soap", form(part("a", b"1")), {"Content-Type": TYPE})
    assert answer.status == 400 and b"soap:Client" in answer.body and b'code="bad_form"' in answer.body
