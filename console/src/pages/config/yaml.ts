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
  else if (rest !== "") throw new Error(`\`${section}\` stands on one line: write it with a line for each, then add to it here.`);
  let end = start + 1;
  while (end < lines.length && !/^[^\s#]/.test(lines[end]!)) end++;
  while (end > start + 1 && lines[end - 1]!.trim() === "") end--;
  lines.splice(end, 0, part.replace(/\n$/, ""));
  return { text: lines.join("\n"), line: end + 1 };
}
