// xml.ts - XML with one element per line.  A tokenizer only: what is not well-formed is shown all the same.
import type { Token, TokenLine } from "./tokens";

const PIECE = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<[^>]*>|[^<]+/g;
const ATTRIBUTE = /([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')/g;

function tag(text: string): Token[] {
  const m = /^(<[/?!]?)([^\s/>?]+)([\s\S]*?)([/?]?>)$/.exec(text);
  if (!m) return [["", text]];
  const [, open = "", name = "", middle = "", close = ""] = m;
  const tokens: Token[] = [["p", open], ["t", name]];
  let at = 0;
  for (const a of middle.matchAll(ATTRIBUTE)) {
    tokens.push(["", middle.slice(at, a.index)], ["k", a[1]!], ["p", a[2]!], ["s", a[3]!]);
    at = a.index + a[0].length;
  }
  tokens.push(["", middle.slice(at)], ["p", close]);
  return tokens.filter(([, t]) => t !== "");
}

export function xmlLines(text: string): TokenLine[] {
  const lines: TokenLine[] = [];
  const pieces = text.match(PIECE) ?? [];
  let depth = 0;
  const indent = (): Token => ["", "  ".repeat(Math.max(0, depth))];
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i]!;
    const next = pieces[i + 1] ?? "";
    const after = pieces[i + 2] ?? "";
    if (piece.trim() === "") continue;
    if (piece.startsWith("</")) {
      depth--;
      lines.push([indent(), ...tag(piece)]);
    } else if (/^<[^!?]/.test(piece) && !piece.endsWith("/>")) {
      if (!next.startsWith("<") && after.startsWith("</")) {
        lines.push([indent(), ...tag(piece), ["", next.trim()], ...tag(after)]);
        i += 2;
      } else if (next.startsWith("</")) {
        lines.push([indent(), ...tag(piece), ...tag(next)]);
        i += 1;
      } else {
        lines.push([indent(), ...tag(piece)]);
        depth++;
      }
    } else if (piece.startsWith("<!--")) lines.push([indent(), ["c", piece]]);
    else if (piece.startsWith("<")) lines.push([indent(), ...tag(piece)]);
    else lines.push([indent(), ["", piece.trim()]]);
  }
  return lines;
}
