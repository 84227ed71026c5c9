// lanes.ts - the layout of a timeline as a picture.
//
// A timeline mixes milliseconds and days, so gaps are drawn on a logarithmic scale.  Pure: no
// drawing here.
import { micros } from "../../base/format";
import type { Delivery, DocumentDetail, Relative, TimelineEntry } from "../../types";

export interface Mark {
  lane: number;
  /** Its end, and its start if it has a duration. */
  at: number;
  from: number;
  word: string;
  title: string;
  /** Its line in the timeline; -1: another document. */
  line: number;
  href?: string;
}

export interface Wait {
  lane: number;
  from: number;
  word: string;
  title: string;
}

export interface Tick {
  at: number;
  us: number;
}

export interface Trace {
  lanes: string[];
  marks: Mark[];
  waits: Wait[];
  ticks: Tick[];
  /** The total width, in units of this layout. */
  width: number;
}

const IN = "gateway";
const ROAD = "route";
const PEOPLE = "people";
const FAMILY = "family";

/** The lane of a line: an endpoint has one of its own. */
function laneOf(e: TimelineEntry): string {
  switch (e.stage) {
    case "accept":
    case "extract":
      return IN;
    case "route":
    case "step":
      return ROAD;
    case "delivery":
      return `→ ${e.what ?? ""}`;
    default:
      return PEOPLE;
  }
}

/** How each relative is related, ancestors first. */
export function family(d: DocumentDetail): [string, Relative][] {
  const above: [string, Relative | null][] = [
    ["part of", d.parent],
    ["copy of", d.copyOf],
    ["answer to", d.answerOf],
    ["edit of", d.editOf],
    ["batch", d.batch],
  ];
  const below: [string, Relative[]][] = [
    ["part", d.pieces.items],
    ["copy for", d.copies.items],
    ["answer", d.answers.items],
    ["edit", d.edits.items],
    ["member", d.members.items],
  ];
  return [
    ...above.flatMap(([how, r]): [string, Relative][] => (r ? [[how, r]] : [])),
    ...below.flatMap(([how, list]) => list.map((r): [string, Relative] => [how, r])),
  ];
}

/** "part 3 of 10, order", "copy for hub, order" */
function nameOf(how: string, r: Relative): string {
  if (how === "part" && r.part) return `part ${r.part.number}${r.part.of ? ` of ${r.part.of}` : ""}, ${r.type ?? "document"}`;
  if (how === "copy for") return `copy for ${r.receiver ?? "nobody"}, ${r.type ?? "document"}`;
  return `${how} ${r.type ?? ""} ${r.name ?? r.id}`;
}

/** Units for a gap: 10 for nothing, some 14 more for each power of ten above a tenth of a millisecond. */
function length(us: number): number {
  return us <= 0 ? 0 : 10 + 14 * Math.log10(1 + us / 100);
}

class Scale {
  private readonly places = new Map<number, number>();
  readonly width: number;

  constructor(times: number[]) {
    const sorted = [...new Set(times)].sort((a, b) => a - b);
    let at = 0;
    sorted.forEach((t, i) => {
      if (i > 0) at += length(t - sorted[i - 1]!);
      this.places.set(t, at);
    });
    this.width = Math.max(at, 1);
  }

  at(t: number): number {
    return this.places.get(t) ?? 0;
  }
}

function isWaiting(d: Delivery): boolean {
  return !["delivered", "cancelled"].includes(d.state);
}

function titleOf(e: TimelineEntry): string {
  return [`${e.stage}${e.what ? ` ${e.what}` : ""}: ${e.outcome}`, e.status ? `status ${e.status}` : "", e.message ?? ""].filter((t) => t !== "").join(", ");
}

export function layOut(d: DocumentDetail): Trace {
  const start = (e: TimelineEntry) => micros(e.time) - (e.duration ?? 0);
  const first = Math.min(micros(d.received), ...d.timeline.map(start));
  const relatives = family(d);
  const scale = new Scale([
    first,
    ...d.timeline.flatMap((e) => [start(e), micros(e.time)]),
    ...relatives.map(([, r]) => Math.max(first, micros(r.received))),
  ]);
  const names = [...new Set([...d.timeline.map(laneOf), ...d.deliveries.map((v) => `→ ${v.endpoint}`), ...(relatives.length > 0 ? [FAMILY] : [])])];
  const order = (name: string) => (name === IN ? 0 : name === ROAD ? 1 : name === PEOPLE ? 3 : name === FAMILY ? 4 : 2);
  const lanes = names.sort((a, b) => order(a) - order(b));
  const marks = d.timeline.map((e, line): Mark => ({
    lane: lanes.indexOf(laneOf(e)),
    at: scale.at(micros(e.time)),
    from: scale.at(start(e)),
    word: e.outcome,
    title: titleOf(e),
    line,
  }));
  marks.push(
    ...relatives.map(([how, r]): Mark => {
      const at = scale.at(Math.max(first, micros(r.received)));
      return { lane: lanes.indexOf(FAMILY), at, from: at, word: r.state, title: `${nameOf(how, r)}: ${r.state}`, line: -1, href: `/documents/${r.id}` };
    }),
  );
  const waits = d.deliveries.filter(isWaiting).map((v): Wait => {
    const lane = lanes.indexOf(`→ ${v.endpoint}`);
    const own = marks.filter((m) => m.lane === lane).map((m) => m.at);
    return { lane, from: Math.max(0, ...own), word: v.state, title: [v.state, ...v.held].join(", ") };
  });
  const ticks = [...new Set(d.timeline.map((e) => micros(e.time)))].map((t): Tick => ({ at: scale.at(t), us: t - first }));
  return { lanes: lanes.map((l) => (l === IN ? `in ${d.gateway}` : l === ROAD ? `route ${d.route ?? ""}` : l)), marks, waits, ticks, width: scale.width };
}
