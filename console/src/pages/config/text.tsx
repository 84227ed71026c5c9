// text.tsx - the configuration as text: checked while you type, compared, rehearsed, applied.
import { useEffect, useState } from "preact/hooks";
import * as api from "../../api";
import { ask, messageOf } from "../../base/ask";
import { plural } from "../../base/format";
import { usePlace } from "../../base/router";
import { useStore } from "../../base/store";
import { useQuery } from "../../base/use_query";
import { refreshAbout } from "../../shell/session";
import type { ConfigFile, ConfigFileInput, Problem } from "../../types";
import { Diff } from "../../ui/diff";
import { FormDialog } from "../../ui/dialog";
import { Empty, Failed, Loading, Say } from "../../ui/say";
import { tell } from "../../ui/toast";
import { discard, draft, draftFiles } from "./draft";
import { Editor, Problems } from "./editor";
import { Files } from "./files";
import { appliedVersion, useLosses } from "./losses";
import { Rehearse } from "./rehearse";

const CHECK_MS = 500;

interface Checked {
  text: string;
  files: ConfigFileInput[];
  problems: Problem[];
  warnings: Problem[];
}

/** What is wrong with it, a moment after the last key. */
function useCheck(text: string, files: ConfigFileInput[]): { checked: Checked | null; failed: string | null } {
  const [checked, setChecked] = useState<Checked | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      ask(api.configCheck, { text, files }, abort.signal).then(
        ({ configCheck }) => {
          setChecked({ text, files, ...configCheck });
          setFailed(null);
        },
        (e) => {
          if (!abort.signal.aborted) setFailed(messageOf(e));
        },
      );
    }, CHECK_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, files]);
  return { checked, failed };
}

export function ConfigText({ readOnly }: { readOnly: boolean }) {
  const { data, error, reload } = useQuery(api.config, { version: null });
  const live = data?.config;
  if (error) return <Failed error={error} again={reload} />;
  if (!data) return <Loading />;
  if (!live) return <Empty title="No configuration yet" />;
  return <Work key={live.version} version={live.version} live={live.text} stored={live.files} readOnly={readOnly} onApplied={reload} />;
}

interface WorkProps {
  version: number;
  live: string;
  stored: ConfigFile[];
  readOnly: boolean;
  onApplied: () => void;
}

function Work({ version, live, stored, readOnly, onApplied }: WorkProps) {
  const now = useStore(draft);
  const files = useStore(draftFiles);
  const { query } = usePlace();
  const text = now?.text ?? live;
  const { checked, failed } = useCheck(text, files);
  const [line, setLine] = useState<number | null>(Number(query.get("line")) || null);
  const [view, setView] = useState<"text" | "changes" | "rehearse">("text");
  const [applying, setApplying] = useState(false);
  const changed = text !== live || files.length > 0;
  const input = (next: string) => draft.set(next === live ? null : { base: now?.base ?? version, text: next });
  const current = checked?.text === text && checked.files === files ? checked : null;
  const good = current !== null && current.problems.length === 0;
  return (
    <>
      {now && now.base !== version && (
        <Say tone="wait">
          Version {version} was applied while you edited version {now.base}: review the changes before you apply yours.
        </Say>
      )}
      <section class="card">
        <header>
          <div class="tabs" role="tablist">
            {(["text", "changes", "rehearse"] as const).map((v) => (
              <button key={v} role="tab" aria-selected={v === view} disabled={v !== "text" && !changed} onClick={() => setView(v)}>
                {v === "text" ? `Version ${version}${changed ? ", changed" : ""}` : v === "changes" ? "Changes" : "Rehearse"}
              </button>
            ))}
          </div>
          <Verdict current={current} failed={failed} />
          <span class="room" />
          {changed && <button onClick={discard}>Discard the changes</button>}
          {!readOnly && (
            <button class="first" disabled={!changed || !good} onClick={() => setApplying(true)}>
              Apply…
            </button>
          )}
        </header>
        {view === "text" && (
          <>
            <Editor text={text} problems={current?.problems ?? []} warnings={current?.warnings ?? []} line={line} readOnly={readOnly} onInput={input} />
            <Problems problems={current?.problems ?? []} tone="bad" onGo={setLine} />
            <Problems problems={current?.warnings ?? []} tone="wait" onGo={setLine} />
          </>
        )}
        {view === "changes" && <Changes text={text} files={files} />}
        {view === "rehearse" && <Rehearse text={text} files={files} />}
      </section>
      <Files stored={stored} version={version} readOnly={readOnly} />
      {applying && (
        <ApplyDialog
          text={text}
          files={files}
          onClose={() => setApplying(false)}
          onApplied={() => {
            discard();
            setApplying(false);
            onApplied();
          }}
        />
      )}
    </>
  );
}

function Verdict({ current, failed }: { current: Checked | null; failed: string | null }) {
  if (failed) return <span class="bad">{failed}</span>;
  if (!current) return <span class="quiet">checking</span>;
  if (current.problems.length > 0) return <span class="bad">{plural(current.problems.length, "problem")}</span>;
  if (current.warnings.length > 0) return <span class="wait">{plural(current.warnings.length, "warning")}</span>;
  return <span class="good">valid</span>;
}

function Changes({ text, files }: { text: string; files: ConfigFileInput[] }) {
  const { data, error } = useQuery(api.configDiff, { from: null, to: null, text, files });
  if (error) return <Failed error={error} />;
  if (!data) return <Loading />;
  return data.configDiff === "" ? <Empty title="No differences" /> : <Diff text={data.configDiff} />;
}

interface ApplyProps {
  text: string;
  files: ConfigFileInput[];
  onClose: () => void;
  onApplied: () => void;
}

function ApplyDialog({ text, files, onClose, onApplied }: ApplyProps) {
  const [note, setNote] = useState("");
  const { ready, confirm, client, view } = useLosses(text, { files });
  const submit = async () => {
    const { configApply: result } = await ask(api.configApply, { text, files, note: note || null, confirm, client });
    tell(`Version ${appliedVersion(result)} is live.`);
    void refreshAbout();
    onApplied();
  };
  return (
    <FormDialog title="Apply" action="Make it live" large danger={confirm !== null} disabled={!ready} onClose={onClose} onSubmit={submit}>
      <Changes text={text} files={files} />
      {view}
      <label>
        Note, for the history
        <input value={note} onInput={(e) => setNote(e.currentTarget.value)} />
      </label>
      <p class="quiet">Every node follows within a second. You can revert to the old version under History.</p>
    </FormDialog>
  );
}
