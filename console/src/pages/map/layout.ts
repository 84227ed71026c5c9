// layout.ts - the layout of the map (dagre).
import dagre from "@dagrejs/dagre";
import type { FlowEdge } from "../../types";

export interface Box {
  /** KIND:NAME */
  id: string;
  kind: string;
  name: string;
  x: number;
  y: number;
}

export interface Way {
  edge: FlowEdge;
  /** Of an SVG path. */
  path: string;
  /** The position of its number. */
  at: { x: number; y: number };
}

export interface Layout {
  boxes: Box[];
  ways: Way[];
  width: number;
  height: number;
}

export const BOX = { width: 150, height: 34 };
const KINDS = ["gateway", "route", "endpoint", "system"];

interface Point {
  x: number;
  y: number;
}

/** From box to box, level at both ends. */
function curve(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let last = first;
  return rest.reduce((path, p) => {
    const half = (last.x + p.x) / 2;
    const piece = `C${half} ${last.y} ${half} ${p.y} ${p.x} ${p.y}`;
    last = p;
    return path + piece;
  }, `M${first.x} ${first.y}`);
}

export function layOut(edges: FlowEdge[]): Layout {
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 96, marginx: 8, marginy: 8 });
  g.setDefaultEdgeLabel(() => ({}));
  const ids = [...new Set(edges.flatMap((e) => [e.from, e.to]))];
  for (const id of ids) g.setNode(id, { ...BOX });
  for (const e of edges) {
    const rank = (id: string) => KINDS.indexOf(id.split(":")[0] ?? "");
    g.setEdge(e.from, e.to, { minlen: Math.max(1, rank(e.to) - rank(e.from)) });
  }
  dagre.layout(g);
  const boxes = ids.map((id): Box => {
    const [kind = "", ...name] = id.split(":");
    const { x, y } = g.node(id) as Point;
    return { id, kind, name: name.join(":"), x: x - BOX.width / 2, y: y - BOX.height / 2 };
  });
  const place = new Map(boxes.map((b) => [b.id, b]));
  const ways = edges.map((edge): Way => {
    const from = place.get(edge.from)!;
    const to = place.get(edge.to)!;
    const start = { x: from.x + BOX.width, y: from.y + BOX.height / 2 };
    const end = { x: to.x - 4, y: to.y + BOX.height / 2 };
    return { edge, path: curve([start, end]), at: { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 - 4 } };
  });
  const { width = 0, height = 0 } = g.graph() as { width?: number; height?: number };
  return { boxes, ways, width, height };
}
