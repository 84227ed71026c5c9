"""`split`, `charset`, `compress` and `decompress` with a node: what others packed is read, others read what is packed,
a document becomes its parts, and a bad one ends with the place of the mistake and makes none."""
import gzip
import io
import json
import subprocess
import zipfile
import zlib

import pytest

import wire
from running_node import BINARY

CONFIG = """\
systems: {{ hub: {{}}, north: {{}}, south: {{}} }}
types: {{ "*": {{}} }}
gateways:
  in: {{ kind: http, auth: none, limits: {{ size: 128 MiB }}, extract: {{ sender: "value:hub", receiver: "value:hub", type: "header:X-Way" }} }}
endpoints:
  shelf: {{ kind: file, path: ./shelf, name: "${{id}}" }}
routes:
  - {{ name: part, when: {{ type: part }}, do: [ {{ deliver: shelf }} ] }}
  - {{ name: way, when: {{ type: way }}, do: [ {steps} ] }}
"""
DELIVER = ", { deliver: shelf }"
CUT = '{{ split: {{ {}, type: "value:part" }} }}'


@pytest.fixture(name="way")
def way_fixture(make_node):
    """Starts a node whose way has these steps."""
    def start(steps):
        node = make_node(config=CONFIG.format(steps=steps))
        (node.folder / "shelf").mkdir()
        node.start()
        return node
    return start


def show(node, doc):
    return node.graphql("query($i: ID!) { document(id: $i) { state error { code message } parts { made total } } }",
                        i=doc)["document"]


def send(node, body):
    got = node.post("in", body, headers={"X-Way": "way"})
    assert got.status == 202
    return got.json["document"]


def ended(node, doc):
    wire.wait_until(lambda: show(node, doc)["state"] in ("delivered", "dead", "done"), 60, f"the end of {doc}")
    return show(node, doc)


def through(node, body):
    doc = send(node, body)
    shown = ended(node, doc)
    assert shown["state"] == "delivered", shown
    return (node.folder / "shelf" / doc).read_bytes()


def parts(node, body, count):
    """The bytes of the parts of a document, sorted."""
    doc = send(node, body)
    shown = ended(node, doc)
    assert shown["state"] == "done" and shown["parts"] == {"made": count, "total": count}, shown
    shelf = node.folder / "shelf"
    wire.wait_until(lambda: len(list(shelf.iterdir())) == count, 60, f"{count} parts")
    return sorted(p.read_bytes() for p in shelf.iterdir())


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files:
            archive.writestr(name, body)
    return out.getvalue()


BODY = "".join(f"{n};Käse\n" for n in range(20000)).encode()


@pytest.mark.parametrize("form, unpack", [
    ("gzip", gzip.decompress),
    ("deflate", zlib.decompress),
    ("zip", lambda b: zipfile.ZipFile(io.BytesIO(b)).read("document")),
])
def test_others_read_what_is_packed(way, form, unpack):
    packed = through(way(f"{{ compress: {form} }}" + DELIVER), BODY)
    assert len(packed) < len(BODY) / 3 and unpack(packed) == BODY


@pytest.mark.smoke
@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, lambda b: zipped([("a/b.csv", b)])])
def test_what_others_packed_is_unpacked_and_read(way, pack):
    node = way("{ decompress: }, { charset: { from: UTF-8, to: ISO-8859-1 } }" + DELIVER)
    assert through(node, pack(BODY)) == BODY.decode().encode("latin1")


@pytest.mark.parametrize("rule, body, want", [
    ('json: /orders', b'{"orders":[ {"n":1.10}, 123456789012345678901234567890 ]}',
     [b'{"n":1.10}', b"123456789012345678901234567890"]),
    ("xml: /e/d", b'<e xmlns="urn:x"><d>1</d><d/></e>', [b'<d xmlns="urn:x">1</d>', b'<d xmlns="urn:x"/>']),
    ("csv: 1", b"a,b\r\n1,2\r\n3,4\r\n", [b"a,b\r\n1,2\r\n", b"a,b\r\n3,4\r\n"]),
    ("lines: 1", b"one\ntwo\n", [b"one\n", b"two\n"]),
    ("zip: entries", zipped([("../../etc/x", b"first"), ("y", b"second")]), [b"first", b"second"]),
    ("hl7: message", b"MSH|^~\\&|A\rPID|1\rMSH|^~\\&|B\rPID|2\r",
     [b"MSH|^~\\&|A\rPID|1\r", b"MSH|^~\\&|B\rPID|2\r"]),
], ids=lambda v: v.partition(":")[0] if isinstance(v, str) else "")
def test_a_document_becomes_its_parts(way, rule, body, want):
    assert parts(way(CUT.format(rule)), body, len(want)) == sorted(want)


BOMB = "<!DOCTYPE a [<!ENTITY x0 'x'>" + "".join(
    f"<!ENTITY x{n} '{f'&x{n - 1};' * 10}'>" for n in range(1, 12)) + "]><a><b>&x11;</b></a>"


@pytest.mark.proves("PR3")
@pytest.mark.parametrize("steps, body, code, message", [
    (CUT.format("json: ''"), b"[1,2,3", "service_failed", "a comma or `]` is expected, at byte 7, line 1"),
    (CUT.format("json: ''"), b"[" + b",".join([b"1"] * 1000000) + b"]", "limit", "more than 100000 parts"),
    (CUT.format("json: ''"), b"[" * 10000, "service_failed", "too deep in each other"),
    (CUT.format("xml: /a/b"), b"<a>" * 10000, "limit", "elements stand too deep in each other"),
    (CUT.format("json: ''"), b"[" + b",\n".join([b"7" * (1 << 20)] * 70), "service_failed",
     "a comma or `]` is expected, at byte 73400460, line 70"),
    (CUT.format("json: ''"), '["Käse"]'.encode("latin1"), "service_failed", "not UTF-8, at byte 5"),
    (CUT.format("xml: /a/b"), BOMB.encode(), "service_failed", "(DOCTYPE) is refused"),
    (CUT.format("zip: entries"), zipped([("x", bytes(20 << 20))]), "limit", "more than 100 times as many"),
    (CUT.format("zip: entries"), zipped([("a/..", b"x")]), "service_failed", "no name that a file could have"),
    ("{ decompress: { most: 1 GiB } }" + DELIVER, gzip.compress(bytes(20 << 20)), "limit", "more than 100 times"),
    ("{ decompress: }" + DELIVER, gzip.compress(BODY)[:-9], "service_failed", "it ends too early, at byte"),
    ("{ decompress: }" + DELIVER, BODY, "service_failed", "neither gzip, zstd, deflate nor zip"),
    ("{ charset: UTF-8 }" + DELIVER, "Käse".encode("latin1"), "service_failed", "not UTF-8, at byte 2: e4 73 65"),
], ids=lambda v: "")
def test_a_bad_document_ends_with_the_place_and_makes_no_part(way, steps, body, code, message):
    node = way(steps)
    shown = ended(node, send(node, body))
    assert shown["state"] == "dead" and shown["error"]["code"] == code, shown
    assert message in shown["error"]["message"] and not shown["parts"], shown
    assert not list((node.folder / "shelf").iterdir())


MIXED = json.dumps([{"to": "north"}, {"for": "nobody"}, {"to": "south"}]).encode()


@pytest.mark.proves("RO4")
def test_a_bad_part_is_a_dead_letter_by_itself(way):
    node = way(CUT.format('json: "", receiver: "json:/to"'))
    parent = send(node, MIXED)
    shown = ended(node, parent)
    assert shown["state"] == "done" and shown["parts"] == {"made": 3, "total": 3}, shown
    ask = "children { items { state error { code message } } }"
    wire.wait_until(lambda: sorted(c["state"] for c in node.show(parent, ask)["children"]["items"]) ==
                    ["dead", "delivered", "delivered"], 60, "the parts")
    (dead,) = [c for c in node.show(parent, ask)["children"]["items"] if c["state"] == "dead"]
    assert dead["error"]["code"] == "extract_failed" and "no receiver" in dead["error"]["message"], dead


@pytest.mark.proves("RO4")
def test_a_bad_part_is_the_end_of_all(way):
    node = way(CUT.format('json: "", receiver: "json:/to", bad: all'))
    shown = ended(node, send(node, MIXED))
    assert shown["state"] == "dead" and shown["error"]["code"] == "extract_failed", shown
    assert "part 2: no receiver" in shown["error"]["message"] and not shown["parts"], shown


@pytest.mark.parametrize("name", ["split", "charset", "compress", "decompress"])
def test_help_tells_keys_and_an_example(name):
    text = subprocess.run([BINARY, "help", "service", name], capture_output=True, text=True, check=True).stdout
    assert f"service {name} - " in text and "keys:" in text and f"- {name}:" in text
