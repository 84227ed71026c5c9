// page.tsx - Dead letters: grouped by what is wrong and for whom, a sample of each, and what to do with the group.
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

/** What is wrong, and what helps. */
const REMEDIES: Record<string, string> = {
  extract_failed: "The gateway's extract found nothing: look at a sample, then correct `extract`, or edit the document.",
  unknown_system: "Add the id to `ids` of a system: the group is tried again by itself.",
  no_route: "Add a route for it: the group is tried again by itself.",
  loop: "Routes send it in a circle: correct them, then retry.",
  service_failed: "A step failed: look at the message and at a sample.",
  budget: "A step took more than it may: look at a sample.",
  payload_missing: "Its bytes are gone from the disk: restore them from a backup, or discard it.",
  payload_corrupt: "Its bytes are damaged: restore them from a backup, or discard it.",
  rejected: "The receiver refused it: read what it said, correct the document, or ask them and retry.",
  expired: "It was not delivered in time: retry it if it is still wanted.",
  retries_exhausted: "The receiver could not be reached for long: see that it works again, then retry the group.",
  poison: "It ended the node more than once: look at it before you retry.",
  limit: "It is larger than a limit allows.",
  restored: "Its batch may have been sent since the backup: ask its receiver, then retry it, or discard it.",
};

/** Exactly its letters; an empty name is that of those in which none was found. */
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
        <span class="quiet">{count(groups.reduce((n, g) => n + g.count, 0))} will not go on by themselves</span>
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
          <Empty title="No dead letters">Everything that came in was delivered, or is on its way.</Empty>
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
          <Prose text={REMEDIES[g.code] ?? "Look at a sample, correct the cause, then retry the group."} />
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
