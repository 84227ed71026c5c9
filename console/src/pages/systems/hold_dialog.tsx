// hold_dialog.tsx - place a hold: stop deliveries to a system for a while.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask } from "../../base/ask";
import { fromInput, plural, toInput, when } from "../../base/format";
import { useSession } from "../../shell/session";
import type { PlacedHold } from "../../types";
import { FormDialog } from "../../ui/dialog";
import { Say } from "../../ui/say";
import { tell } from "../../ui/toast";

const HOUR_MS = 3600000;

function placed({ hold, sending }: PlacedHold): string {
  if (hold.state === "planned") return `A hold of ${hold.system} is planned, from ${when(hold.from)}.`;
  if (sending.length === 0) return `${hold.system} is held.`;
  return `${hold.system} is held; ${plural(sending.length, "delivery was", "deliveries were")} being sent and may still arrive.`;
}

export function HoldDialog({ systems, onClose }: { systems: string[]; onClose: () => void }) {
  const { me } = useSession();
  const [name, setName] = useState(systems[0] ?? "");
  const [from, setFrom] = useState("");
  const [until, setUntil] = useState(toInput(new Date(Date.now() + HOUR_MS)));
  const [reason, setReason] = useState("");
  const [owner, setOwner] = useState(me.name);
  const [client] = useState(api.clientId);
  const [problem, setProblem] = useState<string | null>(null); // the hold is placed, but not everywhere
  const submit = async () => {
    const { holdAdd } = await ask(api.holdAdd, {
      system: name,
      from: from ? fromInput(from) : null,
      until: until ? fromInput(until) : null,
      reason,
      owner: owner || null,
      client,
    });
    const blind = holdAdd.unconfirmed.join(", ");
    if (blind !== "") {
      setProblem(`The hold of ${name} is placed, but these live nodes did not confirm it and may still send: ${blind}.`);
      return;
    }
    tell(placed(holdAdd));
    onClose();
  };
  return (
    <FormDialog title="Place a hold" action="Hold" disabled={problem !== null || reason.trim() === "" || name === ""} onClose={onClose} onSubmit={submit}>
      {problem && <Say tone="bad">{problem}</Say>}
      <p class="quiet">No delivery to the system begins. Documents are accepted as usual and wait.</p>
      <label>
        System
        <select value={name} onChange={(e) => setName(e.currentTarget.value)}>
          {systems.map((s) => (
            <option key={s}>{s}</option>
          ))}
        </select>
      </label>
      <div class="row">
        <label>
          From (empty: now)
          <input type="datetime-local" value={from} onInput={(e) => setFrom(e.currentTarget.value)} />
        </label>
        <label>
          Until (empty: no end)
          <input type="datetime-local" value={until} onInput={(e) => setUntil(e.currentTarget.value)} />
        </label>
      </div>
      <label>
        Reason
        <input value={reason} required onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
      <label>
        Owner
        <input value={owner} onInput={(e) => setOwner(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}
