// losses.tsx - what a configuration removes, and the word that confirms it.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import * as api from "../../api";
import { plural } from "../../base/format";
import { useQuery } from "../../base/use_query";
import type { ConfigCheck, ConfigFileInput, ConfigResult } from "../../types";
import { Failed, Loading, Say } from "../../ui/say";

const WORD = "remove";

export interface Confirming {
  /** May be applied: nothing in use is removed, or that was confirmed. */
  ready: boolean;
  confirm: string | null;
  /** For configApply or configRevert; another one when something else is confirmed. */
  client: string;
  view: JSX.Element;
}

/** Which files belong to the text: sent along, or of a version; otherwise those of the live one. */
interface Along {
  files?: ConfigFileInput[];
  filesOf?: number;
}

/** Compares the text with the live version, and asks for the word where things in use are removed. */
export function useLosses(text: string | null, along: Along = {}): Confirming {
  const { data, error } = useQuery(api.configCheck, { text: text ?? "", ...along }, { skip: text === null });
  const [typed, setTyped] = useState("");
  const found = data?.configCheck ?? null;
  const confirm = found?.confirm ?? null;
  const client = useMemo(api.clientId, [confirm]);
  const view = error ? <Failed error={error} /> : found ? <Losses found={found} typed={typed} onTyped={setTyped} /> : <Loading />;
  return { ready: found !== null && (confirm === null || typed.trim() === WORD), confirm, client, view };
}

interface Props {
  found: ConfigCheck;
  typed: string;
  onTyped: (word: string) => void;
}

function Losses({ found, typed, onTyped }: Props) {
  const grave = found.losses.filter((l) => l.left !== null);
  const others = found.losses.filter((l) => l.left === null);
  return (
    <>
      {grave.length > 0 && (
        <Say tone="bad">
          This removes {plural(grave.length, "thing")} in use:
          <ul>
            {grave.map((l) => (
              <li key={`${l.kind} ${l.name}`}>
                {l.kind} <b>{l.name}</b>: {l.left}
              </li>
            ))}
          </ul>
        </Say>
      )}
      {others.length > 0 && <p class="quiet">Also removed: {others.map((l) => `${l.kind} ${l.name}`).join(", ")}.</p>}
      {grave.length > 0 && (
        <label>
          Type {WORD} to confirm
          <input value={typed} autocomplete="off" onInput={(e) => onTyped(e.currentTarget.value)} />
        </label>
      )}
    </>
  );
}

/** The version that is live now; throws the first problem. */
export function appliedVersion(result: ConfigResult): number | string {
  const first = result.problems[0];
  if (first) throw new Error(`Line ${first.line}: ${first.message}`);
  return result.version?.version ?? "";
}
