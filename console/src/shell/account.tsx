// account.tsx - your identity, your rights, and your password.
import { useState } from "preact/hooks";
import * as api from "../api";
import { ask } from "../base/ask";
import { FormDialog } from "../ui/dialog";
import { tell } from "../ui/toast";
import { useSession } from "./session";

export function Account({ onClose }: { onClose: () => void }) {
  const { me } = useSession();
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const isUser = me.kind === "user";
  const submit = async () => {
    await ask(api.passwordChange, { old, new: next });
    tell("Your password is changed; your other sessions have ended.");
    onClose();
  };
  return (
    <FormDialog title={me.name} action="Change the password" disabled={!isUser || old === "" || next === ""} onClose={onClose} onSubmit={submit}>
      <dl class="facts">
        <dt>Authenticated by</dt>
        <dd>{me.kind === "token" ? "the token of the node" : me.kind}</dd>
        <dt>Rights</dt>
        <dd>{me.rights.join(", ")}</dd>
        <dt>Systems</dt>
        <dd>{me.systems ? me.systems.join(", ") : "all systems"}</dd>
      </dl>
      {isUser && (
        <>
          <label>
            Current password
            <input type="password" autoComplete="current-password" value={old} onInput={(e) => setOld(e.currentTarget.value)} />
          </label>
          <label>
            New password
            <input type="password" autoComplete="new-password" value={next} onInput={(e) => setNext(e.currentTarget.value)} />
          </label>
        </>
      )}
    </FormDialog>
  );
}
