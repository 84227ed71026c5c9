// sessions.tsx - sessions, and ending them.
import * as api from "../../api";
import { ask } from "../../base/ask";
import { useQuery } from "../../base/use_query";
import { Empty, Failed, Loading } from "../../ui/say";
import { Ago } from "../../ui/time";
import { attempt, tell } from "../../ui/toast";

const EVERY_MS = 10000;

export function Sessions() {
  const { data, error, loading, reload } = useQuery(api.sessions, {}, { every: EVERY_MS });
  const sessions = data?.sessions ?? [];
  const end = (id: string, user: string) =>
    void attempt(async () => {
      await ask(api.sessionEnd, { id });
      tell(`The session of ${user} has ended.`);
      reload();
    });
  return (
    <section class="card">
      <header>
        <h2>Sessions</h2>
      </header>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && sessions.length === 0 && <Empty title="No sessions" />}
      {sessions.length > 0 && (
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th>User</th>
                <th>From</th>
                <th class="rest">Browser</th>
                <th>Started</th>
                <th>Last used</th>
                <th>Ends</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {sessions.map((s) => (
                <tr key={s.id}>
                  <td class="word strong">
                    {s.user} {s.current && <span class="quiet">this session</span>}
                  </td>
                  <td class="mono">{s.address}</td>
                  <td class="cut" title={s.agent}>
                    {s.agent}
                  </td>
                  <td class="time">
                    <Ago at={s.made} />
                  </td>
                  <td class="time">
                    <Ago at={s.seen} />
                  </td>
                  <td class="time">
                    <Ago at={s.expires} />
                  </td>
                  <td class="actions">
                    <button class="small danger" onClick={() => end(s.id, s.user)}>
                      End
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
