// use_pages.ts - pages of documents; the next one is fetched while this one is read.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import * as api from "../../api";
import { AskError, askSoon, messageOf } from "../../base/ask";
import type { DocumentFilter, DocumentRow, Page } from "../../types";

const PAGE = 50;
/** The node searches for about a second and may return a short page: continue automatically this often. */
const ROUNDS = 20;

type Fetched = Page<DocumentRow>;

/** `onPart` gets the results so far, while they are less than a page. */
async function fetchPage(filter: DocumentFilter, after: string | null, onPart?: (found: Fetched) => void, signal?: AbortSignal): Promise<Fetched> {
  const items: DocumentRow[] = [];
  for (let round = 1; ; round++) {
    const { documents } = await askSoon(api.documents, { filter, first: PAGE - items.length, after }, signal);
    items.push(...documents.items);
    after = documents.next;
    if (after === null || items.length >= PAGE || round >= ROUNDS) return { items, next: after };
    onPart?.({ items: [...items], next: after });
  }
}

export interface Pages {
  page: Fetched | null;
  /** There may be more for this page. */
  looking: boolean;
  error: AskError | null;
  reload: () => void;
  /** A reload in the background: skipped while one is in progress. */
  refresh: () => void;
}

interface State {
  key: string;
  page: Fetched | null;
  looking: boolean;
  error: AskError | null;
}

/** The page after `after`.  A reload keeps the old rows until the new ones arrive. */
export function usePages(filterNow: () => DocumentFilter, key: string, after: string | null): Pages {
  const [state, set] = useState<State>({ key: "", page: null, looking: true, error: null });
  const [round, setRound] = useState(0);
  const ahead = useRef<{ key: string; page: Promise<Fetched> } | null>(null);
  const pending = useRef(false);
  const whole = `${key}|${after ?? ""}`;

  useEffect(() => {
    const abort = new AbortController();
    pending.current = true;
    const filter = filterNow();
    const onPart = (page: Fetched) => set((old) => (round > 0 && old.key === whole ? old : { key: whole, page, looking: true, error: null }));
    const ready = ahead.current?.key === whole && round === 0 ? ahead.current.page : fetchPage(filter, after, onPart, abort.signal);
    ready.then(
      (page) => {
        if (abort.signal.aborted) return;
        pending.current = false;
        set({ key: whole, page, looking: false, error: null });
        if (page.next === null || round > 0) return; /* reloads are frequent: do not prefetch after one */
        const next = fetchPage(filter, page.next);
        next.catch(() => undefined);
        ahead.current = { key: `${key}|${page.next}`, page: next };
      },
      (e: unknown) => {
        if (abort.signal.aborted) return;
        pending.current = false;
        set({ key: whole, page: null, looking: false, error: e instanceof AskError ? e : new AskError("failed", messageOf(e)) });
      },
    );
    return () => abort.abort();
  }, [whole, round]);
  useEffect(() => setRound(0), [whole]);
  const fresh = state.key === whole;
  const reload = useCallback(() => {
    ahead.current = null; /* stale */
    setRound((n) => n + 1);
  }, []);
  const refresh = useCallback(() => pending.current || setRound((n) => n + 1), []);
  return { page: fresh ? state.page : null, looking: !fresh || state.looking, error: fresh ? state.error : null, reload, refresh };
}
