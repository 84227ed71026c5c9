// map_dialog.tsx - maps an unknown id to a system: a change of the configuration, after which the group can be retried.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { go } from "../../base/router";
import { useStore } from "../../base/store";
import { useQuery } from "../../base/use_query";
import { FormDialog } from "../../ui/dialog";
import { Failed } from "../../ui/say";
import { tell } from "../../ui/toast";
import { draft } from "../config/draft";
import { addId } from "../config/yaml";

export function MapDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const known = useQuery(api.systems, { after: null });
  const live = useQuery(api.config, { version: null });
  const now = useStore(draft);
  const [chosen, setChosen] = useState("");
  const systems = known.data?.systems.items ?? [];
  const config = live.data?.config;
  const submit = async () => {
    const { text, line } = addId(now?.text ?? config!.text, chosen || systems[0]!.name, id);
    draft.set({ base: now?.base ?? config!.version, text });
    tell("Added to your draft. When it is applied, the group is retried automatically.");
    onClose();
    go(`/config/text?line=${line}`);
  };
  return (
    <FormDialog title={`Which system is ${id}?`} action="Add to the draft" disabled={!config || systems.length === 0} onClose={onClose} onSubmit={submit}>
      <Failed error={known.error ?? live.error} />
      <label>
        System
        <select value={chosen} onChange={(e) => setChosen(e.currentTarget.value)}>
          {systems.map((s) => (
            <option key={s.name} value={s.name}>
              {s.name} {s.title ?? ""}
            </option>
          ))}
        </select>
      </label>
      <p class="quiet">The id is added to its `ids`. You can review the change before you apply it.</p>
    </FormDialog>
  );
}
