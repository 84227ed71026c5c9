// history.tsx - past versions: what each changed, and reverting to one.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask } from "../../base/ask";
import { useQuery } from "../../base/use_query";
import { refreshAbout } from "../../shell/session";
import type { ConfigVersion } from "../../types";
import { Diff } from "../../ui/diff";
import { FormDialog } from "../../ui/dialog";
import { Empty, Failed, Loading } from "../../ui/say";
import { State } from "../../ui/state";
import { Time } from "../../ui/time";
import { tell } from "../../ui/toast";
import { appliedVersion, useLosses } from "./losses";

export function ConfigHistory({ readOnly }: { readOnly: boolean }) {
  const { data, error, loading, reload } = useQuery(api.configHistory, {});
  const [shown, setShown] = useState<number | null>(null);
  const [reverting, setReverting] = useState<number | null>(null);
  const versions = data?.configHistory ?? [];
  return (
    <section class="card">
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      <div class="wide">
        <table>
          <thead>
            <tr>
              <th class="num">Version</th>
              <th>Made</th>
              <th>By</th>
              <th class="rest">Note</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {versions.map((v) => (
              <Version key={v.version} version={v} shown={shown === v.version} onShow={setShown} onRevert={readOnly ? null : setReverting} />
            ))}
          </tbody>
        </table>
      </div>
      {reverting !== null && (
        <RevertDialog
          version={reverting}
          live={versions.find((v) => v.live)?.version ?? 0}
          onClose={() => setReverting(null)}
          onDone={() => {
            setReverting(null);
            reload();
          }}
        />
      )}
    </section>
  );
}

interface VersionProps {
  version: ConfigVersion;
  shown: boolean;
  onShow: (version: number | null) => void;
  onRevert: ((version: number) => void) | null;
}

function Version({ version: v, shown, onShow, onRevert }: VersionProps) {
  return (
    <>
      <tr>
        <td class="num">{v.version}</td>
        <td class="time">
          <Time at={v.made} />
        </td>
        <td class="word">{v.by}</td>
        <td>
          {v.live && <State word="live" />} {v.note}
        </td>
        <td class="actions">
          {v.version > 1 && (
            <button class="small" aria-expanded={shown} onClick={() => onShow(shown ? null : v.version)}>
              Changes
            </button>
          )}{" "}
          {!v.live && onRevert && (
            <button class="small" onClick={() => onRevert(v.version)}>
              Revert to it…
            </button>
          )}
        </td>
      </tr>
      {shown && (
        <tr>
          <td colSpan={5}>
            <Between from={v.version - 1} to={v.version} />
          </td>
        </tr>
      )}
    </>
  );
}

function Between({ from, to }: { from: number; to: number }) {
  const { data, error } = useQuery(api.configDiff, { from, to, text: null });
  if (error) return <Failed error={error} />;
  if (!data) return <Loading />;
  return data.configDiff === "" ? <Empty title="No differences" /> : <Diff text={data.configDiff} />;
}

function RevertDialog({ version, live, onClose, onDone }: { version: number; live: number; onClose: () => void; onDone: () => void }) {
  const { data } = useQuery(api.config, { version });
  const { ready, confirm, client, view } = useLosses(data?.config?.text ?? null, { filesOf: version });
  const submit = async () => {
    const { configRevert: result } = await ask(api.configRevert, { version, confirm, client });
    tell(`Version ${appliedVersion(result)} is live; it is version ${version} again.`);
    void refreshAbout();
    onDone();
  };
  return (
    <FormDialog
      title={`Revert to version ${version}`}
      action="Make it live"
      large
      danger={confirm !== null}
      disabled={!ready}
      onClose={onClose}
      onSubmit={submit}
    >
      <Between from={live} to={version} />
      {view}
    </FormDialog>
  );
}
