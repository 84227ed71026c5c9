// json.ts - JSON with one member per line.  The text of values is kept: large numbers stay what they are.
import type { Token, TokenLine } from "./tokens";

const WORD = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

function value(word: string, isKey: boolean): Token {
  if (word.startsWith('"')) return [isKey ? "k" : "s", word];
  return [/^-?\d/.test(word) ? "n" : "t", word];
}

export function jsonLines(text: string): TokenLine[] {
  const words = text.match(WORD) ?? [];
  const lines: TokenLine[] = [];
  let line: TokenLine = [];
  let depth = 0;
  const end = () => {
    if (line.length > 0) lines.push(line);
    line = [];
  };
  const add = (token: Token) => {
    if (line.length === 0) line.push(["", "  ".repeat(Math.max(0, depth))]);
    line.push(token);
  };
  words.forEach((word, i) => {
    const next = words[i + 1] ?? "";
    if (word === "{" || word === "[") {
      add(["p", word]);
      if (next === "}" || next === "]") return;
      end();
      depth++;
    } else if (word === "}" || word === "]") {
      const before = words[i - 1];
      if (before !== "{" && before !== "[") {
        end();
        depth--;
      }
      add(["p", word]);
    } else if (word === ",") {
      add(["p", word]);
      end();
    } else if (word === ":") add(["p", ": "]);
    else add(value(word, next === ":"));
  });
  end();
  return lines;
}
