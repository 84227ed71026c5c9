// yaml.ts - writing a part of a configuration from the values of a form, and putting it into the text.

/** A value as it stands in YAML: quoted when it could mean something else. */
export function scalar(value: string): string {
  const plain = /^[A-Za-z0-9_./][A-Za-z0-9_./ +@%-]*$/.test(value) && !/^(true|false|yes|no|on|off|null|~)$/i.test(value) && !value.endsWith(" ");
  return plain ? value : JSON.stringify(value);
}

export type Values = { [name: string]: string | Values };

/** "limits.rate" and its value, into a tree. */
export function nest(flat: [string, string][]): Values {
  const root: Values = {};
  for (const [path, value] of flat) {
    const names = path.split(".");
    const last = names.pop()!;
    let at = root;
    for (const name of names) {
      const below = at[name];
      at = at[name] = typeof below === "object" ? below : {};
    }
    at[last] = value;
  }
  return root;
}

/** Values are already written as YAML. */
export function write(values: Values, indent: string): string {
  return Object.entries(values)
    .map(([name, value]) =>
      typeof value === "string" ? `${indent}${name}: ${value}\n` : `${indent}${name}:\n${write(value, `${indent}  `)}`,
    )
    .join("");
}

export function namedPart(name: string, values: Values): string {
  return `  ${scalar(name)}:\n${write(values, "    ")}`;
}

export function listPart(values: Values): string {
  return `  - ${write(values, "    ").trimStart()}`;
}

/** The text with a part at the end of a section, and the line where it stands; throws when the section cannot be added to. */
export function insert(text: string, section: string, part: string): { text: string; line: number } {
  const lines = text.replace(/\n*$/, "\n").split("\n");
  const start = lines.findIndex((l) => l.startsWith(`${section}:`));
  if (start < 0) {
    const before = lines.join("\n").replace(/\n*$/, "\n\n");
    return { text: `${before}${section}:\n${part}`, line: before.split("\n").length + 1 };
  }
  const rest = lines[start]!.slice(section.length + 1).replace(/#.*/, "").trim();
  if (rest === "{}" || rest === "[]") lines[start] = `${section}:`;
  else if (rest !== "") throw new Error(`\`${section}\` is written on one line: give each entry its own line, then add to it here.`);
  let end = start + 1;
  while (end < lines.length && !/^[^\s#]/.test(lines[end]!)) end++;
  while (end > start + 1 && lines[end - 1]!.trim() === "") end--;
  lines.splice(end, 0, part.replace(/\n$/, ""));
  return { text: lines.join("\n"), line: end + 1 };
}

function withItem(list: string, item: string): string {
  return `[${list.trim() === "" ? "" : `${list.trim()}, `}${item}]`;
}

/** `{ title: A }` with one more id. */
function idInFlow(flow: string, item: string): string {
  if (/\bids:\s*\[[^\]]*\]/.test(flow)) return flow.replace(/\bids:\s*\[([^\]]*)\]/, (_, list: string) => `ids: ${withItem(list, item)}`);
  const inside = flow.replace(/\s*\}\s*$/, "");
  return `${inside}${inside.trim() === "{" ? "" : ","} ids: [${item}] }`;
}

/** The text in which a system is also known by `id`, and the line; throws when it is written in a way that is not understood. */
export function addId(text: string, system: string, id: string): { text: string; line: number } {
  const lines = text.split("\n");
  const item = JSON.stringify(id);
  const section = lines.findIndex((l) => /^systems:\s*(#.*)?$/.test(l));
  let at = section + 1;
  while (section >= 0 && at < lines.length && !/^[^\s#]/.test(lines[at]!) && !new RegExp(`^\\s+"?${system.replace(/\./g, "\\.")}"?:`).test(lines[at]!)) at++;
  const [, head = "", rest = ""] = /^(\s+[^:]+:\s*)(.*)$/.exec(lines[at] ?? "") ?? [];
  if (section < 0 || !head.includes(system)) throw new Error(`\`${system}\` was not found under \`systems\`: add the id in the text.`);
  if (/^\{.*\}\s*$/.test(rest)) lines[at] = head + idInFlow(rest, item);
  else if (rest.replace(/#.*/, "").trim() === "") {
    const indent = /^\s+/.exec(lines[at + 1] ?? "")?.[0] ?? "";
    const own = /^\s+/.exec(head)![0];
    let end = at + 1;
    while (end < lines.length && (/^\s+/.exec(lines[end]!)?.[0].length ?? 0) > own.length) end++;
    const ids = lines.findIndex((l, i) => i > at && i < end && /^\s+ids:/.test(l));
    if (ids < 0) lines.splice(at + 1, 0, `${indent.length > own.length ? indent : `${own}  `}ids: [${item}]`);
    else if (/ids:\s*\[[^\]]*\]/.test(lines[ids]!)) lines[ids] = lines[ids]!.replace(/\[([^\]]*)\]/, (_, list: string) => withItem(list, item));
    else throw new Error(`The ids of \`${system}\` are on several lines: add the id in the text.`);
  } else throw new Error(`\`${system}\` is written in a way that a form cannot change: add the id in the text.`);
  return { text: lines.join("\n"), line: at + 1 };
}
