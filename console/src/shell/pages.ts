// pages.ts - the pages: where they are, what they need, which keys lead there.
import type { ComponentType } from "preact";
import { later } from "../base/later";
import { AlertsPage } from "../pages/alerts/page";
import { AuditPage } from "../pages/audit/page";
import { ConfigPage } from "../pages/config/page";
import { DeadPage } from "../pages/dead/page";
import { DocumentPage } from "../pages/document/page";
import { DocumentsPage } from "../pages/documents/page";
import { HealthPage } from "../pages/health/page";
import { OverviewPage } from "../pages/overview/page";
import { SystemsPage } from "../pages/systems/page";
import type { IconName } from "../ui/icon";
import { can, type Session } from "./session";

export interface PageProps {
  rest: string;
}

export interface PageInfo {
  /** Of its address: "" is the start. */
  path: string;
  title: string;
  icon: IconName;
  /** After g. */
  key: string;
  right: string;
  /** `rest` is what follows the path of the page. */
  page: ComponentType<PageProps>;
  /** Below the line: for those who run the node. */
  low?: boolean;
}

/* With the library that lays graphs out. */
const MapPage = later<PageProps>(() => import("../pages/map/page").then((m) => m.MapPage));

/* For few people. */
const UsersPage = later<PageProps>(() => import("../pages/users/page").then((m) => m.UsersPage));
const JobsPage = later<PageProps>(() => import("../pages/jobs/page").then((m) => m.JobsPage));
const LinksPage = later<PageProps>(() => import("../pages/links/page").then((m) => m.LinksPage));

export const PAGES: PageInfo[] = [
  { path: "", title: "Overview", icon: "overview", key: "o", right: "see", page: OverviewPage },
  { path: "map", title: "Map", icon: "map", key: "m", right: "see", page: MapPage },
  { path: "documents", title: "Documents", icon: "documents", key: "d", right: "see", page: DocumentsPage },
  { path: "dead", title: "Dead letters", icon: "dead", key: "l", right: "see", page: DeadPage },
  { path: "systems", title: "Systems", icon: "systems", key: "s", right: "see", page: SystemsPage },
  { path: "jobs", title: "Jobs", icon: "jobs", key: "j", right: "see", page: JobsPage },
  { path: "links", title: "Links", icon: "links", key: "r", right: "see", page: LinksPage },
  { path: "alerts", title: "Alerts", icon: "alerts", key: "a", right: "see", page: AlertsPage },
  { path: "config", title: "Configuration", icon: "config", key: "c", right: "configure", page: ConfigPage, low: true },
  { path: "health", title: "Health", icon: "health", key: "h", right: "operate", page: HealthPage, low: true },
  { path: "users", title: "Users and roles", icon: "users", key: "u", right: "users", page: UsersPage, low: true },
  { path: "audit", title: "Audit", icon: "audit", key: "t", right: "audit", page: AuditPage, low: true },
];

export function pagesOf(s: Session): PageInfo[] {
  return PAGES.filter((p) => can(s, p.right));
}

/** The page of an address, and the rest of that address. */
export function pageAt(s: Session, path: string): { info: PageInfo; rest: string } | null {
  const [, first = "", ...more] = path.split("/");
  const rest = more.join("/");
  const info = pagesOf(s).find((p) => p.path === first);
  if (!info) return null;
  if (first === "documents" && rest !== "") return { info: { ...info, page: DocumentPage }, rest };
  return { info, rest };
}
