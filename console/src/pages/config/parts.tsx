// parts.tsx - what is configured: gateways, routes, endpoints, jobs, systems; and forms to add to them.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import * as api from "../../api";
import { count } from "../../base/format";
import { usePlace } from "../../base/router";
import { useStore } from "../../base/store";
import { useQuery } from "../../base/use_query";
import type { Endpoint, Gateway, JobRow, Page, Route } from "../../types";
import { Empty, Failed, Loading } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago } from "../../ui/time";
import { draft } from "./draft";
import { PartDialog } from "./form";
import { ProbeButton } from "./probe";

const EVERY_MS = 10000;

export function ConfigParts({ readOnly }: { readOnly: boolean }) {
  const { query } = usePlace();
  const find = query.get("find");
  const { data, error, loading, reload } = useQuery(api.parts, {}, { every: EVERY_MS });
  const connectors = useQuery(api.connectors, {});
  const live = useQuery(api.config, { version: null });
  const now = useStore(draft);
  const [adding, setAdding] = useState<string | null>(null);
  const config = live.data?.config;
  const add = (role: string) => (
    <button class="small" disabled={!connectors.data || !config || readOnly} onClick={() => setAdding(role)}>
      Add {role === "endpoint" ? "an" : "a"} {role}…
    </button>
  );
  return (
    <>
      {loading && <Loading />}
      <Failed error={error ?? connectors.error ?? live.error} again={reload} />
      {data && (
        <>
          <Gateways gateways={data.gateways} find={find} add={add("gateway")} />
          <Routes routes={data.routes} find={find} add={add("route")} />
          <Endpoints endpoints={data.endpoints} find={find} add={add("endpoint")} />
          <Jobs jobs={data.jobs} add={add("job")} />
          <section class="card">
            <header>
              <h2>Systems and types</h2>
              <span class="room" />
              {add("system")}
              {add("type")}
            </header>
            <div class="body chips">
              {data.systems.items.map((s) => (
                <a class="chip plain" key={s.name} href={`/systems/${encodeURIComponent(s.name)}`}>
                  {s.name}
                </a>
              ))}
            </div>
          </section>
        </>
      )}
      {adding && connectors.data && config && (
        <PartDialog
          role={adding}
          connectors={connectors.data.connectors}
          base={now?.base ?? config.version}
          text={now?.text ?? config.text}
          onClose={() => setAdding(null)}
        />
      )}
    </>
  );
}

interface PartsProps {
  find: string | null;
  add: JSX.Element;
}

function Line({ line }: { line: number }) {
  return <a href={`/config/text?line=${line}`}>Edit</a>;
}

function Broken({ why }: { why: string | null }) {
  return why ? <State word="broken" text={why} /> : null;
}

function Gateways({ gateways, find, add }: PartsProps & { gateways: Gateway[] }) {
  return (
    <section class="card">
      <header>
        <h2>Gateways</h2>
        <span class="room" />
        {add}
      </header>
      {gateways.length === 0 && <Empty title="No gateways">Add a gateway.</Empty>}
      <div class="wide" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Kind</th>
              <th>Where</th>
              <th>Senders</th>
              <th class="num">Accepted</th>
              <th class="num">Refused</th>
              <th>Last</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {gateways.map((g) => (
              <tr key={g.name} class={g.name === find ? "at" : ""}>
                <td class="word">
                  {g.name} <span class="quiet">{g.title}</span> <Broken why={g.broken} />
                </td>
                <td>{g.kind}</td>
                <td class="mono">
                  {g.path} <span class="quiet">{g.every && `every ${g.every}`}</span>
                </td>
                <td>{g.auth}</td>
                <td class="num">{count(g.accepted)}</td>
                <td class="num">{count(g.refused)}</td>
                <td class="time">{g.lastReceived && <Ago at={g.lastReceived} />}</td>
                <td class="actions">
                  <ProbeButton name={g.name} /> <Line line={g.line} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const any = (list: string[]) => (list.length === 0 ? <span class="quiet">any</span> : list.join(", "));

function Routes({ routes, find, add }: PartsProps & { routes: Route[] }) {
  return (
    <section class="card">
      <header>
        <h2>Routes</h2>
        <span class="room" />
        {add}
      </header>
      {routes.length === 0 && <Empty title="No routes">Add a route.</Empty>}
      <div class="wide" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Sender</th>
              <th>Receiver</th>
              <th>Type</th>
              <th>Steps</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {routes.map((r) => (
              <tr key={r.name} class={r.name === find ? "at" : ""}>
                <td class="word">
                  {r.name} <span class="quiet">{r.title}</span> <Broken why={r.broken} />
                </td>
                <td>{any(r.sender)}</td>
                <td>{any(r.receiver)}</td>
                <td>{any(r.type)}</td>
                <td>
                  {r.steps.join(" → ")} <span class="quiet">{r.endpoints.join(", ")}</span>
                </td>
                <td class="actions">
                  <Line line={r.line} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Endpoints({ endpoints, find, add }: PartsProps & { endpoints: Endpoint[] }) {
  return (
    <section class="card">
      <header>
        <h2>Endpoints</h2>
        <span class="room" />
        {add}
      </header>
      {endpoints.length === 0 && <Empty title="No endpoints">Add an endpoint.</Empty>}
      <div class="wide" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Kind</th>
              <th>System</th>
              <th>State</th>
              <th class="num">Sending</th>
              <th class="num">Waiting</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {endpoints.map((e) => (
              <tr key={e.name} class={e.name === find ? "at" : ""}>
                <td class="word">{e.name}</td>
                <td>{e.kind}</td>
                <td>{e.system ?? <span class="quiet">the receiver</span>}</td>
                <td>
                  {e.broken || e.failing ? <Broken why={(e.broken ?? e.failing)!} /> : e.breaker === "open" ? <State word="broken" text="breaker open" /> : <State word="ok" />}
                </td>
                <td class="num">{count(e.active)}</td>
                <td class="num">{count(e.waiting)}</td>
                <td class="actions">
                  <ProbeButton name={e.name} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** What they do now is on their own page. */
function Jobs({ jobs, add }: { jobs: Page<JobRow>; add: JSX.Element }) {
  return (
    <section class="card">
      <header>
        <h2>Jobs</h2>
        <span class="room" />
        {add}
      </header>
      {jobs.items.length === 0 && !jobs.next && <Empty title="No jobs">Add a job: work that recurs.</Empty>}
      {jobs.items.length > 0 && (
        <div class="body chips">
          {jobs.items.map((j) => (
            <a class="chip plain" key={j.name} href={`/jobs/${encodeURIComponent(j.name)}`} title={j.title ?? ""}>
              {j.name} <span class="quiet">{j.kind}</span>
            </a>
          ))}
        </div>
      )}
      {jobs.next && (
        <div class="body">
          <a href="/jobs">All jobs</a>
        </div>
      )}
    </section>
  );
}
