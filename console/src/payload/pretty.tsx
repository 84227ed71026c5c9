// pretty.tsx - the readable form of a payload.  Text nodes only, whatever it says.
import { edifactLines, hl7Lines, x12Lines } from "./edi";
import { jsonLines } from "./json";
import type { Format, TokenLine } from "./tokens";
import { xmlLines } from "./xml";

const READERS: Record<Format, (text: string) => TokenLine[]> = {
  xml: xmlLines,
  json: jsonLines,
  hl7: hl7Lines,
  x12: x12Lines,
  edifact: edifactLines,
};

const LINES_MOST = 5000;

/** The same as one text, for comparing. */
export function prettyText(text: string, format: Format | null): string {
  if (!format) return text;
  return READERS[format](text)
    .map((line) => line.map(([, t]) => t).join(""))
    .join("\n");
}

export function Pretty({ text, format }: { text: string; format: Format }) {
  const lines = READERS[format](text);
  return (
    <pre class="text" tabIndex={0} aria-label="Payload">
      {lines.slice(0, LINES_MOST).map((line, i) => (
        <div key={i}>{line.map(([kind, word]) => (kind === "" ? word : <span class={kind}>{word}</span>))}</div>
      ))}
      {lines.length > LINES_MOST && <div class="c">… {lines.length - LINES_MOST} more lines: see Text</div>}
    </pre>
  );
}
