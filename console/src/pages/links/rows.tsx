// rows.tsx - rows of a table of a link: those that are set aside, and both sides of those that differ.
import { useState } from "preact/hooks";
import { clientId } from "../../api";
import { ask } from "../../base/ask";
import { useQuery } from "../../base/use_query";
import { useCan } from "../../shell/session";
import { Empty, Failed, Loading } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago } from "../../ui/time";
import { attempt, tell } from "../../ui/toast";
import { DiscardDialog, RepairDialog } from "./actions";
import * as api from "./api";
import type { DiffRow, Pass, SetAside } from "./types";

const EVERY_MS = 5000;

interface Props {
  link: string;
  table: string;
}

// ---- set aside

export function Quarantine({ link, table, onChanged }: Props & { onChanged: () => void }) {
  const [after, setAfter] = useState<string | null>(null);
  const { data, error, loading, reload } = useQuery(api.linkQuarantine, { link, table, after }, { every: EVERY_MS });
  const page = data?.linkQuarantine;
  const changed = () => {
    reload();
    onChanged();
  };
  return (
    <section class="card">
      <header>
        <h2>Set aside</h2>
        <span class="quiet">Rows that could not be written, each of which is tried again by itself, and rows that have lost against others</span>
        <span class="room" />
        {page?.next && <button onClick={() => setAfter(page.next)}>More</button>}
      </header>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {page && page.items.length === 0 && <Empty title="No rows">All rows could be written.</Empty>}
      {page && page.items.length > 0 && (
        <div class="wide" tabIndex={0}>
          <table class="aside">
            <thead>
              <tr>
                <th>Key</th>
                <th class="rest">Why</th>
                <th>Values</th>
                <th>Since</th>
                <th class="num">Tries</th>
                <th>Next try</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {page.items.map((r) => (
                <AsideRow key={r.id} row={r} onChanged={changed} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function AsideRow({ row: r, onChanged }: { row: SetAside; onChanged: () => void }) {
  const [asking, setAsking] = useState(false);
  const mayOperate = useCan("operate");
  const lost = r.kind === "conflict";
  const retry = () =>
    void attempt(async () => {
      const { was } = await ask(api.linkQuarantineRetry, { id: r.id, client: clientId() });
      tell(!was ? "The row is not set aside any more." : lost ? "The row takes its place back." : "The row is tried again.");
      onChanged();
    });
  return (
    <tr>
      <td class="mono">{r.key}</td>
      <td class="long">{r.why}</td>
      <td class="long">{r.values?.join(", ") ?? <span class="quiet">to be removed, or not kept</span>}</td>
      <td class="time">
        <Ago at={r.first} />
      </td>
      <td class="num">{r.tries}</td>
      <td class="time">{r.discarded ? <span class="quiet">discarded</span> : lost ? <span class="quiet">not tried</span> : <Ago at={r.due} />}</td>
      <td class="actions">
        {r.peer && <span class="quiet">decided and chosen at {r.peer}</span>}
        {mayOperate && !r.peer && (
          <>
            <button class="small" onClick={retry}>
              {lost ? "Choose" : "Retry"}
            </button>{" "}
            {!r.discarded && (
              <button class="small" onClick={() => setAsking(true)}>
                Discard…
              </button>
            )}
            {asking && (
              <DiscardDialog
                row={r}
                onChanged={() => {
                  setAsking(false);
                  onChanged();
                }}
              />
            )}
          </>
        )}
      </td>
    </tr>
  );
}

// ---- both sides

/** Of the findings of a pass. */
export function Differences({ link, table, pass, onChanged }: Props & { pass: Pass; onChanged: () => void }) {
  const [after, setAfter] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  const { data, error, loading, reload } = useQuery(api.linkDiff, { link, table, pass: pass.id, key: null, after }, { long: true });
  const diff = data?.linkDiff;
  const mayOperate = useCan("operate");
  return (
    <section class="card">
      <header>
        <h2>Differences</h2>
        <span class="quiet">What pass {pass.id} has found, as both sides are now</span>
        <span class="room" />
        <button onClick={reload}>Look again</button>
        {mayOperate && <button onClick={() => setAsking(true)}>Repair…</button>}
        {diff?.next && <button onClick={() => setAfter(diff.next)}>More</button>}
      </header>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {diff && diff.items.length === 0 && <Empty title="No differences">The pass has found none.</Empty>}
      {diff?.items.map((r) => (
        <Sides key={r.key} row={r} />
      ))}
      {asking && (
        <RepairDialog
          link={link}
          table={table}
          pass={pass}
          onChanged={() => {
            setAsking(false);
            onChanged();
          }}
        />
      )}
    </section>
  );
}

function Sides({ row: r }: { row: DiffRow }) {
  const cells = r.cells.filter((c) => !c.same);
  return (
    <div class="body">
      <p>
        <strong class="mono">{r.key}</strong> {r.found} {r.state && <span class="quiet">{r.state}</span>} {r.same && <State word="ok" text="the same now" />}
        {!r.same && !r.source && <span class="bad">not at the source</span>}
        {!r.same && !r.dest && <span class="bad">not at the destination</span>}
      </p>
      {cells.length > 0 && (
        <div class="wide" tabIndex={0}>
          <table class="sides">
            <thead>
              <tr>
                <th>Column</th>
                <th>Source</th>
                <th>Destination</th>
              </tr>
            </thead>
            <tbody>
              {cells.map((c) => (
                <tr key={c.column}>
                  <td class="word">{c.column}</td>
                  <td class="mono long">{c.source ?? <span class="quiet">no row</span>}</td>
                  <td class="mono long">{c.dest ?? <span class="quiet">no row</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
