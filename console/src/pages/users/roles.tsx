// roles.tsx - roles: rights, and the systems they apply to.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask } from "../../base/ask";
import { useQuery } from "../../base/use_query";
import type { Role } from "../../types";
import { FormDialog } from "../../ui/dialog";
import { Failed, Loading } from "../../ui/say";
import { attempt } from "../../ui/toast";

/** Rights, and whether they can be limited to systems. */
const RIGHTS: [right: string, about: string, scoped: boolean][] = [
  ["see", "history: documents, deliveries, timelines, the backlog", true],
  ["payload", "view and search payloads", true],
  ["download", "download payloads", true],
  ["retry", "retry, cancel, discard, resolve", true],
  ["edit", "edit and resubmit, send manually", true],
  ["hold", "place and end holds", true],
  ["operate", "pauses, backups, retention, batches", false],
  ["configure", "configuration, keys of gateways, secrets", false],
  ["users", "users, roles, their sessions and keys", false],
  ["audit", "the audit log", false],
];

export function Roles() {
  const { data, error, loading, reload } = useQuery(api.roles, {});
  const [open, setOpen] = useState<Role | "new" | null>(null);
  const remove = (name: string) =>
    void attempt(async () => {
      await ask(api.roleRemove, { name });
      reload();
    });
  return (
    <section class="card">
      <header>
        <h2>Roles</h2>
        <span class="quiet">rights of several roles add up</span>
        <span class="room" />
        <button class="first" onClick={() => setOpen("new")}>
          Add a role…
        </button>
      </header>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      <div class="wide">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Title</th>
              <th>Rights</th>
              <th>Systems</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {(data?.roles ?? []).map((r) => (
              <tr key={r.name}>
                <td class="word strong">{r.name}</td>
                <td>{r.title}</td>
                <td>{r.rights.join(", ")}</td>
                <td>{r.systems ? r.systems.join(", ") : "all"}</td>
                <td class="actions">
                  {r.builtIn ? (
                    <span class="quiet">built in</span>
                  ) : (
                    <>
                      <button class="small" onClick={() => setOpen(r)}>
                        Change…
                      </button>{" "}
                      <button class="small danger" onClick={() => remove(r.name)}>
                        Remove
                      </button>
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {open && (
        <RoleDialog
          role={open === "new" ? null : open}
          onClose={() => {
            setOpen(null);
            reload();
          }}
        />
      )}
    </section>
  );
}

function RoleDialog({ role, onClose }: { role: Role | null; onClose: () => void }) {
  const known = useQuery(api.systems, { after: null });
  const [name, setName] = useState(role?.name ?? "");
  const [title, setTitle] = useState(role?.title ?? "");
  const [rights, setRights] = useState<string[]>(role?.rights ?? ["see"]);
  const [systems, setSystems] = useState<string[] | null>(role?.systems ?? null);
  const flip = (list: string[], word: string) => (list.includes(word) ? list.filter((w) => w !== word) : [...list, word]);
  const submit = async () => {
    await ask(api.roleAdd, { name, title: title || null, rights, systems });
    onClose();
  };
  const shown = RIGHTS.filter(([, , scoped]) => systems === null || scoped);
  const ready = name.trim() !== "" && rights.length > 0 && (systems === null || systems.length > 0);
  return (
    <FormDialog title={role ? `Change ${role.name}` : "Add a role"} action={role ? "Change" : "Add"} disabled={!ready} onClose={onClose} onSubmit={submit}>
      <div class="row">
        <label>
          Name
          <input value={name} disabled={role !== null} spellcheck={false} onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        <label class="grow">
          Title
          <input value={title} onInput={(e) => setTitle(e.currentTarget.value)} />
        </label>
      </div>
      <fieldset>
        <legend>Systems</legend>
        <label class="check">
          <input type="checkbox" checked={systems === null} onChange={() => setSystems(systems === null ? [] : null)} /> all systems
        </label>
        {systems !== null &&
          (known.data?.systems.items ?? []).map((s) => (
            <label class="check" key={s.name}>
              <input type="checkbox" checked={systems.includes(s.name)} onChange={() => setSystems(flip(systems, s.name))} />
              <span>
                {s.name} <span class="quiet">{s.title}</span>
              </span>
            </label>
          ))}
      </fieldset>
      <fieldset>
        <legend>Rights</legend>
        {shown.map(([right, about]) => (
          <label class="check" key={right}>
            <input type="checkbox" checked={rights.includes(right)} onChange={() => setRights(flip(rights, right))} />
            <span>
              {right} <span class="quiet">{about}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </FormDialog>
  );
}
