"""The GraphQL engine against graphql-core, an implementation that is not ours.

The unit test program test_graphql_introspect, called with --answer, answers one request
per line: the schema is that of the admin API, and every field answers with a fixed value
of its type.  graphql-core is given the same schema and the same values.  Version 2
(Debian 12) and version 3 both do.
"""
import json
import os
import pathlib
import random
import re
import subprocess

import graphql
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD", ROOT / "build" / "debug"))
SDL = (ROOT / "src" / "admin" / "api" / "schema.graphql").read_text()
VERSION = int(graphql.__version__.split(".")[0])

if VERSION >= 3:
    from graphql import (build_client_schema, build_schema, get_introspection_query,
                         print_schema)

    def parse_schema(sdl):
        return build_schema(sdl)

    INTROSPECTION = get_introspection_query()
else:
    from graphql.utils.build_ast_schema import build_ast_schema
    from graphql.utils.build_client_schema import build_client_schema
    from graphql.utils.introspection_query import introspection_query as INTROSPECTION
    from graphql.utils.schema_printer import print_schema

    def parse_schema(sdl):
        """Version 2 is older than descriptions in a schema and default names of its roots."""
        sdl = re.sub(r'^\s*".*"\n', "", sdl, flags=re.M)
        return build_ast_schema(graphql.parse(
            "schema { query: Query mutation: Mutation }" + sdl))


def ask(*requests):
    """The answers of our engine to requests, each a query or (query, variables)."""
    lines = []
    for r in requests:
        query, variables = r if isinstance(r, tuple) else (r, None)
        lines.append(json.dumps({"query": query, "variables": variables}))
    done = subprocess.run([BUILD / "test_graphql_introspect", "--answer"], check=True, timeout=60,
                          input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(requests)
    return answers


def named(t):
    while hasattr(t, "of_type"):
        t = t.of_type
    return t


def wrap(t, value):
    """The value in as many lists of two as the type has."""
    if isinstance(t, graphql.GraphQLNonNull):
        return wrap(t.of_type, value)
    if isinstance(t, graphql.GraphQLList):
        return [wrap(t.of_type, value)] * 2
    return value


def mock_value(field_name, t):
    name = named(t).name
    fixed = {"Int": 7, "Long": 7, "Float": 1.5, "Boolean": True, "Time": "2025-11-15T02:52:10.123456Z"}
    if isinstance(named(t), graphql.GraphQLObjectType):
        return wrap(t, {})
    if isinstance(named(t), graphql.GraphQLEnumType):
        values = named(t).values
        return wrap(t, next(iter(values)) if VERSION >= 3 else values[0].value)
    return wrap(t, fixed.get(name, field_name))


def mock_schema():
    schema = parse_schema(SDL)
    types = schema.type_map if VERSION >= 3 else schema.get_type_map()
    for t in types.values():
        if isinstance(t, graphql.GraphQLScalarType) and t.name in ("Time", "Long"):
            t.serialize = lambda v: v
            t.parse_value = lambda v: v
            t.parse_literal = lambda node, *_: node.value
        if isinstance(t, graphql.GraphQLObjectType) and not t.name.startswith("__"):
            for name, field in t.fields.items():
                value = mock_value(name, field.type)
                setattr(field, "resolve" if VERSION >= 3 else "resolver",
                        lambda *_, value=value, **__: value)
    return schema


@pytest.fixture(scope="module")
def theirs():
    schema = mock_schema()

    def run(query, variables=None):
        if VERSION >= 3:
            return graphql.graphql_sync(schema, query, variable_values=variables)
        return graphql.graphql(schema, query, variable_values=variables or {})
    return run


def plain(schema_text):
    """Without the directive that version 2 does not know as one of the specification."""
    return re.sub(r"directive @specifiedBy\(\s*url: String!\s*\) on SCALAR\n\n", "", schema_text)


def test_introspection_gives_the_schema_back():
    (answer,) = ask(INTROSPECTION)
    assert "errors" not in answer
    assert plain(print_schema(build_client_schema(answer["data"]))) == \
        print_schema(parse_schema(SDL))


# No null literals and no fragments without a type: version 2 fails at them.
VALID = [
    "{keys{id title made}}",
    "{a:keys{id}b:keys{id title}}",
    "query Q{document(id:\"x\"){id size config timeline{time duration}error{code}}}",
    "{documents(first:2,filter:{state:\"dead\"}){items{...d}next}}"
    "fragment d on Document{id ...e}fragment e on Document{state}",
    "{nodes{...on Node{id self}pid __typename}}",
    "{doctor{ok checks{name ok count}} doctor{checks{message}}}",
    "{keys{id @skip(if:true) title @include(if:false) made @skip(if:false)}}",
    "mutation{keyAdd(gateway:\"g\"){id key}keyRemove(id:7)}",
    "{configDiff(from:1,to:2) config{version} c:config(version:3){text}}",
    ("query($n:Int=2,$f:DocumentFilter){documents(first:$n,filter:$f){next}}",
     {"f": {"type": "order"}}),
    ("query($n:Int=2){documents(first:$n){next}}", {"n": None}),
    ("query($x:Boolean!){keys{id @include(if:$x)}}", {"x": True}),
    ("query($i:ID!){document(id:$i){id}}", {"i": 12}),
    "{__typename __schema{queryType{name}} __type(name:\"Key\"){fields{name}}}",
]


def test_answers_are_the_same(theirs):
    for request, answer in zip(VALID, ask(*VALID)):
        want = theirs(*(request if isinstance(request, tuple) else (request,)))
        assert not want.errors and answer == {"data": want.data}, request


INVALID = [
    "", "{", "{}", "{a}", "{keys}", "{keys{id{x}}}", "{keys{id}", "{document{id}}",
    "{document(id:1,x:2){id}}", "{document(id:1,id:2){id}}",
    "{documents(first:\"2\"){next}}", "{documents(first:2.5){next}}", "{documents(filter:{x:1}){next}}",
    "{documents(first:3000000000){next}}", "{documents(filter:{state:1}){next}}",
    "{...f}", "{keys{...f}} fragment f on Node{id}", "{keys{id}} fragment f on Key{id}",
    "{keys{...f}} fragment f on Key{...f}", "{keys{...f}} fragment f on Nix{id}",
    "{keys{...on Node{id}}}", "{keys{...on Nix{id}}}", "{keys{...f}} fragment f on DocumentFilter{state}",
    "query A{keys{id}} query A{keys{id}}", "{keys{id}} query A{keys{id}}",
    "query($a:Int){keys{id}}", "{config(version:$v){version}}", "query($v:String){config(version:$v){version}}",
    "query($v:Key){config(version:$v){version}}", "query($v:Nix){config(version:$v){version}}",
    "query($i:ID){document(id:$i){id}}", "query($v:Int=\"x\"){config(version:$v){version}}",
    "{keys @nix{id}}", "{keys @skip{id}}", "{keys @skip(if:1){id}}", "query @skip(if:true){keys{id}}",
    "{keys{a:id a:title}}", "{config(version:1){version}config(version:2){version}}",
    "{keys{id __nix}}", "{keys{__schema{queryType{name}}}}", "subscription{a}", "type A{a:Int}",
    ("query($i:ID!){document(id:$i){id}}", {}),
    ("query($i:ID!){document(id:$i){id}}", {"i": None}),
    ("query($n:Int){documents(first:$n){next}}", {"n": "two"}),
    ("query($f:DocumentFilter){documents(filter:$f){next}}", {"f": {"nix": 1}}),
    ("query($f:DocumentFilter){documents(filter:$f){next}}", {"f": "x"}),
]


def test_mistakes_are_found_by_both(theirs):
    for request, answer in zip(INVALID, ask(*INVALID)):
        want = theirs(*(request if isinstance(request, tuple) else (request,)))
        assert want.errors and answer.get("errors") and "data" not in answer, request


class Writer:
    """Writes random documents that are nearly always valid."""

    def __init__(self, schema, rnd):
        self.schema, self.rnd = schema, rnd
        self.fragments = {}

    def selection(self, t, depth):
        parts = []
        for _ in range(self.rnd.randint(1, 4)):
            roll = self.rnd.random()
            if roll < 0.08:
                parts.append("__typename")
            elif roll < 0.16 and depth < 6:
                parts.append("...on %s%s" % (t.name, self.selection(t, depth + 1)))
            elif roll < 0.24 and depth < 6 and len(self.fragments) < 8:
                name = "f%d" % len(self.fragments)
                self.fragments[name] = None
                self.fragments[name] = "fragment %s on %s%s" % (
                    name, t.name, self.selection(t, depth + 1))
                parts.append("..." + name)
            else:
                parts.append(self.field(t, depth))
        return "{%s}" % " ".join(parts)

    def field(self, t, depth):
        name, field = self.rnd.choice(sorted(t.fields.items()))
        inner = named(field.type)
        composite = isinstance(inner, graphql.GraphQLObjectType)
        if composite and depth > 4:
            return "__typename"
        text = name
        if self.rnd.random() < 0.2:
            text = "%s:%s" % (self.rnd.choice("abcdefgh"), name)
        args = [f"{n}:{self.value(a.type)}" for n, a in sorted(field.args.items())
                if isinstance(a.type, graphql.GraphQLNonNull) or self.rnd.random() < 0.3]
        if args:
            text += "(%s)" % ",".join(args)
        if self.rnd.random() < 0.1:
            text += " @%s(if:%s)" % (self.rnd.choice(["skip", "include"]),
                                     self.rnd.choice(["true", "false"]))
        return text + (self.selection(inner, depth + 1) if composite else "")

    def value(self, t):
        name = named(t).name
        return {"Int": "3", "Boolean": "true", "ID": self.rnd.choice(["4", '"x"']), "String": '"text"',
                "Time": '"2026-11-15T02:52:10Z"', "DeadBy": self.rnd.choice(["reason", "type"]),
                "SeriesName": "accepted", "JobState": "paused", "PayloadAs": self.rnd.choice(["text", "hex"]), "Long": "3",
                "LinkSide": "dest", "LinkFindingState": "gone",
                "RehearseAgainst": self.rnd.choice(["happened", "live"]),
                "ChildKind": self.rnd.choice(["copy", "part"]),
                "DeadFilter": '{error:"no_route",where:[{name:"a",value:"b"}]}',
                "Long": "7", "AuditFilter": '{actor:"text",since:"2026-11-15T02:52:10Z"}',
                "ConfigFileInput": '[{path:"a.lua",text:"return 1"}]',
                "DocumentFilter": "{state:\"dead\"}"}[name]

    def document(self):
        root = self.schema.query_type if VERSION >= 3 else self.schema.get_query_type()
        return " ".join(["query" + self.selection(root, 1), *filter(None, self.fragments.values())])


def spoiled(text, rnd):
    """The document with one piece left out or doubled: mostly a mistake."""
    tokens = re.findall(r'\.\.\.|"[^"]*"|\w+|\S', text)
    at = rnd.randrange(len(tokens))
    return " ".join(tokens[:at] + (tokens[at:at + 1] * 2 if rnd.random() < 0.5 else []) + tokens[at + 1:])


def is_unjudged(answer, want):
    """Limits are ours alone; and graphql-core misses conflicts between a field and a fragment
    within a fragment within a fragment, and its version 2 directives that stand twice, where the
    specification is clear."""
    first = answer.get("errors", [{}])[0]
    return first.get("extensions", {}).get("code") == "limit" or (
        not want.errors and ("is selected twice with different" in first.get("message", "") or
                             "twice in one place" in first.get("message", "")))


@pytest.mark.parametrize("seed", range(4))
def test_random_documents(theirs, seed):
    rnd = random.Random(seed)
    schema = mock_schema()
    documents = [Writer(schema, rnd).document() for _ in range(150)]
    documents += [spoiled(d, rnd) for d in documents]
    ran = refused = 0
    for text, answer in zip(documents, ask(*documents)):
        want = theirs(text)
        if is_unjudged(answer, want):
            continue
        assert bool(want.errors) == ("errors" in answer), (text, want.errors, answer)
        if not want.errors:
            assert answer["data"] == want.data, text
            ran += 1
        else:
            refused += 1
    assert ran > 50 and refused > 50
