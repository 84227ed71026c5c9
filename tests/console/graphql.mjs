// The admin API as the npm package `graphql` sees it: a client schema from introspection, queries of
// all kinds, and hostile ones.
//
// Environment: WAYBILL_URL, WAYBILL_TOKEN, WAYBILL_MODULES (node_modules).
// Standard input: {"document": ID, "dead": ID, "config": TEXT}.  Standard output: one JSON object.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.env.WAYBILL_MODULES, "/"));
const g = require("graphql");
const given = JSON.parse(readFileSync(0, "utf8"));
const failures = [];

function fail(what, why) {
  failures.push(`${what}: ${why}`);
}

async function post(body, headers = {}) {
  const began = Date.now();
  const answer = await fetch(process.env.WAYBILL_URL + "/graphql", {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Authorization: "Bearer " + process.env.WAYBILL_TOKEN,
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, text, ms: Date.now() - began };
}

// ---- the schema ----

const asked = JSON.parse((await post({ query: g.getIntrospectionQuery() })).text);
const schema = g.buildClientSchema(asked.data);
for (const error of g.validateSchema(schema)) fail("schema", error.message);

// ---- what an answer must look like: the specification, section 6 and 7 ----

function checkErrors(what, errors) {
  if (!Array.isArray(errors) || errors.length === 0) return fail(what, "errors is no list with entries");
  for (const e of errors) {
    if (typeof e.message !== "string" || e.message === "") fail(what, "an error without a message");
    for (const l of e.locations ?? [])
      if (!(l.line >= 1 && l.column >= 1)) fail(what, "a location from 0");
    for (const key of Object.keys(e))
      if (!["message", "locations", "path", "extensions"].includes(key)) fail(what, `member ${key}`);
    if (typeof e.extensions?.code !== "string") fail(what, "an error without a code");
  }
}

// The fields of a selection on an object type, in their order, fragments unfolded.
function fieldsOf(selections, type, fragments, variables, into = new Map()) {
  for (const s of selections.selections) {
    const off = (s.directives ?? []).some((d) => {
      const arg = d.arguments[0].value;
      const value = arg.kind === "Variable" ? variables[arg.name.value] : arg.value;
      return d.name.value === "skip" ? value : d.name.value === "include" ? !value : false;
    });
    if (off) continue;
    if (s.kind === "Field") {
      const key = s.alias?.value ?? s.name.value;
      into.set(key, [...(into.get(key) ?? []), s]);
    } else {
      const f = s.kind === "FragmentSpread" ? fragments[s.name.value] : s;
      fieldsOf(f.selectionSet, type, fragments, variables, into);
    }
  }
  return into;
}

function checkValue(what, value, type, nodes, fragments, variables) {
  if (g.isNonNullType(type)) {
    if (value === null || value === undefined) return fail(what, "null where the schema promises a value");
    type = type.ofType;
  }
  if (value === null) return;
  if (g.isListType(type)) {
    if (!Array.isArray(value)) return fail(what, "no list");
    value.forEach((v, i) => checkValue(`${what}[${i}]`, v, type.ofType, nodes, fragments, variables));
  } else if (g.isObjectType(type)) {
    const merged = { selections: nodes.flatMap((n) => n.selectionSet.selections) };
    const wanted = fieldsOf(merged, type, fragments, variables);
    if (JSON.stringify(Object.keys(value)) !== JSON.stringify([...wanted.keys()]))
      return fail(what, `has ${Object.keys(value)} and not ${[...wanted.keys()]}`);
    for (const [key, list] of wanted) {
      const name = list[0].name.value;
      if (name === "__typename") {
        if (value[key] !== type.name) fail(what, "__typename");
      } else if (!name.startsWith("__"))
        checkValue(`${what}.${key}`, value[key], type.getFields()[name].type, list, fragments, variables);
    }
  } else if (g.isEnumType(type)) {
    if (!type.getValue(value)) fail(what, `${value} is no ${type}`);
  } else {
    const kinds = { Int: "number", Long: "number", Float: "number", Boolean: "boolean" };
    if (typeof value !== (kinds[type.name] ?? "string")) fail(what, `${value} is no ${type}`);
  }
}

async function run(name, query, variables = {}, operationName) {
  const document = g.parse(query);
  for (const e of g.validate(schema, document)) return fail(name, e.message);
  const answer = await post({ query, variables, operationName });
  let body;
  try {
    body = JSON.parse(answer.text);
  } catch {
    return fail(name, `no JSON: ${answer.text.slice(0, 200)}`);
  }
  if (answer.status !== 200 || body.errors) return fail(name, answer.text.slice(0, 500));
  const fragments = Object.fromEntries(
    document.definitions.filter((d) => d.kind === "FragmentDefinition").map((d) => [d.name.value, d]));
  const operations = document.definitions.filter((d) => d.kind === "OperationDefinition");
  const op = operations.find((o) => !operationName || o.name?.value === operationName);
  const root = op.operation === "query" ? schema.getQueryType() : schema.getMutationType();
  const defaults = Object.fromEntries((op.variableDefinitions ?? [])
    .filter((v) => v.defaultValue).map((v) => [v.variable.name.value, g.valueFromASTUntyped(v.defaultValue)]));
  checkValue(name, body.data, new g.GraphQLNonNull(root), [op], fragments, { ...defaults, ...variables });
  return body.data;
}

// ---- queries of all kinds ----

const doc = given.document;
const good = [
  ["typename", "{ __typename }"],
  ["shorthand", "{ about { version node location environment colour store started now config pauses { what } } }"],
  ["named", "query Head { about { version } nodes { id host pid area state started self pauses { what by } } }"],
  ["of several", "query A { __typename } query B { nodes { id } }", {}, "B"],
  ["aliases", "{ a: about { version } b: about { v: version w: version } }"],
  ["variables", "query($i: ID!) { document(id: $i) { id state size sha256 } }", { i: doc }],
  ["defaults of variables", "query($n: Int = 2) { documents(first: $n) { items { id } next } }"],
  ["null for a variable", "query($f: DocumentFilter) { documents(filter: $f) { items { id } } }", { f: null }],
  ["input objects",
    "query($f: DocumentFilter) { documents(filter: $f, first: 5) { items { id type receiver } next } }",
    { f: { receiver: "hub", where: [{ name: "po", value: "1" }], minSize: 1 } }],
  ["literals of all kinds",
    '{ documents(filter: { receiver: "hub", where: [{ name: "po", value: "1" }], maxSize: 1000000 }, first: 3) { next } }'],
  ["a list of one", 'mutation { retry(ids: "nothing") { id result message } }'],
  ["fragments",
    "query($i: ID!) { document(id: $i) { ...F timeline { ...T } } } fragment F on Document { id deliveries { ...D } }" +
    " fragment D on Delivery { endpoint state attempts held } fragment T on TimelineEntry { time stage outcome bytes { stage } }",
    { i: doc }],
  ["inline fragments", "{ documents(first: 1) { items { ... on Document { id } ... { state } } } }"],
  ["include and skip",
    "query($yes: Boolean!, $no: Boolean!) { about { version @include(if: $yes) node @skip(if: $yes) host @include(if: $no) store @skip(if: $no) } }",
    { yes: true, no: false }],
  ["merged fields", "{ about { version } about { node version } }"],
  ["a payload", "query($i: ID!) { document(id: $i) { stages { stage name time size sha256 } a: payload { text bytes isText truncated }" +
    " b: payload(as: hex, from: 2, length: 4) { text from } c: payload(as: base64, stage: 7) { text } } }", { i: doc }],
  ["lineage", "query($i: ID!) { document(id: $i) { editOf { id } edits { items { id } next } children(first: 2) { items { id } } batch { id } kept { reason } } }",
    { i: doc }],
  ["systems", "{ systems(first: 10) { next items { name title ids held waiting retrying perHour drained windowFits order inDoubt line limits { concurrency rate } window { texts open changes broken } holds { id } } } }"],
  ["what the configuration has", "{ gateways { name kind auth path every accepted lastReceived broken line } endpoints { name kind breaker active broken } routes { name sender receiver type steps endpoints line } types { name search } }"],
  ["the map", "{ flow { from to perMinute trouble } }"],
  ["series", "query($n: [SeriesName!]) { series(names: $n, step: 60) { name from step values } }", { n: ["accepted", "waiting"] }],
  ["dead letters", "{ deadLetters(first: 10) { next items { document code message died gateway endpoint } } deadGroups(by: reason_receiver) { key code receiver count oldest newest message sample } }"],
  ["a version", "{ config { version made by note sha256 live text } configHistory(first: 3) { version live } }"],
  ["a check", "query($t: String!) { configCheck(text: $t) { problems { line column message hint } warnings { line } } }", { t: given.config + "\nnonsense: 1\n" }],
  ["a difference", "query($t: String!) { configDiff(text: $t) }", { t: given.config + "\n# more\n" }],
  ["tables of options", "{ connectors { role kind runs options { name type required default about form values list oneOf } } }"],
  ["health", "{ health { reasons troubles diskFree diskReserve certificates { of ends error } } doctor { ok checks { name ok count message } } retention { state documents archives { day } } }"],
  ["rehearsal", "query($p: String!) { rehearse(gateway: \"in\", payload: $p) { config route steps sender attributes { name value } deliveries { endpoint system } error { code } } }",
    { p: Buffer.from('{"to":"hub","type":"order"}').toString("base64") }],
  ["mutations in a row", 'mutation($d: ID!) { a: cancel(ids: [$d], client: "x-1") { result } hold: holdAdd(system: "hub", reason: "a \\"test\\" \\u00e4", owner: "ann") { hold { id state } sending unconfirmed } }', { d: given.dead }],
  ["introspection", "{ __type(name: \"Document\") { kind name fields(includeDeprecated: true) { name args { name type { kind ofType { name } } defaultValue } type { kind name ofType { name } } } } }"],
];

for (const one of good) await run(...one);

// ---- hostile ones ----

const deep = (n, open, close, middle) => open.repeat(n) + middle + close.repeat(n);
const hostile = [
  ["nothing", { query: "" }],
  ["no query", { variables: {} }],
  ["no object", "[1,2,3]"],
  ["no JSON", "{ about { version } }"],
  ["an open string", { query: '{ document(id: "abc' }],
  ["an unknown character", { query: "{ about { version } } \u0000" }],
  ["a field that is not there", { query: "{ about { password } }" }],
  ["no selection", { query: "{ about }" }],
  ["a selection of a leaf", { query: "{ about { version { x } } }" }],
  ["an unknown argument", { query: '{ document(id: "a", no: 1) { id } }' }],
  ["a missing argument", { query: "{ document { id } }" }],
  ["a literal of another type", { query: "{ document(id: {a: 1}) { id } }" }],
  ["a variable of another type", { query: "query($i: ID!) { document(id: $i) { id } }", variables: { i: { a: 1 } } }],
  ["a missing variable", { query: "query($i: ID!) { document(id: $i) { id } }", variables: {} }],
  ["a number that is none", { query: "{ documents(first: 99999999999999999999) { next } }" }],
  ["a page without end", { query: "{ documents(first: 2000000000) { items { id } } }" }],
  ["a cycle of fragments", { query: "{ about { ...A } } fragment A on About { ...B } fragment B on About { ...A }" }],
  ["a cycle of one", { query: "{ about { ...A } } fragment A on About { version ...A }" }],
  ["fragments that double", { valid: true, query: "{ about { ...F0 } } " + Array.from({ length: 40 }, (_, i) =>
    `fragment F${i} on About { ...F${i + 1} a${i}: version ...F${i + 1} }`).join(" ") + " fragment F40 on About { version }" }],
  ["depth", { query: "{ documents { items { " + deep(60, "parent { ", "} ", "id ") + "} } }" }],
  ["brackets", { query: "{ documents(filter: " + deep(20000, "[", "]", "") + ") { next } }" }],
  ["aliases", { query: "{ " + Array.from({ length: 5000 }, (_, i) => `a${i}: about { version }`).join(" ") + " }" }],
  ["cost", { query: "{ documents(first: 200) { items { children(first: 200) { items { children(first: 200) { items { id } } } } } } }" }],
  ["ten megabytes in a comment", { query: "{ about { version } } #" + "x".repeat(10 << 20) }],
  ["ten megabytes of variables", { query: "query($i: ID!) { document(id: $i) { id } }", variables: { i: "x".repeat(10 << 20) } }],
  ["a megabyte of a name", { query: "{ " + "x".repeat(1 << 20) + " }" }],
  ["directives", { query: "{ about { version " + "@include(if: true) ".repeat(2000) + "} }" }],
  ["a subscription", { query: "subscription { about { version } }" }],
  ["an operation that is not there", { query: "query A { __typename }", operationName: "B" }],
];

let slowest = 0;
for (const [name, body] of hostile) {
  let answer;
  try {
    answer = await post(body);
  } catch (e) {
    fail(name, String(e.cause ?? e)); // cut off without an answer
    continue;
  }
  slowest = Math.max(slowest, answer.ms);
  try {
    const parsed = JSON.parse(answer.text);
    if (body.valid && parsed.data) continue; // each fragment counts once: it costs next to nothing
    checkErrors(name, parsed.errors);
    if (parsed.data) fail(name, "was answered: " + answer.text.slice(0, 200));
  } catch (e) {
    fail(name, `${answer.status} ${e}: ${answer.text.slice(0, 200)}`);
  }
}

console.log(JSON.stringify({ version: g.version, good: good.length, hostile: hostile.length, slowest, failures }));
