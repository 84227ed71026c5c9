"""Scripts that try to get out of their cage, or to take the machine for themselves, on a node that runs.

Each is stopped and its document is dead with the reason, or it sees nothing; the node answers, other routes go
on, and no process is left.  The same on a node as in a container, and on a kernel without Landlock.  Attempts
below the level of scripts, system calls and malformed frames, are those of tests/unit/cage/test_escape.c.
"""
import collections
import os
import pathlib
import sys

import pytest
import yaml

import wire
from running_node import BINARY

SECONDS = 240
BUDGET = 1     # seconds
SHEET = """\
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:exsl="http://exslt.org/common"
 extension-element-prefixes="exsl"><xsl:output method="text"/>
<xsl:template name="again"><xsl:param name="n"/><xsl:call-template name="again"><xsl:with-param name="n"
 select="$n + 1"/></xsl:call-template></xsl:template>
<xsl:template match="/">{}</xsl:template></xsl:stylesheet>
"""
BOMB = "<!DOCTYPE a [<!ENTITY a0 'lol'>" + "".join(
    f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12)) + "]><a>&a11;</a>"
OUTSIDE = "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"

# kind of step, script, body, what it ends with: codes, or a text that comes out and tells nothing
Escape = collections.namedtuple("Escape", "kind script body ends")
FAILED, OVER, EITHER = {"service_failed"}, {"budget", "limit"}, {"service_failed", "budget", "limit"}


def lua(script, ends, body="x"):
    return Escape("lua", script, body, ends)


def jq(script, ends, body="{}"):
    return Escape("jq", script, body, ends)


def xslt(inside, ends, body="<a/>"):
    return Escape("xslt", SHEET.format(inside), body, ends)


ESCAPES = {
    # out of the cage
    "lua-file": lua("return io.open('/etc/passwd'):read('a')", FAILED),
    "lua-popen": lua("return io.popen('id'):read('a')", FAILED),
    "lua-execute": lua("return os.execute('id')", FAILED),
    "lua-exit": lua("os.exit(0)", FAILED),
    "lua-getenv": lua("return os.getenv('PATH')", FAILED),
    "lua-signal": lua("return require('posix').kill(1, 9)", FAILED),
    "lua-socket": lua("return require('socket').tcp()", FAILED),
    "lua-library": lua("return package.loadlib('libc.so.6', 'fork')()", FAILED),
    "lua-dofile": lua("return dofile('/proc/self/environ')", FAILED),
    "lua-loadfile": lua("return loadfile('/proc/self/maps')", FAILED),
    "lua-bytecode": lua("return load('\\27Lua')", FAILED),
    "lua-dump": lua("return string.dump(function() end)", FAILED),
    "lua-registry": lua("return debug.getregistry()", FAILED),
    "lua-strings": lua("getmetatable('').__index = nil return 'x'", FAILED),
    "jq-env": jq("[env, $ENV]", "[{},{}]"),
    "jq-file-name": jq("input_filename", "null"),
    "jq-input": jq("input", FAILED),
    "jq-halt": jq("\"x\" | halt_error", EITHER),
    "xslt-file": xslt("<xsl:value-of select=\"document('/etc/passwd')\"/>", FAILED),
    "xslt-proc": xslt("<xsl:value-of select=\"document('/proc/self/environ')\"/>", FAILED),
    "xslt-net": xslt("<xsl:value-of select=\"document('http://127.0.0.1:1/x')\"/>", FAILED),
    "xslt-write": xslt("<exsl:document href='/tmp/cage-escape' method='text'>x</exsl:document>", FAILED),
    "xslt-outside": xslt("<xsl:value-of select='/a'/>", FAILED, OUTSIDE),
    # time
    "lua-loop": lua("while true do pcall(error) end", OVER),
    "lua-handler": lua("xpcall(error, function() while true do end end)", OVER),
    "lua-pattern": lua("pcall(string.find, ('a'):rep(5000) .. 'b', '^(a|aa)+$') return 'x'", OVER),
    "lua-collector": lua("setmetatable({}, { __gc = function() while true do end end }) return 'x'", EITHER),
    "lua-message": lua("error(setmetatable({}, { __tostring = function() while true do end end }))", EITHER),
    "lua-notes": lua("while true do log('x') end", OVER),
    "jq-loop": jq("def f: f; f", OVER),
    "jq-pattern": jq("\"\\(\"a\" * 60)b\" | test(\"^(a|aa)+$\")", EITHER),
    "xslt-recursion": xslt("<xsl:call-template name='again'/>", EITHER),
    # memory
    "lua-gigabyte": lua("return ('x'):rep(1 << 30)", EITHER),
    "lua-tables": lua("local t = {} while true do t[#t + 1] = { #t } end", EITHER),
    "lua-stack": lua("local function f(n) return 1 + f(n) end return f(1)", EITHER),
    "lua-calls": lua("local function f() return (('x'):gsub('x', f)) end return f()", EITHER),
    "jq-array": jq("[range(1e12)]", OVER),
    "jq-stack": jq("def f: 1 + f; f", EITHER),
    "jq-depth": jq("reduce range(1e7) as $i (null; [.]) | tojson", EITHER),
    "xslt-bomb": xslt("<xsl:value-of select='/a'/>", EITHER, BOMB),
    # output
    "lua-output": lua("local s, t = ('x'):rep(1 << 20), {} for i = 1, 10240 do t[i] = s end return t", EITHER),
    "jq-output": jq("repeat(\"x\" * 1000)", EITHER),
}
MANY = {"lua-output", "jq-output"}


def step_of(name, escape):
    key = {"lua": "script", "jq": "filter", "xslt": "text"}[escape.kind]
    time_limit = BUDGET if escape.ends in (OVER, EITHER) else 60  # what fails at once has the time to do so
    options = {key: escape.script, "limits": {"time": f"{time_limit}s", "memory": "64MiB", "output": "16MiB"}}
    if name in MANY:
        options["many"] = True
    return {escape.kind: options}


CONFIG = {
    "systems": {"hub": {}},
    "types": {"*": {}},
    "gateways": {"in": {"kind": "http", "auth": "none", "extract": {
        "sender": "value:hub", "receiver": "value:hub", "type": "header:X-Way"}}},
    "endpoints": {"out": {"kind": "file", "path": "./out", "name": "${id}"}},
    "routes": [{"name": name, "when": {"type": name}, "do": [step_of(name, e)] + [{"deliver": "out"}] * (name not in MANY)}
               for name, e in ESCAPES.items()]
    + [{"name": "free", "when": {"type": "free"}, "do": [{"lua": "return doc.bytes:upper()"}, {"deliver": "out"}]}],
}


def contained(mode):
    return [sys.executable, str(pathlib.Path(__file__).with_name("contained.py")), mode, str(BINARY)]


def send(node, way, body):
    return node.accept("in", body.encode(), headers={"X-Way": way})


def show(node, doc):
    return node.show(doc, "state error { code message }")


def ended(node, doc):
    return node.await_state(doc, "delivered", "dead", "done", "dropped", look=show, seconds=SECONDS)


def processes(node):
    """{process: when it began} of the node's own and all below it."""
    parents, began = {}, {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)], began[int(path.parent.name)] = int(fields[1]), fields[19]
    below = {node.process.pid}
    while more := {p for p, parent in parents.items() if parent in below} - below:
        below |= more
    return {p: began[p] for p in below}


def cage_seconds(node):
    """What the processes of cages that have ended have used, by the account of those that waited for them: the keeper
    and the moulds."""
    ticks, keepers = 0, 0
    for process in set(processes(node)) - {node.process.pid}:
        try:
            line = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        keepers += line.startswith(b"waybill\0cage\0keep")
        ticks += int(fields[13]) + int(fields[14])
    assert keepers == 1, "the node has no keeper of cages"
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.proves("PR7", "PR8", "S14")
@pytest.mark.parametrize("mode", ["plain", "container", "no-landlock"])
def test_no_script_gets_out_or_takes_the_machine(make_node, mode):
    more = {} if mode == "plain" else {"command": contained(mode)}
    node = make_node(config=yaml.safe_dump(CONFIG), **more)
    (node.folder / "out").mkdir()
    node.start()
    docs = {name: send(node, name, escape.body) for name, escape in ESCAPES.items()}
    beside = [send(node, "free", f"beside {n}") for n in range(5)]
    seen = processes(node)
    wrong = {}
    for name, doc in docs.items():
        end, ends = ended(node, doc), ESCAPES[name].ends
        seen |= processes(node)
        if isinstance(ends, str):
            out = node.folder / "out" / doc
            good = end["state"] == "delivered" and out.read_text().strip() == ends
        else:
            good = end["state"] == "dead" and end["error"]["code"] in ends and end["error"]["message"]
        if not good or "root:" in str(end):
            wrong[name] = end
    assert not wrong, wrong
    for doc in beside + [send(node, "free", "after")]:
        assert ended(node, doc)["state"] == "delivered"
    assert not pathlib.Path("/tmp/cage-escape").exists()
    # Twice the budget of each attempt, of which one that dies has three; and the starts.
    assert cage_seconds(node) <= 3 * (2 * BUDGET + 0.5) * len(ESCAPES)
    assert node.get("/readyz").status == 200
    assert node.stop() == 0
    left = {p: began for p, began in seen.items() if pathlib.Path(f"/proc/{p}").exists()}
    wire.wait_until(lambda: not [p for p, began in left.items() if still_there(p, began)], 60, "the end of all processes")


def still_there(process, began):
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[19] == began and fields[0] != "Z"
