// What two readers of npm see in X12 texts: a list of texts comes in, and for each of them the segments that
// x12-parser and node-x12 found go out, as [name, element...].
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { X12parser } from "x12-parser";

const { X12Parser } = createRequire(import.meta.url)("node-x12");

// { name, "1": first component, "1-1": the next one } -> [name, [components]...]
function fromParser(segment) {
  const elements = [];
  for (const [key, value] of Object.entries(segment)) {
    const [element, component = "0"] = key.split("-");
    if (key !== "name") (elements[Number(element) - 1] ??= [])[Number(component)] = value;
  }
  return [segment.name, ...elements];
}

async function byX12Parser(interchange) {
  const found = [];
  for await (const segment of Readable.from([interchange]).pipe(new X12parser())) found.push(fromParser(segment));
  return found.filter((segment) => segment[0] !== "");
}

function byNodeX12(interchange) {
  const line = (segment) => [segment.tag, ...segment.elements.map((element) => element.value)];
  const x = new X12Parser(true).parse(interchange);
  const transaction = (t) => [line(t.header), ...t.segments.map(line), line(t.trailer)];
  const group = (g) => [line(g.header), ...g.transactions.flatMap(transaction), line(g.trailer)];
  return [line(x.header), ...x.functionalGroups.flatMap(group), line(x.trailer)];
}

const all = [];
for (const interchange of JSON.parse(await text(process.stdin)))
  all.push({ parser: await byX12Parser(interchange), node: byNodeX12(interchange) });
console.log(JSON.stringify(all));
