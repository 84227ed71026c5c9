// doctor.tsx - checks the invariants of the store now.
import * as api from "../../api";
import { useQuery } from "../../base/use_query";
import { Dialog } from "../../ui/dialog";
import { Failed, Loading } from "../../ui/say";
import { State } from "../../ui/state";

export function Doctor({ onClose }: { onClose: () => void }) {
  const { data, error, loading, reload } = useQuery(api.doctor, {}, { long: true });
  return (
    <Dialog title="Invariants of the store" large onClose={onClose}>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && (
        <table>
          <tbody>
            {data.doctor.checks.map((c) => (
              <tr key={c.name}>
                <td class="word">
                  <State word={c.ok ? "ok" : "failed"} />
                </td>
                <td class="word mono">{c.name}</td>
                <td>{c.message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <footer>
        <button onClick={onClose}>Close</button>
      </footer>
    </Dialog>
  );
}
