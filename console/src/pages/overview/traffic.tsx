// traffic.tsx - accepted, delivered, failing and waiting: now, and over time.
import { useMemo, useState } from "preact/hooks";
import * as api from "../../api";
import { count } from "../../base/format";
import { later } from "../../base/later";
import { useQuery } from "../../base/use_query";
import type { Series, SeriesName } from "../../types";
import type { ChartProps, Line } from "../../ui/chart";
import { Empty, Failed } from "../../ui/say";
import { useLive } from "./live";

/* With the library that draws it. */
const Chart = later<ChartProps>(() => import("../../ui/chart").then((m) => m.Chart));

const RANGES = {
  "15 min": { seconds: 900, step: 10 },
  "1 hour": { seconds: 3600, step: 10 },
  "24 hours": { seconds: 86400, step: 60 },
} as const;

type Range = keyof typeof RANGES;

const EVERY_MS = 10000;
/** Steps for the current rates; the newest step is incomplete. */
const RECENT = 6;

const LINES: { name: SeriesName; label: string; colour: string }[] = [
  { name: "accepted", label: "accepted", colour: "accent" },
  { name: "delivered", label: "delivered", colour: "good" },
  { name: "retrying", label: "retrying", colour: "wait" },
  { name: "dead", label: "dead", colour: "bad" },
];

function valuesOf(all: Series[], name: SeriesName): (number | null)[] {
  return all.find((s) => s.name === name)?.values ?? [];
}

/** Per minute, from the last full steps. */
function rate(all: Series[], name: SeriesName): number | null {
  const step = all.find((s) => s.name === name)?.step ?? 10;
  const recent = valuesOf(all, name).slice(-RECENT - 1, -1).filter((v): v is number => v !== null);
  return recent.length === 0 ? null : (recent.reduce((a, b) => a + b, 0) / recent.length) * (60 / step);
}

function Figure({ label, value, unit, tone, href }: { label: string; value: string; unit: string; tone?: string; href: string }) {
  return (
    <a class="card figure c3" href={href}>
      <span class="quiet">{label}</span>
      <span class={tone ?? ""}>
        <b>{value}</b> <span class="quiet">{unit}</span>
      </span>
    </a>
  );
}

function show(n: number | null): string {
  if (n === null) return "–";
  return n > 0 && n < 10 ? n.toFixed(1) : count(n);
}

export function Traffic() {
  const [range, setRange] = useState<Range>("15 min");
  const { seconds, step } = RANGES[range];
  const since = useMemo(() => new Date(Date.now() - seconds * 1000).toISOString(), [range]);
  const { data, error, reload } = useQuery(api.series, { since, step }, { every: EVERY_MS });
  const live = useLive();
  const all = data?.series ?? [];
  const first = all[0];
  const [times, lines, waiting] = useMemo((): [number[], Line[], Line[]] => {
    const start = first ? Date.parse(first.from) / 1000 : 0;
    const cut = Math.max(0, (first?.values.length ?? 0) - seconds / step);
    const line = (l: (typeof LINES)[number], factor: number): Line => ({
      ...l,
      values: valuesOf(all, l.name).slice(cut, -1).map((v) => (v === null ? null : v * factor)),
    });
    return [
      (first?.values ?? []).map((_, i) => start + i * step).slice(cut, -1) /* the last step is not over yet */,
      LINES.map((l) => line(l, 60 / step)),
      [line({ name: "waiting", label: "waiting", colour: "held" }, 1)],
    ];
  }, [data]);
  const now = live?.waiting ?? valuesOf(all, "waiting").filter((v) => v !== null).at(-1) ?? null;
  const failing = live?.dead ?? rate(all, "dead");
  return (
    <>
      <Failed error={error} again={reload} />
      <div class="columns">
        <Figure label="Accepted" value={show(live?.accepted ?? rate(all, "accepted"))} unit="a minute" href="/documents" />
        <Figure label="Delivered" value={show(live?.delivered ?? rate(all, "delivered"))} unit="a minute" href="/documents?state=delivered" />
        <Figure label="Failing" value={show(failing)} unit="a minute" tone={failing ? "bad" : ""} href="/dead" />
        <Figure label="Waiting" value={now === null ? "–" : count(now)} unit="deliveries" href="/documents?state=held" />
      </div>
      <div class="columns">
        <section class="card c8">
          <header>
            <h2>Documents and deliveries per minute</h2>
            <span class="room" />
            <div class="tabs" role="tablist">
              {(Object.keys(RANGES) as Range[]).map((r) => (
                <button key={r} role="tab" aria-selected={r === range} onClick={() => setRange(r)}>
                  {r}
                </button>
              ))}
            </div>
          </header>
          {first && <Chart key={range} times={times} lines={lines} />}
          {data && !first && <Empty title="No data">These numbers cover all systems; your roles cover only some.</Empty>}
        </section>
        <section class="card c4">
          <header>
            <h2>Waiting</h2>
          </header>
          {first && <Chart key={range} times={times} lines={waiting} />}
        </section>
      </div>
    </>
  );
}
