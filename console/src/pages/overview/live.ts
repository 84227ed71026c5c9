// live.ts - the numbers of the second, as /events tells them.
import { useEffect, useState } from "preact/hooks";
import { listen } from "../../base/events";

export interface Tick {
  /** A minute, at the rate of the last seconds. */
  accepted: number;
  delivered: number;
  dead: number;
  waiting: number;
}

/** Null: nothing was told yet. */
export function useLive(): Tick | null {
  const [tick, set] = useState<Tick | null>(null);
  useEffect(() => listen("tick", (data) => set(data as Tick)), []);
  return tick;
}
