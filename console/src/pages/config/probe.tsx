// probe.tsx - whether the other side of a gateway or endpoint can be used, step by step.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { useQuery } from "../../base/use_query";
import { useCan } from "../../shell/session";
import type { Probe, ProbeStep } from "../../types";
import { Dialog } from "../../ui/dialog";
import { Failed, Loading, Say } from "../../ui/say";
import { State } from "../../ui/state";

/** A button for those who may. */
export function ProbeButton({ name }: { name: string }) {
  const [open, setOpen] = useState(false);
  if (!useCan("hold")) return null;
  return (
    <>
      <button class="small" aria-label={`Probe ${name}`} onClick={() => setOpen(true)}>
        Probe
      </button>
      {open && <ProbeDialog name={name} onClose={() => setOpen(false)} />}
    </>
  );
}

const STATES: Record<string, string> = { passed: "ok", failed: "failed" };

function Step({ step: s }: { step: ProbeStep }) {
  return (
    <tr>
      <td class="word">
        <State word={STATES[s.result] ?? "ended"} text={s.result} />
      </td>
      <td class="word">{s.step}</td>
      <td>
        {s.text}
        {s.remedy && <div class="quiet">To do: {s.remedy}</div>}
      </td>
    </tr>
  );
}

function Result({ probe: p }: { probe: Probe }) {
  const failed = p.steps.some((s) => s.result === "failed");
  const tried = p.steps.some((s) => s.result === "passed" && s.step !== "settings");
  return (
    <>
      <Say tone={failed || !tried ? "bad" : "good"}>
        {failed && `The ${p.role} ${p.name} cannot be used as it is.`}
        {!failed && !tried && `The way of the ${p.role} ${p.name} was not tried: nothing is known about it.`}
        {!failed && tried && `No fault was found in the ${p.role} ${p.name}.`}
      </Say>
      <table>
        <tbody>
          {p.steps.map((s) => (
            <Step key={s.step + s.text} step={s} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function ProbeDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const [client, setClient] = useState(api.clientId); // each is made once
  const { data, error, loading } = useQuery(api.probe, { name, client }, { long: true });
  const again = () => setClient(api.clientId());
  return (
    <Dialog title={`Probe ${name}`} large onClose={onClose}>
      <p class="quiet">The way to the other side is tried from this node. No document is sent or taken, and nothing is left behind.</p>
      {loading && <Loading />}
      <Failed error={error} again={again} />
      {data?.probe.map((p) => (
        <Result key={p.role} probe={p} />
      ))}
      <footer>
        <button disabled={loading} onClick={again}>
          Probe again
        </button>
        <button onClick={onClose}>Close</button>
      </footer>
    </Dialog>
  );
}
