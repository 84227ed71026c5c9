// page.tsx - Documents: find them, page through them, act on them.
import { useState } from "preact/hooks";
import { messageOf } from "../../base/ask";
import { useKeys } from "../../base/keys";
import { go, usePlace, withQuery } from "../../base/router";
import { useEvery } from "../../base/use_query";
import { useCan } from "../../shell/session";
import { WordDialog } from "../../ui/dialog";
import { Empty, Failed, Loading, Say } from "../../ui/say";
import { DocumentActions } from "./actions";
import { addressOf, filterOf, termsOf, writeText, type Term } from "./filter";
import { FilterBar } from "./filter_bar";
import { Scan } from "./scan";
import { DocumentTable } from "./table";
import { usePages } from "./use_pages";

const LIVE_MS = 5000;

function problemOf(terms: Term[]): string | null {
  try {
    filterOf(terms);
    return null;
  } catch (e) {
    return messageOf(e);
  }
}

export function DocumentsPage() {
  const { query } = usePlace();
  const terms = termsOf(query);
  const text = writeText(terms);
  const problem = problemOf(terms);
  const change = (next: Term[]) => go(addressOf(next));
  return (
    <>
      <div class="title">
        <h1>Documents</h1>
      </div>
      <FilterBar key={text} terms={terms} onChange={change} />
      {problem ? <Say tone="bad">{problem}</Say> : <List key={text} text={text} terms={terms} />}
    </>
  );
}

function List({ text, terms }: { text: string; terms: Term[] }) {
  const { query } = usePlace();
  const filter = () => filterOf(terms); /* computed each time: "1h" is relative to now, not to when the page was opened */
  const after = query.get("after");
  const { page, looking, error, reload, refresh } = usePages(filter, text, after);
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const [wanted, setWanted] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  const mayLook = useCan("payload");
  useEvery(refresh, after === null && selected.size === 0 && wanted === null ? LIVE_MS : undefined);
  const older = () => page?.next && go(withQuery({ after: page.next }));
  const newer = () => after !== null && history.back();
  useKeys({ n: older, p: newer });

  const changed = () => {
    setSelected(new Set());
    reload();
  };
  if (wanted !== null) return <Scan filter={filter()} text={wanted} onEnd={() => setWanted(null)} />;
  return (
    <section class="card">
      <header>
        <span class="quiet">{after === null ? "Newest first" : "Older documents"}</span>
        <span class="room" />
        {mayLook && (
          <button class="small" onClick={() => setAsking(true)}>
            Search payloads…
          </button>
        )}
        <DocumentActions filter={filter} selected={selected} onChanged={changed} />
        <button disabled={after === null} onClick={newer}>
          Newer
        </button>
        <button disabled={!page?.next} onClick={older}>
          Older
        </button>
      </header>
      {looking && <Loading />}
      <Failed error={error} again={reload} />
      {page && page.items.length > 0 && <DocumentTable rows={page.items} selected={selected} onSelect={setSelected} />}
      {asking && <WordDialog title="Search payloads" label="Text in the payload" action="Search" onClose={() => setAsking(false)} onWord={setWanted} />}
      {page && !looking && page.items.length === 0 && <Nothing filtered={text !== ""} more={page.next !== null} onMore={older} />}
    </section>
  );
}

function Nothing({ filtered, more, onMore }: { filtered: boolean; more: boolean; onMore: () => void }) {
  if (more)
    return (
      <Empty title="No match so far">
        <button onClick={onMore}>Search further back</button>
      </Empty>
    );
  if (filtered) return <Empty title="No document matches">Remove a condition, or widen the time.</Empty>;
  return <Empty title="No documents yet">Send one: waybill send GATEWAY FILE, or POST it to /in/GATEWAY.</Empty>;
}
