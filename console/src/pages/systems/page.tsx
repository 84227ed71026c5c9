// page.tsx - Systems: what waits for each, why, until when; holds are placed and ended here.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { useEvent } from "../../base/events";
import { count } from "../../base/format";
import { useQuery } from "../../base/use_query";
import { useCan } from "../../shell/session";
import type { System } from "../../types";
import { Empty, Failed, Loading } from "../../ui/say";
import { State } from "../../ui/state";
import { Time } from "../../ui/time";
import { Calendar } from "./calendar";
import { SystemDetail } from "./detail";
import { HoldDialog } from "./hold_dialog";

const EVERY_MS = 5000;

export function SystemsPage({ rest }: { rest: string }) {
  const { data, error, loading, reload } = useQuery(api.systems, { after: null }, { every: EVERY_MS });
  useEvent("hold", reload);
  const [placing, setPlacing] = useState(false);
  const mayHold = useCan("hold");
  const systems = data?.systems.items ?? [];
  const one = systems.find((s) => s.name === rest);
  return (
    <>
      <div class="title">
        <h1>{rest === "" ? "Systems" : <a href="/systems">Systems</a>}</h1>
        {rest !== "" && <h1>/ {one?.title ?? rest}</h1>}
        <span class="room" />
        {mayHold && (
          <button class="first" onClick={() => setPlacing(true)}>
            Place a hold…
          </button>
        )}
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && rest === "" && <AllSystems systems={systems} onChanged={reload} />}
      {one && <SystemDetail system={one} onChanged={reload} />}
      {data && rest !== "" && !one && <Empty title="There is no such system">It is not in the live configuration, or your roles do not reach it.</Empty>}
      {placing && (
        <HoldDialog
          systems={systems.map((s) => s.name)}
          system={rest}
          onClose={() => {
            setPlacing(false);
            reload();
          }}
        />
      )}
    </>
  );
}

/** Held, closed, busy or idle, in one word. */
export function SystemState({ system: s }: { system: System }) {
  if (s.held.length > 0) return <State word="held" text={s.held.join(", ")} />;
  if (s.retrying > 0) return <State word="retrying" />;
  return <State word="ok" text="open" />;
}

function AllSystems({ systems, onChanged }: { systems: System[]; onChanged: () => void }) {
  if (systems.length === 0)
    return (
      <section class="card">
        <Empty title="There are no systems yet">
          Add those that send and receive in <a href="/config">Configuration</a>.
        </Empty>
      </section>
    );
  return (
    <>
      <section class="card">
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th>System</th>
                <th>State</th>
                <th class="num">Waiting</th>
                <th class="num">Retrying</th>
                <th class="num">An hour</th>
                <th>Sent by</th>
                <th class="num">At once</th>
                <th>Rate</th>
                <th>Window</th>
              </tr>
            </thead>
            <tbody>
              {systems.map((s) => (
                <tr key={s.name}>
                  <td class="word">
                    <a href={`/systems/${encodeURIComponent(s.name)}`}>{s.name}</a> <span class="quiet">{s.title}</span>
                  </td>
                  <td>
                    <SystemState system={s} />
                  </td>
                  <td class="num">{count(s.waiting)}</td>
                  <td class="num">{count(s.retrying)}</td>
                  <td class="num">{s.perHour === null ? "" : count(s.perHour)}</td>
                  <td class="time">{s.drained && s.waiting > 0 ? <Time at={s.drained} /> : ""}</td>
                  <td class="num">{s.limits.concurrency}</td>
                  <td class="word">{s.limits.rate ?? <span class="quiet">no limit</span>}</td>
                  <td class="word">{s.window ? (s.window.open ? "open" : "closed") : <span class="quiet">always</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      <Calendar onChanged={onChanged} />
    </>
  );
}
