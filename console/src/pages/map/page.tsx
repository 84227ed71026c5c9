// page.tsx - Map: the paths of documents as a graph, with rates and problems.
import { useMemo, useState } from "preact/hooks";
import * as api from "../../api";
import { go } from "../../base/router";
import { useQuery } from "../../base/use_query";
import type { FlowEdge } from "../../types";
import { Empty, Failed, Loading } from "../../ui/say";
import { Prose } from "../../ui/prose";
import { Shape } from "../../ui/state";
import { addressOf } from "../documents/filter";
import { BOX, layOut, type Box, type Way } from "./layout";

const EVERY_MS = 5000;
const NAME_MOST = 20;
/** Small maps are drawn a little larger. */
const GROWN = 1.25;

function hrefOf(box: Box): string {
  if (box.kind === "system") return `/systems/${encodeURIComponent(box.name)}`;
  if (box.kind === "gateway") return addressOf([{ name: "gateway", value: box.name }]);
  return `/config?find=${encodeURIComponent(box.name)}`;
}

function rateText(n: number): string {
  if (n === 0) return "";
  return `${n >= 10 ? Math.round(n) : n.toFixed(1)}/min`;
}

/** Thicker for higher rates, by powers of ten. */
function weight(n: number): number {
  return n <= 0 ? 1 : 1.5 + Math.min(4, Math.log10(1 + n));
}

export function MapPage() {
  const { data, error, loading, reload } = useQuery(api.flow, {}, { every: EVERY_MS });
  const edges = data?.flow ?? [];
  const trouble = edges.filter((e) => e.trouble !== null);
  return (
    <>
      <div class="title">
        <h1>Map</h1>
        <span class="quiet">gateways, routes, endpoints and systems, with documents per minute</span>
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && edges.length === 0 && (
        <section class="card">
          <Empty title="No routes yet">
            Add a gateway, an endpoint and a route in <a href="/config">Configuration</a>.
          </Empty>
        </section>
      )}
      {edges.length > 0 && <Picture edges={edges} />}
      {trouble.length > 0 && <Troubles edges={trouble} />}
    </>
  );
}

function Picture({ edges }: { edges: FlowEdge[] }) {
  const shape = edges.map((e) => `${e.from}>${e.to}`).join();
  const layout = useMemo(() => layOut(edges), [shape]);
  const now = new Map(edges.map((e) => [`${e.from}>${e.to}`, e]));
  const ways = layout.ways.map((w) => ({ ...w, edge: now.get(`${w.edge.from}>${w.edge.to}`) ?? w.edge }));
  const [near, setNear] = useState<string | null>(null);
  const bad = new Set(edges.filter((e) => e.trouble !== null).flatMap((e) => [e.to]));
  return (
    <section class="card map">
      <svg
        viewBox={`0 0 ${layout.width} ${layout.height}`}
        width={layout.width * GROWN}
        height={layout.height * GROWN}
        role="group"
        aria-label="The paths of documents"
      >
        {ways.map((w) => (
          <WayLine key={`${w.edge.from}>${w.edge.to}`} way={w} dim={near !== null && w.edge.from !== near && w.edge.to !== near} />
        ))}
        {layout.boxes.map((b) => (
          <BoxShape key={b.id} box={b} bad={bad.has(b.id)} onNear={setNear} />
        ))}
      </svg>
    </section>
  );
}

function WayLine({ way, dim }: { way: Way; dim: boolean }) {
  const { edge, path, at } = way;
  const words = `way${edge.trouble ? " bad" : ""}${edge.perMinute > 0 ? " flows" : ""}${dim ? " dim" : ""}`;
  return (
    <g class={words}>
      <title>{`${edge.from} to ${edge.to}: ${rateText(edge.perMinute) || "no recent documents"}${edge.trouble ? `; ${edge.trouble}` : ""}`}</title>
      <path d={path} stroke-width={weight(edge.perMinute)} />
      <text x={at.x} y={at.y}>
        {rateText(edge.perMinute)}
      </text>
      {edge.trouble && (
        <g transform={`translate(${at.x - 6} ${at.y + 6})`}>
          <Shape word="broken" />
        </g>
      )}
    </g>
  );
}

function BoxShape({ box, bad, onNear }: { box: Box; bad: boolean; onNear: (id: string | null) => void }) {
  const href = hrefOf(box);
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "Enter") go(href);
  };
  const name = box.name.length > NAME_MOST ? `${box.name.slice(0, NAME_MOST - 1)}…` : box.name;
  return (
    <g
      class={`box ${box.kind}${bad ? " bad" : ""}`}
      transform={`translate(${box.x} ${box.y})`}
      role="link"
      tabindex={0}
      onClick={() => go(href)}
      onKeyDown={onKey}
      onPointerEnter={() => onNear(box.id)}
      onPointerLeave={() => onNear(null)}
      onFocus={() => onNear(box.id)}
      onBlur={() => onNear(null)}
    >
      {bad && <title>problem: see below</title>}
      <rect width={BOX.width} height={BOX.height} rx={box.kind === "system" ? 8 : 4} />
      <text class="kind" x={10} y={13}>
        {box.kind}
      </text>
      <text class="name" x={10} y={27}>
        {name}
      </text>
    </g>
  );
}

function Troubles({ edges }: { edges: FlowEdge[] }) {
  return (
    <section class="card">
      <header>
        <h2>Problems</h2>
      </header>
      <table>
        <tbody>
          {edges.map((e) => (
            <tr key={`${e.from}>${e.to}`}>
              <td class="word">
                {e.from.replace(":", " ")} <span class="quiet">→</span> {e.to.replace(":", " ")}
              </td>
              <td>
                <Prose text={e.trouble ?? ""} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
