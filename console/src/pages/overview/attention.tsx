// attention.tsx - what needs attention, most urgent first.
import type { JSX } from "preact";
import { count, plural } from "../../base/format";
import type { Alert, DeadGroup, Endpoint, Gateway, System } from "../../types";
import { Prose } from "../../ui/prose";
import { Empty, Loading } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago } from "../../ui/time";

interface Props {
  groups: DeadGroup[] | null;
  endpoints: Endpoint[] | null;
  gateways: Gateway[] | null;
  alerts: Alert[] | null;
  systems: System[] | null;
}

const GROUPS_MOST = 6;

interface Item {
  key: string;
  word: string;
  label: string;
  href: string;
  what: JSX.Element;
  since: string | null;
}

function alertItem(a: Alert): Item {
  const what = (
    <>
      <b>{a.object}</b> {a.message}
    </>
  );
  return { key: `a${a.id}`, word: "open", label: "alert", href: "/alerts", what, since: a.raised };
}

function endpointItem(e: Endpoint): Item {
  const why = e.broken ?? e.failing;
  const what = why ? <>{why}</> : <>cannot be reached, gives no clear answer, or refuses our credentials; {plural(e.waiting, "delivery", "deliveries")} wait here</>;
  return {
    key: `e${e.name}`,
    word: "broken",
    label: "failing",
    href: e.system ? `/systems/${encodeURIComponent(e.system)}` : "/systems",
    what: (
      <>
        <b>{e.name}</b> {what}
      </>
    ),
    since: e.since,
  };
}

function gatewayItem(g: Gateway): Item {
  return {
    key: `w${g.name}`,
    word: "broken",
    label: "failing",
    href: "/map",
    what: (
      <>
        <b>{g.name}</b> {g.broken}
      </>
    ),
    since: g.lastReceived,
  };
}

function groupItem(g: DeadGroup): Item {
  return {
    key: `g${g.code}${g.receiver}`,
    word: "dead",
    label: `${count(g.count)} dead`,
    href: `/dead?open=${encodeURIComponent(`${g.code}|${g.receiver ?? ""}`)}`,
    what: (
      <>
        <b>{g.code}</b> for {g.receiver ?? "no receiver"}: <span class="quiet">
          <Prose text={g.message} />
        </span>
      </>
    ),
    since: g.newest,
  };
}

function systemItem(s: System): Item {
  return {
    key: `s${s.name}`,
    word: "held",
    label: `${count(s.waiting)} held`,
    href: `/systems/${encodeURIComponent(s.name)}`,
    what: (
      <>
        <b>{s.title ?? s.name}</b> is held: {s.held.join(", ")}
      </>
    ),
    since: null,
  };
}

export function Attention({ groups, endpoints, gateways, alerts, systems }: Props) {
  if (!groups || !endpoints || !gateways || !alerts || !systems)
    return (
      <section class="card c8">
        <Loading />
      </section>
    );
  const items = [
    ...alerts.map(alertItem),
    ...endpoints.filter((e) => e.broken || e.failing || e.breaker === "open").map(endpointItem),
    ...gateways.filter((g) => g.broken).map(gatewayItem),
    ...groups.slice(0, GROUPS_MOST).map(groupItem),
    ...systems.filter((s) => s.held.length > 0 && s.waiting > 0).map(systemItem),
  ];
  return (
    <section class="card c8">
      <header>
        <h2>Needs attention</h2>
      </header>
      {items.length === 0 && <Empty title="Nothing needs attention">No alerts, no dead letters, no failing gateways or endpoints.</Empty>}
      {items.length > 0 && (
        <table class="attention">
          <tbody>
            {items.map((i) => (
              <tr key={i.key}>
                <td class="word">
                  <a href={i.href}>
                    <State word={i.word} text={i.label} />
                  </a>
                </td>
                <td>{i.what}</td>
                <td class="time quiet">{i.since && <Ago at={i.since} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
