// format.ts - numbers, times and sizes as people read them.

const pad = (n: number, width = 2) => String(n).padStart(width, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Microseconds since 1970 of a time of the API. */
export function micros(iso: string): number {
  const fraction = /\.(\d+)/.exec(iso)?.[1] ?? "";
  return Math.floor(Date.parse(iso) / 1000) * 1e6 + Number(fraction.slice(0, 6).padEnd(6, "0"));
}

export function clock(iso: string, parts: "minutes" | "seconds" | "millis" = "seconds"): string {
  const t = new Date(iso);
  const text = `${pad(t.getHours())}:${pad(t.getMinutes())}`;
  if (parts === "minutes") return text;
  return `${text}:${pad(t.getSeconds())}${parts === "millis" ? `.${pad(t.getMilliseconds(), 3)}` : ""}`;
}

export function day(iso: string): string {
  const t = new Date(iso);
  const year = t.getFullYear() === new Date().getFullYear() ? "" : ` ${t.getFullYear()}`;
  return `${t.getDate()} ${MONTHS[t.getMonth()]}${year}`;
}

/** Today only the time, else with the day. */
export function when(iso: string): string {
  return new Date(iso).toDateString() === new Date().toDateString() ? clock(iso) : `${day(iso)} ${clock(iso, "minutes")}`;
}

/** A time of the API for <input type="datetime-local">, and back. */
export function toInput(t: Date): string {
  return `${t.getFullYear()}-${pad(t.getMonth() + 1)}-${pad(t.getDate())}T${pad(t.getHours())}:${pad(t.getMinutes())}`;
}

export function fromInput(text: string): string {
  return new Date(text).toISOString();
}

const SPANS: [number, string][] = [
  [86400, "d"],
  [3600, "h"],
  [60, "m"],
  [1, "s"],
];

/** A span of seconds, its two largest units. */
export function span(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [size, unit] of SPANS) {
    if (rest >= size || (parts.length === 0 && unit === "s")) parts.push(`${Math.floor(rest / size)} ${unit}`);
    else if (parts.length > 0) break;
    rest %= size;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** "3 m ago", "in 2 h". */
export function ago(iso: string): string {
  const seconds = (Date.now() - Date.parse(iso)) / 1000;
  if (Math.abs(seconds) < 1) return "now";
  const text = span(Math.abs(seconds)).split(" ").slice(0, 2).join(" ");
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

/** How long something took, in microseconds. */
export function took(us: number): string {
  if (us < 1000) return `${us} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 10000 ? 1 : 0)} ms`;
  if (us < 6e7) return `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s`;
  return span(us / 1e6);
}

export function size(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let n = bytes;
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

/** 12 345 with thin spaces. */
export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009");
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** "in 2h", "24h", "2026-11-15": seconds of "24h", or null. */
export function spanOf(text: string): number | null {
  const m = /^(\d+)\s*(s|m|h|d)$/.exec(text.trim());
  const unit = SPANS.find(([, name]) => name === m?.[2]);
  return m && unit ? Number(m[1]) * unit[0] : null;
}

export function short(id: string): string {
  return id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}
