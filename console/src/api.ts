// api.ts - the GraphQL requests of the console, with their types; those of a page that is loaded when it is opened are beside
// it (pages/*/api.ts).
//
// The texts are checked against src/admin/api/schema.graphql by tests/console/units.test.mjs.
import { query } from "./base/ask";
import type * as T from "./types";

const ROW = `id gateway sender receiver type state size name received updated error { code message }`;
const RELATIVE = `id state received updated name type receiver part { number of }`;
const HOLD = `id system state from until reason owner made ended endedBy waiting sending drained`;
const SYSTEM = `name title ids limits { concurrency rate } window { texts open changes broken } order inDoubt
  holds { ${HOLD} } line held waiting sending retrying perHour drained windowFits`;
const PAUSES = `pauses { what reason by since everywhere }`;
const PROBLEM = `line column message hint`;
const RESULT = `id result message`;
const BULK = `count done skipped begin next`;
const VERSION = `version made by note sha256 live`;

type Acted<Name extends string> = Record<Name, T.OperateResult[]>;
type Ids = { ids: string[]; client: string };
interface BulkVars<F> {
  filter: F;
  dry: boolean;
  after: string | null;
  client: string | null;
  /** Only for changes that keep one. */
  reason?: string | null;
}

/** A new client id for a mutation: repeated after a lost answer, it is executed once. */
export function clientId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

/* ---- the node ------------------------------------------------------------------------------- */

export const about = query<{ about: T.About }>(`query {
  about { version node host area location environment colour store started now config ${PAUSES} }
}`);

export const me = query<{ me: T.Me }>(`query {
  me { name kind rights systems }
}`);

export const nodes = query<{ nodes: T.Node[] }>(`query {
  nodes { id name host pid area state started self ${PAUSES} }
}`);

export const series = query<{ series: T.Series[] }, { since: string; step: number }>(`query ($since: Time, $step: Int) {
  series(since: $since, step: $step) { name from step values }
}`);

export const health = query<{ health: T.Health; mishaps: T.Mishap[]; retention: T.Retention; backup: T.Backup | null }>(`query {
  health { reasons troubles diskFree diskReserve queueCheck certificates { of ends error } }
  mishaps(first: 20) { code object message count first last }
  retention { state documents kept gone freedBytes trouble }
  backup { folder state stage done total started ended bytes error }
}`);

export const doctor = query<{ doctor: T.DoctorReport }>(`query {
  doctor { ok checks { name ok message count } }
}`);

export const nodePause = query<{ nodePause: T.Node[] }, { what: string[]; reason: string; client: string }>(`mutation ($what: [PauseWhat!], $reason: String, $client: ID) {
  nodePause(what: $what, reason: $reason, client: $client) { id }
}`);

export const nodeResume = query<{ nodeResume: T.Node[] }, { client: string }>(`mutation ($client: ID) {
  nodeResume(client: $client) { id }
}`);

/* ---- documents ------------------------------------------------------------------------------ */

export const documents = query<
  { documents: T.Page<T.DocumentRow> },
  { filter: T.DocumentFilter; first: number; after: string | null }
>(`query ($filter: DocumentFilter, $first: Int, $after: String) {
  documents(filter: $filter, first: $first, after: $after) { items { ${ROW} } next }
}`);

export const scan = query<
  { scan: T.ScanPage },
  { filter: T.DocumentFilter; text: string; after: string | null }
>(`query ($filter: DocumentFilter, $text: String!, $after: String) {
  scan(filter: $filter, text: $text, after: $after) { items { ${ROW} } looked bytes skipped next }
}`);

export const document = query<{ document: T.DocumentDetail | null }, { id: string }>(`query ($id: ID!) {
  document(id: $id) {
    ${ROW} sha256 contentType config caller route again
    attributes { name value } kept { reason by made }
    deliveries { id endpoint system state held heldWhy blockedBy attempts due status code message name updated
      answer { time attempt status contentType size kept } }
    timeline { time node stage what outcome duration attempt status config message }
    stages { stage name time stored size sha256 }
    editOf { ${RELATIVE} } batch { ${RELATIVE} } parent { ${RELATIVE} } copyOf { ${RELATIVE} } answerOf { ${RELATIVE} }
    part { number of } parts { made total }
    edits(first: 20) { items { ${RELATIVE} } next } members(first: 20) { items { ${RELATIVE} } next }
    copies: children(kind: copy, first: 20) { items { ${RELATIVE} } next }
    answers: children(kind: answer, first: 20) { items { ${RELATIVE} } next }
    pieces: children(kind: part, first: 20) { items { ${RELATIVE} } next }
  }
}`);

export const children = query<{ document: { children: T.Page<T.Relative> } | null }, { id: string; kind: T.ChildKind; after: string }>(`query ($id: ID!, $kind: ChildKind, $after: String) {
  document(id: $id) { children(kind: $kind, first: 50, after: $after) { items { ${RELATIVE} } next } }
}`);

export const payload = query<
  { document: { payload: T.Payload | null } | null },
  { id: string; stage: number; from: number; length: number }
>(`query ($id: ID!, $stage: Int, $from: Long, $length: Int) {
  document(id: $id) {
    payload(stage: $stage, as: base64, from: $from, length: $length) { stage computedWith size sha256 from bytes text truncated isText }
  }
}`);

export const answer = query<{ document: { answer: T.Payload | null } | null }, { id: string; delivery: string }>(`query ($id: ID!, $delivery: String!) {
  document(id: $id) {
    answer(delivery: $delivery, as: base64) { stage computedWith size sha256 from bytes text truncated isText }
  }
}`);

export const editDiff = query<{ document: { editDiff: string | null } | null }, { id: string }>(`query ($id: ID!) {
  document(id: $id) { editDiff }
}`);

export const retry = query<Acted<"retry">, Ids & { from: string; again: boolean }>(`mutation ($ids: [ID!]!, $from: RetryFrom, $again: Boolean, $client: ID) {
  retry(ids: $ids, from: $from, again: $again, client: $client) { ${RESULT} }
}`);

export const cancel = query<Acted<"cancel">, Ids>(`mutation ($ids: [ID!]!, $client: ID) {
  cancel(ids: $ids, client: $client) { ${RESULT} }
}`);

export const discard = query<Acted<"discard">, Ids>(`mutation ($ids: [ID!]!, $client: ID) {
  discard(ids: $ids, client: $client) { ${RESULT} }
}`);

export const resolve = query<Acted<"resolve">, Ids & { as: string; endpoint: string | null; reason: string | null }>(`mutation ($ids: [ID!]!, $as: Resolution!, $endpoint: String, $reason: String, $client: ID) {
  resolve(ids: $ids, as: $as, endpoint: $endpoint, reason: $reason, client: $client) { ${RESULT} }
}`);

export const keep = query<Acted<"keep">, Ids & { reason: string }>(`mutation ($ids: [ID!]!, $reason: String!, $client: ID) {
  keep(ids: $ids, reason: $reason, client: $client) { ${RESULT} }
}`);

export const unkeep = query<Acted<"unkeep">, Ids>(`mutation ($ids: [ID!]!, $client: ID) {
  unkeep(ids: $ids, client: $client) { ${RESULT} }
}`);

export const documentsRetry = query<{ bulk: T.Bulk }, BulkVars<T.DocumentFilter>>(`mutation ($filter: DocumentFilter, $dry: Boolean, $after: String, $client: ID) {
  bulk: documentsRetry(filter: $filter, dry: $dry, after: $after, client: $client) { ${BULK} }
}`);

export const documentsCancel = query<{ bulk: T.Bulk }, BulkVars<T.DocumentFilter>>(`mutation ($filter: DocumentFilter, $dry: Boolean, $after: String, $client: ID) {
  bulk: documentsCancel(filter: $filter, dry: $dry, after: $after, client: $client) { ${BULK} }
}`);

export const documentsDiscard = query<{ bulk: T.Bulk }, BulkVars<T.DocumentFilter>>(`mutation ($filter: DocumentFilter, $dry: Boolean, $after: String, $client: ID) {
  bulk: documentsDiscard(filter: $filter, dry: $dry, after: $after, client: $client) { ${BULK} }
}`);

const documentsResolve = (as: "delivered" | "resend") =>
  query<{ bulk: T.Bulk }, BulkVars<T.DocumentFilter>>(`mutation ($filter: DocumentFilter, $reason: String, $dry: Boolean, $after: String, $client: ID) {
  bulk: documentsResolve(filter: $filter, as: ${as}, reason: $reason, dry: $dry, after: $after, client: $client) { ${BULK} }
}`);
export const documentsDelivered = documentsResolve("delivered");
export const documentsResend = documentsResolve("resend");

export const documentEdit = query<
  { documentEdit: T.MadeDocument },
  { id: string; payload: string; as: string; from: string; metadata: object | null; key: string }
>(`mutation ($id: ID!, $payload: String!, $as: EditAs, $from: EditFrom, $metadata: DocumentMetadata, $key: String) {
  documentEdit(id: $id, payload: $payload, as: $as, from: $from, metadata: $metadata, key: $key) { result message id repeated }
}`);

/* ---- dead letters --------------------------------------------------------------------------- */

export const deadGroups = query<{ deadGroups: T.DeadGroup[] }, { by: string }>(`query ($by: DeadBy) {
  deadGroups(by: $by) { key code count oldest newest message receiver sample }
}`);

export const deadLetters = query<
  { deadLetters: T.Page<T.DeadLetter> },
  { filter: T.DeadFilter; first: number; after: string | null }
>(`query ($filter: DeadFilter, $first: Int, $after: String) {
  deadLetters(filter: $filter, first: $first, after: $after) {
    items { document delivery code message died gateway sender receiver type endpoint } next
  }
}`);

export const deadRetry = query<{ bulk: T.Bulk }, BulkVars<T.DeadFilter>>(`mutation ($filter: DeadFilter, $dry: Boolean, $after: String, $client: ID) {
  bulk: deadRetry(filter: $filter, dry: $dry, after: $after, client: $client) { ${BULK} }
}`);

export const deadDiscard = query<{ bulk: T.Bulk }, BulkVars<T.DeadFilter>>(`mutation ($filter: DeadFilter, $dry: Boolean, $after: String, $client: ID) {
  bulk: deadDiscard(filter: $filter, dry: $dry, after: $after, client: $client) { ${BULK} }
}`);

/* ---- the flow ------------------------------------------------------------------------------- */

export const endpoints = query<{ endpoints: T.Endpoint[] }>(`query {
  endpoints { name kind system breaker since until pause active waiting broken failing }
}`);

export const probe = query<{ probe: T.Probe[] }, { name: string; client: string }>(`mutation ($name: String!, $client: ID) {
  probe(name: $name, client: $client) { name role kind steps { step result text remedy } }
}`);

export const flow = query<{ flow: T.FlowEdge[] }>(`query {
  flow { from to perMinute trouble }
}`);

export const gateways = query<{ gateways: T.Gateway[] }>(`query {
  gateways { name title kind auth path every accepted refused lastReceived broken line }
}`);

export const parts = query<{ gateways: T.Gateway[]; routes: T.Route[]; endpoints: T.Endpoint[]; systems: T.Page<T.System>; jobs: T.Page<T.JobRow> }>(`query {
  gateways { name title kind auth path every accepted refused lastReceived broken line }
  routes { name title sender receiver type steps endpoints broken line }
  endpoints { name kind system breaker since until pause active waiting broken failing }
  systems(first: 200) { items { name title held waiting } }
  jobs(first: 100) { items { name title kind } next }
}`);

export const systems = query<{ systems: T.Page<T.System> }, { after: string | null }>(`query ($after: String) {
  systems(first: 100, after: $after) { items { ${SYSTEM} } next }
}`);

export const system = query<{ system: T.System | null }, { name: string }>(`query ($name: String!) {
  system(name: $name) { ${SYSTEM} }
}`);

export const holds = query<{ holds: T.Hold[] }, { ended: boolean }>(`query ($ended: Boolean) {
  holds(ended: $ended) { ${HOLD} }
}`);

export const holdAdd = query<
  { holdAdd: T.PlacedHold },
  { system: string; from: string | null; until: string | null; reason: string; owner: string | null; client: string }
>(`mutation ($system: String!, $from: Time, $until: Time, $reason: String!, $owner: String, $client: ID) {
  holdAdd(system: $system, from: $from, until: $until, reason: $reason, owner: $owner, client: $client) {
    hold { ${HOLD} } sending unconfirmed
  }
}`);

export const holdEnd = query<{ holdEnd: T.Hold | null }, { id: string; client: string }>(`mutation ($id: ID!, $client: ID) {
  holdEnd(id: $id, client: $client) { id }
}`);

export const alerts = query<{ alerts: T.Alert[] }, { cleared: boolean }>(`query ($cleared: Boolean) {
  alerts(cleared: $cleared) {
    id code object message state count raised last cleared ended
    notices { kind to state made attempts sent next error }
  }
}`);

/* ---- configuration -------------------------------------------------------------------------- */

export const config = query<{ config: (T.ConfigVersion & { text: string; files: T.ConfigFile[] }) | null }, { version: number | null }>(`query ($version: Int) {
  config(version: $version) { ${VERSION} text files { path size sha256 } }
}`);

export const configHistory = query<{ configHistory: T.ConfigVersion[] }>(`query {
  configHistory(first: 100) { ${VERSION} }
}`);

export const configDiff = query<
  { configDiff: string },
  { from: number | null; to: number | null; text: string | null; files?: T.ConfigFileInput[] }
>(`query ($from: Int, $to: Int, $text: String, $files: [ConfigFileInput!]) {
  configDiff(from: $from, to: $to, text: $text, files: $files)
}`);

const CHECKED = `problems { ${PROBLEM} } warnings { ${PROBLEM} } losses { kind name left } confirm`;

/** The file that is the truth instead of the store. */
export const configFile = query<{ about: { configFile: string | null } }>(`query {
  about { configFile }
}`);

export const configCheck = query<
  { configCheck: T.ConfigCheck },
  { text: string; files?: T.ConfigFileInput[]; filesOf?: number }
>(`query ($text: String!, $files: [ConfigFileInput!], $filesOf: Int) {
  configCheck(text: $text, files: $files, filesOf: $filesOf) { ${CHECKED} }
}`);

export const configApply = query<
  { configApply: T.ConfigResult },
  { text: string; files?: T.ConfigFileInput[]; note: string | null; confirm: string | null; client: string }
>(`mutation ($text: String!, $files: [ConfigFileInput!], $note: String, $confirm: String, $client: ID) {
  configApply(text: $text, files: $files, note: $note, confirm: $confirm, client: $client) { version { version } ${CHECKED} }
}`);

export const configRevert = query<
  { configRevert: T.ConfigResult },
  { version: number; confirm: string | null; client: string }
>(`mutation ($version: Int!, $confirm: String, $client: ID) {
  configRevert(version: $version, confirm: $confirm, client: $client) { version { version } ${CHECKED} }
}`);

export const connectors = query<{ connectors: T.Connector[] }>(`query {
  connectors {
    role kind summary runs options { name type required default about form values list oneOf }
  }
}`);

export const rehearsePast = query<
  { rehearsePast: T.RehearsedPast },
  { text: string; files?: T.ConfigFileInput[]; since: string; after: string | null }
>(`query ($text: String!, $files: [ConfigFileInput!], $since: Time, $after: String) {
  rehearsePast(text: $text, files: $files, since: $since, against: live, most: 1000, after: $after) {
    problems { ${PROBLEM} } looked left next
    differences {
      id gateway name received kinds
      was { sender receiver type route deliveries { endpoint } error { code message } }
      would { sender receiver type route deliveries { endpoint } error { code message } }
    }
  }
}`);

export const tryStep = query<{ tryStep: T.Trial | null }, { document: string; stage: number; step: string }>(`query ($document: ID!, $stage: Int, $step: String!) {
  tryStep(document: $document, stage: $stage, step: $step) {
    problems { ${PROBLEM} } end count notes duration memory error { code message }
    results { sender receiver type size text truncated isText }
  }
}`);

export const keys = query<{ keys: T.Key[] }>(`query {
  keys { id gateway title systems from made expires used }
}`);

export const keyAdd = query<
  { keyAdd: { id: string; key: string } },
  { gateway: string; title: string | null; systems: string[] | null; client: string }
>(`mutation ($gateway: String!, $title: String, $systems: [String!], $client: ID) {
  keyAdd(gateway: $gateway, title: $title, systems: $systems, client: $client) { id key }
}`);

export const keyRemove = query<{ keyRemove: boolean }, { id: string; client: string }>(`mutation ($id: ID!, $client: ID) {
  keyRemove(id: $id, client: $client)
}`);

export const secrets = query<{ secrets: T.Secret[] }>(`query {
  secrets { name fingerprint made by }
}`);

export const secretAdd = query<{ secretAdd: { name: string } }, { name: string; value: string; client: string }>(`mutation ($name: String!, $value: String!, $client: ID) {
  secretAdd(name: $name, value: $value, client: $client) { name }
}`);

export const secretRemove = query<{ secretRemove: boolean }, { name: string; client: string }>(`mutation ($name: String!, $client: ID) {
  secretRemove(name: $name, client: $client)
}`);

/* ---- people --------------------------------------------------------------------------------- */

export const users = query<{ users: T.User[] }>(`query {
  users { name title roles disabled password issuer made lastLogin }
}`);

export const userAdd = query<{ userAdd: T.UserLink }, { name: string; title: string | null; roles: string[] }>(`mutation ($name: String!, $title: String, $roles: [String!]!) {
  userAdd(name: $name, title: $title, roles: $roles) { user link expires }
}`);

export const userChange = query<{ userChange: { name: string } }, { name: string; title?: string; roles?: string[]; disabled?: boolean }>(`mutation ($name: String!, $title: String, $roles: [String!], $disabled: Boolean) {
  userChange(name: $name, title: $title, roles: $roles, disabled: $disabled) { name }
}`);

export const userRemove = query<{ userRemove: boolean }, { name: string }>(`mutation ($name: String!) {
  userRemove(name: $name)
}`);

export const userLink = query<{ userLink: T.UserLink }, { name: string }>(`mutation ($name: String!) {
  userLink(name: $name) { user link expires }
}`);

export const passwordChange = query<{ passwordChange: boolean }, { old: string; new: string }>(`mutation ($old: String!, $new: String!) {
  passwordChange(old: $old, new: $new)
}`);

export const sessions = query<{ sessions: T.UserSession[] }>(`query {
  sessions { id user made seen expires address agent current }
}`);

export const sessionEnd = query<{ sessionEnd: boolean }, { id: string }>(`mutation ($id: ID!) {
  sessionEnd(id: $id)
}`);

export const roles = query<{ roles: T.Role[] }>(`query {
  roles { name title rights systems builtIn }
}`);

export const roleAdd = query<{ roleAdd: { name: string } }, { name: string; title: string | null; rights: string[]; systems: string[] | null }>(`mutation ($name: String!, $title: String, $rights: [Right!]!, $systems: [String!]) {
  roleAdd(name: $name, title: $title, rights: $rights, systems: $systems) { name }
}`);

export const roleRemove = query<{ roleRemove: boolean }, { name: string }>(`mutation ($name: String!) {
  roleRemove(name: $name)
}`);

export const adminKeys = query<{ adminKeys: T.AdminKey[] }>(`query {
  adminKeys { id title roles made by expires used }
}`);

export const adminKeyAdd = query<{ adminKeyAdd: { id: string; key: string } }, { title: string; roles: string[]; expires: string | null }>(`mutation ($title: String!, $roles: [String!]!, $expires: Time) {
  adminKeyAdd(title: $title, roles: $roles, expires: $expires) { id key }
}`);

export const adminKeyRemove = query<{ adminKeyRemove: boolean }, { id: string }>(`mutation ($id: ID!) {
  adminKeyRemove(id: $id)
}`);

export const audit = query<{ audit: T.Page<T.AuditLine> }, { filter: T.AuditFilter; first: number; after: string | null }>(`query ($filter: AuditFilter, $first: Int, $after: String) {
  audit(filter: $filter, first: $first, after: $after) {
    items { seq time actor kind address action object before after reason } next
  }
}`);

export const auditVerify = query<{ auditVerify: T.AuditCheck }>(`query {
  auditVerify { ok lines broken message }
}`);
