#!/usr/bin/python3
"""What python3-jsonschema says of generated documents: a line SCHEMA, one DOCUMENT, one "valid" or "invalid".

    opinions.py SEED COUNT

Schemas use every keyword; documents are made by the schema and then changed, so that about half of them fit.  Left out
is what jsonschema 4.10 judges by Python's rules instead of the standard's (true and 1 within lists, floats where a
double is not exact, `$` before a line feed), and beside `unevaluated...` what it does not count: schemas in
`additionalProperties`, `patternProperties`, a schema in `unevaluatedItems`.
"""
import json
import random
import sys

from jsonschema import Draft202012Validator

TEXTS = ["", "a", "b", "ab", "abc", "red", "green", "x1", "Zürich", "😀", "a b"]
NUMBERS = [-3, -1, 2, 3, 5, 7, 10, 12, 0.5, 2.5, -1.25, 10**30, 10**30 + 7, 2.0]
NAMES = ["a", "b", "c", "id", "n1", "n2", "é"]
PATTERNS = ["^a", "b$", "^[a-z]+$", "[0-9]", "^.{2}$", "^(red|green)$", "a.*b"]


class Maker:
    """Schemas, documents for them, and changed documents."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def some(self, values, least=0, most=3):
        return self.chance.sample(values, self.chance.randint(least, min(most, len(values))))

    def is_so(self, part):
        return self.chance.random() < part

    def value(self, depth=2):
        kind = self.chance.randint(0, 3 if depth == 0 else 5)
        if kind < 2:
            return self.chance.choice(NUMBERS)
        if kind == 2:
            return self.chance.choice(TEXTS)
        if kind == 3:
            return self.chance.choice([None, "red"])
        if kind == 4:
            return [self.value(depth - 1) for _ in range(self.chance.randint(0, 4))]
        return {name: self.value(depth - 1) for name in self.some(NAMES, 0, 4)}

    def parts(self, depth, least=1, most=3):
        return [self.schema(depth - 1) for _ in range(self.chance.randint(least, most))]

    def keyword(self, depth):
        """One keyword with its value, or a few that belong together."""
        c = self.chance
        flat = [
            lambda: {"type": c.choice(["null", "number", "integer", "string", "array", "object",
                                       ["string", "integer"], ["array", "object", "null"]])},
            lambda: {"enum": [self.value(1) for _ in range(4)]},
            lambda: {"const": self.value(1)},
            lambda: {c.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]): c.choice(NUMBERS)},
            lambda: {"multipleOf": c.choice([1, 2, 5, 0.5, 0.25])},
            lambda: {c.choice(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]):
                     c.randint(0, 3)},
            lambda: {"pattern": c.choice(PATTERNS)},
            lambda: {"uniqueItems": True},
            lambda: {"required": self.some(NAMES, 0, 2)},
            lambda: {"dependentRequired": {c.choice(NAMES): self.some(NAMES, 0, 2)}},
        ]
        if depth == 0:
            return c.choice(flat)()
        deep = [
            lambda: {c.choice(["allOf", "anyOf", "oneOf"]): self.parts(depth)},
            lambda: {"not": self.schema(depth - 1)},
            lambda: {"if": self.schema(depth - 1), "then": self.schema(depth - 1), "else": self.schema(depth - 1)},
            lambda: {"properties": {n: self.schema(depth - 1) for n in self.some(NAMES, 1, 3)}},
            lambda: {"properties": {n: True for n in self.some(NAMES, 1, 4)}, "additionalProperties":
                     self.schema(depth - 1)},
            lambda: {"patternProperties": {"^n": self.schema(depth - 1), "[ab]": True}},
            lambda: {"propertyNames": self.schema(0)},
            lambda: {"dependentSchemas": {c.choice(NAMES): self.schema(depth - 1)}},
            lambda: {"prefixItems": self.parts(depth)},
            lambda: {"items": self.schema(depth - 1)},
            lambda: {"prefixItems": self.parts(depth), "items": self.schema(depth - 1)},
            lambda: {"contains": self.schema(depth - 1)},
            lambda: {"contains": self.schema(depth - 1), "minContains": c.randint(0, 2), "maxContains": c.randint(1, 3)},
            lambda: {"$ref": c.choice(["#/$defs/one", "#two", "urn:three#/$defs/four"])},
        ]
        return c.choice(flat + deep * 2)()

    def schema(self, depth):
        if self.is_so(0.06):
            return self.is_so(0.6)
        made = {}
        for _ in range(self.chance.randint(1, 3)):
            made.update(self.keyword(depth))
        return made

    def open_object(self, depth):
        """Evaluates some members, for an unevaluatedProperties around it."""
        c = self.chance
        made = {"properties": {n: c.choice([True, {"type": "number"}]) for n in self.some(NAMES, 1, 2)}}
        if depth > 0 and self.is_so(0.7):
            made.update(c.choice([
                lambda: {c.choice(["allOf", "anyOf", "oneOf"]): [self.open_object(depth - 1) for _ in range(2)]},
                lambda: {"if": {"required": [c.choice(NAMES)], **self.open_object(0)}, "then": self.open_object(0),
                         "else": self.open_object(depth - 1)},
                lambda: {"dependentSchemas": {c.choice(NAMES): self.open_object(depth - 1)}},
                lambda: {"$ref": "#/$defs/five"},
            ])())
        return made

    def open_list(self, depth):
        """The same for unevaluatedItems."""
        c = self.chance
        made = {"prefixItems": [c.choice([True, {"type": ["number", "string"]}]) for _ in range(c.randint(1, 2))]}
        if depth > 0 and self.is_so(0.7):
            made.update(c.choice([
                lambda: {c.choice(["allOf", "anyOf", "oneOf"]): [self.open_list(depth - 1) for _ in range(2)]},
                lambda: {"if": {"minItems": c.randint(1, 3)}, "then": self.open_list(depth - 1)},
                lambda: {"contains": {"type": "string"}, "minContains": 0},
                lambda: {"$ref": "#/$defs/six"},
            ])())
        return made

    def whole(self):
        """A schema whose references lead to parts without references: none is endless."""
        c = self.chance
        kind = c.randint(0, 4)
        made = ({**self.open_object(2), "type": "object", "unevaluatedProperties": c.choice([False, {"type": "number"}])}
                if kind == 0 else {**self.open_list(2), "type": "array", "unevaluatedItems": False} if kind == 1
                else self.schema(3))
        if made in (True, False):
            made = {}
        made["$defs"] = {"one": self.schema(0), "two": {"$anchor": "two", "type": "string", "minLength": 1},
                         "three": {"$id": "urn:three", "$defs": {"four": self.schema(0)}},
                         "five": self.open_object(0), "six": self.open_list(0)}
        return made

    def document(self, schema, depth=4):
        """Something that has a fair chance to fit."""
        c = self.chance
        if schema in (True, False) or depth == 0 or self.is_so(0.1):
            return self.value()
        if "const" in schema and self.is_so(0.8):
            return schema["const"]
        if "enum" in schema and self.is_so(0.8):
            return c.choice(schema["enum"])
        for word in ("allOf", "anyOf", "oneOf"):
            if word in schema and self.is_so(0.5):
                return self.document(c.choice(schema[word]), depth - 1)
        kinds = schema.get("type", None)
        kind = c.choice(kinds) if isinstance(kinds, list) else kinds
        if kind == "object" or (kind is None and any(k in schema for k in (
                "properties", "patternProperties", "required", "dependentSchemas", "unevaluatedProperties",
                "propertyNames", "minProperties"))):
            names = set(schema.get("required", [])) | set(self.some(NAMES, 0, 3))
            inner = schema.get("properties", {})
            return {n: self.document(inner.get(n, True), depth - 1) for n in sorted(names)}
        if kind == "array" or (kind is None and any(k in schema for k in (
                "items", "prefixItems", "contains", "unevaluatedItems", "uniqueItems", "minItems"))):
            first = [self.document(s, depth - 1) for s in schema.get("prefixItems", [])]
            rest = [self.document(schema.get("items", schema.get("contains", True)), depth - 1)
                    for _ in range(c.randint(0, 3))]
            return first + rest
        simple = {"null": None, "string": c.choice(TEXTS), "number": c.choice(NUMBERS), "integer": c.choice([2, 5, 10**30])}
        return simple.get(kind, self.value())


def show(value):
    return json.dumps(value, ensure_ascii=False)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    maker = Maker(seed)
    for _ in range(count):
        schema = maker.whole()
        document = maker.document(schema)
        Draft202012Validator.check_schema(schema)
        try:
            valid = Draft202012Validator(schema).is_valid(document)
        except TypeError:  # it sorts what is too much, for its message
            valid = False
        print(show(schema), show(document), "valid" if valid else "invalid", sep="\n")


main()
