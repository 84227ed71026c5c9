// users.tsx - users.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask } from "../../base/ask";
import { useQuery } from "../../base/use_query";
import type { User, UserLink } from "../../types";
import { Copy } from "../../ui/copy";
import { FormDialog } from "../../ui/dialog";
import { Menu } from "../../ui/menu";
import { Empty, Failed, Loading, Say } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago } from "../../ui/time";
import { attempt, tell } from "../../ui/toast";
import { ChooseRoles } from "./choose_roles";

export function Users() {
  const { data, error, loading, reload } = useQuery(api.users, {});
  const [open, setOpen] = useState<User | "new" | null>(null);
  const [link, setLink] = useState<UserLink | null>(null);
  const users = data?.users ?? [];
  const done = () => {
    setOpen(null);
    reload();
  };
  return (
    <section class="card">
      <header>
        <h2>Users</h2>
        <span class="room" />
        <button class="first" onClick={() => setOpen("new")}>
          Add a user…
        </button>
      </header>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {link && (
        <Say tone="good">
          Send this link to {link.user}. It works once, expires <Ago at={link.expires} />, and is not shown again:{" "}
          <Copy text={location.origin + link.link} />
        </Say>
      )}
      {data && users.length === 0 && <Empty title="No users yet">You are logged in with the token of the node. Add a user for yourself.</Empty>}
      {users.length > 0 && (
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th>Title</th>
                <th>Roles</th>
                <th>Login</th>
                <th>Last login</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {users.map((u) => (
                <Row key={u.name} user={u} onEdit={() => setOpen(u)} onLink={setLink} onChanged={reload} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {open === "new" && <AddDialog onClose={done} onLink={setLink} />}
      {open !== null && open !== "new" && <ChangeDialog user={open} onClose={done} />}
    </section>
  );
}

interface RowProps {
  user: User;
  onEdit: () => void;
  onLink: (link: UserLink) => void;
  onChanged: () => void;
}

function Row({ user: u, onEdit, onLink, onChanged }: RowProps) {
  const run = (fn: () => Promise<void>) =>
    void attempt(async () => {
      await fn();
      onChanged();
    });
  const items = [
    { label: "Change…", run: onEdit },
    {
      label: u.disabled ? "Enable" : "Disable",
      about: u.disabled ? "" : "ends all sessions at once",
      run: () => run(async () => void (await ask(api.userChange, { name: u.name, disabled: !u.disabled }))),
    },
    {
      label: "New link",
      about: "to choose a password; the old password works until then",
      run: () => run(async () => onLink((await ask(api.userLink, { name: u.name })).userLink)),
    },
    {
      label: "Remove",
      run: () =>
        run(async () => {
          await ask(api.userRemove, { name: u.name });
          tell(`${u.name} was removed.`);
        }),
    },
  ];
  return (
    <tr>
      <td class="word strong">
        {u.name} {u.disabled && <State word="cancelled" text="disabled" />}
      </td>
      <td>{u.title}</td>
      <td>{u.roles.join(", ")}</td>
      <td class="word">
        {u.issuer ? `single sign-on (${u.issuer})` : u.password ? "password" : <span class="quiet">no password chosen yet</span>}
      </td>
      <td class="time">{u.lastLogin ? <Ago at={u.lastLogin} /> : <span class="quiet">never</span>}</td>
      <td class="actions">
        <Menu small label="Actions" items={items} />
      </td>
    </tr>
  );
}

function AddDialog({ onClose, onLink }: { onClose: () => void; onLink: (link: UserLink) => void }) {
  const [name, setName] = useState("");
  const [title, setTitle] = useState("");
  const [roles, setRoles] = useState<string[]>([]);
  const submit = async () => {
    onLink((await ask(api.userAdd, { name, title: title || null, roles })).userAdd);
    onClose();
  };
  return (
    <FormDialog title="Add a user" action="Add" disabled={name.trim() === "" || roles.length === 0} onClose={onClose} onSubmit={submit}>
      <label>
        Login name
        <input value={name} autoComplete="off" spellcheck={false} onInput={(e) => setName(e.currentTarget.value)} />
      </label>
      <label>
        Title
        <input value={title} placeholder="full name" onInput={(e) => setTitle(e.currentTarget.value)} />
      </label>
      <ChooseRoles chosen={roles} onChange={setRoles} />
      <p class="quiet">You get a link with which the user chooses a password.</p>
    </FormDialog>
  );
}

function ChangeDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const [title, setTitle] = useState(user.title ?? "");
  const [roles, setRoles] = useState(user.roles);
  const submit = async () => {
    await ask(api.userChange, { name: user.name, title, roles });
    onClose();
  };
  return (
    <FormDialog title={`Change ${user.name}`} action="Change" onClose={onClose} onSubmit={submit}>
      <label>
        Title
        <input value={title} onInput={(e) => setTitle(e.currentTarget.value)} />
      </label>
      <ChooseRoles chosen={roles} onChange={setRoles} />
    </FormDialog>
  );
}
