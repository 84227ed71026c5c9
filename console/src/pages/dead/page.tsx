// page.tsx - Dead letters: grouped by reason and receiver, a sample of each, and actions on the group.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { count } from "../../base/format";
import { go, usePlace, withQuery } from "../../base/router";
import { useQuery } from "../../base/use_query";
import { useCan } from "../../shell/session";
import type { DeadFilter, DeadGroup } from "../../types";
import { BulkDialog } from "../../ui/bulk";
import { Prose } from "../../ui/prose";
import { Empty, Failed, Loading } from "../../ui/say";
import { Ago } from "../../ui/time";
import { Letters } from "./letters";
import { MapDialog } from "./map_dialog";

const EVERY_MS = 10000;

const GROUPS: Record<string, string> = {
  reason_receiver: "Reason and receiver",
  reason: "Reason",
  receiver: "Receiver",
  type: "Type",
};

/** What to do, by code. */
const REMEDIES: Record<string, string> = {
  extract_failed: "The gateway's `extract` found no value: open a sample, then correct `extract`, or edit the document.",
  forbidden_sender: "The key it came with is for other systems: have it sent with the right key, or make an edit.",
  unknown_system: "Add the id to `ids` of a system: the group is then retried automatically.",
  no_route: "Add a matching route: the group is then retried automatically.",
  loop: "The routes form a cycle: correct them, then retry.",
  service_failed: "A step failed: read the message and open a sample.",
  decrypt_failed: "It could not be decrypted, or its signature does not count: mend the key of the step and retry it, or let the sender send it again.",
  budget: "Extraction or a step exceeded its budget: open a sample.",
  payload_missing: "The payload is missing on disk: restore it from a backup, or discard the document.",
  payload_corrupt: "The payload is damaged: restore it from a backup, or discard the document.",
  rejected: "The receiver rejected it: read its answer, then edit the document, or ask the receiver and retry.",
  expired: "It was not delivered in time: retry it if it is still needed.",
  retries_exhausted: "The receiver did not accept it for too long: make sure that it works again, then retry the group.",
  poison: "It crashed the node repeatedly: inspect it before you retry.",
  limit: "It exceeds a size limit.",
  restored: "Its batch may have been sent since the backup: ask the receiver, then retry or discard it.",
};

/** Matches exactly this group; an empty name matches documents in which none was found. */
export function filterOf(g: DeadGroup, by: string): DeadFilter {
  const filter = { error: g.code };
  if (by === "receiver" || by === "reason_receiver") return { ...filter, receiver: g.receiver ?? "" };
  return by === "type" ? { ...filter, type: g.key ?? "" } : filter;
}

export function DeadPage() {
  const { query } = usePlace();
  const by = query.get("by") ?? "reason_receiver";
  const open = query.get("open");
  const { data, error, loading, reload } = useQuery(api.deadGroups, { by }, { every: EVERY_MS });
  const groups = data?.deadGroups ?? [];
  const nameOf = (g: DeadGroup) => `${g.code}|${g.receiver ?? g.key ?? ""}`;
  return (
    <>
      <div class="title">
        <h1>Dead letters</h1>
        <span class="quiet">{count(groups.reduce((n, g) => n + g.count, 0))} need action</span>
        <span class="room" />
        <nav class="tabs" aria-label="Group by">
          {Object.entries(GROUPS).map(([word, label]) => (
            <a key={word} href={withQuery({ by: word, open: null })} aria-current={word === by ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && groups.length === 0 && (
        <section class="card">
          <Empty title="No dead letters">Every document was delivered, or is being processed.</Empty>
        </section>
      )}
      {groups.map((g) => (
        <Group
          key={nameOf(g)}
          group={g}
          by={by}
          open={open === nameOf(g)}
          onOpen={(yes) => go(withQuery({ open: yes ? nameOf(g) : null }), true)}
          onChanged={reload}
        />
      ))}
    </>
  );
}

interface GroupProps {
  group: DeadGroup;
  by: string;
  open: boolean;
  onOpen: (yes: boolean) => void;
  onChanged: () => void;
}

function Group({ group: g, by, open, onOpen, onChanged }: GroupProps) {
  const [doing, setDoing] = useState<"Retry" | "Discard" | null>(null);
  const [mapping, setMapping] = useState(false);
  const mayRetry = useCan("retry");
  const mayConfigure = useCan("configure");
  const unknown = g.code === "unknown_system" && g.receiver !== null && g.message.includes("(receiver)");
  const name = by === "receiver" || by === "type" ? (g.key ?? `no ${by}`) : g.code;
  return (
    <section class="card dead">
      <header>
        <span class="number">{count(g.count)}</span>
        <h2>
          {name}
          {by === "reason_receiver" && <span class="quiet"> for {g.receiver ?? "no receiver"}</span>}
        </h2>
        <span class="quiet">
          newest <Ago at={g.newest} />, oldest <Ago at={g.oldest} />
        </span>
        <span class="room" />
        {unknown && mayConfigure && <button onClick={() => setMapping(true)}>Map it…</button>}
        <a class="button" href={`/documents/${g.sample}`}>
          Sample
        </a>
        {mayRetry && <button onClick={() => setDoing("Retry")}>Retry group…</button>}
        {mayRetry && (
          <button class="danger" onClick={() => setDoing("Discard")}>
            Discard group…
          </button>
        )}
        <button aria-expanded={open} onClick={() => onOpen(!open)}>
          {open ? "Hide" : "Show"}
        </button>
      </header>
      <div class="body">
        <p>
          <Prose text={g.message} />
        </p>
        <p class="quiet">
          <Prose text={REMEDIES[g.code] ?? "Open a sample, correct the cause, then retry the group."} />
        </p>
      </div>
      {open && <Letters filter={filterOf(g, by)} />}
      {mapping && <MapDialog id={g.receiver!} onClose={() => setMapping(false)} />}
      {doing && (
        <BulkDialog
          verb={doing}
          things="dead letters"
          filter={filterOf(g, by)}
          change={doing === "Retry" ? api.deadRetry : api.deadDiscard}
          danger={doing === "Discard"}
          onClose={(changed) => {
            setDoing(null);
            if (changed) onChanged();
          }}
        />
      )}
    </section>
  );
}
