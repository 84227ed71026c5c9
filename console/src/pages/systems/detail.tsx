// detail.tsx - one system: its settings, backlog and holds.
import { count, plural } from "../../base/format";
import type { System } from "../../types";
import { Empty, Say } from "../../ui/say";
import { Ago, Time } from "../../ui/time";
import { addressOf } from "../documents/filter";
import { HoldTable } from "./calendar";
import { SystemState } from "./state";

function Backlog({ system: s }: { system: System }) {
  return (
    <section class="card c6">
      <header>
        <h2>Backlog</h2>
        <span class="room" />
        <a href={addressOf([{ name: "receiver", value: s.name }])}>Its documents</a>
      </header>
      <div class="body">
        <dl class="facts">
          <dt>State</dt>
          <dd>
            <SystemState system={s} />
          </dd>
          <dt>Sending</dt>
          <dd>{s.sending === 0 ? "none for longer than a second" : plural(s.sending, "delivery", "deliveries")}</dd>
          <dt>Waiting</dt>
          <dd>{plural(s.waiting, "delivery", "deliveries")}</dd>
          <dt>Retrying</dt>
          <dd>{count(s.retrying)}</dd>
          <dt>Throughput</dt>
          <dd>{s.perHour === null ? <span class="quiet">unknown</span> : `${count(s.perHour)} per hour, recently`}</dd>
          <dt>All sent by</dt>
          <dd>
            {s.waiting + s.sending + s.retrying === 0 ? (
              "no backlog"
            ) : s.drained ? (
              <>
                <Time at={s.drained} /> (<Ago at={s.drained} />)
              </>
            ) : (
              <span class="quiet">unknown</span>
            )}
          </dd>
        </dl>
      </div>
    </section>
  );
}

function Agreed({ system: s }: { system: System }) {
  return (
    <section class="card c6">
      <header>
        <h2>Settings</h2>
        <span class="room" />
        <a href={`/config/text?line=${s.line}`}>Configure</a>
      </header>
      <div class="body">
        <dl class="facts">
          <dt>Ids</dt>
          <dd>{s.ids.length > 0 ? s.ids.join(", ") : <span class="quiet">only its name</span>}</dd>
          <dt>Limits</dt>
          <dd>
            {s.limits.concurrency} concurrent, {s.limits.rate ?? "no rate limit"}
          </dd>
          <dt>Window</dt>
          <dd>
            {s.window ? (
              <>
                {s.window.texts.map((t) => (
                  <div key={t}>{t}</div>
                ))}
                {s.window.open ? "open" : "closed"}
                {s.window.changes && (
                  <>
                    , {s.window.open ? "closes" : "opens"} <Ago at={s.window.changes} />
                  </>
                )}
              </>
            ) : (
              "always open"
            )}
          </dd>
          <dt>Order</dt>
          <dd>{s.order}</dd>
          <dt>In doubt</dt>
          <dd>{s.inDoubt}</dd>
        </dl>
      </div>
    </section>
  );
}

export function SystemDetail({ system: s, onChanged }: { system: System; onChanged: () => void }) {
  return (
    <>
      {s.windowFits === false && <Say tone="wait">The backlog is too large for its window: part of it will be sent in a later window.</Say>}
      <div class="columns">
        <Backlog system={s} />
        <Agreed system={s} />
      </div>
      <section class="card">
        <header>
          <h2>Holds</h2>
        </header>
        {s.holds.length === 0 ? <Empty title="No holds" /> : <HoldTable holds={s.holds} onChanged={onChanged} />}
      </section>
    </>
  );
}
