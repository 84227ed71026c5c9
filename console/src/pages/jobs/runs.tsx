// runs.tsx - the log of runs: a picture over nodes, and a table whose rows open to their steps.
import { useState } from "preact/hooks";
import { useEvent } from "../../base/events";
import { clock, took, when } from "../../base/format";
import { usePlace, withQuery } from "../../base/router";
import { useQuery } from "../../base/use_query";
import type { JobRun } from "../../types";
import { Empty, Failed } from "../../ui/say";
import { State } from "../../ui/state";
import { Time } from "../../ui/time";
import * as api from "./api";

const EVERY_MS = 10000;
const FIRST = 100;
const TICKS = 6;
const DAY_MS = 86400000;

const percent = (n: number) => `${(n * 100).toFixed(3)}%`;

/** A row for each node, time to the right. */
function Picture({ runs }: { runs: JobRun[] }) {
  const from = Math.min(...runs.map((r) => Date.parse(r.began)));
  const to = Math.max(...runs.map((r) => Date.parse(r.ended)), from + 1000);
  const nodes = [...new Set(runs.map((r) => r.node))].sort();
  const at = (iso: string) => (Date.parse(iso) - from) / (to - from);
  const ticks = Array.from({ length: TICKS }, (_, i) => new Date(from + ((to - from) * i) / TICKS).toISOString());
  return (
    <div class="calendar" role="img" aria-label="Runs over nodes and time; the table below has the same data">
      <div class="days">
        {ticks.map((t) => (
          <span key={t} class="quiet">
            {to - from > DAY_MS ? when(t) : clock(t)}
          </span>
        ))}
      </div>
      {nodes.map((node) => (
        <div class="line" key={node}>
          <span class="system">{node}</span>
          <div class="track">
            {runs
              .filter((r) => r.node === node)
              .map((r) => (
                <b
                  key={r.run}
                  class={`bar ${r.outcome}`}
                  title={`${r.job}, ${r.outcome}, ${took(r.duration)}`}
                  style={{ left: percent(at(r.began)), width: percent(Math.max(0.002, at(r.ended) - at(r.began))) }}
                />
              ))}
          </div>
        </div>
      ))}
    </div>
  );
}

function Row({ run: r, named }: { run: JobRun; named: boolean }) {
  const [open, setOpen] = useState(false);
  const more = r.steps ?? r.stale;
  return (
    <>
      <tr>
        <td class="time">
          <Time at={r.ended} />
        </td>
        {named && (
          <td class="word">
            <a href={`/jobs/${encodeURIComponent(r.job)}`}>{r.job}</a>
          </td>
        )}
        <td>
          <State word={r.outcome} />
        </td>
        <td class="word">{r.node}</td>
        <td class="time">
          <Time at={r.nominal} />
        </td>
        <td class="num">{took(r.lag)}</td>
        <td class="num">{took(r.duration)}</td>
        <td class="long">{r.message}</td>
        <td class="actions">
          {more !== null && (
            <button class="small" aria-expanded={open} onClick={() => setOpen(!open)}>
              Steps
            </button>
          )}
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={named ? 9 : 8}>
            {r.steps && <pre class="steps">{r.steps}</pre>}
            {r.stale !== null && (
              <p class="quiet">
                Its state was not stored, because another one had come meanwhile: <span class="mono">{r.stale}</span>
              </p>
            )}
          </td>
        </tr>
      )}
    </>
  );
}

/** `job` null: of all jobs. */
export function Runs({ job }: { job: string | null }) {
  const { query } = usePlace();
  const after = query.get("runs");
  const { data, error, reload } = useQuery(api.jobRuns, { job, first: FIRST, after }, { every: EVERY_MS });
  useEvent("job", reload);
  const runs = data?.jobRuns.items ?? [];
  const next = data?.jobRuns.next ?? null;
  return (
    <section class="card">
      <header>
        <h2>Log</h2>
        <span class="quiet">Newest first; jobs say in `log` what is logged, it is kept for 14 days</span>
        <span class="room" />
        <button disabled={after === null} onClick={() => history.back()}>
          Newer
        </button>
        {next && <a href={withQuery({ runs: next })}>Older</a>}
      </header>
      <Failed error={error} again={reload} />
      {data && runs.length === 0 && <Empty title="No runs">No run was logged{job ? " of this job" : ""}. With `log: errors`, the default, those that are done are not.</Empty>}
      {runs.length > 0 && <Picture runs={runs} />}
      {runs.length > 0 && (
        <div class="wide" tabIndex={0}>
          <table class="runs">
            <thead>
              <tr>
                <th>Ended</th>
                {job === null && <th>Job</th>}
                <th>Result</th>
                <th>Node</th>
                <th>For</th>
                <th class="num">Lag</th>
                <th class="num">Took</th>
                <th class="rest">Message</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {runs.map((r) => (
                <Row key={`${r.job} ${r.run}`} run={r} named={job === null} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
