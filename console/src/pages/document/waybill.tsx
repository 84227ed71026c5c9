// waybill.tsx - the properties of a document: sender, receiver, type, and more.
import type { ComponentChildren } from "preact";
import { size } from "../../base/format";
import { addressOf } from "../documents/filter";
import type { DocumentDetail, Relative } from "../../types";
import { Copy } from "../../ui/copy";
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

function Relatives({ name, list, next }: { name: string; list: Relative[]; next: string | null }) {
  if (list.length === 0) return null;
  return (
    <Fact name={name}>
      {list.map((r) => (
        <div key={r.id}>
          <RelativeLink to={r} />
        </div>
      ))}
      {next && <span class="quiet">and more</span>}
    </Fact>
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
          {d.parent && (
            <Fact name="Part of">
              <RelativeLink to={d.parent} />
            </Fact>
          )}
          {d.editOf && (
            <Fact name="Edit of">
              <RelativeLink to={d.editOf} />
            </Fact>
          )}
          {d.batch && (
            <Fact name="Batch">
              <RelativeLink to={d.batch} />
            </Fact>
          )}
          <Relatives name="Derived" list={d.children.items} next={d.children.next} />
          <Relatives name="Members" list={d.members.items} next={d.members.next} />
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
