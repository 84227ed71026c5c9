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

from rig.receiver import Receiver  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD", ROOT / "build" / "debug"))
SDL = (ROOT / "src" / "admin" / "schema.graphql").read_text()
BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO, USAGE, DENIED = 0, 1, 2, 77

ALL = {"see", "payload", "download", "retry", "edit", "hold", "operate", "configure", "users", "audit"}
DESK = {"see", "payload", "download", "retry", "edit", "hold"}
# As docs/rights.md has them, and three that somebody makes: for one system, and with one right.
ROLES = {
    "admin": ALL,
    "operator": {"see", "payload", "retry", "hold", "operate"},
    "viewer": {"see"},
    "auditor": {"see", "audit"},
    "desk": DESK,
    "builder": {"configure"},
    "usher": {"users"},
}
BUILT_IN = ("admin", "operator", "viewer", "auditor")

CONFIG = """\
systems:
  acme: {{ title: Acme }}
  hub: {{}}
  erp: {{}}
  acne: {{}}
types: {{ order: {{}}, note: {{}}, "*": {{}} }}
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
batches:
  daily: {{ count: 1000, join: text, do: [ {{ deliver: api }} ] }}
routes:
  - name: orders
    when: {{ type: order }}
    do: [ {{ deliver: api }} ]
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


def needs_of(node):
    for d in node.directives or ():
        if d.name.value == "needs":
            return d.arguments[0].value.value
    return None


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


def somebody(node, *roles, title="test", expires=None):
    made = node.graphql(
        "mutation($t: String!, $r: [String!]!, $e: Time) { adminKeyAdd(title: $t, roles: $r,"
        " expires: $e) { id key } }", t=title, r=list(roles), e=expires)["adminKeyAdd"]
    one = Somebody(node, made["key"])
    one.id = made["id"]
    return one


def await_so(what, seconds=20):
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


def send(node, sender, receiver, kind="order", **more):
    got = node.post("in", json.dumps({"from": sender, "to": receiver, "type": kind, **more}),
                    {"Content-Type": "application/json"})
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
    assert me == {"name": "key Acme desk", "kind": "key", "rights": sorted(DESK, key=list(
        ("see", "payload", "download", "retry", "edit", "hold")).index), "systems": ["acme"],
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


def test_a_key_expires_and_is_never_shown_again(node):
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
    short = somebody(node, "viewer", expires=soon)
    await_so(lambda: short.get("/documents/nix").status == 401)
    long = somebody(node, "viewer", title="long")
    assert long.data("{ me { name } }")["me"]["name"] == "key long"
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
    await_so(lambda: there.get("/documents/nix").status == 404, seconds=10)
    node.graphql("mutation($id: ID!) { adminKeyRemove(id: $id) }", id=one.id)
    await_so(lambda: there.get("/documents/nix").status == 401, seconds=10)


def test_what_is_no_role_and_no_key_is_refused(node):
    admin = Somebody(node, node.token)
    for args in ('name: "admin", rights: [see]', 'name: "a b", rights: [see]', 'name: "a", rights: []',
                 'name: "a", rights: [payload]', 'name: "a", rights: [see, users], systems: ["acme"]',
                 'name: "a", rights: [see], systems: []'):
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


@pytest.mark.proves("ME5")
def test_every_field_has_a_rule():
    assert {r for r in RULES.values()} <= ALL | {"any"}, [k for k, r in RULES.items() if r is None]
    assert len(OBJECTS) > 40 and len(RULES) > 300


@pytest.mark.proves("ME5")
def test_every_query_and_mutation_times_every_role(node):
    """On a live node: what a role has no right for is forbidden, and nothing else is."""
    make_role(node, "desk", DESK, ["acme"])
    make_role(node, "builder", {"configure"})
    make_role(node, "usher", {"users"})
    wrong = []
    for role, rights in ROLES.items():
        for root, verb in (("Query", "query"), ("Mutation", "mutation")):
            for field in OBJECTS[root].fields:
                who = somebody(node, role)  # some of them end keys
                may = RULES[root, field.name.value] in rights | {"any"}
                got = who.ask(f"{verb} {{ {call_of(field)} }}")
                if ("forbidden" in codes(got)) == may:
                    wrong.append((role, field.name.value, got))
                if not may:
                    assert list(got.get("data") or {field.name.value: None}) == [field.name.value]
                    assert (got.get("data") or {}).get(field.name.value) is None
                node.graphql("mutation($id: ID!) { adminKeyRemove(id: $id) nodeResume { id } }",
                             id=who.id)
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


@pytest.mark.proves("ME5")
def test_every_field_of_every_type_times_every_role():
    """With the guard of the program, over answers that are always there."""
    cases = []
    for name, way in ways().items():
        for field in OBJECTS[name].fields:
            text = call_of(field)
            for _, step in reversed(way):
                text = call_of(step, text)
            root = way[0][0] if way else name
            rules = [RULES[t, f.name.value] for t, f in way] + [RULES[name, field.name.value]]
            cases.append(("mutation" if root == "Mutation" else "query") + f" {{ {text} }}")
            cases[-1] = (cases[-1], rules, f"{name}.{field.name.value}")
    assert {c[2] for c in cases} == {f"{t}.{f}" for t, f in RULES}
    lines = "".join(json.dumps({"query": c[0]}) + "\n" for c in cases)
    for role in (r for r in ROLES if r != "desk"):
        rights = ROLES[role]
        done = subprocess.run([BUILD / "test_graphql_introspect", "--answer", ",".join(sorted(rights))],
                              input=lines, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(answers) == len(cases)
        for (query, rules, title), got in zip(cases, answers):
            lacks = [i for i, r in enumerate(rules) if r not in rights | {"any"}]
            if not lacks:
                assert not got.get("errors"), (role, title, query, got)
                continue
            assert codes(got) == {"forbidden"}, (role, title, query, got)
            # Refused at the first field without the right, not somewhere below it.
            for e in got["errors"]:
                assert len([p for p in e["path"] if isinstance(p, str)]) == lacks[0] + 1, (title, got)
