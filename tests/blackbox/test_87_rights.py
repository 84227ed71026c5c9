"""Rights: every field and mutation times every role, from the schema; what is out of scope is not
there, whoever asks and however."""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import graphql
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from moved_clock import MovedClock  # noqa: E402
from rig.receiver import Receiver  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD", ROOT / "build" / "debug"))
SDL = (ROOT / "src" / "admin" / "api" / "schema.graphql").read_text()
BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO, USAGE, DENIED = 0, 1, 2, 77

RIGHTS = ("see", "payload", "download", "retry", "edit", "hold", "operate", "configure", "users", "audit", "work", "peer")
ALL = set(RIGHTS)
DESK = {"see", "payload", "download", "retry", "edit", "hold"}
# As docs/rights.md has them, and three that somebody makes: for one system, and with one right.
ROLES = {
    "admin": ALL,
    "operator": {"see", "payload", "retry", "hold", "operate"},
    "viewer": {"see"},
    "auditor": {"see", "audit"},
    "worker": {"work"}, "peer": {"peer"},
    "desk": DESK,
    "builder": {"configure"},
    "usher": {"users"},
}
BUILT_IN = ("admin", "operator", "viewer", "auditor", "worker", "peer")

CONFIG = """\
systems:
  acme: {{ title: Acme }}
  hub: {{}}
  erp: {{}}
  acne: {{}}
  line: {{ order: receiver }}
types: {{ order: {{}}, note: {{}}, ordered: {{}}, "*": {{}} }}
gateways:
  in:
    kind: http
    auth: none
    extract: {{ sender: "json:/from", receiver: "json:/to", type: "json:/type" }}
endpoints:
  api: {{ kind: http, url: "{url}/in", retry: {{ first: 1h, most: 1h, for: 3d }},
         breaker: {{ failures: 1000, wait: 1h }} }}
  own: {{ kind: http, url: "{url}/own", system: acme }}
  other: {{ kind: http, url: "{url}/other", system: erp }}
  slow: {{ kind: http, url: "{url}/slow", retry: {{ first: 1h, most: 1h, for: 3d }},
          breaker: {{ failures: 1000, wait: 1h }} }}
alerts: {{ queue_depth: {{ high: 1, low: 0 }} }}
batches:
  daily: {{ count: 1000, join: text, do: [ {{ deliver: api }} ] }}
routes:
  - name: orders
    when: {{ type: order }}
    do: [ {{ deliver: api }} ]
  - name: ordered
    when: {{ type: ordered }}
    do: [ {{ deliver: slow }} ]
  - name: notes
    when: {{ type: note }}
    do: [ {{ batch: daily }} ]
"""


# ---- the schema ------------------------------------------------------------------------------


def parse(sdl):
    """Version 2 of graphql-core is older than descriptions in a schema."""
    if int(graphql.__version__.split(".")[0]) < 3:
        sdl = re.sub(r'^\s*".*"\n', "", sdl, flags=re.M)
    return graphql.parse(sdl)


def kind_of(node):
    return type(node).__name__.replace("Node", "")


def needs_of(node, directive="needs"):
    return next((d.arguments[0].value.value for d in node.directives or () if d.name.value == directive), None)


def named(t):
    while not hasattr(t, "name"):
        t = t.type
    return t.name.value


def is_required(t):
    return kind_of(t) == "NonNullType"


TYPES = {d.name.value: d for d in parse(SDL).definitions if hasattr(d, "name")}
OBJECTS = {name: d for name, d in TYPES.items() if kind_of(d) == "ObjectTypeDefinition"}
RULES = {(name, f.name.value): needs_of(f) or needs_of(d)
         for name, d in OBJECTS.items() for f in d.fields}
# Fields that are null, without an error, unless the caller has this right as well.
SHOWS = {(name, f.name.value): needs_of(f, "shows") or "any" for name, d in OBJECTS.items() for f in d.fields}


def literal(t):
    """A value of the type that means nothing to a node."""
    if is_required(t):
        return literal(t.type)
    if kind_of(t) == "ListType":
        return "[" + literal(t.type) + "]"
    name = named(t)
    if kind_of(TYPES.get(name)) == "EnumTypeDefinition":
        return TYPES[name].values[0].name.value
    if kind_of(TYPES.get(name)) == "InputObjectTypeDefinition":
        return "{" + ", ".join(f"{f.name.value}: {literal(f.type)}" for f in TYPES[name].fields
                               if is_required(f.type)) + "}"
    return {"Int": "1", "Long": "1", "Boolean": "false", "Float": "1.0",
            "Time": '"2020-01-01T00:00:00Z"'}.get(name, '"nix"')


def call_of(field, below="__typename"):
    """The field with whatever arguments it must have."""
    args = [f"{a.name.value}: {literal(a.type)}" for a in field.arguments if is_required(a.type)]
    text = field.name.value + (f"({', '.join(args)})" if args else "")
    return text + (f" {{ {below} }}" if named(field.type) in OBJECTS else "")


def codes(answer):
    return {e["extensions"]["code"] for e in answer.get("errors", ())}


# ---- somebody --------------------------------------------------------------------------------


class Somebody:
    """Who asks a node with a key."""

    def __init__(self, node, key):
        self.node, self.key = node, key

    def ask(self, query, **variables):
        """The whole answer, errors and all."""
        got = self.node.request(
            "POST", "/graphql", json.dumps({"query": query, "variables": variables}),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"})
        assert got.status == 200, got.body
        return got.json

    def data(self, query, **variables):
        got = self.ask(query, **variables)
        assert not got.get("errors"), got
        return got["data"]

    def get(self, path):
        return self.node.get(path, token=self.key)

    def post(self, path, body, **headers):
        return self.node.request("POST", path, body, {"Authorization": f"Bearer {self.key}",
                                                      **headers})


def make_role(node, name, rights, systems=None):
    node.graphql("mutation($n: String!, $r: [Right!]!, $s: [String!]) { roleAdd(name: $n, rights: $r,"
                 " systems: $s) { name } }", n=name, r=sorted(rights), s=systems)


def somebody(node, *roles, title=None, expires=None):
    made = node.graphql(
        "mutation($t: String!, $r: [String!]!, $e: Time) { adminKeyAdd(title: $t, roles: $r,"
        " expires: $e) { id key } }", t=title or os.urandom(6).hex(), r=list(roles), e=expires)["adminKeyAdd"]
    one = Somebody(node, made["key"])
    one.id = made["id"]
    return one


def await_so(what, seconds=60):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def receiver():
    with Receiver() as r:
        r.behave("/in", "status", 400)
        yield r


@pytest.fixture
def node(make_node, receiver):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=receiver.url("")))
    one.start()
    return one


def send(node, sender, receiver, kind="order", key=None, **more):
    got = node.post("in", json.dumps({"from": sender, "to": receiver, "type": kind, **more}),
                    {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})})
    assert got.status == 202, got.body
    return got.json["document"]


def state_of(node, doc):
    return node.graphql("query($id: ID!) { document(id: $id) { state } }", id=doc)["document"]["state"]


# ---- keys and roles --------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("ME5")
def test_a_key_sees_what_its_role_allows_and_ends(node):
    mine, foreign = send(node, "acme", "hub"), send(node, "erp", "hub")
    for doc in (mine, foreign):
        await_so(lambda d=doc: state_of(node, d) == "dead")
    make_role(node, "desk", DESK, ["acme"])
    desk = somebody(node, "desk", title="Acme desk")

    me = desk.data("{ me { name kind rights systems grants { system rights } } }")["me"]
    assert me == {"name": "key Acme desk", "kind": "key", "rights": [r for r in RIGHTS if r in DESK], "systems": ["acme"],
        "grants": [{"system": "acme", "rights": me["rights"]}]}
    assert [d["id"] for d in desk.data("{ documents { items { id } } }")["documents"]["items"]] == [mine]
    assert desk.get(f"/documents/{mine}/payload").status == 200
    assert desk.get(f"/documents/{foreign}/payload").status == 404

    # A role that changes is followed, one that goes allows nothing, a key that goes is nobody's.
    make_role(node, "desk", {"see"}, ["erp"])
    assert [d["id"] for d in desk.data("{ documents { items { id } } }")["documents"]["items"]] == [foreign]
    assert codes(desk.ask("mutation { retry(ids: []) { id } }")) == {"forbidden"}
    node.graphql('mutation { roleRemove(name: "desk") }')
    assert codes(desk.ask("{ documents { next } }")) == {"forbidden"}
    assert desk.get(f"/documents/{foreign}").status == 403
    keys = node.graphql("{ adminKeys { id title roles by expires } }")["adminKeys"]
    assert keys == [{"id": desk.id, "title": "Acme desk", "roles": ["desk"], "by": "admin",
                     "expires": None}]
    node.graphql("mutation($id: ID!) { adminKeyRemove(id: $id) }", id=desk.id)
    assert desk.get(f"/documents/{mine}").status == 401
    assert node.request("POST", "/graphql", '{"query": "{ me { name } }"}', {
        "Content-Type": "application/json", "Authorization": f"Bearer {desk.key}"}).status == 401


def test_a_key_expires(make_node, receiver, tmp_path):
    clock = MovedClock(tmp_path)
    node = make_node(config=CONFIG.format(url=receiver.url("")), environment=clock.environment)
    node.start()
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    short, long = somebody(node, "viewer", expires=soon), somebody(node, "viewer")
    assert short.get("/documents/nix").status == long.get("/documents/nix").status == 404
    clock.by(2 * 3600)
    assert short.get("/documents/nix").status == 401
    assert long.get("/documents/nix").status == 404


def test_a_key_is_never_shown_again(node):
    long = somebody(node, "viewer", title="long")
    assert long.data("{ me { name } }")["me"]["name"] == "key long"
    await_so(lambda: all(k["used"] for k in node.graphql("{ adminKeys { id used } }")["adminKeys"] if k["id"] == long.id))
    secret = long.key.rsplit("_", 1)[1]
    assert secret not in json.dumps(node.graphql("{ adminKeys { id title roles made by used } }"))
    assert not any(secret in json.dumps(e) for e in node.events)
    assert all(secret.encode() not in p.read_bytes() for p in node.data.rglob("waybill.db*"))
    for wrong in (long.key[:-1], long.key + "x", "wbk_" + secret, "wbk__", long.key.lower()):
        assert node.get("/documents/nix", token=wrong).status == 401
    # It opens no gateway, and a key of a gateway opens nothing here.
    assert Somebody(node, long.key).post("/in/in", "{}").status == 202  # auth: none
    node.restart()
    assert long.data("{ me { name } }")["me"]["name"] == "key long"


@pytest.mark.stores("postgres")
def test_other_nodes_follow_within_a_second_or_so(node, make_node, receiver):
    beside = make_node(config=CONFIG.format(url=receiver.url("")))
    beside.start()
    one = somebody(node, "viewer")
    there = Somebody(beside, one.key)
    await_so(lambda: there.get("/documents/nix").status == 404)
    node.graphql("mutation($id: ID!) { adminKeyRemove(id: $id) }", id=one.id)
    await_so(lambda: there.get("/documents/nix").status == 401)


def test_what_is_no_role_and_no_key_is_refused(node):
    admin = Somebody(node, node.token)
    for args in ('name: "admin", rights: [see]', 'name: "a b", rights: [see]', 'name: "a", rights: []',
                 'name: "a", rights: [payload]', 'name: "a", rights: [see, users], systems: ["acme"]',
                 'name: "a", rights: [see], systems: []', 'name: "a", rights: [see, edit]'):
        got = admin.ask("mutation { roleAdd(%s) { name } }" % args)
        assert codes(got) & {"refused", "limit"}, (args, got)
    for args in ('title: "t", roles: ["viewr"]', 'title: "t", roles: []', 'title: "", roles: ["viewer"]',
                 'title: "t", roles: ["viewer"], expires: "2020-01-01T00:00:00Z"'):
        got = admin.ask("mutation { adminKeyAdd(%s) { id } }" % args)
        assert codes(got) & {"refused", "limit"}, (args, got)
    assert "did you mean viewer" in json.dumps(
        admin.ask('mutation { adminKeyAdd(title: "t", roles: ["viewr"]) { id } }'))
    assert admin.data('mutation { roleRemove(name: "nix") }') == {"roleRemove": False}


def test_the_command_line_makes_roles_and_keys(node):
    assert node.cli("role", "add", "desk", "--right", "see", "--right", "retry", "--system", "acme",
                    "--title", "Acme desk").returncode == DONE
    listed = node.cli("role", "ls").stdout
    assert "desk" in listed and "see retry" in listed and "acme" in listed and "auditor" in listed
    made = node.cli("key", "add", "--admin", "--title", "Acme", "--role", "desk", "--expires", "90d")
    assert made.returncode == DONE, made.stderr
    key = made.stdout.strip()
    assert key.startswith("wbk_") and key not in made.stderr
    assert Somebody(node, key).data("{ me { systems } }")["me"]["systems"] == ["acme"]
    assert node.cli("docs", "ls", "--token", key).returncode == DONE
    refused = node.cli("role", "ls", "--token", key)
    assert refused.returncode == DENIED and "users" in refused.stderr
    row = json.loads(node.cli("key", "ls", "--admin", "--json").stdout)
    assert row["roles"] == ["desk"] and row["expires"] is not None
    assert "Acme" in node.cli("key", "ls", "--admin").stdout
    assert node.cli("key", "ls").stdout.count("Acme") == 0
    assert node.cli("key", "rm", "--admin", row["id"]).returncode == DONE
    assert node.cli("key", "rm", "--admin", row["id"]).returncode == NO
    assert node.cli("role", "rm", "desk").returncode == DONE
    assert node.cli("role", "rm", "desk").returncode == NO
    assert node.cli("key", "add", "--admin").returncode == USAGE
    assert node.cli("key", "add", "in", "--role", "viewer").returncode == USAGE
    assert node.cli("key", "add").returncode == USAGE
    assert node.cli("role", "add", "x").returncode == USAGE
    assert node.cli("key", "add", "in", "--title", "a sender").returncode == DONE


# ---- the matrix ------------------------------------------------------------------------------


@pytest.mark.proves("ME5", "S3")
def test_every_field_has_a_rule():
    assert {r for r in RULES.values()} <= ALL | {"any"}, [k for k, r in RULES.items() if r is None]
    assert len(OBJECTS) > 40 and len(RULES) > 300


def test_the_manual_says_what_built_in_roles_may(node):
    rows = [[c.strip(" `") for c in line.strip("|\n").split("|")]
            for line in (ROOT / "docs" / "rights.md").read_text().splitlines() if line.startswith("| `")]
    told = {r[0]: sorted(w for w, c in zip(RIGHTS, r[1:]) if c == "yes")
            for r in rows if r[0] in BUILT_IN}
    roles = node.graphql("{ roles { name rights systems builtIn } }")["roles"]
    assert told == {r["name"]: sorted(r["rights"]) for r in roles}
    assert told == {name: sorted(ROLES[name]) for name in BUILT_IN}
    assert all(r["builtIn"] and r["systems"] is None for r in roles)


@pytest.mark.proves("ME5", "S7")
def test_every_query_and_mutation_times_every_role(node):
    """On a live node: what a role has no right for is forbidden, and nothing else is."""
    make_role(node, "desk", DESK, ["acme"])
    make_role(node, "builder", {"configure"})
    make_role(node, "usher", {"users"})
    wrong = []
    for role, rights in ROLES.items():
        who = somebody(node, role)
        for root, verb in (("Query", "query"), ("Mutation", "mutation")):
            for field in OBJECTS[root].fields:
                may = RULES[root, field.name.value] in rights | {"any"}
                got = who.ask(f"{verb} {{ {call_of(field)} }}")
                if ("forbidden" in codes(got)) == may:
                    wrong.append((role, field.name.value, got))
                if not may:
                    assert (got.get("data") or {}).get(field.name.value) is None
        node.graphql("mutation { nodeResume { id } }")  # one of the mutations paused it
    assert not wrong, wrong


def ways():
    """From Query or Mutation to each object type: the fields on the way."""
    found = {"Query": [], "Mutation": []}
    ahead = ["Query", "Mutation"]
    while ahead:
        name = ahead.pop(0)
        for f in OBJECTS[name].fields:
            to = named(f.type)
            if to in OBJECTS and to not in found:
                found[to] = found[name] + [(name, f)]
                ahead.append(to)
    return found


def cases_of(rights):
    """Queries, and the fields that must be refused: of what is reached, all that is allowed at
    once, and what is not one by one.  What is not reached is refused on the way to it."""
    for name, way in ways().items():
        if any(not {RULES[t, f.name.value], SHOWS[t, f.name.value]} <= rights for t, f in way):
            continue
        fields = {f: RULES[name, f.name.value] in rights for f in OBJECTS[name].fields}
        verb = "mutation" if (way[0][0] if way else name) == "Mutation" else "query"
        allowed = [call_of(f) for f, may in fields.items() if may]
        for some in [allowed] * bool(allowed) + [[call_of(f)] for f, may in fields.items() if not may]:
            text = " ".join(some)
            for _, step in reversed(way):
                text = call_of(step, text)
            yield f"{verb} {{ {text} }}", [] if some is allowed else \
                [f.name.value for _, f in way] + [re.match(r"\w+", some[0]).group()]


@pytest.mark.proves("ME5", "S7")
def test_every_field_of_every_type_times_every_role():
    """With the guard of the program, over answers that are always there."""
    cases, lines = [], []
    for role, rights in ROLES.items():
        if role != "desk":  # for named systems: below
            mine = [(role, *c) for c in cases_of(rights | {"any"})]
            cases += mine
            lines += ["#" + ",".join(sorted(rights))] + [json.dumps({"query": q}) for _, q, _ in mine]
    done = subprocess.run([BUILD / "test_graphql_introspect", "--answer", "--guarded"],
                          input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True,
                          timeout=120)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(cases)
    for (role, query, refused), got in zip(cases, answers):
        assert codes(got) == ({"forbidden"} if refused else set()), (role, query, got)
        for e in got.get("errors", ()):  # there, and not somewhere on the way
            assert [p for p in e["path"] if isinstance(p, str)] == refused, (role, query, got)
    seen = {query for role, query, refused in cases if not refused}
    assert len(seen) >= len(OBJECTS), "admin reaches all of them"
    assert set(ways()) == set(OBJECTS)


# ---- scope -----------------------------------------------------------------------------------


class World:
    """Documents of `acme`, which `desk` may see, and of others, which it may not."""

    def __init__(self, node):
        self.node = node
        for system in ("acme", "acne", "erp"):
            node.graphql('mutation($s: String!) { holdAdd(system: $s, owner: "ann", reason: "x")'
                         " { hold { id } } }", s=system)
        self.mine = send(node, "acme", "hub", key="key of acme", text="secret of acme")
        self.foreign = send(node, "erp", "hub", key="key of erp", text="secret of erp")
        self.mine_waits, self.foreign_waits = send(node, "hub", "acme"), send(node, "hub", "acne")
        self.nobody = send(node, "stranger", "acme-not", kind="order")
        self.mine_note, self.foreign_note = send(node, "hub", "acme", "note"), send(node, "hub", "erp", "note")
        self.foreign_first = send(node, "erp", "line", "ordered")
        for doc, state in ((self.mine, "dead"), (self.foreign, "dead"), (self.nobody, "dead"),
                           (self.mine_waits, "held"), (self.foreign_waits, "held"),
                           (self.foreign_first, "retrying")):
            await_so(lambda d=doc, s=state: state_of(node, d) == s)
        self.mine_second = send(node, "acme", "line", "ordered")
        await_so(lambda: state_of(node, self.mine_second) == "held")
        await_so(lambda: node.graphql("{ batches { batches { count } } }")["batches"]["batches"]
                 == [{"count": 1}] * 2)
        # An edit that went to others, and one that came from them.
        self.foreign_edit = self.edit(self.mine, "erp", "erp")
        self.mine_edit = self.edit(self.foreign, "acme", "hub")
        for doc in (self.foreign_edit, self.mine_edit):
            await_so(lambda d=doc: state_of(node, d) in ("dead", "held"))
        node.graphql('mutation($ids: [ID!]!) { keep(ids: $ids, reason: "law") { result } }',
                     ids=[self.mine, self.foreign])
        self.all_mine = {self.mine, self.mine_waits, self.mine_note, self.mine_second, self.mine_edit}
        self.all_foreign = {self.foreign, self.foreign_waits, self.nobody, self.foreign_note,
                            self.foreign_first, self.foreign_edit}
        make_role(node, "desk", DESK, ["acme"])
        make_role(node, "runner", {"operate"})
        self.desk = somebody(node, "desk", "runner", title="desk")
        self.admin = Somebody(node, node.token)

    def edit(self, doc, sender, receiver):
        made = self.node.graphql(
            "mutation($id: ID!, $p: String!, $s: String!, $r: String!) { documentEdit(id: $id, payload: $p,"
            " as: beside, from: router, metadata: { sender: $s, receiver: $r }) { id result message } }",
            id=doc, p=base64.b64encode(b"changed").decode(), s=sender, r=receiver)["documentEdit"]
        assert made["id"], made
        return made["id"]


@pytest.fixture
def world(node, receiver):
    receiver.behave("/slow", "status", 503)
    return World(node)


def unknown_like(doc):
    """Ids that no document has: of the same row, of another row, and no id at all."""
    last = "0" if doc[-1] != "0" else "1"
    return [doc[:-1] + last, doc[:19] + "bfff-ffffffffffff", "nix"]


def leaves(name, depth=2):
    """All that can be asked of a type without arguments, so deep."""
    text = []
    for f in OBJECTS[name].fields:
        if any(is_required(a.type) for a in f.arguments):
            continue
        if named(f.type) not in OBJECTS:
            text.append(f.name.value)
        elif depth > 0:
            text.append(f"{f.name.value} {{ {leaves(named(f.type), depth - 1)} }}")
    return " ".join(text)


def id_arguments():
    """Where the schema takes ids: (type, field, argument), and fields of inputs."""
    for root in OBJECTS:
        for f in OBJECTS[root].fields:
            for a in f.arguments:
                if named(a.type) == "ID":
                    yield root, f.name.value, a.name.value
    for name, d in TYPES.items():
        if kind_of(d) == "InputObjectTypeDefinition":
            for f in d.fields:
                if named(f.type) == "ID":
                    yield name, f.name.value, None


DOCUMENTS = {  # they take ids of documents
    ("Query", "document", "id"), ("Mutation", "retry", "ids"), ("Mutation", "cancel", "ids"),
    ("Mutation", "discard", "ids"), ("Mutation", "resolve", "ids"), ("Mutation", "documentEdit", "id"),
    ("Mutation", "keep", "ids"), ("Mutation", "unkeep", "ids"), ("DocumentFilter", "parent", None),
}
OTHERS = {  # these are looked at by name below
    ("Query", "alert", "id"), ("Mutation", "holdEnd", "id"),
    ("Query", "linkFindings", "pass"), ("Query", "linkDiff", "pass"),   # of no system: test_49_links_audit.py
}


def needs_scope(root, name):
    """Nobody with named systems only has the others; a client id names a request."""
    return RULES.get((root, name)) not in ("operate", "configure", "users", "audit", "any")


def test_every_argument_that_is_an_id_is_looked_at():
    found = {k for k in id_arguments() if k[0] not in OBJECTS or needs_scope(k[0], k[1])}
    found = {k for k in found if k[2] != "client"}
    assert found <= DOCUMENTS | OTHERS, "out of scope must be as unknown here: say how it is tested"
    assert DOCUMENTS | OTHERS <= set(id_arguments())


@pytest.mark.proves("ME5")
def test_ids_out_of_scope_are_unknown_ids(world):
    desk, node = world.desk, world.node
    before = {d: world.admin.data("query($id: ID!) { document(id: $id) { state updated again timeline"
                                  " { message } } }", id=d) for d in world.all_foreign}
    for root, name, arg in sorted(DOCUMENTS, key=str):
        if arg is None:
            continue
        field = next(f for f in OBJECTS[root].fields if f.name.value == name)
        more = [f", {a.name.value}: {literal(a.type)}" for a in field.arguments
                if is_required(a.type) and a.name.value != arg and a.name.value != "payload"]
        more += [', payload: "bmV3"' for a in field.arguments if a.name.value == "payload"]
        query = ("mutation" if root == "Mutation" else "query") + \
            f" {{ {name}({arg}: {'[%s]' if arg == 'ids' else '%s'}{''.join(more)}) {{ {leaves(named(field.type))} }} }}"
        for doc in world.all_foreign:
            answers = [json.dumps(desk.ask(query % json.dumps(i))).replace(i, "ID")
                       for i in [doc] + unknown_like(doc)]
            assert len(set(answers)) == 1, (name, answers)
            assert "errors" not in answers[0], (name, answers)
    for doc in world.all_foreign:
        for i in [doc] + unknown_like(doc):
            got = desk.data("query($id: ID!) { documents(filter: { parent: $id }) { items { id } next } }", id=i)
            assert got == {"documents": {"items": [], "next": None}}
    after = {d: world.admin.data("query($id: ID!) { document(id: $id) { state updated again timeline"
                                 " { message } } }", id=d) for d in world.all_foreign}
    assert before == after
    assert node.graphql("{ kept { items { id } } }")["kept"]["items"] == [
        {"id": i} for i in (world.mine, world.foreign)]


@pytest.mark.proves("ME5")
def test_holds_systems_and_alerts_out_of_scope_are_not_there(world):
    desk, admin = world.desk, world.admin
    await_so(lambda: {"acme", "acne"} <= {a["object"] for a in admin.data("{ alerts { object } }")["alerts"]})
    alerts = {a["object"]: a for a in admin.data("{ alerts { id code object } }")["alerts"]}
    assert {a["object"] for a in desk.data("{ alerts(cleared: true) { object } }")["alerts"]} == {"acme"}
    ask = "query($id: ID!) { alert(id: $id) { id code notices { kind } } }"
    assert desk.data(ask, id=alerts["acme"]["id"])["alert"]
    assert all(desk.data(ask, id=i)["alert"] is None
               for i in [a["id"] for a in alerts.values() if a["object"] != "acme"] + ["4711", "nix"])

    holds = {h["system"]: h["id"] for h in admin.data("{ holds { id system } }")["holds"]}
    assert set(holds) == {"acme", "acne", "erp"}
    assert [h["system"] for h in desk.data("{ holds(ended: true) { system } }")["holds"]] == ["acme"]
    end = "mutation($id: ID!) { holdEnd(id: $id) { id endedBy } }"
    assert all(desk.data(end, id=i)["holdEnd"] is None for i in (holds["erp"], holds["acne"], "4711", "nix"))
    assert len(admin.data("{ holds { id } }")["holds"]) == 3
    assert desk.data(end, id=holds["acme"])["holdEnd"] == {"id": holds["acme"], "endedBy": "key desk"}

    add = 'mutation($s: String!) { holdAdd(system: $s, owner: "x", reason: "y") { hold { owner } } }'
    for names in (("acne", "acqe"), ("erp", "erq"), ("hub", "hux")):
        told = {json.dumps(desk.ask(add, s=n)).replace(n, "NAME") for n in names}
        assert len(told) == 1 and "there is no system NAME" in told.pop()
    assert desk.data(add, s="acme")["holdAdd"]["hold"] == {"owner": "x"}
    one = "query($s: String!) { system(name: $s) { name waiting } }"
    assert desk.data(one, s="acme")["system"]["name"] == "acme"
    assert desk.data(one, s="erp") == desk.data(one, s="nix") == {"system": None}
    assert [e["name"] for e in desk.data("{ endpoints { name } }")["endpoints"]] == ["own"]


@BOTH
@pytest.mark.proves("ME5")
def test_lists_counts_and_groups_have_what_is_in_scope(world):
    desk, admin = world.desk, world.admin

    def ids(who, text="", of="documents"):
        found, after = [], None
        while True:  # pages of one: each of them is full
            page = who.data("query($a: String) { %s(first: 1, after: $a%s) { items { id } next } }"
                            % (of, text), a=after)[of]
            found += [d["id"] for d in page["items"]]
            after = page["next"]
            if after is None:
                assert len(found) == len(set(found))
                return set(found)

    assert ids(admin) == world.all_mine | world.all_foreign
    assert ids(desk) == world.all_mine
    for text in ("state: \"dead\"", "state: \"held\"", "gateway: \"in\"", "sender: \"erp\"",
                 "sender: \"acme\"", "receiver: \"hub\"", "type: \"order\"", "minSize: 1",
                 "error: \"rejected\"", "sender: \"stranger\"", "receiver: \"acme-not\"",
                 "since: \"2020-01-01T00:00:00Z\""):
        text = ", filter: { %s }" % text
        assert ids(desk, text) == ids(admin, text) & world.all_mine, text
    assert ids(desk, of="kept") == {world.mine}
    for doc in (world.mine, world.foreign):
        text = ', filter: { key: "key of %s" }' % {world.mine: "acme", world.foreign: "erp"}[doc]
        assert ids(admin, text) == {doc} and ids(desk, text) == {doc} & world.all_mine

    dead = "{ deadLetters(first: 200) { items { document sender receiver } next } }"
    mine_dead = {d["document"] for d in admin.data(dead)["deadLetters"]["items"]} & world.all_mine
    assert {d["document"] for d in desk.data(dead)["deadLetters"]["items"]} == mine_dead == {
        world.mine, world.mine_edit}
    for by in ("reason", "receiver", "type"):
        groups = desk.data("{ deadGroups(by: %s) { key code count } }" % by)["deadGroups"]
        assert sum(g["count"] for g in groups) == len(mine_dead), groups
        assert "unknown_system" not in {g["code"] for g in groups}
    assert desk.data('{ deadGroups(filter: { sender: "erp" }) { count } }')["deadGroups"] == []

    scan = "query($t: String!) { scan(text: $t) { items { id } looked skipped } }"
    assert desk.data(scan, t="secret of acme")["scan"]["items"] == [{"id": world.mine}]
    got = desk.data(scan, t="secret of erp")["scan"]
    assert got["items"] == [] and got["looked"] == len(world.all_mine)

    batches = desk.data("{ batches { batches { receiver count memberIds document } next } }")["batches"]
    assert [b["receiver"] for b in batches["batches"]] == ["acme"] and batches["next"] is None
    assert batches["batches"][0]["memberIds"] == [world.mine_note]
    for who, count in ((desk, 1), (admin, 2)):
        found, after = [], None
        while True:
            page = who.data("query($a: String) { batches(first: 1, after: $a) { batches { receiver } next } }",
                            a=after)["batches"]
            found += page["batches"]
            after = page["next"]
            if after is None:
                break
        assert len(found) == count

    dry = "mutation { deadRetry(dry: true) { count } deadDiscard(dry: true) { count }" \
          " documentsRetry(dry: true, again: true) { count } documentsCancel(dry: true) { count }" \
          " documentsDiscard(dry: true) { count } }"
    assert {k: v["count"] for k, v in desk.data(dry).items()} == {
        "deadRetry": 2, "deadDiscard": 2, "documentsRetry": 5, "documentsCancel": 5, "documentsDiscard": 2}
    assert desk.data("mutation { deadDiscard { done next } }")["deadDiscard"] == {"done": 2, "next": None}
    assert desk.data("mutation { documentsCancel { next } }")["documentsCancel"]["next"] is None
    assert {state_of(world.node, d) for d in world.all_mine} <= {"cancelled", "discarded"}
    assert not {state_of(world.node, d) for d in world.all_foreign} & {"cancelled", "discarded"}


@pytest.mark.proves("ME5")
def test_where_a_document_comes_from_and_goes_to_ends_at_the_scope(world):
    desk, admin = world.desk, world.admin
    ask = "query($id: ID!) { document(id: $id) { editOf { id } editDiff edits { items { id } }" \
          " children { items { id } } parent { id } batch { id } deliveries { blockedBy } } }"
    full = admin.data(ask, id=world.mine)["document"]
    assert full["edits"]["items"] == full["children"]["items"] == [{"id": world.foreign_edit}]
    cut = desk.data(ask, id=world.mine)["document"]
    assert cut["edits"]["items"] == cut["children"]["items"] == []
    full = admin.data(ask, id=world.mine_edit)["document"]
    assert full["editOf"] == {"id": world.foreign} and "secret of erp" in full["editDiff"]
    cut = desk.data(ask, id=world.mine_edit)["document"]
    assert cut["editOf"] is None and cut["editDiff"] is None
    assert admin.data(ask, id=world.mine_second)["document"]["deliveries"] == [
        {"blockedBy": world.foreign_first}]
    assert desk.data(ask, id=world.mine_second)["document"]["deliveries"] == [{"blockedBy": None}]

    # Of two roles each counts for its own systems: see here, payload there.
    make_role(world.node, "look", {"see"}, ["erp"])
    both = somebody(world.node, "desk", "look")
    got = both.ask("query($a: ID!, $b: ID!) { a: document(id: $a) { id editDiff editOf { id } }"
                   " b: document(id: $b) { id editDiff } }", a=world.mine_edit, b=world.foreign_edit)
    assert got["data"]["a"] == {"id": world.mine_edit, "editDiff": None,
                                "editOf": {"id": world.foreign}}
    assert got["data"]["b"] == {"id": world.foreign_edit, "editDiff": None}
    assert [(e["path"], e["extensions"]["code"]) for e in got["errors"]] == [(["b", "editDiff"], "forbidden")]
    for field in OBJECTS["Document"].fields:
        if RULES["Document", field.name.value] != "see":
            below = leaves(named(field.type)) if named(field.type) in OBJECTS else ""
            for doc, want in ((world.foreign, {"forbidden"}), (world.mine, set())):
                got = both.ask(f'{{ document(id: "{doc}") {{ {call_of(field, below)} }} }}')
                assert codes(got) == want, got
    assert both.get(f"/documents/{world.foreign}").status == 200
    assert both.get(f"/documents/{world.foreign}/payload").status == 403
    assert both.data("mutation($id: ID!) { retry(ids: [$id]) { result } }", id=world.foreign)["retry"] == [
        {"result": "unknown"}]

    # Who may look into it, and edit elsewhere, does not edit it; who may not look does not either.
    make_role(world.node, "look", {"see", "payload"}, ["erp"])
    edit = 'mutation($id: ID!) { documentEdit(id: $id, payload: "bmV3") { result id } }'
    assert both.data(edit, id=world.foreign)["documentEdit"] == {"result": "unknown", "id": None}
    assert both.post(f"/documents/{world.foreign}/edit", b"new").status == 404
    make_role(world.node, "desk", {"see"}, ["acme"])
    assert codes(both.ask(edit, id=world.mine)) == {"forbidden"}
    assert both.post(f"/documents/{world.mine}/edit", b"new").status == 403


@pytest.mark.proves("ME5")
def test_no_answer_names_a_document_out_of_scope(world):
    """Whatever is asked, and as deep as it may be: also what the schema will have one day."""
    asked = [call_of(f, leaves(named(f.type), depth)) for depth in (0, 1, 2, 3) for f in OBJECTS["Query"].fields
             if RULES["Query", f.name.value] in DESK | {"any"} and named(f.type) in OBJECTS]
    asked += [f'document(id: "{doc}") {{ {leaves("Document", depth)} }}'
              for doc in world.all_mine for depth in (1, 2)]
    for who, shown in ((world.admin, True), (world.desk, False)):
        text = "".join(json.dumps(who.ask("{ %s }" % one)) for one in asked)
        assert all((i in text) == shown for i in world.all_foreign), [
            (name, text[text.find(i) - 200:][:300]) for name, i in vars(world).items() if i in world.all_foreign]
        assert all(i in text for i in world.all_mine)


@pytest.mark.proves("ME5")
def test_paths_answer_out_of_scope_as_unknown(world):
    desk = world.desk

    def told(answer, doc):
        return (answer.status, answer.body.replace(doc.encode(), b"ID"),
                tuple(sorted((k, v) for k, v in answer.headers.items() if k != "Date")))

    for method, path, body in (("GET", "/documents/%s", None), ("HEAD", "/documents/%s", None),
                               ("GET", "/documents/%s/payload", None), ("HEAD", "/documents/%s/payload", None),
                               ("GET", "/documents/%s/payload?stage=1", None),
                               ("POST", "/documents/%s/edit", b"new"),
                               ("POST", "/documents/%s/edit?as=beside&from=router", b"new")):
        for doc in world.all_foreign:
            answers = {told(world.node.request(method, path % i, body, {
                "Authorization": f"Bearer {desk.key}"}), i) for i in [doc] + unknown_like(doc)[:2]}
            assert len(answers) == 1 and answers.pop()[0] == 404, answers
    assert desk.get(f"/documents/{world.mine}").json["sender"] == "acme"
    assert b"secret of acme" in desk.get(f"/documents/{world.mine}/payload").body

    # Without the right for any system there is nothing to ask for.
    viewer = somebody(world.node, "viewer")
    assert viewer.get(f"/documents/{world.foreign}").status == 200
    assert viewer.get(f"/documents/{world.mine}/payload").status == 403
    assert viewer.get("/documents/nix/payload").status == 403
    assert viewer.post(f"/documents/{world.mine}/edit", b"x").status == 403
    assert viewer.post("/documents?gateway=in", b"x").status == 403
    make_role(world.node, "usher", {"users"})
    usher = somebody(world.node, "usher")
    assert [usher.get(f"/documents/{i}").status for i in (world.mine, world.foreign, "nix")] == [403] * 3


@pytest.mark.proves("ME5")
def test_nobody_sends_in_the_name_of_others(world):
    desk = world.desk
    edit = "mutation($id: ID!, $p: String!, $f: EditFrom, $m: DocumentMetadata) { documentEdit(id: $id," \
           " payload: $p, as: beside, from: $f, metadata: $m) { result id message } }"
    make = "mutation($p: String!, $m: DocumentMetadata!) { documentSend(gateway: \"in\", payload: $p," \
           " metadata: $m) { result id message } }"

    def b64(**paper):
        return base64.b64encode(json.dumps({"type": "order", **paper}).encode()).decode()

    told = set()
    for sender, receiver in (("erp", "hub"), ("erp", "erp"), ("nix", "hub"), ("", "hub"), ("nix", "nox")):
        m = {"sender": sender, "receiver": receiver, "type": "order"}
        for got in (desk.data(edit, id=world.mine, p="", f="router", m=m)["documentEdit"],
                    desk.data(make, p="", m=m)["documentSend"],
                    desk.data(edit, id=world.mine, p=b64(**{"from": sender, "to": receiver}),
                              f="gateway")["documentEdit"]):
            assert got["result"] == "nothing" and got["id"] is None
            told.add(got["message"])
        http = desk.post("/documents?gateway=in", b"x", **{"Waybill-Sender": sender or "none",
                                                           "Waybill-Receiver": receiver})
        assert http.status == 409
    assert len(told) == 1
    paper = b64(**{"from": "erp", "to": "hub"})
    rehearse = "query($p: String!) { rehearse(gateway: \"in\", payload: $p) { receiver } }"
    assert codes(desk.ask(rehearse, p=paper)) == {"forbidden"}
    assert desk.data(rehearse, p=b64(**{"from": "acme", "to": "erp"}))["rehearse"]["receiver"] == "erp"

    m = {"sender": "acme", "receiver": "hub", "type": "order"}
    for got in (desk.data(edit, id=world.mine, p="", f="router", m=m)["documentEdit"],
                desk.data(make, p="", m=m)["documentSend"],
                desk.data(edit, id=world.mine, p=b64(**{"from": "acme", "to": "erp"}), f="gateway")["documentEdit"]):
        assert got["result"] == "done", got
        doc = desk.data("query($id: ID!) { document(id: $id) { timeline { what } } }", id=got["id"])
        assert doc["document"] is None or "key desk" in json.dumps(doc)
    large = desk.post(f"/documents/{world.mine}/edit", b"x" * (2 << 20))
    assert large.status in (409, 413)
