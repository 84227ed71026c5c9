// filter.ts - the filter of documents: as text, as chips, in the address, and for the API.
import { spanOf } from "../../base/format";
import type { DocumentFilter } from "../../types";

/** One condition; an attribute has the name "where" and the value "name=value". */
export interface Term {
  name: string;
  value: string;
}

export const STATES = ["received", "active", "held", "retrying", "in_doubt", "dead", "delivered", "done", "cancelled", "superseded"];

/** Names of conditions, and what their values look like. */
export const FIELDS: Record<string, string> = {
  state: "dead",
  sender: "acme",
  receiver: "hub",
  type: "order",
  gateway: "orders",
  name: "ORD_2026*",
  error: "rejected",
  where: "po=4711",
  since: "24h",
  until: "2026-11-15T12:00",
  key: "0b5e6f0c",
  min: "20MiB",
  max: "1MiB",
  parent: "id of a document",
};

const SIZES: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

function quote(value: string): string {
  return /[\s"]/.test(value) ? `"${value.replace(/"/g, "")}"` : value;
}

/** state:dead sender:acme po=4711 "a name": anything else is a prefix of a file name. */
export function readText(text: string): Term[] {
  const terms: Term[] = [];
  for (const [, name, sign, quoted, plain] of text.matchAll(/(?:([\w.-]+)([:=]))?(?:"([^"]*)"|(\S+))/g)) {
    const value = quoted ?? plain ?? "";
    if (sign === ":" && name && name in FIELDS) terms.push({ name, value });
    else if (sign === "=" && name) terms.push({ name: "where", value: `${name}=${value}` });
    else {
      const whole = `${name ?? ""}${sign ?? ""}${value}`;
      terms.push({ name: "name", value: whole.endsWith("*") ? whole : `${whole}*` });
    }
  }
  return terms;
}

export function writeText(terms: Term[]): string {
  return terms
    .map(({ name, value }) => (name === "where" ? value.replace(/=(.*)$/, (_, v: string) => `=${quote(v)}`) : `${name}:${quote(value)}`))
    .join(" ");
}

/** Each name once, but as many attributes as there are; the later ones win. */
export function joined(terms: Term[]): Term[] {
  return terms.filter((t, i) =>
    t.name === "where" ? !terms.slice(i + 1).some((u) => u.name === "where" && u.value === t.value) : !terms.slice(i + 1).some((u) => u.name === t.name),
  );
}

export function termsOf(address: URLSearchParams): Term[] {
  return [...address].filter(([name]) => name in FIELDS).map(([name, value]) => ({ name, value }));
}

export function addressOf(terms: Term[]): string {
  const query = new URLSearchParams(terms.map(({ name, value }) => [name, value]));
  return `/documents${terms.length === 0 ? "" : `?${query.toString()}`}`;
}

/** "24h" ago, or a local time; throws when it is neither. */
export function timeOf(text: string): string {
  const seconds = spanOf(text);
  const written = /^\d{4}(-\d\d){0,2}$/.test(text) ? `${text}T00:00` : text; /* Date reads a day alone as UTC */
  const time = seconds === null ? new Date(written) : new Date(Date.now() - seconds * 1000);
  if (Number.isNaN(time.getTime())) throw new Error(`"${text}" is not a time. Write 24h, 30m, 2d or 2026-11-15T12:00.`);
  return time.toISOString();
}

function sizeOf(text: string): number {
  const m = /^(\d+)\s*(B|KiB|MiB|GiB)?$/.exec(text);
  if (!m) throw new Error(`"${text}" is not a size. Write 20MiB or 4KiB.`);
  return Number(m[1]) * (SIZES[m[2] ?? "B"] ?? 1);
}

/** For the API; throws when a value cannot be read. */
export function filterOf(terms: Term[]): DocumentFilter {
  const filter: DocumentFilter = {};
  for (const { name, value } of terms)
    if (name === "where") {
      const [attribute = "", ...rest] = value.split("=");
      filter.where = [...(filter.where ?? []), { name: attribute, value: rest.join("=") }];
    } else if (name === "since" || name === "until") filter[name] = timeOf(value);
    else if (name === "min") filter.minSize = sizeOf(value);
    else if (name === "max") filter.maxSize = sizeOf(value);
    else filter[name as "state"] = value;
  return filter;
}
