// actions.tsx - what people do to a job: run, pause with a reason, resume, cancel.
import { useState } from "preact/hooks";
import { clientId } from "../../api";
import { ask } from "../../base/ask";
import { fromInput } from "../../base/format";
import { useCan } from "../../shell/session";
import type { JobRow } from "../../types";
import { FormDialog } from "../../ui/dialog";
import { attempt, tell } from "../../ui/toast";
import * as api from "./api";

interface Props {
  job: JobRow;
  onChanged: () => void;
}

export function JobActions({ job: j, onChanged, small }: Props & { small?: boolean }) {
  const [asking, setAsking] = useState<"pause" | "cancel" | null>(null);
  const look = small ? "small" : "";
  const stopped = j.stop?.what === "paused" || j.stop?.what === "suspended";
  const isOver = j.state === "gone" || j.stop?.what === "ended";
  const close = () => {
    setAsking(null);
    onChanged();
  };
  const change = (q: typeof api.jobRun, said: string) =>
    void attempt(async () => {
      await ask(q, { name: j.name, client: clientId() });
      tell(said);
      onChanged();
    });
  if (!useCan("operate")) return null;
  return (
    <>
      {j.state === "running" ? (
        <button class={look} onClick={() => setAsking("cancel")}>
          Cancel…
        </button>
      ) : (
        j.state !== "gone" && (
          <button class={look} onClick={() => change(api.jobRun, `${j.name} runs once.`)}>
            Run
          </button>
        )
      )}{" "}
      {stopped && j.state !== "gone" && (
        <button class={look} onClick={() => change(api.jobResume, `${j.name} goes on.`)}>
          Resume
        </button>
      )}
      {!stopped && !isOver && (
        <button class={look} onClick={() => setAsking("pause")}>
          Pause…
        </button>
      )}
      {asking === "pause" && <PauseDialog job={j} onChanged={close} />}
      {asking === "cancel" && <CancelDialog job={j} onChanged={close} />}
    </>
  );
}

function PauseDialog({ job: j, onChanged }: Props) {
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState("");
  const [client] = useState(clientId);
  const submit = async () => {
    await ask(api.jobPause, { name: j.name, reason, until: until ? fromInput(until) : null, client });
    tell(`${j.name} is paused.`);
    onChanged();
  };
  return (
    <FormDialog title={`Pause ${j.name}`} action="Pause" disabled={reason.trim() === ""} onClose={onChanged} onSubmit={submit}>
      <p class="quiet">No run begins; one that is there goes on to its end. Times that pass meanwhile are left out.</p>
      <label>
        Reason
        <input value={reason} required onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
      <label>
        Until (empty: until it is resumed)
        <input type="datetime-local" value={until} onInput={(e) => setUntil(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}

function CancelDialog({ job: j, onChanged }: Props) {
  const [reason, setReason] = useState("");
  const [client] = useState(clientId);
  const submit = async () => {
    await ask(api.jobCancel, { name: j.name, reason: reason.trim() || null, client });
    tell(`The run of ${j.name} is cancelled.`);
    onChanged();
  };
  return (
    <FormDialog title={`Cancel the run of ${j.name}`} action="Cancel the run" danger onClose={onChanged} onSubmit={submit}>
      <p class="quiet">Whatever it still does, its end changes nothing. The next run is as planned.</p>
      <label>
        Reason
        <input value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}

/** Back to an earlier state. */
export function ResetDialog({ name, to, onChanged }: { name: string; to: number; onChanged: () => void }) {
  const [client] = useState(clientId);
  const submit = async () => {
    await ask(api.jobReset, { name, to, client });
    tell(`${name} goes on from state ${to}.`);
    onChanged();
  };
  return (
    <FormDialog title={`Reset ${name} to state ${to}`} action="Reset" danger onClose={onChanged} onSubmit={submit}>
      <p class="quiet">It becomes the newest state, under a number of its own. A run that is there now does not replace it.</p>
    </FormDialog>
  );
}
