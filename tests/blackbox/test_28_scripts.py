"""Scripts in Lua, jq and XSLT, in their cages: what comes out, what fails and how, what `check` refuses."""
import json

import pytest
import yaml

import wire

SHEET = """\
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>
<xsl:param name="who"/><xsl:template match="/"><xsl:message>seen</xsl:message>
<xsl:value-of select="concat($who, ':', EXPR)"/></xsl:template></xsl:stylesheet>
"""
STEPS = {
    "lua": {"lua": "log('bytes', #doc.bytes) return (doc.bytes:gsub([[\\w+]], string.upper)) .. doc.sender"},
    "file": {"lua": {"file": "twice.lua"}},
    "jq": {"jq": ".a | debug | { b: ., env: env, at: (now | todate) }"},
    "xslt": {"xslt": {"text": SHEET.replace("EXPR", "/a/b"), "params": {"who": "${sender}"}}},
    "none": {"jq": "empty"},
    "error": {"lua": "local x = 1\nerror('no price')"},
    "loop": {"lua": {"script": "while true do pcall(error) end", "limits": {"time": "300ms"}}},
    "memory": {"lua": "local t = {} while true do t[#t + 1] = ('x'):rep(1 << 20) .. #t end"},
    # Its time is not what ends it, also where many others run.
    "pattern": {"lua": {"script": "pcall(string.find, ('a'):rep(5000) .. 'b', '^(a|aa)+$') return 'x'",
                        "limits": {"time": "60s"}}},
    "number": {"jq": "."},
    "document": {"xslt": {"text": SHEET.replace("EXPR", "document('/etc/passwd')")}},
    "many": {"lua": {"many": True, "script": "local t = {} for w in doc.bytes:gmatch([[\\w+]]) do "
                                             "t[#t + 1] = { bytes = w, type = 'part' } end return t"}},
    "several": {"jq": ".[]"},
    "same-lua": {"lua": """
local t, out = json.decode(doc.bytes), {}
for k, v in pairs(t) do out[#out + 1] = { k = k, v = v } end
table.sort(out, function(a, b) return tonumber(a.v) % 7 < tonumber(b.v) % 7 end)
for i, one in ipairs(out) do out[i] = one.k end
return table.concat(out, ' ') .. json.encode(t) .. math.random(1 << 40) .. now() .. tostring({}) .. tostring(next(t))"""},
    "same-jq": {"jq": "[keys_unsorted, to_entries, (to_entries | group_by(.value % 7)), now, env]"},
    "same-xslt": {"xslt": {"text": SHEET.replace("EXPR", "generate-id(//b), ' ', generate-id(/a), ' ', count(//@*)")}},
}
# Behind these what the script made is not what is sent, and so is not stored.
MORE = {way: [{"replace": {"find": ":", "with": ";"}}] for way in STEPS if way.startswith("same-")}
CONFIG = {
    "systems": {"hub": {}},
    "types": {"*": {}},
    "gateways": {"in": {"kind": "http", "auth": "none", "extract": {
        "sender": "value:hub", "receiver": "value:hub", "type": "header:X-Way"}}},
    "endpoints": {"out": {"kind": "file", "path": "./out", "name": "${id}"}},
    "routes": [{"name": way, "when": {"type": way}, "do": [step] if way == "many" else [step, *MORE.get(way, []),
                                                                                      {"deliver": "out"}]}
               for way, step in STEPS.items()] + [{"name": "part", "when": {"type": "part"}, "do": [{"deliver": "out"}]}],
}


@pytest.fixture(name="node")
def node_fixture(make_node):
    node = make_node(config=yaml.safe_dump(CONFIG))
    (node.folder / "out").mkdir()
    (node.folder / "twice.lua").write_text("return doc.bytes .. doc.bytes")
    node.start()
    return node


def show(node, doc):
    return node.graphql("query($i: ID!) { document(id: $i) { state error { code message } } }", i=doc)["document"]


def notes(node, doc):
    lines = node.graphql("query($i: ID!) { document(id: $i) { timeline { message } } }", i=doc)["document"]["timeline"]
    return [" ".join(line["message"].split()) for line in lines if line["message"]]


def send(node, way, body):
    got = node.post("in", body.encode(), headers={"X-Way": way})
    assert got.status == 202
    return got.json["document"]


def ended(node, way, body):
    doc = send(node, way, body)
    wire.wait_until(lambda: show(node, doc)["state"] in ("delivered", "dead", "dropped", "done"), 120, f"the end of {way}")
    return doc, show(node, doc)


def result(node, way, body):
    doc, end = ended(node, way, body)
    assert end["state"] == "delivered", end
    return doc, (node.folder / "out" / doc).read_text()


@pytest.mark.smoke
def test_each_kind_of_script_changes_its_document(node):
    doc, text = result(node, "lua", "one two")
    assert text == "ONE TWOhub"
    assert "bytes 7" in notes(node, doc)
    assert result(node, "file", "ab")[1] == "abab"
    doc, text = result(node, "jq", '{"a":[1,2]}')
    assert json.loads(text)["b"] == [1, 2] and json.loads(text)["env"] == {}
    assert "[1,2]" in notes(node, doc)
    doc, text = result(node, "xslt", "<a><b>x</b></a>")
    assert text == "hub:x" and "seen" in notes(node, doc)


@pytest.mark.proves("PR7", "PR8")
@pytest.mark.parametrize("way, body, code, message", [
    ("error", "x", "service_failed", "lua: line 2: no price"),
    ("loop", "x", "budget", ""),
    ("memory", "x", "budget", ""),
    ("pattern", "x", "budget", "regular expression"),
    ("number", "[12345678901234567890]", "service_failed", "12345678901234567890 at byte 1"),
    ("document", "<a/>", "service_failed", "/etc/passwd"),
    ("several", "[1,2]", "service_failed", "many: true"),
    ("jq", "{", "service_failed", "not JSON"),
])
def test_a_script_that_fails_says_why(node, way, body, code, message):
    _, end = ended(node, way, body)
    assert end["state"] == "dead" and end["error"]["code"] == code, end
    assert message in end["error"]["message"], end
    assert result(node, "file", "ab")[1] == "abab"     # others are not harmed


@pytest.mark.proves("PR7")
def test_which_version_of_a_script_has_failed(node):
    """The dead letter has the message of the script, its line and its version, also when there is a newer one."""
    ask = "state config error { code message }"
    doc, _ = ended(node, "error", "x")
    was = {"state": "dead", "config": 1, "error": {"code": "service_failed", "message": "lua: line 2: no price"}}
    assert node.show(doc, ask) == was
    routes = [{**r, "do": [{"lua": "local x = 1\nreturn 'price ' .. x"}, *r["do"][1:]]} if r["name"] == "error" else r
              for r in CONFIG["routes"]]
    node.write_config(yaml.safe_dump({**CONFIG, "routes": routes}))
    got = node.cli("apply", node.config_file)
    assert got.returncode == 0, got.stdout + got.stderr
    assert node.show(doc, ask) == was
    assert node.cli("docs", "retry", doc).returncode == 0
    wire.wait_until(lambda: show(node, doc)["state"] == "delivered", 60, "the script as it is now")
    assert node.show(doc, ask)["config"] == 2 and (node.folder / "out" / doc).read_text() == "price 1"


@pytest.mark.proves("PR1")
def test_none_ends_the_document_and_many_are_parts(node):
    _, end = ended(node, "none", "{}")
    assert end["state"] not in ("dead", "delivered"), end
    doc = send(node, "many", "red green blue")
    out = node.folder / "out"
    wire.wait_until(lambda: len(list(out.iterdir())) == 3, 60, "three parts")
    assert {p.read_text() for p in out.iterdir()} == {"red", "green", "blue"}
    parts = node.graphql("query($i: ID!) { document(id: $i) { parts { made total } } }", i=doc)["document"]["parts"]
    assert parts["made"] == 3


@pytest.mark.proves("PR16")
@pytest.mark.parametrize("way", ["same-lua", "same-jq", "same-xslt"])
def test_another_process_makes_the_same_bytes(node, way):
    """Hash tables have another seed there, memory other addresses: what a replay makes does not depend on them."""
    body = "<a x='1' y='2'><b/></a>" if way == "same-xslt" else json.dumps({f"k{n * 7919 % 1000}": n for n in range(300)})
    doc, sent = result(node, way, body)
    stage = node.graphql("query($i: ID!) { document(id: $i) { stages { stage stored } } }", i=doc)["document"]
    assert {"stage": 1, "stored": False} in stage["stages"]
    for _ in range(2):
        node.restart()
        assert node.cli("docs", "payload", doc, "--stage", "1").stdout.replace(":", ";") == sent


def test_a_mistake_in_a_script_with_a_secret_does_not_quote_it(node, tmp_path):
    """What the compiler says of a line may be the secret: neither an answer nor the log has it."""
    assert node.cli("secret", "add", "word", stdin="hush4711 hush4711").returncode == 0
    for script in ("${secret:word}", "return ${secret:word}"):
        config = {**CONFIG, "routes": [{"name": "r", "do": [{"lua": script}, {"deliver": "out"}]}]}
        (tmp_path / "new.yaml").write_text(yaml.safe_dump(config))
        got = node.cli("apply", tmp_path / "new.yaml")
        said = got.stdout + got.stderr + json.dumps(node.events)
        assert got.returncode != 0 and "with the secrets it names" in said, said
        assert "hush4711" not in said


def test_a_secret_that_breaks_a_script_later_is_not_quoted(node):
    """The version was good with the secret that was there; documents die after another one came, and nobody reads it."""
    assert node.cli("secret", "add", "word", stdin="'fine'").returncode == 0
    config = {**CONFIG, "routes": [{"name": "r", "do": [{"lua": "return ${secret:word}"}, {"deliver": "out"}]}]}
    node.write_config(yaml.safe_dump(config))
    assert node.cli("apply", node.config_file).returncode == 0
    assert result(node, "any", "x")[1] == "fine"
    assert node.cli("secret", "add", "word", stdin="hush4711 hush4711").returncode == 0
    node.restart()
    doc, end = ended(node, "any", "x")
    assert end["state"] == "dead" and "with the secrets it names" in end["error"]["message"], end
    assert "hush4711" not in json.dumps([end, notes(node, doc), node.events])


@pytest.mark.parametrize("step, where", [
    ({"lua": "x = = 1"}, "line 1, column 5"),
    ({"jq": ".a\n| ]"}, "line 2, column 3"),
    ({"xslt": {"text": "<a>\n<b></a>"}}, "line 2, column 8"),
    ({"lua": {"script": "return 1", "limits": {"time": "2m"}}}, "the most is 60s"),
])
def test_check_refuses_a_script_with_a_mistake(make_node, step, where):
    config = {**CONFIG, "routes": [{"name": "r", "do": [step, {"deliver": "out"}]}]}
    node = make_node(config=yaml.safe_dump(config))
    (node.folder / "out").mkdir()
    got = node.cli("check", node.config_file)
    assert got.returncode != 0 and where in got.stdout + got.stderr
