// units.test.mjs - the parts of the console that only compute.
//
//     node --test tests/console/units.test.mjs
//
// Environment: CONSOLE_MODULES and WAYBILL_MODULES, the packages of the console and of the tests.
// The parts are TypeScript: esbuild, which is there for the build, makes each a module to import.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const modules = process.env.CONSOLE_MODULES;
const source = join(dirname(fileURLToPath(import.meta.url)), "../../console/src");
const esbuild = createRequire(join(modules, "x.js"))("esbuild");
const folder = mkdtempSync(join(tmpdir(), "console-"));
after(() => rmSync(folder, { recursive: true }));

async function load(path) {
  const outfile = join(folder, `${path.replace(/\W/g, "_")}.mjs`);
  await esbuild.build({ entryPoints: [join(source, path)], bundle: true, format: "esm", platform: "node", nodePaths: [modules], jsx: "automatic", jsxImportSource: "preact", outfile, logLevel: "error" });
  return import(pathToFileURL(outfile).href);
}

const lines = (tokenLines) => tokenLines.map((line) => line.map(([, text]) => text).join(""));

test("a filter is the same as text, as chips and in the address", async () => {
  const { readText, writeText, termsOf, addressOf, filterOf, joined } = await load("pages/documents/filter.ts");
  const terms = readText('state:dead sender:acme po=4711 name:"two words*" ORD_1');
  assert.deepEqual(terms, [
    { name: "state", value: "dead" },
    { name: "sender", value: "acme" },
    { name: "where", value: "po=4711" },
    { name: "name", value: "two words*" },
    { name: "name", value: "ORD_1*" },
  ]);
  const kept = joined(terms);
  assert.equal(kept.length, 4, "the later name wins");
  assert.deepEqual(readText(writeText(kept)), kept);
  assert.deepEqual(termsOf(new URL(addressOf(kept), "http://x").searchParams), kept);
  assert.deepEqual(filterOf(kept), { state: "dead", sender: "acme", where: [{ name: "po", value: "4711" }], name: "ORD_1*" });
  assert.equal(filterOf([{ name: "min", value: "20MiB" }]).minSize, 20 * 1024 * 1024);
  assert.throws(() => filterOf([{ name: "since", value: "yesterday-ish" }]), /is not a time/);
  assert.throws(() => filterOf([{ name: "max", value: "much" }]), /is not a size/);
});

test("a day without a time begins at midnight of this place", async () => {
  const zone = process.env.TZ;
  process.env.TZ = "America/New_York";
  try {
    const { timeOf } = await load("pages/documents/filter.ts");
    assert.equal(timeOf("2026-07-15"), "2026-07-15T04:00:00.000Z");
    assert.equal(timeOf("2026-07-15T00:00"), "2026-07-15T04:00:00.000Z");
    assert.equal(timeOf("2026-07-15T00:00Z"), "2026-07-15T00:00:00.000Z");
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test("a group of dead letters is asked for as itself", async () => {
  const { filterOf } = await load("pages/dead/page.tsx");
  const hub = { key: "hub", code: "rejected", receiver: "hub" }, none = { key: null, code: "extract_failed", receiver: null };
  assert.deepEqual(filterOf(hub, "receiver"), { error: "rejected", receiver: "hub" });
  assert.deepEqual(filterOf(hub, "reason_receiver"), { error: "rejected", receiver: "hub" });
  assert.deepEqual(filterOf(none, "reason_receiver"), { error: "extract_failed", receiver: "" }, "not all of that error");
  assert.deepEqual(filterOf(none, "type"), { error: "extract_failed", type: "" }, "not all there are");
  assert.deepEqual(filterOf(none, "reason"), { error: "extract_failed" });
});

test("every question fits the schema", async () => {
  const { buildSchema, parse, validate } = createRequire(join(process.env.WAYBILL_MODULES, "x.js"))("graphql");
  const schema = buildSchema(readFileSync(join(source, "../../src/admin/api/schema.graphql"), "utf8"));
  const asked = { ...(await load("api.ts")), ...(await load("pages/jobs/api.ts")) };
  const questions = Object.entries(asked).filter(([, q]) => typeof q.text === "string");
  assert.ok(questions.length > 50);
  for (const [name, q] of questions) assert.deepEqual(validate(schema, parse(q.text)).map((e) => e.message), [], name);
});

test("times and sizes are short", async () => {
  const { micros, span, took, size, count, spanOf } = await load("base/format.ts");
  assert.equal(micros("2026-11-15T02:52:10.123456Z") % 1e6, 123456);
  assert.equal(span(0), "0 s");
  assert.equal(span(3725), "1 h 2 m");
  assert.equal(span(86400 * 3), "3 d");
  assert.equal(took(950), "950 µs");
  assert.equal(took(12_500), "13 ms");
  assert.equal(size(1536), "1.5 KiB");
  assert.equal(count(1234567), "1\u2009234\u2009567");
  assert.equal(spanOf("24h"), 86400);
  assert.equal(spanOf("soon"), null);
});

test("payloads are made readable, whatever they are", async () => {
  const { formatOf } = await load("payload/tokens.ts");
  const { xmlLines } = await load("payload/xml.ts");
  const { jsonLines } = await load("payload/json.ts");
  const { hl7Lines, x12Lines, edifactLines } = await load("payload/edi.ts");
  assert.equal(formatOf("  <a/>"), "xml");
  assert.equal(formatOf("plain"), null);
  assert.deepEqual(lines(xmlLines('<a x="1"><b>text</b><c/><d></d></a>')), ['<a x="1">', "  <b>text</b>", "  <c/>", "  <d></d>", "</a>"]);
  assert.equal(lines(xmlLines("<a><b>never closed")).length, 3);
  assert.deepEqual(lines(jsonLines('{"a":[1,{}],"n":12345678901234567890}')), ["{", '  "a": [', "    1,", "    {}", "  ],", '  "n": 12345678901234567890', "}"]);
  const hl7 = "MSH|^~\\&|LAB\rPID|1||4711";
  assert.equal(formatOf(hl7), "hl7");
  assert.deepEqual(lines(hl7Lines(hl7)), ["MSH message header", "  MSH-1   |", "  MSH-2   ^~\\&", "  MSH-3   LAB", "PID patient", "  PID-1   1", "  PID-3   4711"]);
  const edifact = "UNA:+.? 'UNB+UNOA:1+A?'B'UNZ+1'";
  assert.equal(formatOf(edifact), "edifact");
  assert.ok(lines(edifactLines(edifact)).includes("  UNB-2   A?'B"));
  const x12 = `ISA*00*${" ".repeat(10)}*00*${" ".repeat(10)}*ZZ*SENDER         *ZZ*RECEIVER       *261115*1200*U*00401*000000001*0*P*>~GS*PO*A*B~`;
  assert.equal(formatOf(x12), "x12");
  assert.ok(lines(x12Lines(x12)).includes("GS  group begins"));
});

test("two texts are compared line by line", async () => {
  const { compare } = await load("payload/compare.ts");
  assert.equal(compare("a\nb", "a\nb"), "");
  assert.equal(compare("a\nb\nc", "a\nx\nc"), " a\n-b\n+x\n c");
  const long = Array.from({ length: 40 }, (_, i) => `line ${i}`);
  const changed = long.with?.(20, "other") ?? long.map((l, i) => (i === 20 ? "other" : l));
  assert.equal(compare(long.join("\n"), changed.join("\n")).split("\n").length, 9);
});

test("hex shows where, what and how", async () => {
  const { hexOf, toBase64, fromBase64 } = await load("payload/bytes.ts");
  const bytes = new Uint8Array([0x3c, 0x4f, 0, 255]);
  assert.equal(hexOf(bytes, 64), `00000040  ${"3c 4f 00 ff".padEnd(49)} <O··`);
  assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
});

test("what is edited keeps its mark and the ends of its lines", async () => {
  const { toEdit, fromEdit, bytesOf } = await load("payload/bytes.ts");
  for (const text of ["\ufeffa;b\r\n1;2\r\n", "MSH|1\rPID|2\r", "a\n\nb", "none", ""]) {
    const read = toEdit(bytesOf(text));
    assert.ok(!read.text.includes("\r"));
    assert.deepEqual(fromEdit(read), bytesOf(text));
  }
  assert.deepEqual(fromEdit({ ...toEdit(bytesOf("a\r\nb")), text: "a\nc\nb" }), bytesOf("a\r\nc\r\nb"));
  for (const mixed of ["a\r\nb\n", "a\rb\n", "a\r\r\n"]) assert.equal(toEdit(bytesOf(mixed)), null);
});

test("a part of a configuration is put where it belongs", async () => {
  const { insert, namedPart, listPart, nest, scalar } = await load("pages/config/yaml.ts");
  assert.equal(scalar("yes"), '"yes"');
  assert.equal(scalar("./inbox"), "./inbox");
  assert.equal(scalar("value:order"), '"value:order"');
  const part = namedPart("new", nest([["kind", "http"], ["limits.rate", "5/s"], ["limits.size", "1 MiB"]]));
  assert.equal(part, "  new:\n    kind: http\n    limits:\n      rate: 5/s\n      size: 1 MiB\n");
  const text = "systems:\n  a: {}\n\ngateways:\n  in: { kind: http }\n\nroutes: []\n";
  const added = insert(text, "gateways", part);
  assert.ok(added.text.includes("  in: { kind: http }\n  new:\n    kind: http\n"));
  assert.equal(added.text.split("\n")[added.line - 1], "  new:");
  assert.ok(insert(text, "routes", listPart(nest([["name", "r"], ["do", "[]"]]))).text.includes("routes:\n  - name: r\n    do: []"));
  assert.ok(insert(text, "types", "  t: {}\n").text.endsWith("\ntypes:\n  t: {}\n"));
  assert.throws(() => insert("systems: { a: {} }\n", "systems", part), /one line/);
});

test("a field of a form is written as one value, or as several", async () => {
  const { written } = await load("pages/config/field.tsx");
  const at = { type: "schedule or time of day", list: true }, ids = { type: "text", list: true };
  assert.equal(written(ids, "a, 1:2"), '[a, "1:2"]');
  assert.equal(written({ ...ids, list: false }, "a, b"), '"a, b"');
  assert.equal(written(at, "0 2 1,15 * *"), '"0 2 1,15 * *"', "a comma of a schedule");
  assert.equal(written(at, "0 2 1,15 * *, 22:00"), '["0 2 1,15 * *", "22:00"]');
  assert.equal(written({ type: "number", list: false }, "3"), "3");
});

test("a system gets another id, however it is written", async () => {
  const { addId } = await load("pages/config/yaml.ts");
  const text = 'systems:\n  a: {}\n  b: { title: B, ids: ["1"] }   \n  c:\n    title: C\n  d:\n    ids: [x, y]\n    title: D\n  e:\n    ids:\n      - z\ntypes: {}\n';
  const line = (system) => {
    const made = addId(text, system, "99");
    return made.text.split("\n").slice(made.line - 1, made.line + 1);
  };
  assert.deepEqual(line("a")[0], '  a: { ids: ["99"] }');
  assert.deepEqual(line("b")[0], '  b: { title: B, ids: ["1", "99"] }   ');
  assert.deepEqual(line("c"), ["  c:", '    ids: ["99"]']);
  assert.deepEqual(line("d"), ["  d:", '    ids: [x, y, "99"]']);
  assert.throws(() => line("e"), /several lines/);
  assert.throws(() => line("types"), /not found/);
  assert.throws(() => addId("types: {}\n", "a", "1"), /not found/);
});

test("the trace has a lane for each place and keeps the order of time", async () => {
  const { layOut } = await load("pages/document/lanes.ts");
  const at = (ms) => new Date(Date.UTC(2026, 10, 15, 12) + ms).toISOString();
  const entry = (ms, stage, outcome, what = null, duration = null) => ({ time: at(ms), node: null, stage, what, outcome, duration, attempt: null, status: null, config: null, message: null });
  const relatives = { items: [], next: null };
  const trace = layOut({
    received: at(0), gateway: "in", route: "r", parent: null, copyOf: null, answerOf: null, editOf: null, batch: null,
    pieces: relatives, copies: relatives, answers: relatives, edits: relatives, members: relatives,
    timeline: [entry(0, "accept", "stored"), entry(3, "route", "done", "r", 1000), entry(9, "delivery", "retry", "api", 5000), entry(3600000, "operator", "again", "kim")],
    deliveries: [{ endpoint: "api", state: "retrying", held: [] }],
  });
  assert.deepEqual(trace.lanes, ["in in", "route r", "→ api", "people"]);
  const places = trace.marks.map((m) => m.at);
  assert.deepEqual(places, [...places].sort((a, b) => a - b));
  assert.ok(trace.marks.every((m) => m.from <= m.at && m.at <= trace.width));
  assert.equal(trace.waits[0].lane, 2);
  assert.ok(places[3] - places[2] < 20 * (places[1] - places[0]), "an hour is drawn short");
});

test("the trace leads to the family of a document", async () => {
  const { layOut, family } = await load("pages/document/lanes.ts");
  const at = "2026-11-15T12:00:00.000000Z";
  const relative = (id, more = {}) => ({ id, state: "done", received: at, updated: at, name: null, type: "order", receiver: "hub", part: null, ...more });
  const page = (...items) => ({ items, next: null });
  const d = {
    received: at, gateway: "in", route: "r", parent: relative("p"), copyOf: relative("c"), answerOf: relative("a"), editOf: null, batch: null,
    pieces: page(relative("p3", { part: { number: 3, of: 10 } }), relative("p4", { part: { number: 4, of: null } })),
    copies: page(relative("k", { receiver: "shop" })), answers: page(relative("w", { name: "ack.xml" })), edits: page(), members: page(),
    timeline: [], deliveries: [],
  };
  assert.deepEqual(family(d).map(([how, r]) => `${how} ${r.id}`), ["part of p", "copy of c", "answer to a", "part p3", "part p4", "copy for k", "answer w"]);
  const marks = layOut(d).marks;
  assert.deepEqual(marks.map((m) => m.href), ["p", "c", "a", "p3", "p4", "k", "w"].map((id) => `/documents/${id}`));
  assert.deepEqual(marks.slice(3).map((m) => m.title), ["part 3 of 10, order: done", "part 4, order: done", "copy for shop, order: done", "answer order ack.xml: done"]);
});

test("a piece of a text is a text, wherever it was cut", async () => {
  const { isText, bytesOf } = await load("payload/bytes.ts");
  const bytes = bytesOf("größe, ärger\r\n");
  for (let from = 0; from < 4; from++) assert.ok(isText(bytes.subarray(from, bytes.length - 2 - from)), `from ${from}`);
  assert.ok(isText(bytesOf("\x0bMSH|^~\\&\r\x1c\r")));
  assert.ok(!isText(new Uint8Array([0x50, 0x4b, 3, 4])));
  assert.ok(!isText(new Uint8Array([0x61, 0xff, 0xfe, 0x61])));
});
