// try.tsx - one step on a stage of the document, without effect: what would come out.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask, messageOf } from "../../base/ask";
import { size } from "../../base/format";
import type { Stage, Trial } from "../../types";
import { Say } from "../../ui/say";

export function TryStep({ id, stages }: { id: string; stages: Stage[] }) {
  const [step, setStep] = useState("");
  const [stage, setStage] = useState(0);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [trial, setTrial] = useState<Trial | null>(null);

  const run = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    setTrial(null);
    try {
      const { tryStep } = await ask(api.tryStep, { document: id, stage, step });
      if (tryStep) setTrial(tryStep);
      else setProblem("This stage no longer exists.");
    } catch (failure) {
      setProblem(messageOf(failure));
    }
    setBusy(false);
  };
  return (
    <section class="card">
      <header>
        <h2>Try a step</h2>
        <span class="quiet">nothing is stored or sent</span>
      </header>
      <form onSubmit={run}>
        <label>
          Step, as in a route, or the name of a service
          <textarea class="mono" rows={4} spellcheck={false} value={step} placeholder="jq: .order" onInput={(e) => setStep(e.currentTarget.value)} />
        </label>
        <div class="row">
          <label>
            On
            <select value={stage} onChange={(e) => setStage(Number(e.currentTarget.value))}>
              {stages.map((s) => (
                <option key={s.stage} value={s.stage}>
                  {s.stage === 0 ? "the received bytes" : `stage ${s.stage}, after ${s.name}`}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" disabled={busy || step.trim() === ""}>
            {busy ? "Runs ..." : "Try"}
          </button>
        </div>
      </form>
      {problem && <Say tone="bad">{problem}</Say>}
      {trial && <Outcome trial={trial} />}
    </section>
  );
}

function Outcome({ trial }: { trial: Trial }) {
  const about = [
    trial.end === "none" ? "nothing comes out" : trial.end === "parts" ? `${trial.count} parts` : null,
    trial.duration === null ? null : `${(trial.duration / 1000).toFixed(1)} ms`,
    trial.memory === null ? null : `${size(trial.memory)} of memory`,
  ];
  return (
    <>
      {trial.problems.map((p) => (
        <Say key={`${p.line}:${p.column}`} tone="bad">
          Line {p.line}, column {p.column}: {p.message} {p.hint}
        </Say>
      ))}
      {trial.error && (
        <Say tone="bad">
          {trial.error.code}: {trial.error.message}
        </Say>
      )}
      {trial.end && <p class="quiet">{about.filter((x) => x !== null).join(", ")}</p>}
      {trial.notes.map((line, i) => (
        <p class="quiet" key={i}>
          log: {line}
        </p>
      ))}
      {trial.results.map((r, i) => (
        <div key={i}>
          <p class="quiet">
            {trial.end === "parts" && `Part ${i + 1}: `}
            {[r.sender && `from ${r.sender}`, r.receiver && `to ${r.receiver}`, r.type, size(r.size)].filter((x) => x).join(", ")}
            {r.truncated && ", the beginning"}
            {!r.isText && ", not text"}
          </p>
          <pre class="text wrap" tabIndex={0} aria-label={`Result ${i + 1}`}>
            {r.text}
          </pre>
        </div>
      ))}
    </>
  );
}
