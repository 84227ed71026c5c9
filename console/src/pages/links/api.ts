// api.ts - every GraphQL request of the page; checked as those of src/api.ts.
import { query } from "../../base/ask";
import type * as G from "../../types";
import type * as T from "./types";

const PASS = `id job mode repair dryRun result began ended segments rowsSource rowsDest missing extra different moving repaired skipped message by`;
const TABLE = `link table job stands reason message remedy since current lag backlog loadRows loadTotal written removed bytes setAside conflicts jobState error lastPass { ${PASS} }`;

export const links = query<{ links: T.Link[] }, Record<string, never>>(`query {
  links { name from to tables { ${TABLE} } }
}`);

export const link = query<{ link: { name: string; from: string | null; to: string | null; tables: T.TableDetail[] } | null }, { name: string }>(`query ($name: String!) {
  link(name: $name) { name from to tables { ${TABLE} explanation } }
}`);

export const linkPlan = query<{ linkPlan: T.Plan }, { link: string; removal: boolean }>(`query ($link: String!, $removal: Boolean) {
  linkPlan(link: $link, removal: $removal) {
    digest fits tables { table fits installed problems columns } statements { database text purpose }
  }
}`);

export const linkPasses = query<{ linkPasses: G.Page<T.Pass> }, { link: string; table: string }>(`query ($link: String!, $table: String!) {
  linkPasses(link: $link, table: $table, first: 20) { items { ${PASS} } next }
}`);

export const linkQuarantine = query<{ linkQuarantine: G.Page<T.SetAside> }, { link: string; table: string; after: string | null }>(`query ($link: String!, $table: String!, $after: String) {
  linkQuarantine(link: $link, table: $table, first: 50, after: $after) { items { id key values kind why first due tries discarded peer } next }
}`);

export const linkDiff = query<{ linkDiff: T.Diff }, { link: string; table: string; pass: string | null; key: string[] | null; after: string | null }>(`query ($link: String!, $table: String!, $pass: ID, $key: [String!], $after: String) {
  linkDiff(link: $link, table: $table, pass: $pass, key: $key, after: $after) {
    columns keyColumns items { key found state source dest same cells { column source dest same } } next pass { id }
  }
}`);

interface Change {
  link: string;
  digest: string;
  reason: string | null;
  client: string;
}

export const linkInstall = query<{ run: { done: number } }, Change>(`mutation ($link: String!, $digest: String!, $reason: String, $client: ID) {
  run: linkInstall(link: $link, digest: $digest, reason: $reason, client: $client) { done }
}`);

export const linkRemove = query<{ run: { done: number } }, Change>(`mutation ($link: String!, $digest: String!, $reason: String, $client: ID) {
  run: linkRemove(link: $link, digest: $digest, reason: $reason, client: $client) { done }
}`);

interface Order {
  link: string;
  table: string;
  reason: string | null;
  client: string;
}

export const linkResync = query<{ table: { stands: string } }, Order>(`mutation ($link: String!, $table: String!, $reason: String, $client: ID) {
  table: linkResync(link: $link, table: $table, reason: $reason, client: $client) { stands }
}`);

export const linkGoOn = query<{ table: { stands: string } }, Order>(`mutation ($link: String!, $table: String!, $reason: String, $client: ID) {
  table: linkGoOn(link: $link, table: $table, reason: $reason, client: $client) { stands }
}`);

export const linkVerify = query<{ tables: { stands: string }[] }, Order & { mode: string; repair: boolean; dryRun: boolean }>(`mutation ($link: String!, $table: String, $mode: LinkVerifyMode, $repair: Boolean, $dryRun: Boolean, $reason: String, $client: ID) {
  tables: linkVerify(link: $link, table: $table, mode: $mode, repair: $repair, dryRun: $dryRun, reason: $reason, client: $client) { stands }
}`);

export const linkQuarantineRetry = query<{ was: boolean }, { id: string; client: string }>(`mutation ($id: ID!, $client: ID) {
  was: linkQuarantineRetry(id: $id, client: $client)
}`);

export const linkQuarantineDiscard = query<{ was: boolean }, { id: string; reason: string; client: string }>(`mutation ($id: ID!, $reason: String, $client: ID) {
  was: linkQuarantineDiscard(id: $id, reason: $reason, client: $client)
}`);
