// bytes.ts - payloads are bytes until we know better.

export function fromBase64(text: string): Uint8Array {
  const raw = atob(text);
  return Uint8Array.from(raw, (c) => c.charCodeAt(0));
}

export function toBase64(bytes: Uint8Array): string {
  let raw = "";
  for (let i = 0; i < bytes.length; i += 8192) raw += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(raw);
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8").decode(bytes);
}

/** Controls that texts have: tabs, line ends, and the separators of HL7 and EDI. */
const CONTROLS = /[^\P{Cc}\t\r\n\f\x0b\x1a\x1c-\x1f]/u;

/** A piece may begin and end within a character. */
export function isText(bytes: Uint8Array): boolean {
  const text = textOf(bytes).replace(/^\ufffd{1,3}|\ufffd{1,3}$/g, "");
  return !text.includes("\ufffd") && !CONTROLS.test(text);
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** A text as a <textarea> holds it, and what ends its lines. */
export interface Editable {
  text: string;
  end: string;
}

/** A <textarea> knows lines that end in LF, and no others; null when it could not be put back as it was. */
export function toEdit(bytes: Uint8Array): Editable | null {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes); /* a mark at the beginning stays */
  const [end = "\n", ...others] = new Set(text.match(/\r\n?|\n/g));
  return others.length === 0 ? { text: text.replaceAll(end, "\n"), end } : null;
}

export function fromEdit({ text, end }: Editable): Uint8Array {
  return bytesOf(text.replaceAll("\n", end));
}

const WIDTH = 16;

/** Lines such as "00000040  3c 4f 72 ...  <Or". */
export function hexOf(bytes: Uint8Array, from: number): string {
  const lines: string[] = [];
  for (let i = 0; i < bytes.length; i += WIDTH) {
    const part = [...bytes.subarray(i, i + WIDTH)];
    const hex = part.map((b) => b.toString(16).padStart(2, "0"));
    const left = `${hex.slice(0, 8).join(" ")}  ${hex.slice(8).join(" ")}`.padEnd(WIDTH * 3 + 1);
    const right = part.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : "·")).join("");
    lines.push(`${(from + i).toString(16).padStart(8, "0")}  ${left} ${right}`);
  }
  return lines.join("\n");
}
