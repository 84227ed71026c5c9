// compare.ts - what differs between two texts, as `diff -u` writes it.

const CELLS_MOST = 4_000_000;
const AROUND = 3;

type Step = [sign: " " | "-" | "+", line: string];

/** The longest common subsequence, by a table; too much for it: all of the middle is replaced. */
function middle(a: string[], b: string[]): Step[] {
  if (a.length * b.length > CELLS_MOST) return [...a.map((l): Step => ["-", l]), ...b.map((l): Step => ["+", l])];
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1]! + 1 : Math.max(best[(i + 1) * width + j]!, best[i * width + j + 1]!);
  const steps: Step[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length)
    if (i < a.length && j < b.length && a[i] === b[j]) {
      steps.push([" ", a[i]!]);
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || best[(i + 1) * width + j]! >= best[i * width + j + 1]!)) steps.push(["-", a[i++]!]);
    else steps.push(["+", b[j++]!]);
  return steps;
}

function steps(a: string[], b: string[]): Step[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (lines: string[]) => lines.map((l): Step => [" ", l]);
  return [...same(a.slice(0, start)), ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...same(a.slice(a.length - end))];
}

/** Empty: they are the same. */
export function compare(before: string, after: string): string {
  const all = steps(before.split("\n"), after.split("\n"));
  const changed = all.flatMap(([sign], i) => (sign === " " ? [] : [i]));
  if (changed.length === 0) return "";
  const out: string[] = [];
  let last = -1;
  all.forEach(([sign, line], i) => {
    if (!changed.some((c) => Math.abs(c - i) <= AROUND)) return;
    if (i !== last + 1) out.push("@@");
    out.push(sign + line);
    last = i;
  });
  return out.join("\n");
}
