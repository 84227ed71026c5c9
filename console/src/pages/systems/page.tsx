// page.tsx - Systems: backlog, its reasons and estimated end; holds are placed and ended here.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { useEvent } from "../../base/events";
import { count } from "../../base/format";
import { decoded, usePlace, withQuery } from "../../base/router";
import { useQuery } from "../../base/use_query";
import { useCan } from "../../shell/session";
import type { System } from "../../types";
import { Empty, Failed, Loading } from "../../ui/say";
import { Time } from "../../ui/time";
import { Calendar } from "./calendar";
import { SystemDetail } from "./detail";
import { HoldDialog } from "./hold_dialog";
import { SystemState } from "./state";

const EVERY_MS = 5000;

export function SystemsPage({ rest }: { rest: string }) {
  return rest === "" ? <AllSystems /> : <OneSystem name={decoded(rest)} />;
}

function PlaceHold({ systems, onPlaced }: { systems: string[]; onPlaced: () => void }) {
  const [placing, setPlacing] = useState(false);
  const close = () => {
    setPlacing(false);
    onPlaced();
  };
  if (!useCan("hold")) return null;
  return (
    <>
      <button class="first" onClick={() => setPlacing(true)}>
        Place a hold…
      </button>
      {placing && <HoldDialog systems={systems} onClose={close} />}
    </>
  );
}

function OneSystem({ name }: { name: string }) {
  const { data, error, loading, reload } = useQuery(api.system, { name }, { every: EVERY_MS });
  useEvent("hold", reload);
  const system = data?.system;
  return (
    <>
      <div class="title">
        <h1>
          <a href="/systems">Systems</a> / {system?.title ?? name}
        </h1>
        <span class="room" />
        <PlaceHold systems={[name]} onPlaced={reload} />
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {system && <SystemDetail system={system} onChanged={reload} />}
      {data && !system && <Empty title="System not found">It is not in the live configuration, or your roles do not cover it.</Empty>}
    </>
  );
}

function AllSystems() {
  const { query } = usePlace();
  const { data, error, loading, reload } = useQuery(api.systems, { after: query.get("after") }, { every: EVERY_MS });
  useEvent("hold", reload);
  const systems = data?.systems.items ?? [];
  const next = data?.systems.next ?? null;
  return (
    <>
      <div class="title">
        <h1>Systems</h1>
        <span class="room" />
        <PlaceHold systems={systems.map((s) => s.name)} onPlaced={reload} />
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && (
        <section class="card">
          {systems.length === 0 && (
            <Empty title="No systems yet">
              Add the systems that send and receive in <a href="/config">Configuration</a>.
            </Empty>
          )}
          {systems.length > 0 && <Table systems={systems} />}
          {next && (
            <div class="body">
              <a href={withQuery({ after: next })}>More systems</a>
            </div>
          )}
        </section>
      )}
      <Calendar onChanged={reload} />
    </>
  );
}

function Table({ systems }: { systems: System[] }) {
  return (
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th>System</th>
            <th>State</th>
            <th class="num">Sending</th>
            <th class="num">Waiting</th>
            <th class="num">Retrying</th>
            <th class="num">Per hour</th>
            <th>All sent by</th>
            <th class="num">Concurrency</th>
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
              <td class="num">{count(s.sending)}</td>
              <td class="num">{count(s.waiting)}</td>
              <td class="num">{count(s.retrying)}</td>
              <td class="num">{s.perHour === null ? "" : count(s.perHour)}</td>
              <td class="time">{s.drained && s.waiting + s.sending > 0 ? <Time at={s.drained} /> : ""}</td>
              <td class="num">{s.limits.concurrency}</td>
              <td class="word">{s.limits.rate ?? <span class="quiet">no limit</span>}</td>
              <td class="word">{s.window ? (s.window.open ? "open" : "closed") : <span class="quiet">always</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
