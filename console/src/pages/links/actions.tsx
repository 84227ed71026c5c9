// actions.tsx - what people do to a table of a link: verify, repair, go on, take all rows again, discard a row.
import { useState } from "preact/hooks";
import { clientId } from "../../api";
import { ask } from "../../base/ask";
import { count } from "../../base/format";
import { useCan } from "../../shell/session";
import { FormDialog } from "../../ui/dialog";
import { tell } from "../../ui/toast";
import * as api from "./api";
import type { Pass, SetAside, Table } from "./types";

interface Props {
  table: Table;
  onChanged: () => void;
}

/** Reasons of a stop that a person may find to be right. */
const GOES_ON = ["DELETES", "SRC_REWOUND"];

type Asked = "verify" | "resync" | "go on";

export function TableActions({ table: t, onChanged }: Props) {
  const [asking, setAsking] = useState<Asked | null>(null);
  const close = () => {
    setAsking(null);
    onChanged();
  };
  if (!useCan("operate")) return null;
  return (
    <>
      <button onClick={() => setAsking("verify")}>Verify…</button> <button onClick={() => setAsking("resync")}>All rows again…</button>{" "}
      {t.stands === "stopped" && t.reason !== null && GOES_ON.includes(t.reason) && (
        <button class="first" onClick={() => setAsking("go on")}>
          Go on…
        </button>
      )}
      {asking === "verify" && <VerifyDialog table={t} onChanged={close} />}
      {asking === "resync" && (
        <OrderDialog table={t} order={api.linkResync} title={`All rows of ${t.job} again`} action="Take all rows again" said={`${t.job} takes all rows again.`} onChanged={close}>
          All rows of the source are written once more; rows that it does not have are removed at the destination afterwards. Nothing is emptied before.
        </OrderDialog>
      )}
      {asking === "go on" && (
        <OrderDialog table={t} order={api.linkGoOn} title={`Let ${t.job} go on`} action="Go on" said={`${t.job} goes on.`} onChanged={close}>
          You say that what it is stopped for is right: {t.message}
        </OrderDialog>
      )}
    </>
  );
}

interface OrderProps extends Props {
  order: typeof api.linkResync;
  title: string;
  action: string;
  said: string;
  children: preact.ComponentChildren;
}

function OrderDialog({ table: t, onChanged, order, title, action, said, children }: OrderProps) {
  const [reason, setReason] = useState("");
  const [client] = useState(clientId);
  const submit = async () => {
    await ask(order, { link: t.link, table: t.table, reason, client });
    tell(said);
    onChanged();
  };
  return (
    <FormDialog title={title} action={action} danger disabled={reason.trim() === ""} onClose={onChanged} onSubmit={submit}>
      <p class="quiet">{children}</p>
      <label>
        Reason
        <input value={reason} required onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}

const REPAIRS: [string, string][] = [
  ["no", "Only compare"],
  ["dry", "Say what a repair would do"],
  ["yes", "Repair: write what differs to the destination"],
];

function VerifyDialog({ table: t, onChanged }: Props) {
  const [mode, setMode] = useState("full");
  const [repair, setRepair] = useState("no");
  const [reason, setReason] = useState("");
  const [client] = useState(clientId);
  const submit = async () => {
    const full = mode === "full";
    await ask(api.linkVerify, {
      link: t.link,
      table: t.table,
      mode,
      repair: full && repair !== "no",
      dryRun: full && repair === "dry",
      reason: reason.trim() || null,
      client,
    });
    tell(`${t.job} is verified.`);
    onChanged();
  };
  return (
    <FormDialog title={`Verify ${t.job}`} action="Verify" onClose={onChanged} onSubmit={submit}>
      <label>
        What is compared
        <select value={mode} onChange={(e) => setMode(e.currentTarget.value)}>
          <option value="full">All rows</option>
          <option value="count">How many rows there are</option>
          <option value="sample">Some of the rows</option>
          <option value="recent">Rows that have changed since the last such pass</option>
        </select>
      </label>
      <label>
        Then
        <select value={mode === "full" ? repair : "no"} disabled={mode !== "full"} onChange={(e) => setRepair(e.currentTarget.value)}>
          {REPAIRS.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        Reason
        <input value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}

/** What a pass has found is written to the destination. */
export function RepairDialog({ link, table, pass: p, onChanged }: { link: string; table: string; pass: Pass; onChanged: () => void }) {
  const [reason, setReason] = useState("");
  const [client] = useState(clientId);
  const submit = async () => {
    await ask(api.linkVerify, { link, table, mode: "full", repair: true, dryRun: false, reason: reason.trim() || null, client });
    tell(`${link}/${table} is compared again and repaired.`);
    onChanged();
  };
  return (
    <FormDialog title={`Repair ${link}/${table}`} action="Repair" danger onClose={onChanged} onSubmit={submit}>
      <p class="quiet">
        All rows are compared again. What is missing at the destination then ({count(p.missing)} in pass {p.id}) is written there, what is different ({count(p.different)}) becomes as
        it is at the source, and what the source does not have ({count(p.extra)}) is removed. With more differences than `most` nothing is repaired.
      </p>
      <label>
        Reason
        <input value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}

/** Nobody wants a row that is set aside. */
export function DiscardDialog({ row: r, onChanged }: { row: SetAside; onChanged: () => void }) {
  const [reason, setReason] = useState("");
  const [client] = useState(clientId);
  const submit = async () => {
    const { was } = await ask(api.linkQuarantineDiscard, { id: r.id, reason, client });
    tell(was ? "The row is discarded." : "The row is not set aside any more.");
    onChanged();
  };
  return (
    <FormDialog title={`Discard row ${r.key}`} action="Discard" danger disabled={reason.trim() === ""} onClose={onChanged} onSubmit={submit}>
      <p class="quiet">The destination stays without it until the row changes at the source. It stays in the list, and can be tried again from there.</p>
      <label>
        Reason
        <input value={reason} required onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}
