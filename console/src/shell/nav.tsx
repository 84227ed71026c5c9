// nav.tsx - the list of pages on the left.
import { useState } from "preact/hooks";
import * as api from "../api";
import { useEvent } from "../base/events";
import { count } from "../base/format";
import { usePlace } from "../base/router";
import { useQuery } from "../base/use_query";
import { Icon } from "../ui/icon";
import { pageAt, pagesOf, type PageInfo } from "./pages";
import { can, useSession } from "./session";

const EVERY_MS = 30000;

function Entry({ info, here, number }: { info: PageInfo; here: boolean; number: number }) {
  return (
    <a href={`/${info.path}`} aria-current={here ? "page" : undefined} title={`${info.title} (g ${info.key})`}>
      <Icon name={info.icon} />
      <span>{info.title}</span>
      {number > 0 && <b class="count">{number > 999 ? "999+" : count(number)}</b>}
    </a>
  );
}

export function Nav() {
  const session = useSession();
  const { path } = usePlace();
  const here = pageAt(session, path)?.info.path;
  const options = { every: EVERY_MS, skip: !can(session, "see") };
  const dead = useQuery(api.deadGroups, { by: "reason" }, options);
  const alerts = useQuery(api.alerts, { cleared: false }, options);
  const [told, setTold] = useState<number | null>(null);
  useEvent("dead", (data) => setTold((data as { count?: number }).count ?? null));
  useEvent("alert", alerts.reload);
  const numbers: Record<string, number> = {
    dead: told ?? dead.data?.deadGroups.reduce((sum, g) => sum + g.count, 0) ?? 0,
    alerts: alerts.data?.alerts.length ?? 0,
  };
  const pages = pagesOf(session);
  const entry = (p: PageInfo) => <Entry key={p.path} info={p} here={p.path === here} number={numbers[p.path] ?? 0} />;
  return (
    <nav class="nav" aria-label="Pages">
      {pages.filter((p) => !p.low).map(entry)}
      {pages.some((p) => p.low) && <hr />}
      {pages.filter((p) => p.low).map(entry)}
    </nav>
  );
}
