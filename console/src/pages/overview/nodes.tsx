// nodes.tsx - the nodes of this location.
import * as api from "../../api";
import { useQuery } from "../../base/use_query";
import { useSession } from "../../shell/session";
import { State } from "../../ui/state";
import { Ago } from "../../ui/time";

const EVERY_MS = 30000;

export function Nodes() {
  const { about } = useSession();
  const { data } = useQuery(api.nodes, {}, { every: EVERY_MS });
  return (
    <section class="card c4">
      <header>
        <h2>Nodes</h2>
        <span class="room" />
        <span class="quiet">
          {about.store}, version {about.version}
        </span>
      </header>
      <table>
        <tbody>
          {(data?.nodes ?? []).map((n) => (
            <tr key={n.id}>
              <td>
                <State word={n.state} />
              </td>
              <td title={n.id}>
                {n.name} <span class="quiet">{n.self ? "this node" : n.area}</span>
                {n.pauses.length > 0 && <span class="wait"> {n.pauses.map((p) => p.what).join(", ")} paused</span>}
              </td>
              <td class="time quiet">
                started <Ago at={n.started} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
