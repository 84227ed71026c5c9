// page.tsx - Health: nodes and pauses, store, disk, certificates, recent failures.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { count, size } from "../../base/format";
import { useQuery } from "../../base/use_query";
import { useSession } from "../../shell/session";
import type { Health, Mishap } from "../../types";
import { Prose } from "../../ui/prose";
import { Empty, Failed, Loading, Say } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago, Time } from "../../ui/time";
import { Doctor } from "./doctor";
import { HealthNodes } from "./nodes";

const EVERY_MS = 5000;

export function HealthPage() {
  const { data, error, loading, reload } = useQuery(api.health, {}, { every: EVERY_MS });
  const [checking, setChecking] = useState(false);
  return (
    <>
      <div class="title">
        <h1>Health</h1>
        <span class="room" />
        <button onClick={() => setChecking(true)}>Check the store…</button>
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && <Reasons health={data.health} />}
      <HealthNodes />
      {data && (
        <>
          <div class="columns after">
            <Store health={data.health} documents={data.retention.documents} kept={data.retention.kept} gone={data.retention.gone} trouble={data.retention.trouble} backup={data.backup} />
            <Certificates health={data.health} />
          </div>
          <Mishaps mishaps={data.mishaps} />
        </>
      )}
      {checking && <Doctor onClose={() => setChecking(false)} />}
    </>
  );
}

function Reasons({ health }: { health: Health }) {
  if (health.reasons.length + health.troubles.length === 0) return <Say tone="good">This node is ready and has no problems.</Say>;
  return (
    <>
      {health.reasons.map((r) => (
        <Say tone="bad" key={r}>
          {r}
        </Say>
      ))}
      {health.troubles.map((t) => (
        <Say tone="wait" key={t}>
          {t}
        </Say>
      ))}
    </>
  );
}

interface StoreProps {
  health: Health;
  documents: number;
  kept: number;
  gone: number;
  trouble: string | null;
  backup: { state: string; folder: string; started: string; bytes: number; error: string | null } | null;
}

function Store({ health, documents, kept, gone, trouble, backup }: StoreProps) {
  const { about } = useSession();
  return (
    <section class="card c6">
      <header>
        <h2>Store</h2>
      </header>
      <div class="body">
        <dl class="facts">
          <dt>Database</dt>
          <dd>{about.store}</dd>
          <dt>Documents</dt>
          <dd>
            {count(documents)}
            {kept > 0 && `, ${count(kept)} under legal hold`}
          </dd>
          <dt>Purged</dt>
          <dd>{count(gone)} since this node started</dd>
          {trouble && (
            <>
              <dt>Problem</dt>
              <dd class="bad">{trouble}</dd>
            </>
          )}
          <dt>Disk</dt>
          <dd>
            {size(health.diskFree)} free <span class="quiet">including a reserve of {size(health.diskReserve)}</span>
          </dd>
          <dt>Jobs checked</dt>
          <dd>{health.queueCheck ? <Ago at={health.queueCheck} /> : <span class="quiet">not yet</span>}</dd>
          <dt>Last backup</dt>
          <dd>
            {backup ? (
              <>
                <State word={backup.state} /> <Ago at={backup.started} /> into {backup.folder}, {size(backup.bytes)} {backup.error}
              </>
            ) : (
              <span class="quiet">none by this process; take one with waybill backup FOLDER</span>
            )}
          </dd>
          <dt>Configuration</dt>
          <dd>version {about.config}</dd>
          <dt>Program</dt>
          <dd>
            version {about.version}, started <Time at={about.started} />
          </dd>
        </dl>
      </div>
    </section>
  );
}

function Certificates({ health }: { health: Health }) {
  return (
    <section class="card c6">
      <header>
        <h2>Certificates</h2>
      </header>
      {health.certificates.length === 0 && <Empty title="No certificates">The node uses plain HTTP, and no endpoint has a certificate.</Empty>}
      {health.certificates.length > 0 && (
        <table>
          <tbody>
            {health.certificates.map((c) => (
              <tr key={c.of}>
                <td class="word">{c.of}</td>
                <td>{c.error ? <span class="bad">{c.error}</span> : c.ends && <>expires <Ago at={c.ends} /></>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Mishaps({ mishaps }: { mishaps: Mishap[] }) {
  return (
    <section class="card">
      <header>
        <h2>Recent failures</h2>
      </header>
      {mishaps.length === 0 && <Empty title="No failures" />}
      {mishaps.length > 0 && (
        <div class="wide" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th class="num">Count</th>
                <th>Code</th>
                <th>Object</th>
                <th class="rest">Message</th>
                <th>Last</th>
              </tr>
            </thead>
            <tbody>
              {mishaps.map((m) => (
                <tr key={m.code + m.object}>
                  <td class="num">{count(m.count)}</td>
                  <td class="word">{m.code}</td>
                  <td class="word">{m.object}</td>
                  <td class="long">
                    <Prose text={m.message} />
                  </td>
                  <td class="time">
                    <Ago at={m.last} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
