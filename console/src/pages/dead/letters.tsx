// letters.tsx - the dead letters of one group, oldest first.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { useQuery } from "../../base/use_query";
import type { DeadFilter } from "../../types";
import { Failed, Loading } from "../../ui/say";
import { Time } from "../../ui/time";

const PAGE = 20;

export function Letters({ filter }: { filter: DeadFilter }) {
  const [before, setBefore] = useState<(string | null)[]>([null]);
  const after = before[before.length - 1] ?? null;
  const { data, error, loading } = useQuery(api.deadLetters, { filter, first: PAGE, after });
  const page = data?.deadLetters;
  return (
    <>
      {loading && <Loading />}
      <Failed error={error} />
      {page && (
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th>Died</th>
                <th>Sender → receiver</th>
                <th>Type</th>
                <th>Endpoint</th>
                <th class="rest">Message</th>
              </tr>
            </thead>
            <tbody>
              {page.items.map((l) => (
                <tr key={l.delivery ?? l.document}>
                  <td class="time">
                    <a href={`/documents/${l.document}`}>
                      <Time at={l.died} />
                    </a>
                  </td>
                  <td class="word">
                    {l.sender ?? "?"} <span class="quiet">→</span> {l.receiver ?? "?"}
                  </td>
                  <td class="word">{l.type}</td>
                  <td class="word">{l.endpoint}</td>
                  <td class="cut" title={l.message}>
                    {l.message}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {page && (page.next || before.length > 1) && (
        <div class="body row">
          <button class="small" disabled={before.length === 1} onClick={() => setBefore(before.slice(0, -1))}>
            Back
          </button>
          <button class="small" disabled={!page.next} onClick={() => setBefore([...before, page.next])}>
            More
          </button>
        </div>
      )}
    </>
  );
}
