// actions.tsx - actions on the selected documents, or on all matches.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask } from "../../base/ask";
import { plural } from "../../base/format";
import { useCan } from "../../shell/session";
import type { DocumentFilter, OperateResult } from "../../types";
import { BulkDialog } from "../../ui/bulk";
import { Menu } from "../../ui/menu";
import { attempt, tell } from "../../ui/toast";

const VERBS = {
  Retry: { change: api.documentsRetry, about: "dead documents and those that wait for a retry" },
  Cancel: { change: api.documentsCancel, about: "documents that have not ended" },
  Discard: { change: api.documentsDiscard, about: "dead documents" },
  "Resolve as delivered": { change: api.documentsDelivered, about: "documents in doubt: their receiver has them" },
  "Resolve and resend": { change: api.documentsResend, about: "documents in doubt: their receiver does not have them" },
} as const;

type Verb = keyof typeof VERBS;

/** One line for many results. */
export function tellResults(results: OperateResult[]): void {
  const done = results.filter((r) => r.result === "done");
  const other = results.find((r) => r.result !== "done");
  if (results.length === 1) tell(results[0]!.message, done.length === 1 ? "good" : "bad");
  else tell(`${plural(done.length, "document")} done${other ? `; ${results.length - done.length} not: ${other.message}` : "."}`, other ? "bad" : "good");
}

async function actOn(verb: Verb, ids: string[]): Promise<OperateResult[]> {
  const client = api.clientId();
  if (verb === "Retry") return (await ask(api.retry, { ids, from: "auto", again: false, client })).retry;
  if (verb === "Cancel") return (await ask(api.cancel, { ids, client })).cancel;
  if (verb === "Discard") return (await ask(api.discard, { ids, client })).discard;
  const as = verb === "Resolve as delivered" ? "delivered" : "resend";
  return (await ask(api.resolve, { ids, as, endpoint: null, reason: null, client })).resolve;
}

interface Props {
  filter: () => DocumentFilter;
  selected: Set<string>;
  onChanged: () => void;
}

export function DocumentActions({ filter, selected, onChanged }: Props) {
  const [all, setAll] = useState<{ verb: Verb; filter: DocumentFilter } | null>(null); // what is counted is what is changed
  if (!useCan("retry")) return null;
  const verbs = Object.keys(VERBS) as Verb[];
  const act = (v: Verb) =>
    attempt(async () => {
      tellResults(await actOn(v, [...selected]));
      onChanged();
    });
  return (
    <>
      {selected.size > 0 ? (
        <Menu label={`${selected.size} selected`} items={verbs.map((v) => ({ label: v, run: () => void act(v) }))} />
      ) : (
        <Menu label="All that match" items={verbs.map((v) => ({ label: `${v}…`, about: VERBS[v].about, run: () => setAll({ verb: v, filter: filter() }) }))} />
      )}
      {all && (
        <BulkDialog
          verb={all.verb}
          things="documents"
          filter={all.filter}
          change={VERBS[all.verb].change}
          reason={all.verb.startsWith("Resolve") ? "how you found out" : undefined}
          danger={all.verb !== "Retry"}
          onClose={(changed) => {
            setAll(null);
            if (changed) onChanged();
          }}
        />
      )}
    </>
  );
}
