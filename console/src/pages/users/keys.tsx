// keys.tsx - keys with which machines use the API.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask } from "../../base/ask";
import { fromInput } from "../../base/format";
import { useQuery } from "../../base/use_query";
import { Copy } from "../../ui/copy";
import { FormDialog } from "../../ui/dialog";
import { Empty, Failed, Loading, Say } from "../../ui/say";
import { Ago, Time } from "../../ui/time";
import { attempt } from "../../ui/toast";
import { ChooseRoles } from "./choose_roles";

export function AdminKeys() {
  const { data, error, loading, reload } = useQuery(api.adminKeys, {});
  const [adding, setAdding] = useState(false);
  const keys = data?.adminKeys ?? [];
  const remove = (id: string) =>
    void attempt(async () => {
      await ask(api.adminKeyRemove, { id });
      reload();
    });
  return (
    <section class="card">
      <header>
        <h2>Keys for machines</h2>
        <span class="room" />
        <button class="first" onClick={() => setAdding(true)}>
          Create a key…
        </button>
      </header>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && keys.length === 0 && <Empty title="No keys">Create a key with its own roles for each program that uses this API.</Empty>}
      {keys.length > 0 && (
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th>Title</th>
                <th>Roles</th>
                <th>Created</th>
                <th>Expires</th>
                <th>Last used</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {keys.map((k) => (
                <tr key={k.id}>
                  <td class="word strong">{k.title}</td>
                  <td>{k.roles.join(", ")}</td>
                  <td class="time">
                    <Time at={k.made} /> <span class="quiet">{k.by}</span>
                  </td>
                  <td class="time">{k.expires ? <Time at={k.expires} /> : <span class="quiet">never</span>}</td>
                  <td class="time">{k.used ? <Ago at={k.used} /> : <span class="quiet">never</span>}</td>
                  <td class="actions">
                    <button class="small danger" onClick={() => remove(k.id)}>
                      Remove
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {adding && (
        <KeyDialog
          onClose={() => {
            setAdding(false);
            reload();
          }}
        />
      )}
    </section>
  );
}

function KeyDialog({ onClose }: { onClose: () => void }) {
  const [title, setTitle] = useState("");
  const [roles, setRoles] = useState<string[]>([]);
  const [expires, setExpires] = useState("");
  const [made, setMade] = useState<string | null>(null);
  const submit = async () => {
    if (made) return onClose();
    const { adminKeyAdd } = await ask(api.adminKeyAdd, { title, roles, expires: expires ? fromInput(expires) : null });
    setMade(adminKeyAdd.key);
  };
  return (
    <FormDialog title="Create a key" action={made ? "Done" : "Create"} disabled={title.trim() === "" || roles.length === 0} onClose={onClose} onSubmit={submit}>
      {made ? (
        <Say tone="good">
          Copy it now: it is never shown again. <Copy text={made} />
        </Say>
      ) : (
        <>
          <label>
            Title
            <input value={title} placeholder="which program it is for" onInput={(e) => setTitle(e.currentTarget.value)} />
          </label>
          <label>
            Expires (empty: never)
            <input type="datetime-local" value={expires} onInput={(e) => setExpires(e.currentTarget.value)} />
          </label>
          <ChooseRoles chosen={roles} onChange={setRoles} />
        </>
      )}
    </FormDialog>
  );
}
