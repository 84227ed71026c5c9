// detail.tsx - one job: settings, progress, states, runs.
import { useState } from "preact/hooks";
import { count, size, took } from "../../base/format";
import { useCan } from "../../shell/session";
import type { Job, JobKept } from "../../types";
import { FactsCard } from "../../ui/card";
import { Empty, Say } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago, Time } from "../../ui/time";
import { ResetDialog } from "./actions";
import { Runs } from "./runs";

const TEXT_MOST = 400; // of a state in the table

function Progress({ job: j }: { job: Job }) {
  return (
    <FactsCard title="Progress">
      <dt>Next run</dt>
      <dd>
        {j.next ? (
          <>
            <Time at={j.next} /> (<Ago at={j.next} />)
          </>
        ) : (
          <span class="quiet">none</span>
        )}
      </dd>
      <dt>Lag</dt>
      <dd>{j.lag === null ? <span class="quiet">it is not due</span> : took(j.lag)}</dd>
      <dt>Last result</dt>
      <dd>
        {j.last ? (
          <>
            <State word={j.last.outcome} /> <Ago at={j.last.ended} /> {j.last.node && `on ${j.last.node}`} <span class="quiet">{j.last.message}</span>
          </>
        ) : (
          <span class="quiet">no run has ended</span>
        )}
      </dd>
      <dt>Last success</dt>
      <dd>{j.lastSuccess ? <Ago at={j.lastSuccess} /> : <span class="quiet">none</span>}</dd>
      <dt>Runs</dt>
      <dd>
        {count(j.runs)}, {count(j.leftOut)} times left out, {count(j.failures)} failed in a row
      </dd>
      {j.open.map((r, i) => (
        <>
          <dt>{i === 0 ? "Runs now" : ""}</dt>
          <dd>
            {r.outside ? "outside, from " : "on "}
            {r.node ?? "a node"}
            {r.began && (
              <>
                , since <Time at={r.began} />
              </>
            )}
          </dd>
        </>
      ))}
    </FactsCard>
  );
}

function Settings({ job: j }: { job: Job }) {
  return (
    <FactsCard title="Settings">
      <dt>Kind</dt>
      <dd>{j.kind}</dd>
      <dt>Schedule</dt>
      <dd>
        {j.schedule ?? <span class="quiet">not in the live version</span>} {j.zone && <span class="quiet">{j.zone}</span>}
      </dd>
      <dt>Next times</dt>
      <dd>
        {j.nextTimes.map((t) => (
          <div key={t}>
            <Time at={t} />
          </div>
        ))}
      </dd>
      <dt>Area</dt>
      <dd>{j.area ?? <span class="quiet">any</span>}</dd>
      <dt>Limits</dt>
      <dd>
        {j.parallel ?? 1} at the same time{j.timeout ? `, each ${took(j.timeout)} at most` : ""}
      </dd>
      <dt>Logged</dt>
      <dd>{j.log ?? <span class="quiet">unknown</span>}</dd>
      <dt>Version</dt>
      <dd>{j.version}</dd>
    </FactsCard>
  );
}

function States({ job: j, onChanged }: { job: Job; onChanged: () => void }) {
  const [to, setTo] = useState<number | null>(null);
  const mayOperate = useCan("operate");
  return (
    <section class="card">
      <header>
        <h2>States</h2>
      </header>
      {j.states.length === 0 ? (
        <Empty title="No state">What a run leaves for the next one is kept here, the last 20.</Empty>
      ) : (
        <div class="wide" tabIndex={0}>
          <table class="states">
            <thead>
              <tr>
                <th class="num">No.</th>
                <th>Stored</th>
                <th class="rest">Text</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {j.states.map((s, i) => (
                <Kept key={s.number} state={s} isNewest={i === 0} onReset={mayOperate && i > 0 ? () => setTo(s.number) : null} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {to !== null && (
        <ResetDialog
          name={j.name}
          to={to}
          onChanged={() => {
            setTo(null);
            onChanged();
          }}
        />
      )}
    </section>
  );
}

function Kept({ state: s, isNewest, onReset }: { state: JobKept; isNewest: boolean; onReset: (() => void) | null }) {
  return (
    <tr>
      <td class="num">{s.number}</td>
      <td class="time">
        <Time at={s.stored} />
      </td>
      <td class="mono long">
        {s.text.slice(0, TEXT_MOST)}
        {s.text.length > TEXT_MOST && <span class="quiet"> … {size(s.text.length)}</span>}
      </td>
      <td class="actions">
        {isNewest && <span class="quiet">newest</span>}
        {onReset && (
          <button class="small" onClick={onReset}>
            Reset to it…
          </button>
        )}
      </td>
    </tr>
  );
}

export function JobDetail({ job: j, onChanged }: { job: Job; onChanged: () => void }) {
  return (
    <>
      {j.stop && (
        <Say tone={j.stop.what === "suspended" ? "bad" : "wait"}>
          {j.stop.what}
          {j.stop.by && ` by ${j.stop.by}`}
          {j.stop.reason && `: ${j.stop.reason}`}
          {j.stop.until && (
            <>
              , until <Time at={j.stop.until} />
            </>
          )}
        </Say>
      )}
      {j.broken && <Say tone="bad">It cannot run on this node: {j.broken}</Say>}
      {j.planned && <Say tone="wait">This build does not run jobs of kind {j.kind}.</Say>}
      <div class="columns">
        <Progress job={j} />
        <Settings job={j} />
      </div>
      <States job={j} onChanged={onChanged} />
      <Runs job={j.name} />
    </>
  );
}
