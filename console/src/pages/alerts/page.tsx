// page.tsx - Alerts: open and cleared ones, and their notices.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { usePlace, withQuery } from "../../base/router";
import { useQuery } from "../../base/use_query";
import type { Alert } from "../../types";
import { Empty, Failed, Loading } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago, Time } from "../../ui/time";

const EVERY_MS = 5000;

export function AlertsPage() {
  const { query } = usePlace();
  const all = query.get("show") === "all";
  const { data, error, loading, reload } = useQuery(api.alerts, { cleared: all }, { every: EVERY_MS });
  const alerts = data?.alerts ?? [];
  return (
    <>
      <div class="title">
        <h1>Alerts</h1>
        <span class="room" />
        <nav class="tabs" aria-label="Which alerts">
          <a href={withQuery({ show: null })} aria-current={all ? undefined : "page"}>
            Open
          </a>
          <a href={withQuery({ show: "all" })} aria-current={all ? "page" : undefined}>
            All
          </a>
        </nav>
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && alerts.length === 0 && (
        <section class="card">
          <Empty title={all ? "No alerts" : "No open alerts"}>
            Rules and targets are under `alerts` in the <a href="/config/text">configuration</a>.
          </Empty>
        </section>
      )}
      {alerts.length > 0 && (
        <section class="card">
          <div class="wide" tabIndex={0}>
            <table>
              <thead>
                <tr>
                  <th>State</th>
                  <th>Code</th>
                  <th>Object</th>
                  <th class="rest">Message</th>
                  <th>Raised</th>
                  <th>Cleared</th>
                  <th>Notices</th>
                </tr>
              </thead>
              <tbody>
                {alerts.map((a) => (
                  <Row key={a.id} alert={a} />
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
    </>
  );
}

function Row({ alert: a }: { alert: Alert }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <tr>
        <td>
          <State word={a.state} />
        </td>
        <td class="word">{a.code}</td>
        <td class="word">{a.object}</td>
        <td class="long">{a.message}</td>
        <td class="time">
          <Time at={a.raised} /> <span class="quiet">(<Ago at={a.raised} />)</span>
        </td>
        <td class="time">
          {a.cleared && <Time at={a.cleared} />} {a.ended && <span class="quiet">{a.ended}</span>}
        </td>
        <td class="actions">
          {a.notices.length === 0 ? (
            <span class="quiet">none</span>
          ) : (
            <button class="small" aria-expanded={open} onClick={() => setOpen(!open)}>
              {a.notices.length}
            </button>
          )}
        </td>
      </tr>
      {open &&
        a.notices.map((n) => (
          <tr key={n.kind + n.to + n.made} class="quiet">
            <td />
            <td>{n.kind}</td>
            <td>to {n.to}</td>
            <td>{n.error}</td>
            <td class="time">
              <State word={n.state} /> {n.sent && <Time at={n.sent} />}
            </td>
            <td class="time">{n.next && <>next <Ago at={n.next} /></>}</td>
            <td class="num">{n.attempts} attempts</td>
          </tr>
        ))}
    </>
  );
}
