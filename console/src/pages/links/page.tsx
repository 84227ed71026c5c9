// page.tsx - Links: tables that are kept the same in two databases; how they stand, and one of them.
import { useEvent } from "../../base/events";
import { count, took } from "../../base/format";
import { decoded } from "../../base/router";
import { useQuery } from "../../base/use_query";
import { useCan } from "../../shell/session";
import { Empty, Failed, Loading } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago } from "../../ui/time";
import { TableActions } from "./actions";
import * as api from "./api";
import { Loaded, LinkTableDetail } from "./detail";
import { PlanCard } from "./plan";
import type { Link, Table } from "./types";

const EVERY_MS = 5000;

const addressOf = (link: string, table?: string) => `/links/${encodeURIComponent(link)}${table === undefined ? "" : `/${encodeURIComponent(table)}`}`;

export function LinksPage({ rest }: { rest: string }) {
  const [link = "", table = ""] = rest.split("/").map(decoded);
  if (link === "") return <AllLinks />;
  return table === "" ? <OneLink name={link} /> : <OneTable link={link} name={table} />;
}

function AllLinks() {
  const { data, error, loading, reload } = useQuery(api.links, {}, { every: EVERY_MS });
  useEvent("job", reload);
  return (
    <>
      <div class="title">
        <h1>Links</h1>
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && data.links.length === 0 && (
        <section class="card">
          <Empty title="No links">
            Tables that are kept the same in two databases are under `links` in the <a href="/config">configuration</a>.
          </Empty>
        </section>
      )}
      {data?.links.map((l) => (
        <LinkCard key={l.name} link={l} />
      ))}
    </>
  );
}

function LinkCard({ link: l }: { link: Link }) {
  return (
    <section class="card">
      <header>
        <h2>
          <a href={addressOf(l.name)}>{l.name}</a>
        </h2>
        <span class="quiet">{l.from && `${l.from} to ${l.to}`}</span>
      </header>
      <Tables tables={l.tables} />
    </section>
  );
}

function OneLink({ name }: { name: string }) {
  const { data, error, loading, reload } = useQuery(api.link, { name }, { every: EVERY_MS });
  const mayConfigure = useCan("configure");
  const link = data?.link;
  useEvent("job", reload);
  return (
    <>
      <div class="title">
        <h1>
          <a href="/links">Links</a> / {name}
        </h1>
        <span class="quiet">{link?.from && `${link.from} to ${link.to}`}</span>
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {link && (
        <section class="card">
          <Tables tables={link.tables} />
        </section>
      )}
      {link && mayConfigure && <PlanCard link={name} onChanged={reload} />}
      {data && !link && <Empty title="Link not found">No version has it, or your roles do not cover all systems.</Empty>}
    </>
  );
}

function OneTable({ link, name }: { link: string; name: string }) {
  const { data, error, loading, reload } = useQuery(api.link, { name: link }, { every: EVERY_MS });
  const table = data?.link?.tables.find((t) => t.table === name);
  useEvent("job", reload);
  return (
    <>
      <div class="title">
        <h1>
          <a href="/links">Links</a> / <a href={addressOf(link)}>{link}</a> / {name} {table && <State word={table.stands} />}
        </h1>
        <span class="room" />
        {table && <TableActions table={table} onChanged={reload} />}
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {table && <LinkTableDetail table={table} onChanged={reload} />}
      {data && !table && <Empty title="Table not found">No version has it, or your roles do not cover all systems.</Empty>}
    </>
  );
}

function Verified({ table: t }: { table: Table }) {
  if (!t.lastPass) return <span class="quiet">never</span>;
  return (
    <>
      <State word={t.lastPass.result} /> {t.lastPass.ended && <Ago at={t.lastPass.ended} />}
    </>
  );
}

function Tables({ tables }: { tables: Table[] }) {
  return (
    <div class="wide" tabIndex={0}>
      <table class="links">
        <thead>
          <tr>
            <th>Table</th>
            <th>State</th>
            <th class="num">Lag</th>
            <th class="num">Backlog</th>
            <th class="num">Written</th>
            <th class="num">Set aside</th>
            <th>Verified</th>
            <th class="rest">Message</th>
          </tr>
        </thead>
        <tbody>
          {tables.map((t) => (
            <tr key={t.job}>
              <td class="word">
                <a href={addressOf(t.link, t.table)}>{t.table}</a>
              </td>
              <td>
                <State word={t.stands} />
              </td>
              <td class="num">{t.lag !== null && took(t.lag)}</td>
              <td class="num">{count(t.backlog)}</td>
              <td class="num">{t.stands === "loading" ? <Loaded rows={t.loadRows} total={t.loadTotal} /> : count(t.written)}</td>
              <td class="num">{count(t.setAside)}</td>
              <td class="word">
                <Verified table={t} />
              </td>
              <td class="long">
                {t.reason && <strong>{t.reason} </strong>}
                {t.message ?? t.error}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
