// types.ts - links as the page gets them.

export interface Pass {
  id: string;
  job: string;
  mode: string;
  repair: boolean;
  dryRun: boolean;
  result: string;
  began: string;
  ended: string | null;
  segments: number;
  rowsSource: number;
  rowsDest: number;
  missing: number;
  extra: number;
  different: number;
  moving: number;
  repaired: number;
  skipped: number;
  message: string | null;
  by: string | null;
}

export interface Table {
  link: string;
  table: string;
  job: string;
  stands: string;
  reason: string | null;
  message: string | null;
  remedy: string | null;
  since: string | null;
  current: string | null;
  lag: number | null;
  backlog: number;
  loadRows: number;
  loadTotal: number;
  written: number;
  removed: number;
  bytes: number;
  setAside: number;
  conflicts: number;
  jobState: string;
  error: string | null;
  lastPass: Pass | null;
}

export interface TableDetail extends Table {
  explanation: string[];
}

export interface Link {
  name: string;
  from: string | null;
  to: string | null;
  tables: Table[];
}

export interface Plan {
  digest: string;
  fits: boolean;
  tables: { table: string; fits: boolean; installed: boolean; problems: string[]; columns: string | null }[];
  statements: { database: string; text: string; purpose: string }[];
}

export interface SetAside {
  id: string;
  key: string;
  values: string[] | null;
  kind: string;
  why: string;
  first: string;
  due: string;
  tries: number;
  discarded: boolean;
  peer: string | null;
}

export interface DiffRow {
  key: string;
  found: string | null;
  state: string | null;
  source: boolean;
  dest: boolean;
  same: boolean;
  cells: { column: string; source: string | null; dest: string | null; same: boolean }[];
}

export interface Diff {
  columns: string[];
  keyColumns: number;
  items: DiffRow[];
  next: string | null;
  pass: { id: string } | null;
}
