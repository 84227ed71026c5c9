// plan.tsx - what a link needs in its databases: every statement, before it runs.
import { useState } from "preact/hooks";
import { clientId } from "../../api";
import { ask } from "../../base/ask";
import { useQuery } from "../../base/use_query";
import { FormDialog } from "../../ui/dialog";
import { Empty, Failed, Loading, Say } from "../../ui/say";
import { tell } from "../../ui/toast";
import * as api from "./api";
import type { Plan } from "./types";

/** Asks both databases when it is opened, not before. */
export function PlanCard({ link, onChanged }: { link: string; onChanged: () => void }) {
  const [shown, setShown] = useState<"install" | "remove" | null>(null);
  return (
    <section class="card">
      <header>
        <h2>In the databases</h2>
        <span class="quiet">What captures changes, and keeps the place; nothing runs before you have seen it</span>
        <span class="room" />
        <button aria-expanded={shown === "install"} onClick={() => setShown(shown === "install" ? null : "install")}>
          Plan
        </button>
        <button aria-expanded={shown === "remove"} onClick={() => setShown(shown === "remove" ? null : "remove")}>
          Plan of the removal
        </button>
      </header>
      {shown && <Planned key={shown} link={link} removal={shown === "remove"} onChanged={onChanged} />}
    </section>
  );
}

function Planned({ link, removal, onChanged }: { link: string; removal: boolean; onChanged: () => void }) {
  const [asking, setAsking] = useState(false);
  const { data, error, loading, reload } = useQuery(api.linkPlan, { link, removal }, { long: true });
  const plan = data?.linkPlan;
  return (
    <div class="body stack">
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {plan && <Tables plan={plan} />}
      {plan && plan.statements.length === 0 && <Empty title={removal ? "Nothing to remove" : "Nothing to install"}>Everything is as it should be.</Empty>}
      {plan?.statements.map((s, i) => (
        <div key={i}>
          <p class="quiet">
            {s.database}: {s.purpose}
          </p>
          <pre class="text wrap" tabIndex={0}>{s.text}</pre>
        </div>
      ))}
      {plan && plan.fits && plan.statements.length > 0 && (
        <div class="row">
          <button class={removal ? "danger" : "first"} onClick={() => setAsking(true)}>
            {removal ? "Remove…" : "Install…"}
          </button>
        </div>
      )}
      {asking && plan && (
        <RunDialog
          link={link}
          removal={removal}
          plan={plan}
          onClose={() => {
            setAsking(false);
            reload();
            onChanged();
          }}
        />
      )}
    </div>
  );
}

function Tables({ plan }: { plan: Plan }) {
  return (
    <>
      {plan.tables.map((t) => (
        <div key={t.table}>
          <strong>{t.table}</strong> {t.installed && <span class="quiet">installed</span>} {t.columns && <span class="quiet">{t.columns}</span>}
          {t.problems.map((p) => (
            <Say key={p} tone="bad">
              {p}
            </Say>
          ))}
        </div>
      ))}
    </>
  );
}

function RunDialog({ link, removal, plan, onClose }: { link: string; removal: boolean; plan: Plan; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const [client] = useState(clientId);
  const submit = async () => {
    const { run } = await ask(removal ? api.linkRemove : api.linkInstall, { link, digest: plan.digest, reason: reason.trim() || null, client });
    tell(`${run.done} statements were run.`);
    onClose();
  };
  return (
    <FormDialog title={removal ? `Remove ${link} from its databases` : `Install ${link} in its databases`} action={`Run ${plan.statements.length} statements`} danger={removal} onClose={onClose} onSubmit={submit}>
      <p class="quiet">Exactly the statements that you have seen are run, in this order. If the databases have changed since, none is.</p>
      <label>
        Reason
        <input value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}
