// page.tsx - Audit: who did what, and the hash chain that detects changes.
import { useMemo, useState } from "preact/hooks";
import * as api from "../../api";
import { ask, messageOf } from "../../base/ask";
import { count } from "../../base/format";
import { go, usePlace, withQuery } from "../../base/router";
import { useQuery } from "../../base/use_query";
import type { AuditFilter, AuditLine } from "../../types";
import { Empty, Failed, Loading, Say } from "../../ui/say";
import { Time } from "../../ui/time";
import { attempt } from "../../ui/toast";
import { timeOf } from "../documents/filter";

const NAMES = ["actor", "action", "object", "since", "until"] as const;
const EXAMPLES: Record<string, string> = { actor: "admin", action: "configApply", object: "erp", since: "24h", until: "1h" };

function filterOf(query: URLSearchParams): AuditFilter {
  const given = NAMES.flatMap((n): [string, string][] => (query.get(n) ? [[n, query.get(n)!]] : []));
  return Object.fromEntries(given.map(([n, text]) => [n, n === "since" || n === "until" ? timeOf(text) : text]));
}

function readFilter(query: URLSearchParams): { filter: AuditFilter; problem: string | null } {
  try {
    return { filter: filterOf(query), problem: null };
  } catch (e) {
    return { filter: {}, problem: messageOf(e) };
  }
}

export function AuditPage() {
  const { query } = usePlace();
  const after = query.get("after");
  const { filter, problem } = useMemo(() => readFilter(query), [query.toString()]);
  const { data, error, loading, reload } = useQuery(api.audit, { filter, first: 100, after }, { skip: problem !== null });
  const page = data?.audit;
  const submit = (e: Event) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    go(withQuery({ after: null, ...Object.fromEntries(NAMES.map((n) => [n, String(form.get(n) ?? "")])) }));
  };
  return (
    <>
      <div class="title">
        <h1>Audit</h1>
        <span class="room" />
        <Verify />
      </div>
      <form class="row narrowing" onSubmit={submit} key={NAMES.map((n) => query.get(n)).join()}>
        {NAMES.map((n) => (
          <label key={n}>
            {n[0]!.toUpperCase() + n.slice(1)}
            <input name={n} placeholder={EXAMPLES[n]} defaultValue={query.get(n) ?? ""} spellcheck={false} />
          </label>
        ))}
        <button>Find</button>
      </form>
      {problem && <Say tone="bad">{problem}</Say>}
      <section class="card">
        <header>
          <span class="quiet">Newest first</span>
          <span class="room" />
          <button disabled={after === null} onClick={() => history.back()}>
            Newer
          </button>
          <button disabled={!page?.next} onClick={() => go(withQuery({ after: page!.next }))}>
            Older
          </button>
        </header>
        {loading && <Loading />}
        <Failed error={error} again={reload} />
        {page && page.items.length === 0 && <Empty title="No lines">No entry matches the filter.</Empty>}
        {page && page.items.length > 0 && <Lines lines={page.items} />}
      </section>
    </>
  );
}

function Lines({ lines }: { lines: AuditLine[] }) {
  return (
    <div class="wide" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th class="num">No.</th>
            <th>Time</th>
            <th>Who</th>
            <th>From</th>
            <th>Action</th>
            <th>Object</th>
            <th class="rest">Before and after</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((l) => (
            <tr key={l.seq}>
              <td class="num quiet">{l.seq}</td>
              <td class="time">
                <Time at={l.time} />
              </td>
              <td class="word">
                {l.actor} <span class="quiet">{l.kind}</span>
              </td>
              <td class="word mono">{l.address}</td>
              <td class="word">{l.action}</td>
              <td class="mono long">{l.object && <What name={l.object} />}</td>
              <td class="mono long">
                {l.before && <span class="quiet">{l.before} → </span>}
                {l.after} {l.reason && <span class="quiet">({l.reason})</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}$/;

function What({ name }: { name: string }) {
  return ID.test(name) ? <a href={`/documents/${name}`}>{name}</a> : <>{name}</>;
}

function Verify() {
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);
  const verify = () =>
    void attempt(async () => {
      const { auditVerify: check } = await ask(api.auditVerify, {});
      setSaid({ ok: check.ok, text: check.ok ? `${count(check.lines)} lines verified.` : `The chain breaks at line ${check.broken}: ${check.message ?? ""}` });
    });
  return (
    <>
      {said && <Say tone={said.ok ? "good" : "bad"}>{said.text}</Say>}
      <button onClick={verify}>Verify the chain</button>
    </>
  );
}
