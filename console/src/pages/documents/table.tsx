// table.tsx - documents in rows, with keys: j k Enter x.
import { useEffect, useRef, useState } from "preact/hooks";
import { size } from "../../base/format";
import { useKeys } from "../../base/keys";
import { go } from "../../base/router";
import type { DocumentRow } from "../../types";
import { State } from "../../ui/state";
import { Time } from "../../ui/time";

interface Props {
  rows: DocumentRow[];
  selected?: Set<string>;
  onSelect?: (ids: Set<string>) => void;
}

function Row({ row, at, selected, onToggle }: { row: DocumentRow; at: boolean; selected?: boolean; onToggle?: () => void }) {
  const ref = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (at) ref.current?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <tr ref={ref} class={at ? "at" : ""}>
      {onToggle && (
        <td>
          <input type="checkbox" aria-label={`Select ${row.id}`} checked={selected ?? false} onChange={onToggle} />
        </td>
      )}
      <td class="time">
        <a href={`/documents/${row.id}`}>
          <Time at={row.received} />
        </a>
      </td>
      <td>
        <State word={row.state} />
      </td>
      <td class="word">
        {row.sender ?? <span class="quiet">no sender</span>}
        <span class="quiet"> → </span>
        {row.receiver ?? <span class="quiet">no receiver</span>}
      </td>
      <td class="word">{row.type ?? <span class="quiet">none</span>}</td>
      <td class="word quiet">{row.gateway}</td>
      <td class="num">{size(row.size)}</td>
      <td class="cut" title={row.error ? `${row.error.code}: ${row.error.message}` : (row.name ?? "")}>
        {row.error ? (
          <>
            <span class="bad">{row.error.code}</span> <span class="quiet">{row.error.message}</span>
          </>
        ) : (
          <span class="quiet">{row.name}</span>
        )}
      </td>
    </tr>
  );
}

export function DocumentTable({ rows, selected, onSelect }: Props) {
  const [at, setAt] = useState(-1);
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onSelect?.(next);
  };
  useKeys({
    j: () => setAt(Math.min(at + 1, rows.length - 1)),
    k: () => setAt(Math.max(at - 1, 0)),
    Enter: () => rows[at] && go(`/documents/${rows[at].id}`),
    x: () => rows[at] && onSelect && toggle(rows[at].id),
  });
  const all = rows.length > 0 && rows.every((r) => selected?.has(r.id));
  return (
    <div class="wide">
      <table class="documents">
        <thead>
          <tr>
            {onSelect && (
              <th class="narrow">
                <input
                  type="checkbox"
                  aria-label="Select all of this page"
                  checked={all}
                  onChange={() => onSelect(all ? new Set() : new Set(rows.map((r) => r.id)))}
                />
              </th>
            )}
            <th>Received</th>
            <th>State</th>
            <th>Sender → receiver</th>
            <th>Type</th>
            <th>Gateway</th>
            <th class="num">Size</th>
            <th class="rest">File name or error</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <Row
              key={row.id}
              row={row}
              at={i === at}
              selected={selected?.has(row.id) ?? false}
              {...(onSelect ? { onToggle: () => toggle(row.id) } : {})}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}
