"""`validate`: what is valid goes on byte for byte, what is not is dead with its place; the examples of docs/validate.md."""
import copy
import re

import pytest
import yaml

import wire
from running_node import ROOT

BIG = b'{ "id" : 123456789012345678901234567890,\r\n "price":1.10, "\\u0061":-0e+5 }\n'


def blocks():
    """The blocks of docs/validate.md: what stands behind the fence, and the text."""
    page = (ROOT / "docs/validate.md").read_text()
    return re.findall(r"^```(\w+ ?[\w./]*)\n(.*?)^```", page, re.M | re.S)


def examples():
    """The files of the page, and (step, what is expected, document, message)."""
    files, found, step = {}, [], {"validate": {"json": "schemas/order.json"}}
    for info, text in blocks():
        language, _, what = info.partition(" ")
        if what.startswith("schemas/"):
            files[what] = text
        elif language == "yaml" and len(yaml.safe_load(text)) == 1:
            step = yaml.safe_load(text)[0]
        elif what == "because":
            found[-1] = (*found[-1][:3], text.strip())
        elif what in ("valid", "invalid"):
            found.append((step, what, text, None))
    return files, found


def config(steps):
    return yaml.safe_dump({
        "systems": {"hub": {}}, "types": {"*": {}},
        "gateways": {"in": {"kind": "http", "auth": "none", "extract": {
            "sender": "value:hub", "receiver": "value:hub", "type": "header:X-Way"}}},
        "endpoints": {"out": {"kind": "file", "path": "./out", "name": "${id}"}},
        "routes": [{"name": way, "when": {"type": way}, "do": [copy.deepcopy(step), {"deliver": "out"}]}
                   for way, step in steps.items()],
    })


def write(node, files):
    for path, text in files.items():
        (node.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (node.folder / path).write_text(text)


def show(node, doc):
    return node.graphql("query($i: ID!) { document(id: $i) { state error { code message } } }", i=doc)["document"]


def ended(node, way, body):
    got = node.post("in", body, headers={"X-Way": way})
    assert got.status == 202
    doc = got.json["document"]
    wire.wait_until(lambda: show(node, doc)["state"] in ("delivered", "dead"), 120, f"the end of {way}")
    return doc, show(node, doc)


@pytest.fixture(name="start")
def start_fixture(make_node):
    def start(steps, files):
        node = make_node(config=config(steps))
        (node.folder / "out").mkdir()
        write(node, files)
        node.start()
        return node
    return start


@pytest.mark.smoke
def test_the_examples_of_the_page_are_judged_as_it_says(start):
    files, found = examples()
    assert sorted(files) == ["schemas/order.json", "schemas/order.xsd", "schemas/types.xsd"] and len(found) == 4
    node = start({f"w{n}": step for n, (step, _, _, _) in enumerate(found)}, files)
    for n, (_, what, text, message) in enumerate(found):
        doc, end = ended(node, f"w{n}", text.encode())
        if what == "valid":
            assert end["state"] == "delivered" and (node.folder / "out" / doc).read_bytes() == text.encode(), end
        else:
            assert end["state"] == "dead" and end["error"] == {"code": "service_failed", "message": message}, end


@pytest.mark.proves("PR7")
def test_bytes_stay_and_hostile_documents_end(start):
    node = start(
        {"json": {"validate": {"json": "any.json", "limits": {"time": "60s"}}}, "pattern": {"validate": {"json": "pattern.json", "limits": {"time": "60s"}}},
         "deep": {"validate": {"json": "deep.json", "limits": {"time": "500ms"}}}, "xml": {"validate": "any.xsd"}},
        {"any.json": '{"type": ["object", "array"], "uniqueItems": true}', "pattern.json": '{"pattern": "^(a|aa)+$"}',
         "deep.json": '{"$defs": {"a": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}},'
                      ' "$ref": "#/$defs/a"}',
         "any.xsd": '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>'})
    doc, end = ended(node, "json", BIG)
    assert end["state"] == "delivered" and (node.folder / "out" / doc).read_bytes() == BIG
    bomb = b'<!DOCTYPE a [<!ENTITY b "xxxxxxxxxx"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>'
    for way, body, code, message in (
            ("json", b'{"a":1,"a":2}', "service_failed", "a name stands twice"),
            ("json", b"[" + b"0," * 50 + b"0]", "service_failed", "an item is there twice"),
            ("json", b"[" * 10000, "service_failed", "too deep"),
            ("json", b"[" + b",".join(b"[]" for _ in range(2_100_000)) + b"]", "limit", "more than 2000000 values"),
            ("pattern", b'"' + b"a" * 5000 + b'b"', "budget", "regular expression"),
            ("deep", b"[" * 400 + b"0" + b"]" * 400, "budget", ""),
            ("xml", bomb, "service_failed", "entities are not taken"),
            ("xml", b"<b/>", "service_failed", "line 1")):
        _, end = ended(node, way, body)
        assert end["state"] == "dead" and end["error"]["code"] == code and message in end["error"]["message"], (way, end)
    doc, end = ended(node, "json", BIG)      # others are not harmed
    assert end["state"] == "delivered"


@pytest.mark.parametrize("step, files, message", [
    ({"json": "s.json"}, {"s.json": '{"properties": {"a": {\n"maxLenght": 3}}}'},
     "`json` s.json: line 2, /properties/a/maxLenght: this is no keyword of JSON Schema 2020-12; did you mean `maxLength`?"),
    ({"json": "s.json"}, {"s.json": '{"$ref": "https://x.example/a.json"}'}, "nothing in this schema has this `$id`"),
    ({"xml": "s.xsd"}, {"s.xsd": '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
                                 '<xs:import namespace="urn:a" schemaLocation="http://127.0.0.1:9/a.xsd"/></xs:schema>'},
     "it includes or imports http://127.0.0.1:9/a.xsd, which is not in `includes`"),
    ({"xml": "s.xsd"}, {"s.xsd": "<a>\n</b>"}, "`xml` s.xsd: line 2, column 5: not XML"),
])
def test_a_mistake_in_a_schema_is_refused_with_its_place(make_node, step, files, message):
    node = make_node(config=config({"one": {"validate": step}}))
    write(node, files)
    got = node.cli("check", node.config_file)
    assert got.returncode == 1 and message in got.stdout, got.stdout + got.stderr
    assert re.search(rf"^{re.escape(str(node.config_file))}:\d+:\d+: ", got.stdout, re.M), got.stdout
