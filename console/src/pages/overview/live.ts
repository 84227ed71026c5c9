// live.ts - the numbers of the last seconds, as /events tells them.
import { useState } from "preact/hooks";
import { useEvent } from "../../base/events";

/** What the node did in one second, and how much waits. */
interface Tick {
  accepted: number;
  delivered: number;
  dead: number;
  waiting: number;
}

export interface Live {
  /** A minute, at the rate of the last seconds. */
  accepted: number;
  delivered: number;
  dead: number;
  waiting: number;
}

const SECONDS = 10;

/** Null: nothing was told yet. */
export function useLive(): Live | null {
  const [ticks, set] = useState<Tick[]>([]);
  useEvent("tick", (data) => set((old) => [...old, data as Tick].slice(-SECONDS)));
  const last = ticks[ticks.length - 1];
  if (!last) return null;
  const rate = (name: "accepted" | "delivered" | "dead") => (ticks.reduce((sum, t) => sum + t[name], 0) * 60) / ticks.length;
  return { accepted: rate("accepted"), delivered: rate("delivered"), dead: rate("dead"), waiting: last.waiting };
}
