// timeline.tsx - the lines of the timeline.
import { useEffect, useRef } from "preact/hooks";
import { clock, day, took } from "../../base/format";
import type { TimelineEntry } from "../../types";
import { Prose } from "../../ui/prose";
import { State } from "../../ui/state";

interface Props {
  entries: TimelineEntry[];
  chosen: number;
  onChoose: (line: number) => void;
}

export function Timeline({ entries, chosen, onChoose }: Props) {
  const at = useRef<HTMLTableRowElement>(null);
  useEffect(() => at.current?.scrollIntoView({ block: "nearest" }), [chosen]);
  const nodes = new Set(entries.flatMap((e) => e.node ?? [])).size > 1;
  return (
    <div class="wide" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th>Time</th>
            <th>Stage</th>
            <th>Object</th>
            <th>Outcome</th>
            <th class="num">Duration</th>
            <th class="rest">Message</th>
            {nodes && <th>Node</th>}
          </tr>
        </thead>
        <tbody>
          {entries.map((e, i) => (
            <tr key={i} ref={i === chosen ? at : null} class={i === chosen ? "at" : ""} onClick={() => onChoose(i)}>
              <td class="time" title={`${day(e.time)} ${e.time}`}>
                {clock(e.time, "millis")}
              </td>
              <td>{e.stage}</td>
              <td class="word">
                {e.what}
                {e.attempt !== null && e.attempt > 0 && <span class="quiet"> attempt {e.attempt}</span>}
              </td>
              <td>
                <State word={e.outcome} />
              </td>
              <td class="num">{e.duration === null ? "" : took(e.duration)}</td>
              <td class="long">
                {e.status !== null && <span class="tag">{e.status}</span>} {e.message && <Prose text={e.message} />}
                {e.config !== null && <span class="quiet"> version {e.config}</span>}
              </td>
              {nodes && <td class="word quiet">{e.node}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
