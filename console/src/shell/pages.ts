// pages.ts - the pages: where they are, what they need, which keys lead there.
import type { ComponentType } from "preact";
import { DeadPage } from "../pages/dead/page";
import { DocumentPage } from "../pages/document/page";
import { DocumentsPage } from "../pages/documents/page";
import { OverviewPage } from "../pages/overview/page";
import type { IconName } from "../ui/icon";
import { can, type Session } from "./session";

export interface PageInfo {
  /** Of its address: "" is the start. */
  path: string;
  title: string;
  icon: IconName;
  /** After g. */
  key: string;
  right: string;
  /** What the node must know. */
  needs: string;
  /** `rest` is what follows the path of the page. */
  page: ComponentType<{ rest: string }>;
  /** Below the line: for those who run the node. */
  low?: boolean;
}

export const PAGES: PageInfo[] = [
  { path: "", title: "Overview", icon: "overview", key: "o", right: "see", needs: "Query.series", page: OverviewPage },
  { path: "documents", title: "Documents", icon: "documents", key: "d", right: "see", needs: "Query.documents", page: DocumentsPage },
  { path: "dead", title: "Dead letters", icon: "dead", key: "l", right: "see", needs: "Query.deadGroups", page: DeadPage },
];

export function pagesOf(s: Session): PageInfo[] {
  return PAGES.filter((p) => can(s, p.right) && s.fields.has(p.needs));
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
