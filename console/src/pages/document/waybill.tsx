// waybill.tsx - the properties of a document: sender, receiver, type, and more.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import * as api from "../../api";
import { ask, AskError } from "../../base/ask";
import { size } from "../../base/format";
import { addressOf } from "../documents/filter";
import type { ChildKind, DocumentDetail, Page, Part, Relative } from "../../types";
import { Copy } from "../../ui/copy";
import { Failed } from "../../ui/say";
import { State } from "../../ui/state";
import { Time } from "../../ui/time";

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Found({ name, value }: { name: string; value: string | null }) {
  return value === null ? <span class="quiet">none</span> : <a href={addressOf([{ name, value }])}>{value}</a>;
}

export function RelativeLink({ to }: { to: Relative }) {
  return (
    <>
      <a class="mono" href={`/documents/${to.id}`}>
        {to.name ?? to.id}
      </a>{" "}
      <State word={to.state} />
    </>
  );
}

function Ancestor({ name, to }: { name: string; to: Relative | null }) {
  if (!to) return null;
  return (
    <Fact name={name}>
      <RelativeLink to={to} />
    </Fact>
  );
}

interface RelativesProps {
  name: string;
  /** Whose relatives these are. */
  of: string;
  kind: ChildKind;
  first: Page<Relative>;
  /** What tells one from the others. */
  label?: (r: Relative) => string | null;
}

/** The first page of them comes with the document, the others when they are asked for. */
function Relatives({ name, of, kind, first, label }: RelativesProps) {
  const [more, setMore] = useState<Relative[]>([]);
  const [next, setNext] = useState<string | null | undefined>(undefined);
  const [error, setError] = useState<AskError | null>(null);
  const after = next === undefined ? first.next : next;
  if (first.items.length === 0 && !after) return null;
  const ids = new Set(first.items.map((r) => r.id));
  const shown = [...first.items, ...more.filter((r) => !ids.has(r.id))];
  const load = () => {
    setError(null);
    ask(api.children, { id: of, kind, after: after! }).then(
      ({ document: d }) => {
        setMore([...more, ...(d?.children.items ?? [])]);
        setNext(d?.children.next ?? null);
      },
      (e: unknown) => setError(e instanceof AskError ? e : new AskError("failed", String(e))),
    );
  };
  return (
    <Fact name={name}>
      <ul class={`relatives ${kind}`}>
        {shown.map((r) => (
          <li key={r.id}>
            {label && <span class="quiet">{label(r)} </span>}
            <RelativeLink to={r} />
          </li>
        ))}
      </ul>
      <Failed error={error} again={load} />
      {after && (
        <>
          <button class="more" onClick={load}>
            Show more
          </button>{" "}
          <a href={addressOf([{ name: "parent", value: of }])}>Search them</a>
        </>
      )}
    </Fact>
  );
}

function partText(p: Part): string {
  return p.of === null ? `${p.number}` : `${p.number} of ${p.of}`;
}

function Family({ document: d }: { document: DocumentDetail }) {
  const made = d.parts && `Parts (${d.parts.made}${d.parts.total === null ? " so far" : d.parts.total === d.parts.made ? "" : ` of ${d.parts.total}`})`;
  return (
    <>
      <Ancestor name="Part of" to={d.parent} />
      {d.part && <Fact name="Part">{partText(d.part)}</Fact>}
      <Ancestor name="Copy of" to={d.copyOf} />
      <Ancestor name="Answer to" to={d.answerOf} />
      <Ancestor name="Edit of" to={d.editOf} />
      <Ancestor name="Batch" to={d.batch} />
      <Relatives name={made ?? "Parts"} of={d.id} kind="part" first={d.pieces} label={(r) => r.part && partText(r.part)} />
      <Relatives name="Copies" of={d.id} kind="copy" first={d.copies} label={(r) => r.receiver} />
      <Relatives name="Answers" of={d.id} kind="answer" first={d.answers} />
      <Relatives name="Edits" of={d.id} kind="edit" first={d.edits} />
      <Relatives name="Members" of={d.id} kind="member" first={d.members} />
    </>
  );
}

export function Waybill({ document: d }: { document: DocumentDetail }) {
  return (
    <section class="card">
      <header>
        <h2>Waybill</h2>
      </header>
      <div class="body">
        <dl class="facts">
          <Fact name="Sender">
            <Found name="sender" value={d.sender} />
          </Fact>
          <Fact name="Receiver">
            <Found name="receiver" value={d.receiver} />
          </Fact>
          <Fact name="Type">
            <Found name="type" value={d.type} />
          </Fact>
          <Fact name="Gateway">
            <Found name="gateway" value={d.gateway} />
          </Fact>
          <Fact name="Route">{d.route ?? <span class="quiet">none yet</span>}</Fact>
          {d.name && <Fact name="File name">{d.name}</Fact>}
          {d.contentType && <Fact name="Content type">{d.contentType}</Fact>}
          <Fact name="Size">{size(d.size)}</Fact>
          <Fact name="Received">
            <Time at={d.received} />
          </Fact>
          <Fact name="Changed">
            <Time at={d.updated} />
          </Fact>
          {d.caller && <Fact name="Key">{d.caller}</Fact>}
          <Fact name="Configuration">version {d.config}</Fact>
          {d.again > 0 && <Fact name="Sent again">{d.again} times, under new ids</Fact>}
          {d.attributes.map((a) => (
            <Fact key={a.name} name={a.name}>
              <a href={addressOf([{ name: "where", value: `${a.name}=${a.value}` }])}>{a.value}</a>
            </Fact>
          ))}
          <Family key={d.id} document={d} />
          {d.kept && (
            <Fact name="Kept">
              {d.kept.reason} <span class="quiet">({d.kept.by})</span>
            </Fact>
          )}
          <Fact name="Digest">
            <Copy text={d.sha256} brief />
          </Fact>
        </dl>
      </div>
    </section>
  );
}
