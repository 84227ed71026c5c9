// use_query.ts - query results in a component, kept while they are reloaded.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, AskError, askSoon, type Query } from "./ask";

export interface Loaded<R> {
  data: R | null;
  error: AskError | null;
  loading: boolean;
  reload: () => void;
}

interface Options {
  /** Ask again after so many milliseconds, while the page is visible. */
  every?: number;
  /** Do not ask. */
  skip?: boolean;
  /** It may take minutes. */
  long?: boolean;
}

/** The answer to a query.  Other variables drop the old answer; a reload keeps it until the new one arrives. */
export function useQuery<R, V>(q: Query<R, V>, vars: V, { every, skip, long }: Options = {}): Loaded<R> {
  const key = q.text + JSON.stringify(vars);
  const [state, set] = useState<{ key: string; data: R | null; error: AskError | null }>({
    key: "",
    data: null,
    error: null,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(vars);
  latest.current = vars;
  const pending = useRef(false);

  useEffect(() => {
    if (skip) return;
    const abort = new AbortController();
    pending.current = true;
    (long ? ask : askSoon)(q, latest.current, abort.signal).then(
      (data) => {
        if (abort.signal.aborted) return;
        pending.current = false;
        set({ key, data, error: null });
      },
      (e: unknown) => {
        if (abort.signal.aborted) return;
        pending.current = false;
        const error = e instanceof AskError ? e : new AskError("failed", String(e));
        set((old) => ({ key, data: old.key === key ? old.data : null, error }));
      },
    );
    return () => abort.abort();
  }, [key, round, skip]);

  const reload = useCallback(() => setRound((n) => n + 1), []);
  const refresh = useCallback(() => pending.current || reload(), []); /* wait for a slow answer, do not repeat the request */
  useEvery(refresh, skip ? undefined : every);
  const fresh = state.key === key;
  return {
    data: fresh ? state.data : null,
    error: fresh ? state.error : null,
    loading: !fresh && !skip,
    reload,
  };
}

/** Calls periodically, but not in a hidden tab. */
export function useEvery(fn: () => void, ms: number | undefined): void {
  useEffect(() => {
    if (ms === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") fn();
    }, ms);
    return () => clearInterval(timer);
  }, [fn, ms]);
}
