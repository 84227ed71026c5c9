// live.ts - live rates from /events.
import { useState } from "preact/hooks";
import { useEvent } from "../../base/events";

/** Counts of one second, and the backlog. */
interface Tick {
  accepted: number;
  delivered: number;
  dead: number;
  waiting: number;
}

export interface Live {
  /** Per minute, at the rate of the last seconds. */
  accepted: number;
  delivered: number;
  dead: number;
  waiting: number;
}

const SECONDS = 10;

/** Null: no event yet. */
export function useLive(): Live | null {
  const [ticks, set] = useState<Tick[]>([]);
  useEvent("tick", (data) => set((old) => [...old, data as Tick].slice(-SECONDS)));
  const last = ticks[ticks.length - 1];
  if (!last) return null;
  const rate = (name: "accepted" | "delivered" | "dead") => (ticks.reduce((sum, t) => sum + t[name], 0) * 60) / ticks.length;
  return { accepted: rate("accepted"), delivered: rate("delivered"), dead: rate("dead"), waiting: last.waiting };
}
