// edit.tsx - a new document instead of this one, or beside it.
import { useEffect, useState } from "preact/hooks";
import * as api from "../../api";
import { ask, messageOf } from "../../base/ask";
import { go } from "../../base/router";
import { type Editable, fromBase64, fromEdit, toBase64, toEdit } from "../../payload/bytes";
import type { DocumentDetail } from "../../types";
import { FormDialog } from "../../ui/dialog";
import { Loading, Say } from "../../ui/say";
import { tell } from "../../ui/toast";

const MOST = 1 << 20;

async function readText(id: string): Promise<Editable> {
  const { document } = await ask(api.payload, { id, stage: 0, from: 0, length: MOST });
  const payload = document?.payload;
  if (!payload) throw new Error("The payload no longer exists.");
  if (!payload.isText) throw new Error("It is not text. Edit it with: waybill docs edit ID FILE.");
  if (payload.truncated) throw new Error("It is larger than 1 MiB. Edit it with: waybill docs edit ID FILE.");
  const read = toEdit(fromBase64(payload.text));
  if (!read) throw new Error("It has mixed line endings, which would be lost here. Edit it with: waybill docs edit ID FILE.");
  return read;
}

export function EditDialog({ document: d, onClose }: { document: DocumentDetail; onClose: () => void }) {
  const [read, setRead] = useState<Editable | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [beside, setBeside] = useState(["delivered", "done", "cancelled", "superseded"].includes(d.state));
  const [again, setAgain] = useState(true);
  const [who, setWho] = useState({ sender: d.sender ?? "", receiver: d.receiver ?? "", type: d.type ?? "" });
  const [key] = useState(api.clientId);

  useEffect(() => {
    readText(d.id).then(setRead, (e) => setProblem(messageOf(e)));
  }, []);
  const submit = async () => {
    if (!read) return;
    const { documentEdit: made } = await ask(api.documentEdit, {
      id: d.id,
      payload: toBase64(fromEdit(read)),
      as: beside ? "beside" : "supersede",
      from: again ? "gateway" : "router",
      metadata: again ? null : who,
      key,
    });
    if (made.id === null) throw new Error(made.message);
    tell("The edited document was sent.");
    onClose();
    go(`/documents/${made.id}`);
  };
  return (
    <FormDialog title="Edit and resubmit" action="Resubmit" large disabled={!read} onClose={onClose} onSubmit={submit}>
      {problem && <Say tone="bad">{problem}</Say>}
      {!read && !problem && <Loading />}
      {read && (
        <label>
          Payload
          <textarea class="mono" rows={18} spellcheck={false} value={read.text} onInput={(e) => setRead({ ...read, text: e.currentTarget.value })} />
        </label>
      )}
      <label class="check">
        <input type="checkbox" checked={again} onChange={(e) => setAgain(e.currentTarget.checked)} />
        Extract sender, receiver and type from the new bytes
      </label>
      {!again && (
        <div class="row">
          {(["sender", "receiver", "type"] as const).map((name) => (
            <label key={name}>
              {name[0]!.toUpperCase() + name.slice(1)}
              <input value={who[name]} onInput={(e) => setWho({ ...who, [name]: e.currentTarget.value })} />
            </label>
          ))}
        </div>
      )}
      <label class="check">
        <input type="checkbox" checked={beside} onChange={(e) => setBeside(e.currentTarget.checked)} />
        Send beside the original instead of superseding it
      </label>
    </FormDialog>
  );
}
