// files.tsx - the files that steps name: those of the live version, and those that go along with the draft.
import { useState } from "preact/hooks";
import { messageOf } from "../../base/ask";
import { size } from "../../base/format";
import { useStore } from "../../base/store";
import type { ConfigFile } from "../../types";
import { tell } from "../../ui/toast";
import { draftFiles } from "./draft";

const MOST = 1 << 20;
const PIECE = 0x8000;

/** The bytes of a file as the API takes them. */
export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += PIECE) text += String.fromCharCode(...bytes.subarray(i, i + PIECE));
  return btoa(text);
}

async function take(path: string, file: File): Promise<void> {
  if (file.size > MOST) throw new Error(`${file.name} is larger than ${size(MOST)}.`);
  const base64 = base64Of(new Uint8Array(await file.arrayBuffer()));
  draftFiles.set([...draftFiles.get().filter((f) => f.path !== path), { path, base64 }]);
}

function Choose({ label, path }: { label: string; path: string }) {
  const chosen = (input: HTMLInputElement) => {
    const file = input.files?.[0];
    input.value = "";
    if (file) take(path, file).catch((e) => tell(messageOf(e), "bad"));
  };
  return <input type="file" aria-label={label} disabled={path === ""} onChange={(e) => chosen(e.currentTarget)} />;
}

export function Files({ stored, version, readOnly }: { stored: ConfigFile[]; version: number; readOnly: boolean }) {
  const along = useStore(draftFiles);
  const [path, setPath] = useState("");
  const added = along.filter((a) => !stored.some((s) => s.path === a.path));
  const isAlong = (p: string) => along.some((a) => a.path === p);
  const takeBack = (p: string) => draftFiles.set(along.filter((a) => a.path !== p));
  const rows = [...stored.map((s) => ({ path: s.path, note: size(s.size) })), ...added.map((a) => ({ path: a.path, note: "" }))];
  return (
    <section class="card">
      <header>
        <h2>Files</h2>
        <span class="quiet">Scripts, style sheets and schemas that steps name. They belong to the version.</span>
      </header>
      {rows.length > 0 && (
        <table>
          <tbody>
            {rows.map((r) => (
              <tr key={r.path}>
                <td>{r.path}</td>
                <td class="quiet">{isAlong(r.path) ? "chosen for the next version" : `${r.note}, of version ${version}`}</td>
                {!readOnly && (
                  <td>{isAlong(r.path) ? <button onClick={() => takeBack(r.path)}>Take back</button> : <Choose label={`Replace ${r.path}`} path={r.path} />}</td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!readOnly && (
        <div class="body fields">
          <label>
            Add a file: its path, as the configuration spells it
            <input value={path} placeholder="scripts/clean.lua" onInput={(e) => setPath(e.currentTarget.value.trim())} />
          </label>
          <label>
            Its content
            <Choose label="Content of the new file" path={path} />
          </label>
        </div>
      )}
    </section>
  );
}
