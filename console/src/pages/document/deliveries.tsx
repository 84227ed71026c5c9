// deliveries.tsx - the deliveries of a document: state, last answer, why it waits.
import { useState } from "preact/hooks";
import { useCan } from "../../shell/session";
import type { Delivery, DocumentDetail } from "../../types";
import { Prose } from "../../ui/prose";
import { Say } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago, Time } from "../../ui/time";
import { AnswerDialog } from "./answer";

const REASONS: Record<string, string> = {
  hold: "a person holds the system",
  window: "its delivery window is closed",
  rate: "its rate limit is reached",
  order: "an earlier document goes first",
  breaker: "the endpoint cannot be reached, gives no clear answer, refuses our credentials, or rejects everything; it is probed automatically",
  pause: "deliveries are paused, or the receiver asked for a pause",
  endpoint: "the endpoint is no longer configured",
  restore: "the store was restored from a backup, and no release rule is chosen yet",
};

function reasonOf(v: Delivery): string {
  const reasons = v.held.map((h) => REASONS[h] ?? h);
  if (reasons.length > 0) return reasons.join("; ");
  if (v.state === "in_doubt") return "the outcome is unknown: check at the receiver, then resolve it";
  return "";
}

/** Why it has not ended yet, in sentences. */
export function WhyItWaits({ document: d }: { document: DocumentDetail }) {
  const held = d.deliveries.filter((v) => reasonOf(v) !== "");
  const retrying = d.deliveries.filter((v) => v.state === "retrying" && v.due);
  const sending = d.deliveries.filter((v) => v.state === "sending");
  if (!d.error && held.length === 0 && retrying.length === 0 && sending.length === 0) return null;
  return (
    <>
      {d.error && (
        <Say tone="bad">
          <b>{d.error.code}</b> <Prose text={d.error.message} />
        </Say>
      )}
      {sending.map((v) => (
        <Say tone="plain" key={v.endpoint}>
          <b>{v.endpoint}</b> is being sent; seen so <Ago at={v.updated} />.
        </Say>
      ))}
      {held.map((v) => (
        <Say tone="wait" key={v.endpoint}>
          <b>{v.endpoint}</b> waits: {reasonOf(v)}.{" "}
          {v.heldWhy && <span class="quiet">{v.heldWhy}</span>}
          {v.blockedBy && <a href={`/documents/${v.blockedBy}`}>The document before it</a>}
          {v.system && <a href={`/systems/${encodeURIComponent(v.system)}`}> System {v.system}</a>}
        </Say>
      ))}
      {retrying.map((v) => (
        <Say tone="wait" key={v.endpoint}>
          <b>{v.endpoint}</b> is retried <Ago at={v.due!} /> after {v.attempts === 1 ? "one attempt" : `${v.attempts} attempts`}.
          {v.message && ` Last: ${v.message}`}
        </Say>
      ))}
    </>
  );
}

export function Deliveries({ document, deliveries }: { document: string; deliveries: Delivery[] }) {
  const [opened, setOpened] = useState<Delivery | null>(null);
  const mayLook = useCan("payload");
  if (deliveries.length === 0) return null;
  return (
    <section class="card">
      <header>
        <h2>Deliveries</h2>
      </header>
      <div class="wide" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Endpoint</th>
              <th>System</th>
              <th>State</th>
              <th class="num">Attempts</th>
              <th>Next</th>
              <th class="rest">Receiver's answer</th>
            </tr>
          </thead>
          <tbody>
            {deliveries.map((v) => (
              <tr key={v.id ?? v.endpoint}>
                <td class="word">{v.endpoint}</td>
                <td class="word">{v.system}</td>
                <td>
                  <State word={v.state} />
                </td>
                <td class="num">{v.attempts}</td>
                <td class="time">{v.due ? <Time at={v.due} /> : ""}</td>
                <td class="long">
                  {v.status !== null && <span class="tag">{v.status}</span>} {v.code && <span class="bad">{v.code}</span>} {v.message}
                  {v.name && <span class="quiet"> as {v.name}</span>}{" "}
                  {v.answer && mayLook && (
                    <button class="small" onClick={() => setOpened(v)}>
                      Whole answer
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {opened && <AnswerDialog document={document} delivery={opened} onClose={() => setOpened(null)} />}
    </section>
  );
}
