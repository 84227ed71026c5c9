// tokens.ts - a payload made readable: lines of words, each with what it is.
//
// k a name, s a value, n a number, p punctuation, t a heading, c a remark; "" plain.

export type Token = readonly [kind: "k" | "s" | "n" | "p" | "t" | "c" | "", text: string];
export type TokenLine = Token[];

export type Format = "xml" | "json" | "hl7" | "x12" | "edifact";

export function formatOf(text: string): Format | null {
  const start = text.trimStart();
  if (start.startsWith("<")) return "xml";
  if (start.startsWith("{") || start.startsWith("[")) return "json";
  if (/^\x0b?MSH./.test(start)) return "hl7";
  if (/^ISA[^A-Za-z0-9]/.test(start)) return "x12";
  if (/^(UNA.{6}\s*)?UNB[^A-Za-z0-9]/.test(start)) return "edifact";
  return null;
}
