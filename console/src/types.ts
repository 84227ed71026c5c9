// types.ts - the shapes of src/admin/api/schema.graphql that the console shows.

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface Me {
  name: string;
  kind: string;
  rights: string[];
  systems: string[] | null;
}

export interface Pause {
  what: string;
  reason: string | null;
  by: string;
  since: string;
  everywhere: boolean;
}

export interface About {
  version: string;
  node: string;
  host: string;
  area: string;
  location: string | null;
  environment: string | null;
  colour: string;
  store: string;
  started: string;
  now: string;
  config: number;
  pauses: Pause[];
}

export interface Problem {
  line: number;
  column: number;
  message: string;
  hint: string | null;
}

export interface CodeAndMessage {
  code: string;
  message: string;
}

export interface Attribute {
  name: string;
  value: string;
}

export interface DocumentRow {
  id: string;
  gateway: string;
  sender: string | null;
  receiver: string | null;
  type: string | null;
  state: string;
  size: number;
  name: string | null;
  received: string;
  updated: string;
  error: CodeAndMessage | null;
}

export interface ScanPage extends Page<DocumentRow> {
  looked: number;
  bytes: number;
  skipped: number;
}

export interface Delivery {
  id: string | null;
  endpoint: string;
  system: string | null;
  state: string;
  held: string[];
  heldWhy: string | null;
  blockedBy: string | null;
  attempts: number;
  due: string | null;
  status: number | null;
  code: string | null;
  message: string | null;
  name: string | null;
  updated: string;
  answer: Answer | null;
}

/** What a receiver answered, as far as it was kept. */
export interface Answer {
  time: string;
  attempt: number | null;
  status: number | null;
  contentType: string | null;
  size: number;
  kept: number;
}

export interface TimelineEntry {
  time: string;
  node: string | null;
  stage: string;
  what: string | null;
  outcome: string;
  duration: number | null;
  attempt: number | null;
  status: number | null;
  config: number | null;
  message: string | null;
}

export interface Stage {
  stage: number;
  name: string;
  time: string;
  stored: boolean;
  size: number | null;
  sha256: string | null;
}

export interface Relative {
  id: string;
  state: string;
  received: string;
  updated: string;
  name: string | null;
  type: string | null;
  receiver: string | null;
  part: Part | null;
}

/** How a document comes from another one. */
export type ChildKind = "edit" | "member" | "copy" | "answer" | "part";

export interface Part {
  number: number;
  of: number | null;
}

export interface DocumentDetail extends DocumentRow {
  sha256: string;
  contentType: string | null;
  config: number;
  caller: string | null;
  route: string | null;
  again: number;
  attributes: Attribute[];
  kept: { reason: string; by: string; made: string } | null;
  deliveries: Delivery[];
  timeline: TimelineEntry[];
  stages: Stage[];
  editOf: Relative | null;
  batch: Relative | null;
  parent: Relative | null;
  copyOf: Relative | null;
  answerOf: Relative | null;
  part: Part | null;
  /** How many parts were made of it; null: none, or the caller does not see all documents. */
  parts: { made: number; total: number | null } | null;
  edits: Page<Relative>;
  members: Page<Relative>;
  copies: Page<Relative>;
  answers: Page<Relative>;
  pieces: Page<Relative>;
}

export interface Payload {
  stage: number | null;
  /** The version with which it was computed again; null: as it was stored. */
  computedWith: number | null;
  size: number;
  sha256: string;
  from: number;
  bytes: number;
  text: string;
  truncated: boolean;
  isText: boolean;
}

export interface DocumentFilter {
  state?: string;
  gateway?: string;
  sender?: string;
  receiver?: string;
  type?: string;
  name?: string;
  error?: string;
  where?: Attribute[];
  key?: string;
  minSize?: number;
  maxSize?: number;
  parent?: string;
  since?: string;
  until?: string;
}

export interface DeadFilter {
  receiver?: string;
  type?: string;
  error?: string;
}

export interface DeadLetter {
  document: string;
  delivery: string | null;
  code: string;
  message: string;
  died: string;
  gateway: string;
  sender: string | null;
  receiver: string | null;
  type: string | null;
  endpoint: string | null;
}

export interface DeadGroup {
  key: string | null;
  code: string;
  count: number;
  oldest: string;
  newest: string;
  message: string;
  receiver: string | null;
  sample: string;
}

export interface OperateResult {
  id: string;
  result: string;
  message: string;
}

export interface Bulk {
  count: number;
  done: number;
  skipped: number;
  begin: string;
  next: string | null;
}

export interface MadeDocument {
  result: string;
  message: string;
  id: string | null;
  repeated: boolean;
}

export interface Endpoint {
  name: string;
  kind: string;
  system: string | null;
  breaker: string;
  since: string | null;
  until: string | null;
  pause: string | null;
  active: number;
  waiting: number;
  broken: string | null;
  /** What nodes report of it. */
  failing: string | null;
}

export interface ProbeStep {
  step: string;
  /** passed, failed or left out */
  result: string;
  text: string;
  remedy: string | null;
}

export interface Probe {
  name: string;
  /** gateway or endpoint */
  role: string;
  kind: string;
  steps: ProbeStep[];
}

export interface Gateway {
  name: string;
  title: string | null;
  kind: string;
  auth: string | null;
  path: string | null;
  every: string | null;
  accepted: number;
  refused: number;
  lastReceived: string | null;
  broken: string | null;
  line: number;
}

export interface Route {
  name: string;
  title: string | null;
  sender: string[];
  receiver: string[];
  type: string[];
  steps: string[];
  endpoints: string[];
  broken: string | null;
  line: number;
}

export interface FlowEdge {
  from: string;
  to: string;
  perMinute: number;
  trouble: string | null;
}

export type SeriesName = "accepted" | "delivered" | "dead" | "retrying" | "waiting";

export interface Series {
  name: SeriesName;
  from: string;
  step: number;
  values: (number | null)[];
}

export interface Hold {
  id: string;
  system: string;
  state: string;
  from: string;
  until: string | null;
  reason: string;
  owner: string;
  made: string;
  ended: string | null;
  endedBy: string | null;
  waiting: number;
  sending: number;
  drained: string | null;
}

export interface PlacedHold {
  hold: Hold;
  sending: string[];
  unconfirmed: string[];
}

export interface System {
  name: string;
  title: string | null;
  ids: string[];
  limits: { concurrency: number; rate: string | null };
  window: { texts: string[]; open: boolean; changes: string | null; broken: string | null } | null;
  order: string;
  inDoubt: string;
  holds: Hold[];
  line: number;
  held: string[];
  waiting: number;
  sending: number;
  retrying: number;
  perHour: number | null;
  drained: string | null;
  windowFits: boolean | null;
}

export interface JobRow {
  name: string;
  title: string | null;
  kind: string;
  area: string | null;
  state: string;
  next: string | null;
  /** Microseconds. */
  lag: number | null;
  broken: string | null;
  stop: { what: string; by: string | null; reason: string | null; since: string; until: string | null } | null;
  last: { outcome: string; message: string | null; node: string | null; ended: string } | null;
  lastSuccess: string | null;
}

export interface JobKept {
  number: number;
  stored: string;
  text: string;
}

export interface Job extends JobRow {
  schedule: string | null;
  zone: string | null;
  log: string | null;
  parallel: number | null;
  timeout: number | null;
  planned: boolean;
  nominal: string | null;
  nextTimes: string[];
  asked: string | null;
  gone: string | null;
  runs: number;
  leftOut: number;
  failures: number;
  tries: number;
  version: number;
  open: { run: number | null; node: string | null; nominal: string | null; began: string | null; until: string | null; outside: boolean }[];
  stateNumber: number;
  states: JobKept[];
}

export interface JobRun {
  job: string;
  run: number;
  node: string;
  nominal: string;
  due: string;
  began: string;
  ended: string;
  lag: number;
  duration: number;
  outcome: string;
  message: string | null;
  steps: string | null;
  stale: string | null;
}

export interface AlertNotice {
  kind: string;
  to: string;
  state: string;
  made: string;
  attempts: number;
  sent: string | null;
  next: string | null;
  error: string | null;
}

export interface Alert {
  id: string;
  code: string;
  object: string;
  message: string;
  state: string;
  count: number;
  raised: string;
  last: string;
  cleared: string | null;
  ended: string | null;
  notices: AlertNotice[];
}

export interface Node {
  id: string;
  name: string;
  host: string;
  pid: number;
  area: string;
  state: string;
  started: string;
  self: boolean;
  pauses: Pause[];
}

export interface ConfigVersion {
  version: number;
  made: string;
  by: string;
  note: string | null;
  sha256: string;
  live: boolean;
}

/** A file that steps name, stored with a version. */
export interface ConfigFile {
  path: string;
  size: number;
  sha256: string;
}

/** One that goes along with a configuration. */
export interface ConfigFileInput {
  path: string;
  base64: string;
}

/** Something of the live version that a configuration removes. */
export interface ConfigLoss {
  kind: string;
  name: string;
  /** What it leaves behind. */
  left: string | null;
}

export interface ConfigCheck {
  problems: Problem[];
  warnings: Problem[];
  losses: ConfigLoss[];
  /** What confirms that things in use are removed. */
  confirm: string | null;
}

export interface ConfigResult extends ConfigCheck {
  version: { version: number } | null;
}

export interface ConnectorOption {
  name: string;
  type: string;
  required: boolean;
  default: string | null;
  about: string | null;
  form: string | null;
  values: string[];
  list: boolean;
  oneOf: boolean;
}

export interface Connector {
  role: string;
  kind: string;
  summary: string;
  runs: boolean;
  options: ConnectorOption[];
}

export interface RehearsedWay {
  sender: string | null;
  receiver: string | null;
  type: string | null;
  route: string | null;
  deliveries: { endpoint: string }[];
  error: CodeAndMessage | null;
}

export interface Trial {
  problems: Problem[];
  end: "bytes" | "parts" | "none" | "dead" | null;
  count: number;
  notes: string[];
  duration: number | null;
  memory: number | null;
  error: { code: string; message: string } | null;
  results: {
    sender: string | null;
    receiver: string | null;
    type: string | null;
    size: number;
    text: string;
    truncated: boolean;
    isText: boolean;
  }[];
}

export interface RehearsedPast {
  problems: Problem[];
  looked: number;
  left: number;
  differences: {
    id: string | null;
    gateway: string;
    name: string | null;
    received: string | null;
    kinds: string[];
    was: RehearsedWay | null;
    would: RehearsedWay | null;
  }[];
  next: string | null;
}

export interface Health {
  reasons: string[];
  troubles: string[];
  diskFree: number;
  diskReserve: number;
  queueCheck: string | null;
  certificates: { of: string; ends: string | null; error: string | null }[];
}

export interface Mishap {
  code: string;
  object: string;
  message: string;
  count: number;
  first: string;
  last: string;
}

export interface Retention {
  state: string;
  documents: number;
  kept: number;
  gone: number;
  freedBytes: number;
  trouble: string | null;
}

export interface Backup {
  folder: string;
  state: string;
  stage: string;
  done: number;
  total: number;
  started: string;
  ended: string | null;
  bytes: number;
  error: string | null;
}

export interface DoctorReport {
  ok: boolean;
  checks: { name: string; ok: boolean; message: string; count: number }[];
}

export interface Key {
  id: string;
  gateway: string;
  title: string | null;
  systems: string[];
  from: string[];
  made: string;
  expires: string | null;
  used: string | null;
}

export interface Secret {
  name: string;
  fingerprint: string;
  made: string;
  by: string;
}

export interface User {
  name: string;
  title: string | null;
  roles: string[];
  disabled: boolean;
  password: boolean;
  issuer: string | null;
  made: string;
  lastLogin: string | null;
}

export interface UserLink {
  user: string;
  link: string;
  expires: string;
}

export interface UserSession {
  id: string;
  user: string;
  made: string;
  seen: string;
  expires: string;
  address: string;
  agent: string;
  current: boolean;
}

export interface Role {
  name: string;
  title: string | null;
  rights: string[];
  systems: string[] | null;
  builtIn: boolean;
}

export interface AdminKey {
  id: string;
  title: string;
  roles: string[];
  made: string;
  by: string;
  expires: string | null;
  used: string | null;
}

export interface AuditFilter {
  actor?: string;
  action?: string;
  object?: string;
  since?: string;
  until?: string;
}

export interface AuditLine {
  seq: number;
  time: string;
  actor: string;
  kind: string;
  address: string | null;
  action: string;
  object: string | null;
  before: string | null;
  after: string | null;
  reason: string | null;
}

export interface AuditCheck {
  ok: boolean;
  lines: number;
  broken: number | null;
  message: string | null;
}
