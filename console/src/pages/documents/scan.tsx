// scan.tsx - searches the payloads of matching documents, portion by portion.
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "../../api";
import { ask, messageOf } from "../../base/ask";
import { count, size } from "../../base/format";
import type { DocumentFilter, DocumentRow, ScanPage } from "../../types";
import { Empty, Say } from "../../ui/say";
import { DocumentTable } from "./table";

interface Props {
  filter: DocumentFilter;
  text: string;
  onEnd: () => void;
}

const MOST = 200;

export function Scan({ filter, text, onEnd }: Props) {
  const [rows, setRows] = useState<DocumentRow[]>([]);
  const [looked, setLooked] = useState({ documents: 0, bytes: 0 });
  const [running, setRunning] = useState(true);
  const [error, setError] = useState("");
  const abort = useRef(new AbortController());

  useEffect(() => {
    const run = async () => {
      let after: string | null = null;
      let found = 0;
      do {
        const { scan }: { scan: ScanPage } = await ask(api.scan, { filter, text, after }, abort.current.signal);
        found += scan.items.length;
        setRows((old) => [...old, ...scan.items]);
        setLooked((old) => ({ documents: old.documents + scan.looked, bytes: old.bytes + scan.bytes }));
        after = scan.next;
      } while (after !== null && found < MOST);
    };
    run()
      .catch((e) => {
        if (!abort.current.signal.aborted) setError(messageOf(e));
      })
      .finally(() => setRunning(false));
    return () => abort.current.abort();
  }, []);

  return (
    <section class="card">
      <header>
        <h2>Payloads with “{text}”</h2>
        <span class="quiet" role="status">
          {count(rows.length)} found; {count(looked.documents)} documents, {size(looked.bytes)} read
          {running ? " so far" : ""}
        </span>
        <span class="room" />
        {running && (
          <button class="small" onClick={() => abort.current.abort()}>
            Stop
          </button>
        )}
        <button class="small" onClick={onEnd}>
          Back to the list
        </button>
      </header>
      {error && <Say tone="bad">{error}</Say>}
      {rows.length > 0 && <DocumentTable rows={rows} />}
      {rows.length === 0 && !running && <Empty title="No payload contains this text">Widen the filter, or search for a shorter text.</Empty>}
    </section>
  );
}
