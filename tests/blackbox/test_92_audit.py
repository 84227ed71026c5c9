"""The audit log: every change and every look into a payload, in a chain that tells what was changed."""
import base64
import datetime
import hashlib
import json
import re
import sqlite3
import time

import pytest

from moved_clock import MovedClock
from running_node import ROOT, run_program

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
DONE, NO, USAGE = 0, 1, 2

# What comes to `in` has no route and is dead; what comes to `many` waits in a batch; what comes to `bills` waits for
# its receiver, which nobody is.
CONFIG = """\
systems: { acme: {}, hub: {} }
types: { order: {}, note: {}, bill: {} }
gateways:
  in:    { kind: http, auth: none, extract: { sender: "value:acme", receiver: "value:hub", type: "value:order" } }
  many:  { kind: http, auth: none, extract: { sender: "value:acme", receiver: "value:hub", type: "value:note" } }
  bills: { kind: http, auth: none, extract: { sender: "value:acme", receiver: "value:hub", type: "value:bill" } }
  orders: { kind: http, auth: key, extract: { sender: "value:acme", receiver: "value:hub", type: "value:order" } }
endpoints:
  api: { kind: http, url: "http://127.0.0.1:9/in", timeout: 5s, retry: { first: 1h, most: 1h, for: 3d } }
batches:
  notes: { age: 30d, do: [ { deliver: api } ] }
routes:
  - { name: notes, when: { type: note }, do: [ { batch: notes } ] }
  - { name: bills, when: { type: bill }, do: [ { deliver: api } ] }
"""


@pytest.fixture
def node(make_node):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG)
    one.start()
    return one


def await_state(node, doc, *states):
    node.await_state(doc, *states, look=lambda n, d: n.show(d, "state"), seconds=30)


def dead_document(node, body="hello"):
    doc = node.accept("in", body)
    await_state(node, doc, "dead")
    return doc


FIELDS = "seq time actor kind address action object before after reason hash"


def lines(node, **given):
    """What somebody did, all of it that fits, the newest first."""
    found, after = [], None
    while True:
        page = node.graphql("query($f: AuditFilter, $a: String) { audit(filter: $f, first: 50, after: $a)"
                            " { items { " + FIELDS + " } next } }", f=given, a=after)["audit"]
        found += page["items"]
        after = page["next"]
        if after is None:
            return [line for line in found if line["kind"] != "node"]


def verify(node, *words):
    got = node.cli("audit", "verify", "--json", *words)
    assert got.stdout, got.stderr
    check = json.loads(got.stdout)
    assert got.returncode == (DONE if check["ok"] else NO)
    return check


def head(check):
    return f"{check['seq']}:{check['hash']}"


# ---- changes ------------------------------------------------------------------------------------------------

def mutation_names():
    text = (ROOT / "src" / "admin" / "api" / "schema.graphql").read_text()
    body = re.search(r"(?ms)^type Mutation \{\n(.*?)^\}", text).group(1)
    return set(re.findall(r"(?m)^  (\w+)[(:]", body))


# Those that other tests look at: after a restore below, and users, roles and keys with their own parts.
ELSEWHERE = {"nodeRelease", "resolve", "documentsResolve", "roleAdd", "roleRemove", "adminKeyAdd", "adminKeyRemove", "userAdd",
             "userChange", "userRemove", "userLink", "sessionEnd", "passwordChange", "probeAccept", "auditCheckpoint",
             "jobRun", "jobPause", "jobResume", "jobCancel", "jobReset", "jobBackfill",    # test_77_jobs_people.py
             "linkInstall", "linkRemove", "linkResync", "linkGoOn", "linkVerify", "linkQuarantineRetry",
             "linkQuarantineDiscard"}                                                      # test_49_links_audit.py


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


def changes(node, tmp_path):
    """Every mutation as it is asked, what it is done to, and a word of what the line says."""
    docs = [dead_document(node, f"body {n}") for n in range(6)]
    node.accept("many", "hello")
    node.accept("many", "hello")
    version = node.graphql("{ config { version } }")["config"]["version"]
    text = node.graphql("{ config { text } }")["config"]["text"]

    def ids(n):
        return json.dumps([docs[n]])

    def hold():
        return node.graphql("{ holds { id } }")["holds"][0]["id"]

    def key():
        return node.graphql("{ keys { id } }")["keys"][0]["id"]

    def this_node():
        return node.graphql("{ nodes { id } }")["nodes"][0]["id"]

    return [
        ("configApply", lambda: f'(text: {json.dumps(text + "# more")}, note: "the note") {{ version {{ version }} }}',
         "configuration", f"version {version + 1}"),
        ("configRevert", lambda: f"(version: {version}) {{ version {{ version }} }}", "configuration",
         f"version {version + 2}"),
        ("retry", lambda: f'(ids: {ids(0)}, by: "bob") {{ result }}', docs[0], "bob"),
        ("cancel", lambda: f"(ids: {ids(1)}) {{ result }}", docs[1], "result"),
        ("discard", lambda: f"(ids: {ids(2)}) {{ result }}", docs[2], "result"),
        ("documentEdit", lambda: f'(id: "{docs[3]}", payload: "{base64_of("canary payload")}") {{ id }}',
         docs[3], "supersede"),
        ("documentSend", lambda: f'(gateway: "in", payload: "{base64_of("canary payload")}",'
                                 ' metadata: { sender: "acme", receiver: "hub", type: "order" }) { id }',
         None, '"gateway":"in"'),
        ("keep", lambda: f'(ids: {ids(1)}, reason: "court") {{ result }}', docs[1], "kept"),
        ("unkeep", lambda: f"(ids: {ids(1)}) {{ result }}", docs[1], "may go"),
        ("deadRetry", lambda: '(filter: { receiver: "hub" }) { done }', None, '"receiver":"hub"'),
        ("deadDiscard", lambda: '(filter: { type: "order" }, portion: 1) { done }', None, "1 documents of 1"),
        ("documentsRetry", lambda: '(filter: { receiver: "hub", state: "dead" }, portion: 1) { done }', None,
         '"receiver":"hub"'),
        ("documentsDiscard", lambda: '(filter: { receiver: "hub" }, portion: 1) { done }', None, "result"),
        ("documentsCancel", lambda: '(filter: { receiver: "hub" }, portion: 1) { done }', None, "result"),
        ("holdAdd", lambda: '(system: "hub", reason: "stocktaking", owner: "ann") { hold { id } }', "hub",
         '"owner":"ann"'),
        ("holdEnd", lambda: f'(id: "{hold()}") {{ id }}', "hub", None),
        ("batchClose", lambda: '(name: "notes")', "notes", None),
        ("nodePause", lambda: '(what: [jobs], reason: "night") { id }', "all nodes", "jobs"),
        ("nodeResume", lambda: "(what: [jobs]) { id }", "all nodes", "jobs"),
        ("backupStart", lambda: f'(folder: "{tmp_path}/backup") {{ state }}', f"{tmp_path}/backup", None),
        ("probe", lambda: '(name: "api") { name }', "api", None),
        ("retentionRun", lambda: "{ state }", None, "all"),
        ("keyAdd", lambda: '(gateway: "orders", title: "the shop") { key }', None, "the shop"),
        ("keyRemove", lambda: f'(id: "{key()}")', None, "removed"),
        ("secretAdd", lambda: '(name: "pin", value: "canary value") { name }', "pin", None),
        ("secretRemove", lambda: '(name: "pin")', "pin", "removed"),
        ("recordsImport", lambda: '(set: "parts", records: [{ key: "1", value: "\\"canary\\"" }])', "parts", "(1 items)"),
        ("recordsRemove", lambda: '(set: "parts", key: "1")', "parts", '"key":"1"'),
        ("nodeDrain", lambda: f'(node: "{this_node()}", reason: "kernel") {{ id }}', None, "kernel"),
    ]


@BOTH
@pytest.mark.proves("AU1")
def test_every_mutation_has_its_line(node, tmp_path):
    asked = changes(node, tmp_path)
    assert {name for name, *_ in asked} | ELSEWHERE >= mutation_names(), "a mutation without a test of its line"
    assert lines(node) == []  # documents came in and died, and nobody did anything
    (first,) = node.graphql("{ audit { items { kind action object } } }")["audit"]["items"]
    assert first == {"kind": "node", "action": "configApply", "object": "configuration"}
    for name, words, thing, says in asked:
        until = time.monotonic() + 30
        before = len(lines(node))
        while len(lines(node)) == before:  # what starts again is busy for a moment
            assert time.monotonic() < until, name
            node.graphql(f"mutation {{ {name}{words()} }}")
        line = lines(node)[0]
        assert len(lines(node)) == before + 1, lines(node)[:3]
        assert (line["action"], line["actor"], line["kind"], line["address"]) == (
            name, "admin", "token", "127.0.0.1"), line
        assert thing is None or line["object"] == thing, line
        assert says is None or says in line["after"], line
    assert {line["reason"] for line in lines(node)} >= {"the note", "court", "stocktaking", "night"}
    assert verify(node)["ok"]
    assert [line["seq"] for line in lines(node)] == list(range(len(asked) + 1, 1, -1))
    assert "canary" not in json.dumps(lines(node))
    ended = lines(node, action="holdEnd")[0]
    assert ended["before"] == "stocktaking"


def test_what_changes_nothing_has_no_line(node):
    doc = dead_document(node)
    node.graphql('mutation { retry(ids: ["00000000-0000-7000-8000-000000000000", "x"]) { result } }')
    node.graphql('mutation { cancel(ids: []) { result } }')
    node.graphql('mutation { deadRetry(dry: true) { count } }')
    node.graphql('mutation { configApply(text: "gateways: 7") { problems { message } } }')
    node.graphql('mutation { secretRemove(name: "none") keyRemove(id: "none") holdEnd(id: "77") { id } }')
    node.graphql('mutation { nodeResume { id } }')
    node.graphql("query($id: ID!) { document(id: $id) { timeline { stage } deliveries { id } } }", id=doc)
    assert node.get(f"/documents/{doc}").status == 200
    assert lines(node) == []


@BOTH
@pytest.mark.proves("AU1")
def test_users_roles_and_keys_that_stay_as_they_are_have_no_line(node):
    node.graphql('mutation { roleAdd(name: "desk", title: "Desk", rights: [see], systems: ["acme"]) { name }'
                 ' anywhere: roleAdd(name: "anywhere", rights: [see]) { name }'
                 ' userAdd(name: "alice", title: "Alice", roles: ["viewer"]) { link }'
                 ' adminKeyAdd(title: "shop", roles: ["viewer"]) { id } }')
    roles = node.graphql("{ roles { name made by } }")["roles"]
    seen = lines(node)
    assert [line["action"] for line in reversed(seen)] == ["roleAdd", "roleAdd", "userAdd", "adminKeyAdd"]
    for words in ('roleAdd(name: "desk", title: "Desk", rights: [see], systems: ["acme"]) { name }',
                  'roleAdd(name: "anywhere", rights: [see]) { name }', 'roleRemove(name: "none")',
                  'userAdd(name: "alice", roles: ["viewer"]) { link }', 'userChange(name: "alice") { name }',
                  'userChange(name: "alice", title: "Alice", roles: ["viewer"], disabled: false) { name }',
                  'userChange(name: "none", title: "None") { name }', 'userRemove(name: "none")',
                  'userLink(name: "none") { link }', 'userLink(name: "none", lockOut: true) { link }',
                  'adminKeyAdd(title: "shop", roles: ["viewer"]) { id }', 'adminKeyRemove(id: "none")',
                  'sessionEnd(id: "none")'):
        answer = node.request("POST", "/graphql", json.dumps({"query": f"mutation {{ {words} }}"}), {
            "Content-Type": "application/json", "Authorization": f"Bearer {node.token}"})
        assert answer.status == 200 and lines(node) == seen, words
    assert node.graphql("{ roles { name made by } }")["roles"] == roles
    # What changes something by the smallest part has one; that a user is out again ends the link, and only once.
    for words, count in (('roleAdd(name: "desk", title: "Desk", rights: [see], systems: ["hub"]) { name }', 1),
                         ('roleAdd(name: "desk", title: "Desk", rights: [see]) { name }', 1),
                         ('userChange(name: "alice", title: "Al") { name }', 1),
                         ('userChange(name: "alice", disabled: true) { name }', 1),
                         ('userLink(name: "alice", lockOut: true) { link }', 1),
                         ('userChange(name: "alice", disabled: true) { name }', 1),
                         ('userChange(name: "alice", disabled: true) { name }', 0), ('userRemove(name: "alice")', 1),
                         ('userRemove(name: "alice")', 0), ('roleRemove(name: "desk")', 1)):
        before = len(lines(node))
        node.graphql(f"mutation {{ {words} }}")
        assert len(lines(node)) == before + count, words
    assert verify(node)["ok"]


def test_two_changes_of_one_request_are_two_lines(node):
    doc, other = dead_document(node), dead_document(node)
    node.graphql("mutation($a: [ID!]!, $b: [ID!]!) { one: discard(ids: $a) { result } two: cancel(ids: $b) { result }"
                 ' secretAdd(name: "s", value: "v") { name } }', a=[doc, other], b=[doc])
    assert [(line["action"], line["object"]) for line in reversed(lines(node))] == [
        ("discard", doc), ("discard", other), ("secretAdd", "s")]
    assert len(lines(node, object=other)) == 1 and lines(node, object=other, action="retry") == []


def test_edits_by_http_are_in_it(node):
    doc = dead_document(node)
    auth = {"Authorization": f"Bearer {node.token}", "Waybill-By": "bob"}
    made = node.request("POST", f"/documents/{doc}/edit?as=beside&from=router", "canary payload",
                        {**auth, "Waybill-Sender": "acme", "Waybill-Receiver": "hub", "Waybill-Type": "order"})
    assert made.status == 202, made.body
    (line,) = lines(node)
    assert (line["action"], line["object"]) == ("documentEdit", doc)
    assert made.json["document"] in line["after"] and '"by":"bob"' in line["after"]
    made = node.request("POST", "/documents?gateway=in", "canary payload", {
        **auth, "Waybill-Sender": "acme", "Waybill-Receiver": "hub", "Waybill-Type": "order"})
    assert made.status == 202, made.body
    assert (lines(node)[0]["action"], lines(node)[0]["object"]) == ("documentSend", made.json["document"])
    refused = node.request("POST", "/documents/00000000-0000-7000-8000-000000000000/edit", "x", auth)
    assert refused.status == 404 and len(lines(node)) == 2
    assert "canary" not in json.dumps(lines(node))


# ---- looks ---------------------------------------------------------------------------------------------------

@BOTH
def test_looks_into_payloads_are_in_it(node):
    doc = dead_document(node, "a text to be found")
    key, name = node.add_key("orders")
    mine = node.accept("orders", "mine", {"Authorization": f"Bearer {key}"})
    await_state(node, mine, "dead")
    before = len(lines(node))

    assert node.request("HEAD", f"/documents/{doc}/payload",
                        headers={"Authorization": f"Bearer {node.token}"}).status == 200
    assert node.get("/documents/00000000-0000-7000-8000-000000000000/payload").status == 404
    assert node.get(f"/documents/{doc}/payload", token=key).status == 404
    assert len(lines(node)) == before  # nothing was shown

    assert node.get(f"/documents/{doc}/payload").body == b"a text to be found"
    assert lines(node)[0]["action"] == "payloadDownload" and lines(node)[0]["object"] == doc
    part = node.request("GET", f"/documents/{doc}/payload",
                        headers={"Authorization": f"Bearer {node.token}", "Range": "bytes=2-5"})
    assert part.body == b"text" and len(lines(node, action="payloadDownload")) == 2

    assert node.get(f"/documents/{mine}/payload", token=key).body == b"mine"
    line = lines(node)[0]
    assert (line["actor"], line["kind"], line["object"]) == (name, "caller", mine)

    found = node.graphql('{ scan(text: "to be found") { items { id } looked } }')["scan"]
    assert [d["id"] for d in found["items"]] == [doc]
    assert lines(node)[0]["action"] == "scan" and "to be found" in lines(node)[0]["after"]

    edit = node.graphql("mutation($id: ID!, $p: String!) { documentEdit(id: $id, payload: $p) { id } }",
                        id=doc, p=base64_of("another text"))["documentEdit"]["id"]
    before = len(lines(node))
    shown = node.graphql("query($id: ID!) { a: document(id: $id) { editDiff } b: document(id: $id) { editDiff } }",
                         id=edit)
    assert "another text" in shown["a"]["editDiff"]
    assert len(lines(node)) == before + 1  # once for a request
    assert (lines(node)[0]["action"], lines(node)[0]["object"]) == ("payloadView", edit)
    assert verify(node)["ok"]


# ---- looking at it -----------------------------------------------------------------------------------------

def test_the_log_is_listed_and_checked_by_hand(node):
    got = node.cli("audit", "verify")
    assert got.returncode == DONE and "1 lines" in got.stdout
    assert node.cli("audit", "ls").returncode == DONE
    for n in range(7):
        node.graphql("mutation($n: String!) { secretAdd(name: $n, value: \"v\") { name } }", n=f"s{n}")
    got = node.cli("audit", "ls", "--limit", "5")
    assert got.returncode == DONE and got.stdout.count("secretAdd") == 5 and "there are more" in got.stderr
    shown = [json.loads(line) for line in node.cli("audit", "ls", "--json").stdout.splitlines()]
    assert shown[:-1] == lines(node) and [s["object"] for s in shown[:-1]] == [f"s{n}" for n in range(6, -1, -1)]
    assert node.cli("audit", "ls", "--object", "s3", "--json").stdout.count("\n") == 1
    assert node.cli("audit", "ls", "--actor", "eve", "--json").stdout == ""
    assert node.cli("audit", "ls", "--since", "1h", "--action", "secretAdd", "--json").stdout.count("\n") == 7
    assert node.cli("audit", "ls", "--until", "1h", "--json").stdout == ""
    got = node.cli("audit", "verify")
    assert got.returncode == DONE and "8 lines" in got.stdout and shown[0]["hash"] in got.stdout
    assert verify(node, "--head", f"{shown[3]['seq']}:{shown[3]['hash']}")["ok"]
    check = verify(node, "--head", f"{shown[3]['seq']}:{'0' * 64}")
    assert not check["ok"] and check["broken"] == shown[3]["seq"]
    assert node.cli("audit", "verify", "--head", "7").returncode == USAGE
    assert node.cli("audit", "verify", "--head", "7:zz").returncode == NO
    answer = node.request("POST", "/graphql", json.dumps({"query": '{ audit(after: "x") { next } }'}), {
        "Content-Type": "application/json", "Authorization": f"Bearer {node.token}"})
    assert "next" in answer.json["errors"][0]["message"]


def test_what_was_asked_is_json_of_a_bounded_size(node):
    doc = dead_document(node)
    odd = 'x"\\\n\t\u00e9' * 40
    node.graphql("mutation($id: ID!, $r: String!) { keep(ids: [$id], reason: $r) { result } }", id=doc, r=odd[:200])
    attributes = [{"name": f"a{n}", "value": f"{n} {odd}"} for n in range(12)]
    node.graphql("mutation($m: DocumentMetadata!) { documentSend(gateway: \"in\", payload: \"eA==\", metadata: $m)"
                 " { id } }", m={"sender": "acme", "receiver": "hub", "type": "order", "attributes": attributes})
    made, kept = lines(node)
    assert kept["after"] == "kept" and kept["reason"].startswith('x"')
    asked = json.loads(made["after"])["asked"]
    assert asked["metadata"]["sender"] == "acme" and asked["payload"] == "(4 bytes)"
    assert asked["metadata"]["attributes"][0]["name"] == "a0" and len(made["after"].encode()) < 4000


def behind_its_back(node, *statements):
    node.stop()
    db = sqlite3.connect(node.data / "waybill.db")
    for sql, *values in statements:
        db.execute(sql, values)
    db.commit()
    db.close()
    node.start()


def hash_of(line, prev):
    """As docs/audit.md says."""
    at = datetime.datetime.strptime(line["time"], "%Y-%m-%dT%H:%M:%S.%fZ") - datetime.datetime(1970, 1, 1)
    text = f"waybill audit 1 {line['seq']} {at // datetime.timedelta(microseconds=1)}".encode()
    for name in ("actor", "kind", "address", "action", "object", "before", "after", "reason"):
        value = (line[name] or "").encode()
        text += b" %d:%s" % (len(value), value)
    return hashlib.sha256(text + prev).digest()


def test_the_chain_is_as_documented(node):
    for n in range(4):
        node.graphql("mutation($n: String!) { secretAdd(name: $n, value: \"v\") { name } }", n=f"s{n}")
    prev = bytes(32)
    chain = [json.loads(line) for line in node.cli("audit", "ls", "--json").stdout.splitlines()][::-1]
    for line in chain:
        prev = hash_of(line, prev)
        assert prev.hex() == line["hash"], line
    forged = {**chain[2], "actor": "eve"}  # and its hash as it must be: then the next line does not follow
    behind_its_back(node, ("UPDATE audit SET actor = ?, hash = ? WHERE seq = 3",
                           "eve", hash_of(forged, bytes.fromhex(chain[1]["hash"]))))
    check = verify(node)
    assert not check["ok"] and check["broken"] == 4 and "does not follow" in check["message"]


def test_what_was_changed_is_found(node):
    for n in range(5):
        node.graphql("mutation($n: String!) { secretAdd(name: $n, value: \"v\") { name } }", n=f"s{n}")
    noted = head(verify(node))
    behind_its_back(node, ["UPDATE audit SET actor = 'eve' WHERE seq = 3"])
    check = verify(node)
    assert not check["ok"] and check["broken"] == 3 and check["lines"] == 2
    got = node.cli("audit", "verify")
    assert got.returncode == NO and "BROKEN" in got.stdout and "line 3 was changed" in got.stdout
    got = node.cli("doctor")
    assert got.returncode == NO and "audit-chain" in got.stdout and "line 3 was changed" in got.stdout
    behind_its_back(node, ["UPDATE audit SET actor = 'admin' WHERE seq = 3"], ["DELETE FROM audit WHERE seq > 4"],
                    ["UPDATE mark SET value = 4 WHERE name = 'audit'"])
    assert verify(node)["ok"]  # a log that was cut and counted anew; but somebody noted its head
    check = verify(node, "--head", noted)
    assert not check["ok"] and check["broken"] == 5


@pytest.mark.proves("AU1")
def test_what_cannot_be_written_down_is_not_done(node):
    doc = dead_document(node, "private")
    behind_its_back(node, ["CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no line'); END"])
    auth = {"Authorization": f"Bearer {node.token}"}
    got = node.get(f"/documents/{doc}/payload")
    assert got.status == 500 and b"private" not in got.body
    for query in ('{ scan(text: "private") { items { id } } }', 'mutation { secretAdd(name: "s", value: "v") { name } }',
                  f'mutation {{ discard(ids: ["{doc}"]) {{ result }} }}',
                  f'mutation {{ documentEdit(id: "{doc}", payload: "eA==") {{ id }} }}'):
        answer = node.request("POST", "/graphql", json.dumps({"query": query}),
                              {"Content-Type": "application/json", **auth}).json
        assert answer["errors"] and answer["data"] is None, answer
    assert node.request("POST", f"/documents/{doc}/edit", "x", auth).status == 500
    assert node.graphql("{ secrets { name } }")["secrets"] == [] and node.documents() == [doc]
    assert node.show(doc, "state")["state"] == "dead"
    assert node.accept("in", "documents still come in") in node.documents()
    assert lines(node) == [] and verify(node)["ok"]


# On SQLite, where times are those of the node's clock.
def test_old_lines_go_when_somebody_says_so(make_node, tmp_path):
    clock = MovedClock(tmp_path)
    node = make_node(config=CONFIG + "retention: { audit: 30d }\n", environment=clock.environment)
    clock.by(-40 * 86400)
    node.start()
    for n in range(3):
        node.graphql("mutation($n: String!) { secretAdd(name: $n, value: \"v\") { name } }", n=f"s{n}")
    noted = verify(node)
    node.stop()
    clock.by(0)
    node.start()
    assert [line["object"] for line in lines(node)] == ["s2", "s1", "s0"]
    node.graphql("mutation { retentionRun { state } }")
    node.wait_event("retention.audit", lines=4)
    (trim,) = node.graphql("{ audit(filter: { action: \"auditTrim\" }) { items { actor before after } } }")["audit"]["items"]
    assert trim == {"actor": "retention", "before": "lines 1 to 4", "after": head(noted)}
    assert [line["action"] for line in lines(node)] == ["retentionRun"]
    assert verify(node, "--head", head(noted))["ok"]


# ---- it goes where the store goes ----------------------------------------------------------------------------

@POSTGRES
def test_it_goes_into_a_backup_and_to_postgresql(make_node, store, tmp_path):
    one = make_node(config=CONFIG, store=None)
    one.start()
    doc = one.accept("bills", "hello")
    await_state(one, doc, "retrying")
    one.cli("secret", "add", "pass", "-", stdin="word")
    one.graphql('mutation { holdAdd(system: "hub", reason: "x", owner: "ann") { hold { id } } }')
    assert one.cli("backup", tmp_path / "b").returncode == DONE
    before, noted = lines(one), head(verify(one))
    assert [line["action"] for line in before] == ["backupStart", "holdAdd", "secretAdd"]
    one.stop()

    two = make_node(config=CONFIG, store=None)
    assert run_program("restore", tmp_path / "b", "--data", two.data).returncode == DONE
    two.start()
    assert lines(two) == before and verify(two, "--head", noted)["ok"]
    until = time.monotonic() + 30
    while two.graphql("mutation { nodeRelease(inFlight: in_doubt) { waits } }")["nodeRelease"]["waits"]:
        assert time.monotonic() < until
    made = lines(two)[:-3]
    assert {line["action"] for line in made} == {"nodeRelease"}
    assert "1 documents of 1" in json.dumps(made) and made[-1]["before"] == "held back"
    await_state(two, doc, "in_doubt")
    two.graphql("mutation($id: ID!) { resolve(ids: [$id], as: delivered) { result } }", id=doc)
    line = lines(two)[0]
    assert (line["action"], line["object"], line["before"]) == ("resolve", doc, "in doubt")
    two.stop()

    got = run_program("migrate", "--data", two.data, "--store", store)
    assert got.returncode == DONE, got.stderr
    three = make_node(config=CONFIG, data=two.data)
    three.start()
    assert lines(three)[0] == line and lines(three)[-3:] == before and verify(three, "--head", noted)["ok"]
    _, name = three.add_key("orders")
    assert verify(three, "--head", noted)["ok"] and lines(three)[0]["object"] == name
