"""`convert` and extraction with messages of other people: what comes back is what came in, byte for byte, and
readers of other people see the same segments."""
import json
import random
import subprocess

import pytest

import npm_folder
import wire
from running_node import ROOT

EDIFACT = ROOT / "build/deps/edifact/usr/share/doc/libbusiness-edifact-interchange-perl/examples"

ROUND = """\
  - {{ name: {name}, when: {{ type: {name} }}, do: [ {{ convert: {{ from: {there}, to: {form}{more} }} }}, {{ deliver: there }},
       {{ convert: {{ from: {form}, to: {there}{more} }} }}, {{ deliver: back }} ] }}
"""
WAYS = {"hl7": ("hl7", "json", ""), "xml": ("hl7", "xml", ""), "x12": ("x12", "json", ""),
        "edifact": ("edifact", "json", ""), "csv": ("csv", "json", ""),
        "fixed": ("fixed", "json", ", columns: { id: 3, name: 5 }")}
CONFIG = """\
systems: { hub: {}, lab: { ids: [WEST, "ACME", "5013546025078"] }, clinic: { ids: [EAST, "R", "5030670154036"] } }
types: { "*": {} }
gateways:
  hl7: { kind: http, auth: none, extract: hl7 }
  x12: { kind: http, auth: none, extract: x12 }
  edifact: { kind: http, auth: none, extract: edifact }
  mixed: { kind: http, auth: none, extract: { sender: [hl7, x12, edifact], receiver: [hl7, x12, edifact], type: "value:any",
           attributes: { patient: "hl7:PID-3[2].1" } } }
  in: { kind: http, auth: none, extract: { sender: "value:hub", receiver: "value:hub", type: "header:X-Way" } }
endpoints:
  there: { kind: file, path: ./there, name: "${id}" }
  back: { kind: file, path: ./back, name: "${id}" }
routes:
  - { name: all, when: { receiver: clinic }, do: [ { deliver: there } ] }
  - { name: numbers, when: { type: numbers }, do: [ { convert: { from: json, to: csv } }, { deliver: there } ] }
""" + "".join(ROUND.format(name=name, there=there, form=form, more=more)
              for name, (there, form, more) in WAYS.items())


@pytest.fixture(name="modules", scope="session")
def modules_fixture():
    """The packages of tests/formats, fetched once."""
    return npm_folder.install("formats") / "node_modules"


@pytest.fixture(name="scene")
def scene_fixture(make_node):
    node = make_node(config=CONFIG)
    for name in ("there", "back"):
        (node.folder / name).mkdir()
    node.start()
    return node


def show(node, doc):
    return node.graphql("query($i: ID!) { document(id: $i) { state error { code message } } }", i=doc)["document"]


def send(node, way, body):
    got = node.post("in", body, headers={"X-Way": way})
    assert got.status == 202
    return got.json["document"]


def ended(node, doc):
    wire.wait_until(lambda: show(node, doc)["state"] in ("delivered", "dead"), 60, f"the end of {doc}")
    return show(node, doc)


def there_and_back(node, way, body):
    """What the document was in between."""
    doc = send(node, way, body)
    assert ended(node, doc)["state"] == "delivered", show(node, doc)
    assert (node.folder / "back" / doc).read_bytes() == body
    return (node.folder / "there" / doc).read_bytes()


@pytest.mark.smoke
def test_samples_of_npm_and_debian_go_there_and_back(scene, modules):
    hl7 = [*(modules / "simple-hl7/test/samples").iterdir(), *(modules / "hl7-standard/tests/data").iterdir(),
           modules / "hl7-standard/examples/data/input.hl7"]
    edifact = list(EDIFACT.iterdir())
    assert len(hl7) == 10 and len(edifact) == 7
    for path in hl7:
        found = json.loads(there_and_back(scene, "hl7", path.read_bytes()))
        assert found["segments"][0][0] in ("MSH", "FHS")
        assert b"<MSH.1>" in there_and_back(scene, "xml", path.read_bytes())
    for path in edifact:
        found = json.loads(there_and_back(scene, "edifact", path.read_bytes()))
        assert [s[0] for s in found["segments"][:3]] == ["UNA", "UNB", "UNH"]


def interchange(chance, number):
    """One X12 interchange, and its segments as lists of lists of components."""
    element, component, repetition = chance.choice(["*>^", "|:^", "*:!", "+<^"])
    end = chance.choice(["~", "~\n", "'\r\n", "\x1c", "~\r\n"])

    def words(most):
        return "".join(chance.choice("ABC xyz019.-/") for _ in range(chance.randint(0, most))).strip()

    def segment():
        name = chance.choice(["N1", "PO1", "REF", "SVC", "Z9Z"])
        elements = [[words(8) for _ in range(chance.choice([1, 1, 1, 2, 3]))] for _ in range(chance.randint(1, 9))]
        elements[-1][-1] += "x"  # some readers drop empty ends
        return [name, *elements]

    control, transactions = f"{number:09}", []
    for t in range(chance.randint(1, 3)):
        inside = [segment() for _ in range(chance.randint(1, 6))]
        transactions += [["ST", ["850"], [f"{t:04}"]], *inside, ["SE", [str(len(inside) + 2)], [f"{t:04}"]]]
    isa = ["ISA", ["00"], [" " * 10], ["00"], [" " * 10], ["ZZ"], [f"S{number}".ljust(15)], ["ZZ"], ["R".ljust(15)],
           ["261117"], ["1200"], [repetition], ["00501"], [control], ["0"], ["P"], [component]]
    gs = ["GS", ["PO"], ["A"], ["B"], ["20261117"], ["1200"], ["7"], ["X"], ["005010"]]
    count = sum(s[0] == "ST" for s in transactions)
    segments = [isa, gs, *transactions, ["GE", [str(count)], ["7"]], ["IEA", ["1"], [control]]]
    text = "".join(s[0] + "".join(element + component.join(e) for e in s[1:]) + end for s in segments)
    return text, component, segments


def texts(segments, component, without_zeros=False):
    """Segments as [name, text of an element...]; an element is a list of components.  Blanks at the ends, and on
    request the leading zeros of the envelope, are what some readers leave out."""
    def text(name, element):
        joined = component.join((c or "").strip() for c in element or [""])
        return joined.lstrip("0") if without_zeros and name in ("ISA", "IEA") else joined
    return [[s[0], *[text(s[0], e) for e in s[1:]]] for s in segments]


def components(segments, component):
    """What node-x12 has as one text."""
    return [[s[0], *[[e] if s[0] == "ISA" else e.split(component) for e in s[1:]]] for s in segments]


def ours(there):
    """The first repetition of each element; those of ISA are plain texts."""
    return [[s[0], *[[e] if isinstance(e, str) else e[0] if e else [""] for e in s[1:]]]
            for s in json.loads(there)["segments"]]


def test_other_readers_see_the_same_x12(scene, modules):
    chance = random.Random(4711)
    made = [interchange(chance, n) for n in range(1, 201)]
    docs = [send(scene, "x12", text.encode()) for text, _, _ in made]
    done = subprocess.run(["node", modules.parent / "segments.mjs"], input=json.dumps([m[0] for m in made]),
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    for doc, (text, component, wanted), seen in zip(docs, made, json.loads(done.stdout)):
        assert ended(scene, doc)["state"] == "delivered"
        assert (scene.folder / "back" / doc).read_bytes() == text.encode()
        found = ours((scene.folder / "there" / doc).read_bytes())
        assert found == wanted
        assert texts(found, component) == texts(seen["parser"], component)
        assert texts(found, component, True) == texts(components(seen["node"], component), component, True)


def test_tables_go_there_and_back(scene):
    there = there_and_back(scene, "csv", b'\xef\xbb\xbfid;price\r\n1;1.10\r\n"2";123456789012345678901234567890\r\n3')
    rows = json.loads(there)["rows"]
    assert rows[:2] == [{"id": "1", "price": "1.10"}, {"id": "2", "price": "123456789012345678901234567890"}]
    there = there_and_back(scene, "fixed", b"001Ada  \r\n  2Grace\r\n3")
    assert json.loads(there)["rows"][1] == {"id": "  2", "name": "Grace"}


def test_numbers_of_json_leave_as_they_are_written(scene):
    doc = send(scene, "numbers", b'[ {"a": 1.10, "b": 123456789012345678901234567890, "c": -0e+5} ]')
    assert ended(scene, doc)["state"] == "delivered", show(scene, doc)
    assert (scene.folder / "there" / doc).read_bytes() == b"a,b,c\n1.10,123456789012345678901234567890,-0e+5\n"


HL7 = b"MSH|^~\\&|LAB|WEST^1.2^ISO|HIS|EAST|20261115||ORU^R01^ORU_R01|77|P|2.5\rPID|1||4711^^^MR~99\r"
X12 = interchange(random.Random(1), 1)[0].replace("S1   ", "ACME ").encode()
UNB = b"UNA:+.? '\r\nUNB+UNOC:3+5013546025078:14+5030670154036:14+060223:1601+0212'\r\nUNH+1+QUOTES:D:96A:UN'\r\n"


def facts(node, doc):
    fields = "sender receiver type state error { code message } attributes { name value }"
    return node.graphql(f"query($i: ID!) {{ document(id: $i) {{ {fields} }} }}", i=doc)["document"]


def test_who_and_what_by_the_fields_of_the_standard(scene):
    for gateway, body, kind in (("hl7", HL7, "ORU^R01"), ("x12", X12, "850"), ("edifact", UNB, "QUOTES")):
        doc = scene.accept(gateway, body)
        assert ended(scene, doc)["state"] == "delivered", show(scene, doc)
        found = facts(scene, doc)
        assert (found["sender"], found["receiver"], found["type"]) == ("lab", "clinic", kind)
        doc = scene.accept("mixed", body)
        assert ended(scene, doc)["state"] == "delivered", show(scene, doc)
    doc = scene.accept("mixed", HL7)
    ended(scene, doc)
    assert {"name": "patient", "value": "99"} in facts(scene, doc)["attributes"]


@pytest.mark.proves("EX5")
def test_what_cannot_be_read_is_dead_with_its_place(scene):
    bad = {"hl7": (b"\r\nMSH|^^\\&|a\r", "segment 1: two of the separators are the same byte, at byte 7, line 2"),
           "x12": (X12[:50], "segment 1: the text ends within its header, at byte 51"),
           "edifact": (UNB[:-5] + b"+", "segment 3: the text ends within a segment: its terminator is missing, at byte 96")}
    for gateway, (body, place) in bad.items():
        ident = scene.accept(gateway, body)
        doc = ended(scene, ident)
        assert doc["state"] == "dead" and doc["error"]["code"] == "extract_failed" and place in doc["error"]["message"], doc
        assert scene.cli("docs", "payload", ident, text=False).stdout == body
        mended = {"hl7": HL7, "x12": X12, "edifact": UNB}[gateway]
        made = scene.cli("docs", "edit", ident, "-", "--by", "ann", stdin=mended, text=False)
        assert made.returncode == 0, made.stderr
        edited = scene.show(ident, "edits { items { id } }")["edits"]["items"][0]["id"]
        assert ended(scene, edited)["state"] == "delivered", show(scene, edited)
        assert (scene.folder / "there" / edited).read_bytes() == mended


@pytest.mark.proves("EX10")
def test_messages_that_explode_end_at_a_limit(scene):
    """A segment of a million parts stands before what is asked for."""
    bombs = {"mixed": HL7.replace(b"PID", b"NTE|" + b"^" * 1_100_000 + b"\rPID"),
             "x12": X12.replace(b"ST" + X12[3:4], b"N1" + X12[3:4] * 1_100_000 + X12[105:106] + b"ST" + X12[3:4], 1),
             "edifact": UNB.replace(b"UNH+", b"BGM+" + b"+" * 1_100_000 + b"'UNH+")}
    for gateway, body in bombs.items():
        assert len(body) > 1_000_000
        doc = ended(scene, scene.accept(gateway, body))
        assert doc["state"] == "dead" and doc["error"]["code"] == "budget", doc
        assert "the segment has more than 1000000 parts" in doc["error"]["message"], doc
    assert ended(scene, scene.accept("hl7", HL7))["state"] == "delivered"


@pytest.mark.proves("EX5")
def test_bad_messages_end_with_their_position(scene):
    bad = {
        ("hl7", b"PID|1\r"): "HL7: segment 1, byte 1: it begins with neither MSH, FHS nor BHS",
        ("xml", b"MSH|^~\\&|a\rpid|1\r"): "HL7: segment 2, byte 12: no segment name",
        ("x12", b"ISA*00*      "): "X12: segment 1, byte 14: the text ends within its header",
        ("edifact", b"UNB+UNOA:2+A?'"): "EDIFACT: segment 1, byte 15: the text ends within a segment",
        ("hl7", b"MSH|^~\\&|a\rOBX|" + b"^" * 1_100_000): "HL7: segment 2, byte 12: the segment has more than 1000000",
        ("csv", b'a,b\n1,"2\n'): "CSV: row 2, line 3, byte 10: a quote is not closed",
    }
    for (way, body), message in bad.items():
        doc = ended(scene, send(scene, way, body))
        code = "limit" if "more than" in message else "service_failed"
        assert doc["state"] == "dead" and doc["error"]["code"] == code and message in doc["error"]["message"], doc
