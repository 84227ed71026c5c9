// bulk.tsx - a change of many documents: the count first, then the work, portion by portion.
import { useEffect, useRef, useState } from "preact/hooks";
import { clientId } from "../api";
import { ask, messageOf, type Query } from "../base/ask";
import { count, plural } from "../base/format";
import type { Bulk } from "../types";
import { Dialog } from "./dialog";
import { Say } from "./say";

interface Props<F> {
  /** "Retry", and of what: "dead letters". */
  verb: string;
  things: string;
  filter: F;
  change: Query<{ bulk: Bulk }, { filter: F; dry: boolean; after: string | null; client: string | null; reason?: string | null }>;
  danger?: boolean;
  /** Asks for a reason, which is kept: what it is about. */
  reason?: string;
  onClose: (changed: boolean) => void;
}

type Step = "counting" | "asking" | "working" | "done" | "failed";

export function BulkDialog<F>({ verb, things, filter, change, danger, reason, onClose }: Props<F>) {
  const [step, setStep] = useState<Step>("counting");
  const [total, setTotal] = useState(0);
  const [done, setDone] = useState(0);
  const [skipped, setSkipped] = useState(0);
  const [error, setError] = useState("");
  const [why, setWhy] = useState("");
  const stopped = useRef(false);
  const begin = useRef<string | null>(null); // of the count: later documents are excluded

  const portions = async (dry: boolean, each: (b: Bulk) => void) => {
    let after: string | null = begin.current;
    do {
      const { bulk }: { bulk: Bulk } = await ask(change, {
        filter,
        dry,
        after,
        client: dry ? null : clientId(),
        ...(reason && { reason: why.trim() || null }),
      });
      if (stopped.current) return;
      each(bulk);
      begin.current ??= bulk.begin;
      after = bulk.next;
    } while (after !== null);
  };
  const run = async (dry: boolean) => {
    setStep(dry ? "counting" : "working");
    try {
      await portions(dry, (b) => {
        if (dry) setTotal((n) => n + b.count);
        else {
          setDone((n) => n + b.done);
          setSkipped((n) => n + b.skipped);
        }
      });
      if (!stopped.current) setStep(dry ? "asking" : "done");
    } catch (e) {
      setError(messageOf(e));
      setStep("failed");
    }
  };
  useEffect(() => {
    void run(true);
    return () => {
      stopped.current = true;
    };
  }, []);

  return (
    <Dialog title={`${verb} ${things}`} onClose={() => onClose(done > 0)}>
      <div class="body">
        {step === "counting" && <p>Counting: {count(total)} so far.</p>}
        {step === "asking" && (
          <p>
            {total === 0 ? `No ${things} match any more.` : `${verb} ${plural(total, things.replace(/s$/, ""), things)}?`}
          </p>
        )}
        {step === "asking" && total > 0 && reason && (
          <label>
            Reason
            <input value={why} maxLength={500} placeholder={reason} onInput={(e) => setWhy(e.currentTarget.value)} />
          </label>
        )}
        {(step === "working" || step === "done") && (
          <>
            <progress max={Math.max(total, done + skipped, 1)} value={done + skipped} aria-label="Progress" />
            <p>
              {count(done)} done{skipped > 0 && `, ${count(skipped)} skipped: they have continued meanwhile, or belong to a batch`}
              {step === "working" ? "; closing this window stops after the current portion." : "."}
            </p>
          </>
        )}
        {step === "failed" && <Say tone="bad">{error} Changes made so far are kept.</Say>}
      </div>
      <footer>
        <button onClick={() => onClose(done > 0)}>Close</button>
        {step === "asking" && total > 0 && (
          <button class={danger ? "danger" : "first"} onClick={() => void run(false)}>
            {verb} {count(total)}
          </button>
        )}
      </footer>
    </Dialog>
  );
}
