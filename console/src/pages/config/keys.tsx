// keys.tsx - keys of senders, and secrets that the configuration names.  Values are shown once, or never.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask } from "../../base/ask";
import { useQuery } from "../../base/use_query";
import { Copy } from "../../ui/copy";
import { FormDialog } from "../../ui/dialog";
import { Empty, Failed, Say } from "../../ui/say";
import { Time } from "../../ui/time";
import { attempt, tell } from "../../ui/toast";

export function ConfigKeys(_: { readOnly: boolean }) {
  return (
    <div class="columns">
      <Keys />
      <Secrets />
    </div>
  );
}

function Keys() {
  const { data, error, reload } = useQuery(api.keys, {});
  const [adding, setAdding] = useState(false);
  const keys = data?.keys ?? [];
  const remove = (id: string) =>
    void attempt(async () => {
      await ask(api.keyRemove, { id, client: api.clientId() });
      tell("The key is removed; requests with it are refused.");
      reload();
    });
  return (
    <section class="card c6">
      <header>
        <h2>Keys of senders</h2>
        <span class="room" />
        <button class="small" onClick={() => setAdding(true)}>
          Create a key…
        </button>
      </header>
      <Failed error={error} again={reload} />
      {data && keys.length === 0 && <Empty title="No keys">Senders need a key for gateways with `auth: key`.</Empty>}
      <table>
        <tbody>
          {keys.map((k) => (
            <tr key={k.id}>
              <td class="word">{k.gateway}</td>
              <td>
                {k.title}
                {k.systems.length > 0 && <div class="quiet">sends for {k.systems.join(", ")}</div>}
                {k.from.length > 0 && <div class="quiet">from {k.from.join(", ")}</div>}
              </td>
              <td class="time">
                <Time at={k.made} />
                <div class="quiet">{k.used ? <>used <Time at={k.used} /></> : "never used"}</div>
                {k.expires && (
                  <div class="quiet">
                    ends <Time at={k.expires} />
                  </div>
                )}
              </td>
              <td class="actions">
                <button class="small danger" onClick={() => remove(k.id)}>
                  Remove
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
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
  const { data } = useQuery(api.parts, {});
  const gateways = data?.gateways ?? [];
  const [gateway, setGateway] = useState("");
  const [title, setTitle] = useState("");
  const [systems, setSystems] = useState("");
  const [made, setMade] = useState<string | null>(null);
  const submit = async () => {
    if (made) return onClose();
    const bound = systems.split(/[\s,]+/).filter(Boolean);
    const { keyAdd } = await ask(api.keyAdd, {
      gateway: gateway || gateways[0]!.name,
      title: title || null,
      systems: bound.length > 0 ? bound : null,
      client: api.clientId(),
    });
    setMade(keyAdd.key);
  };
  return (
    <FormDialog title="Create a key" action={made ? "Done" : "Create"} disabled={gateways.length === 0} onClose={onClose} onSubmit={submit}>
      {made ? (
        <Say tone="good">
          Give it to the sender now: it is never shown again. <Copy text={made} />
        </Say>
      ) : (
        <>
          <label>
            Gateway
            <select value={gateway} onChange={(e) => setGateway(e.currentTarget.value)}>
              {gateways.map((g) => (
                <option key={g.name}>{g.name}</option>
              ))}
            </select>
          </label>
          <label>
            Title
            <input value={title} placeholder="the sender" onInput={(e) => setTitle(e.currentTarget.value)} />
          </label>
          <label>
            Systems it may send for
            <input value={systems} placeholder="any" onInput={(e) => setSystems(e.currentTarget.value)} />
          </label>
        </>
      )}
    </FormDialog>
  );
}

function Secrets() {
  const { data, error, reload } = useQuery(api.secrets, {});
  const [adding, setAdding] = useState(false);
  const secrets = data?.secrets ?? [];
  const remove = (name: string) =>
    void attempt(async () => {
      await ask(api.secretRemove, { name, client: api.clientId() });
      reload();
    });
  return (
    <section class="card c6">
      <header>
        <h2>Secrets</h2>
        <span class="room" />
        <button class="small" onClick={() => setAdding(true)}>
          Store a secret…
        </button>
      </header>
      <Failed error={error} again={reload} />
      {data && secrets.length === 0 && <Empty title="No secrets">The configuration refers to them as secret:NAME; values are never shown.</Empty>}
      <table>
        <tbody>
          {secrets.map((s) => (
            <tr key={s.name}>
              <td class="word mono">{s.name}</td>
              <td class="quiet mono">{s.fingerprint}</td>
              <td class="time">
                <Time at={s.made} /> <span class="quiet">{s.by}</span>
              </td>
              <td class="actions">
                <button class="small danger" onClick={() => remove(s.name)}>
                  Remove
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {adding && (
        <SecretDialog
          onClose={() => {
            setAdding(false);
            reload();
          }}
        />
      )}
    </section>
  );
}

function SecretDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const submit = async () => {
    await ask(api.secretAdd, { name, value, client: api.clientId() });
    tell(`Stored. The configuration refers to it as secret:${name}.`);
    onClose();
  };
  return (
    <FormDialog title="Store a secret" action="Store" disabled={name === "" || value === ""} onClose={onClose} onSubmit={submit}>
      <label>
        Name
        <input value={name} spellcheck={false} onInput={(e) => setName(e.currentTarget.value)} />
      </label>
      <label>
        Value
        <input type="password" autoComplete="off" value={value} onInput={(e) => setValue(e.currentTarget.value)} />
      </label>
      <p class="quiet">It replaces an older secret of this name. It is never shown again.</p>
    </FormDialog>
  );
}
