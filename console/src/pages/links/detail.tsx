// detail.tsx - one table of a link: how it stands and why, passes, differences, what is set aside.
import { useState } from "preact/hooks";
import { count, plural, size, took } from "../../base/format";
import { useQuery } from "../../base/use_query";
import { useCan } from "../../shell/session";
import { FactsCard } from "../../ui/card";
import { Empty, Failed, Say } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago, Time } from "../../ui/time";
import * as api from "./api";
import { Differences, Quarantine } from "./rows";
import type { Pass, TableDetail } from "./types";

const EVERY_MS = 5000;

export function Loaded({ rows, total }: { rows: number; total: number }) {
  return (
    <>
      <progress value={rows} max={Math.max(rows, total, 1)} /> {count(rows)} of about {count(total)}
    </>
  );
}

function Facts({ table: t }: { table: TableDetail }) {
  return (
    <FactsCard title="Progress">
      <dt>Lag</dt>
      <dd>{t.lag === null ? <span class="quiet">it never was current</span> : took(t.lag)}</dd>
      <dt>Backlog</dt>
      <dd>{plural(t.backlog, "change waits", "changes wait")}</dd>
      {t.stands === "loading" && (
        <>
          <dt>Loaded</dt>
          <dd>
            <Loaded rows={t.loadRows} total={t.loadTotal} />
          </dd>
        </>
      )}
      <dt>So far</dt>
      <dd>
        {plural(t.written, "row")} written, {count(t.removed)} removed, {size(t.bytes)}
      </dd>
      <dt>Set aside</dt>
      <dd>{plural(t.setAside, "row")}</dd>
      {t.conflicts > 0 && (
        <>
          <dt>Conflicts</dt>
          <dd>{plural(t.conflicts, "row has", "rows have")} lost against others so far</dd>
        </>
      )}
      <dt>Since</dt>
      <dd>{t.since ? <Time at={t.since} /> : <span class="quiet">no run has ended</span>}</dd>
      <dt>Job</dt>
      <dd>
        <a href={`/jobs/${encodeURIComponent(t.job)}`}>{t.job}</a> <State word={t.jobState} />
      </dd>
    </FactsCard>
  );
}

function Why({ table: t }: { table: TableDetail }) {
  return (
    <section class="card c6">
      <header>
        <h2>Why</h2>
      </header>
      <div class="body">
        {t.explanation.map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
    </section>
  );
}

function PassRow({ pass: p, isShown, onShow }: { pass: Pass; isShown: boolean; onShow: (() => void) | null }) {
  return (
    <tr class={isShown ? "at" : ""}>
      <td class="num">{p.id}</td>
      <td>
        <State word={p.result} />
      </td>
      <td class="word">
        {p.mode}
        {p.repair && (p.dryRun ? ", repair: dry run" : ", repair")}
      </td>
      <td class="time">
        <Time at={p.began} />
      </td>
      <td class="time">{p.ended && <Ago at={p.ended} />}</td>
      <td class="num">{count(p.missing)}</td>
      <td class="num">{count(p.extra)}</td>
      <td class="num">{count(p.different)}</td>
      <td class="num">{count(p.moving)}</td>
      <td class="num">{count(p.repaired)}</td>
      <td class="long">
        {p.message} {p.by && <span class="quiet">for {p.by}</span>}
      </td>
      <td class="actions">
        {onShow && (
          <button class="small" aria-expanded={isShown} onClick={onShow}>
            Differences
          </button>
        )}
      </td>
    </tr>
  );
}

function Passes({ link, table }: { link: string; table: string }) {
  const { data, error, reload } = useQuery(api.linkPasses, { link, table }, { every: EVERY_MS });
  const [shown, setShown] = useState<string | null>(null);
  const pass = data?.linkPasses.items.find((p) => p.id === shown);
  const maySee = useCan("payload");
  const passes = data?.linkPasses.items ?? [];
  return (
    <>
      <section class="card">
        <header>
          <h2>Verification</h2>
          <span class="quiet">The last 20 passes</span>
        </header>
        <Failed error={error} again={reload} />
        {data && passes.length === 0 && <Empty title="Never verified">Rules are under `verify` of the link; Verify asks for a pass at once.</Empty>}
        {passes.length > 0 && (
          <div class="wide" tabIndex={0}>
            <table class="passes">
              <thead>
                <tr>
                  <th class="num">Pass</th>
                  <th>Result</th>
                  <th>Mode</th>
                  <th>Began</th>
                  <th>Ended</th>
                  <th class="num">Missing</th>
                  <th class="num">Extra</th>
                  <th class="num">Different</th>
                  <th class="num">Moving</th>
                  <th class="num">Repaired</th>
                  <th class="rest">Message</th>
                  <th />
                </tr>
              </thead>
              <tbody>
                {passes.map((p) => (
                  <PassRow
                    key={p.id}
                    pass={p}
                    isShown={shown === p.id}
                    onShow={maySee && p.missing + p.extra + p.different > 0 ? () => setShown(shown === p.id ? null : p.id) : null}
                  />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
      {pass && <Differences key={pass.id} link={link} table={table} pass={pass} onChanged={reload} />}
    </>
  );
}

export function LinkTableDetail({ table: t, onChanged }: { table: TableDetail; onChanged: () => void }) {
  const maySee = useCan("payload");
  return (
    <>
      {t.stands === "stopped" && (
        <Say tone="bad">
          <strong>{t.reason}</strong> {t.message}
          {t.remedy && <p>{t.remedy}</p>}
        </Say>
      )}
      {t.error && <Say tone="wait">The last run failed: {t.error}</Say>}
      <div class="columns">
        <Facts table={t} />
        <Why table={t} />
      </div>
      <Passes link={t.link} table={t.table} />
      {maySee && <Quarantine link={t.link} table={t.table} onChanged={onChanged} />}
    </>
  );
}
