// nodes.tsx - the nodes of this location; pausing and resuming their work.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask } from "../../base/ask";
import { useQuery } from "../../base/use_query";
import { refreshAbout } from "../../shell/session";
import { FormDialog } from "../../ui/dialog";
import { Failed } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago } from "../../ui/time";
import { attempt, tell } from "../../ui/toast";

const EVERY_MS = 5000;

export function HealthNodes() {
  const { data, error, reload } = useQuery(api.nodes, {}, { every: EVERY_MS });
  const [pausing, setPausing] = useState(false);
  const nodes = data?.nodes ?? [];
  const paused = nodes.some((n) => n.pauses.length > 0);
  const changed = () => {
    reload();
    void refreshAbout();
  };
  const resume = () =>
    void attempt(async () => {
      await ask(api.nodeResume, { client: api.clientId() });
      tell("All nodes are resumed.");
      changed();
    });
  return (
    <section class="card">
      <header>
        <h2>Nodes</h2>
        <span class="room" />
        {paused && (
          <button class="first" onClick={resume}>
            Resume all
          </button>
        )}
        <button onClick={() => setPausing(true)}>Pause…</button>
      </header>
      <Failed error={error} again={reload} />
      <div class="wide" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>State</th>
              <th>Host</th>
              <th>Area</th>
              <th class="num">Process</th>
              <th>Started</th>
              <th class="rest">Paused</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map((n) => (
              <tr key={n.id}>
                <td>
                  <State word={n.state} />
                </td>
                <td title={n.id}>
                  {n.name} {n.name !== n.host && <span class="quiet">{n.host}</span>} {n.self && <span class="quiet">this node</span>}
                </td>
                <td>{n.area}</td>
                <td class="num">{n.pid}</td>
                <td class="time">
                  <Ago at={n.started} />
                </td>
                <td>{n.pauses.map((p) => `${p.what}: ${p.reason ?? "no reason given"} (${p.by})`).join("; ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {pausing && (
        <PauseDialog
          onClose={() => {
            setPausing(false);
            changed();
          }}
        />
      )}
    </section>
  );
}

const WHAT: Record<string, string> = {
  intake: "Intake: senders get 503 and retry later",
  delivery: "Delivery: documents are accepted and wait",
};

function PauseDialog({ onClose }: { onClose: () => void }) {
  const [what, setWhat] = useState<string[]>(["delivery"]);
  const [reason, setReason] = useState("");
  const submit = async () => {
    await ask(api.nodePause, { what, reason, client: api.clientId() });
    onClose();
  };
  const toggle = (word: string) => setWhat(what.includes(word) ? what.filter((w) => w !== word) : [...what, word]);
  return (
    <FormDialog title="Pause all nodes" action="Pause" danger disabled={what.length === 0} onClose={onClose} onSubmit={submit}>
      {Object.entries(WHAT).map(([word, about]) => (
        <label class="check" key={word}>
          <input type="checkbox" checked={what.includes(word)} onChange={() => toggle(word)} /> {about}
        </label>
      ))}
      <label>
        Reason
        <input value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}
