// calendar.tsx - holds over two weeks, a line for each system.
import * as api from "../../api";
import { ask } from "../../base/ask";
import { useQuery } from "../../base/use_query";
import { useCan } from "../../shell/session";
import type { Hold } from "../../types";
import { Empty, Failed } from "../../ui/say";
import { State } from "../../ui/state";
import { Time } from "../../ui/time";
import { attempt, tell } from "../../ui/toast";

const DAYS = 14;
const DAY_MS = 86400000;
const NAMES = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

function startOfDay(): number {
  const t = new Date();
  t.setHours(0, 0, 0, 0);
  return t.getTime() - DAY_MS;
}

/** Its share of the two weeks, from 0 to 1; null: outside. */
function reach(hold: Hold, start: number): { from: number; to: number } | null {
  const whole = DAYS * DAY_MS;
  const end = hold.ended ?? hold.until;
  const from = Math.max(0, (Date.parse(hold.from) - start) / whole);
  const to = end === null ? 1 : Math.min(1, (Date.parse(end) - start) / whole);
  return to <= 0 || from >= 1 ? null : { from, to };
}

const percent = (n: number) => `${(n * 100).toFixed(3)}%`;

function Lines({ holds }: { holds: Hold[] }) {
  const start = startOfDay();
  const systems = [...new Set(holds.map((h) => h.system))].sort();
  const days = Array.from({ length: DAYS }, (_, i) => new Date(start + i * DAY_MS));
  return (
    <div class="calendar" role="img" aria-label="Holds over two weeks; the table below has the same data">
      <div class="days">
        {days.map((d, i) => (
          <span key={i} class={d.getDay() % 6 === 0 ? "quiet weekend" : "quiet"}>
            {NAMES[d.getDay()]} {d.getDate()}
          </span>
        ))}
      </div>
      {systems.map((name) => (
        <div class="line" key={name}>
          <span class="system">{name}</span>
          <div class="track">
            <i class="now" style={{ left: percent((Date.now() - start) / (DAYS * DAY_MS)) }} />
            {holds
              .filter((h) => h.system === name)
              .map((h) => {
                const r = reach(h, start);
                if (!r) return null;
                return <b key={h.id} class={`bar ${h.state}`} title={h.reason} style={{ left: percent(r.from), width: percent(Math.max(0.003, r.to - r.from)) }} />;
              })}
          </div>
        </div>
      ))}
    </div>
  );
}

export function HoldTable({ holds, onChanged }: { holds: Hold[]; onChanged: () => void }) {
  const mayHold = useCan("hold");
  const end = (h: Hold) =>
    void attempt(async () => {
      await ask(api.holdEnd, { id: h.id, client: api.clientId() });
      tell(`The hold of ${h.system} has ended.`);
      onChanged();
    });
  return (
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th>System</th>
            <th>State</th>
            <th>From</th>
            <th>Until</th>
            <th class="rest">Reason</th>
            <th>Owner</th>
            <th class="num">Sending</th>
            <th class="num">Waiting</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {holds.map((h) => (
            <tr key={h.id}>
              <td class="word">{h.system}</td>
              <td>
                <State word={h.state === "active" ? "held" : h.state} text={h.state} />
              </td>
              <td class="time">
                <Time at={h.from} />
              </td>
              <td class="time">{h.ended ? <Time at={h.ended} /> : h.until ? <Time at={h.until} /> : <span class="quiet">no end</span>}</td>
              <td>{h.reason}</td>
              <td class="word">{h.owner}</td>
              <td class="num">{h.ended ? "" : h.sending}</td>
              <td class="num">{h.ended ? "" : h.waiting}</td>
              <td class="actions">
                {mayHold && h.state !== "ended" && (
                  <button class="small" onClick={() => end(h)}>
                    End
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Calendar({ onChanged }: { onChanged: () => void }) {
  const { data, error, reload } = useQuery(api.holds, { ended: true }, { every: 10000 });
  const start = startOfDay();
  const holds = (data?.holds ?? []).filter((h) => reach(h, start) !== null);
  return (
    <section class="card">
      <header>
        <h2>Holds</h2>
      </header>
      <Failed error={error} again={reload} />
      {data && holds.length === 0 && <Empty title="No holds in these two weeks">A hold stops deliveries to a system for a while.</Empty>}
      {holds.length > 0 && <Lines holds={holds} />}
      {holds.length > 0 && (
        <HoldTable
          holds={holds}
          onChanged={() => {
            reload();
            onChanged();
          }}
        />
      )}
    </section>
  );
}
