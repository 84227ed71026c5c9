// rehearse.tsx - what a proposed configuration would do with documents of the past.  Nothing is stored or sent.
import { useEffect, useState } from "preact/hooks";
import * as api from "../../api";
import { ask, messageOf } from "../../base/ask";
import { count } from "../../base/format";
import type { ConfigFileInput, RehearsedPast, RehearsedWay } from "../../types";
import { Empty, Loading, Say } from "../../ui/say";
import { Time } from "../../ui/time";

const HOURS = 24;
const SHOWN = 100;

// Null: the caller may not see it.
function describe(w: RehearsedWay | null): string {
  if (!w) return "shown with the right “payload”";
  const to = w.deliveries.map((d) => d.endpoint).join(", ");
  const who = `${w.sender ?? "?"} → ${w.receiver ?? "?"}, ${w.type ?? "?"}`;
  if (w.error) return `${who}: ${w.error.code}`;
  return `${who}: ${w.route ?? "no route"}${to ? ` to ${to}` : ""}`;
}

export function Rehearse({ text, files }: { text: string; files: ConfigFileInput[] }) {
  const [found, setFound] = useState<RehearsedPast["differences"]>([]);
  const [looked, setLooked] = useState(0);
  const [done, setDone] = useState(false);
  const [error, setError] = useState<string | null>(null);

  useEffect(() => {
    const abort = new AbortController();
    const since = new Date(Date.now() - HOURS * 3600000).toISOString();
    const run = async () => {
      let after: string | null = null;
      do {
        const { rehearsePast }: { rehearsePast: RehearsedPast } = await ask(api.rehearsePast, { text, files, since, after }, abort.signal);
        const problem = rehearsePast.problems[0];
        if (problem) throw new Error(`Line ${problem.line}: ${problem.message}`);
        setLooked((n) => n + rehearsePast.looked);
        setFound((old) => [...old, ...rehearsePast.differences]);
        after = rehearsePast.next;
      } while (after !== null);
      setDone(true);
    };
    run().catch((e) => {
      if (!abort.signal.aborted) setError(messageOf(e));
    });
    return () => abort.abort();
  }, []);

  return (
    <>
      {!done && !error && <Loading />}
      {error && <Say tone="bad">{error}</Say>}
      <p class="body quiet" role="status">
        {count(looked)} documents of the last {HOURS} hours were rehearsed{done ? "" : " so far"}; {count(found.length)} would be processed differently.
      </p>
      {done && found.length === 0 && <Empty title="No differences" />}
      {found.length > 0 && (
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th>Received</th>
                <th>Difference</th>
                <th>Now</th>
                <th>Proposed</th>
              </tr>
            </thead>
            <tbody>
              {found.slice(0, SHOWN).map((d, i) => (
                <tr key={d.id ?? i}>
                  <td class="time">
                    {d.id && d.received ? (
                      <a href={`/documents/${d.id}`}>
                        <Time at={d.received} />
                      </a>
                    ) : (
                      "out of your scope"
                    )}
                  </td>
                  <td>{d.kinds.join(", ")}</td>
                  <td>{describe(d.was)}</td>
                  <td>{describe(d.would)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
