// actions.tsx - actions on one document, as its state and your rights allow.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask, credentials } from "../../base/ask";
import { useCan } from "../../shell/session";
import type { DocumentDetail, OperateResult } from "../../types";
import { FormDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { Menu } from "../../ui/menu";
import { attempt } from "../../ui/toast";
import { tellResults } from "../documents/actions";
import { EditDialog } from "./edit";

const OVER = ["delivered", "done", "cancelled", "superseded"];

const RETRIES = [
  { label: "Dead and waiting deliveries", about: "under the same delivery ids", from: "auto", again: false },
  { label: "From the start", about: "extract, route and deliver with the newest configuration", from: "extract", again: false },
  { label: "From the router", about: "sender, receiver and type are kept", from: "route", again: false },
  { label: "Deliver everything again", about: "under new delivery ids: receivers cannot recognise the repetition", from: "delivery", again: true },
];

interface Props {
  document: DocumentDetail;
  onChanged: () => void;
}

/** A link would do with a cookie; the token of a node must be sent in a header. */
async function download(id: string): Promise<void> {
  const response = await fetch(`/documents/${id}/payload`, { headers: credentials() });
  if (!response.ok) throw new Error(`The node answered ${response.status}. You may lack the right to download.`);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = id;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

export function Actions({ document: d, onChanged }: Props) {
  const [open, setOpen] = useState<"edit" | "resolve" | "keep" | null>(null);
  const may = { retry: useCan("retry"), edit: useCan("edit"), download: useCan("download"), keep: useCan("operate") };
  const run = (fn: (client: string) => Promise<OperateResult[]>) =>
    void attempt(async () => {
      tellResults(await fn(api.clientId()));
      onChanged();
    });
  const ids = [d.id];
  const close = () => {
    setOpen(null);
    onChanged();
  };
  return (
    <div class="row">
      {may.retry && d.state === "in_doubt" && (
        <button class="first" onClick={() => setOpen("resolve")}>
          Resolve…
        </button>
      )}
      {may.retry && (
        <Menu
          label="Retry"
          items={RETRIES.map(({ label, about, from, again }) => ({
            label,
            about,
            run: () => run(async (client) => (await ask(api.retry, { ids, from, again, client })).retry),
          }))}
        />
      )}
      {may.edit && <button onClick={() => setOpen("edit")}>Edit and resubmit…</button>}
      {may.retry && !OVER.includes(d.state) && d.state !== "dead" && (
        <button class="danger" onClick={() => run(async (client) => (await ask(api.cancel, { ids, client })).cancel)}>
          Cancel
        </button>
      )}
      {may.retry && d.state === "dead" && (
        <button class="danger" onClick={() => run(async (client) => (await ask(api.discard, { ids, client })).discard)}>
          Discard
        </button>
      )}
      {may.keep &&
        (d.kept ? (
          <button onClick={() => run(async (client) => (await ask(api.unkeep, { ids, client })).unkeep)}>Stop keeping</button>
        ) : (
          <button onClick={() => setOpen("keep")}>Keep…</button>
        ))}
      {may.download && (
        <button onClick={() => void attempt(() => download(d.id))}>
          <Icon name="download" /> Download
        </button>
      )}
      {open === "edit" && <EditDialog document={d} onClose={() => setOpen(null)} />}
      {open === "resolve" && <ResolveDialog document={d} onClose={close} />}
      {open === "keep" && <KeepDialog id={d.id} onClose={close} />}
    </div>
  );
}

function ResolveDialog({ document: d, onClose }: { document: DocumentDetail; onClose: () => void }) {
  const doubtful = d.deliveries.filter((v) => v.state === "in_doubt");
  const [as, setAs] = useState("delivered");
  const [endpoint, setEndpoint] = useState(doubtful.length === 1 ? doubtful[0]!.endpoint : "");
  const [reason, setReason] = useState("");
  const submit = async () => {
    const { resolve } = await ask(api.resolve, { ids: [d.id], as, endpoint: endpoint || null, reason: reason.trim() || null, client: api.clientId() });
    tellResults(resolve);
    onClose();
  };
  return (
    <FormDialog title="Did it arrive?" action="Confirm" onClose={onClose} onSubmit={submit}>
      {doubtful.length > 1 && (
        <label>
          Endpoint
          <select value={endpoint} onChange={(e) => setEndpoint(e.currentTarget.value)}>
            <option value="">all {doubtful.length}</option>
            {doubtful.map((v) => (
              <option key={v.endpoint}>{v.endpoint}</option>
            ))}
          </select>
        </label>
      )}
      <label class="check">
        <input type="radio" name="as" checked={as === "delivered"} onChange={() => setAs("delivered")} />
        The receiver has it
      </label>
      <label class="check">
        <input type="radio" name="as" checked={as === "resend"} onChange={() => setAs("resend")} />
        The receiver does not have it: send it again under the same id
      </label>
      <label>
        Reason
        <input value={reason} maxLength={500} placeholder="how you found out" onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}

function KeepDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const submit = async () => {
    tellResults((await ask(api.keep, { ids: [id], reason, client: api.clientId() })).keep);
    onClose();
  };
  return (
    <FormDialog title="Keep this document" action="Keep" disabled={reason.trim() === ""} onClose={onClose} onSubmit={submit}>
      <p>Retention does not purge it until somebody ends this.</p>
      <label>
        Reason
        <input value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}
