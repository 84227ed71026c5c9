// ask.ts - requests to the node: POST /graphql, credentials, errors.

/** A request and the types of its variables and its answer. */
export interface Query<R, V> {
  text: string;
  /** Only for the compiler. */
  shape?: (vars: V) => R;
}

export function query<R, V = Record<string, never>>(text: string): Query<R, V> {
  return { text };
}

/** An error from the node or the network. */
export class AskError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

interface Answer {
  data?: unknown;
  errors?: { message: string; extensions?: { code?: string } }[];
  error?: { code: string; message: string };
}

const TOKEN = "waybill-token";
const TRIES = 3;
const PAUSE_MS = 1000;
/** A query takes the node 5 seconds at most, plus the step in progress. */
const LIMIT_MS = 30000;
const lostListeners = new Set<() => void>();

/** Called when the node no longer accepts our credentials: the session ended, or there was none. */
export function onLost(fn: () => void): () => void {
  lostListeners.add(fn);
  return () => lostListeners.delete(fn);
}

/** The token of the node, for those who have no user; kept for this tab only. */
export function setToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, token);
}

export function credentials(): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

function unreachable(): AskError {
  return new AskError("unreachable", "The node does not answer. Is it running? Retrying.");
}

async function send(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...credentials() },
      body: JSON.stringify(body),
      cache: "no-store",
      ...(signal ? { signal } : {}),
    });
  } catch (e) {
    if (signal?.aborted) throw e;
    throw unreachable();
  }
}

async function read(response: Response): Promise<Answer> {
  try {
    return (await response.json()) as Answer;
  } catch {
    return {};
  }
}

/** POST to a plain path of the node, such as /login. */
export async function post<R>(path: string, body: unknown): Promise<R> {
  const response = await send(path, body);
  const answer = await read(response);
  if (response.ok) return answer as R;
  throw new AskError(
    answer.error?.code ?? String(response.status),
    answer.error?.message ?? `The node answered ${response.status}.`,
  );
}

/** A mutation with a client id is idempotent, so it is repeated when the answer is lost. */
async function sendAgain(body: { query: string; variables: unknown }, signal?: AbortSignal): Promise<Response> {
  const times = (body.variables as { client?: string | null }).client == null ? 1 : TRIES;
  for (let i = 1; ; i++)
    try {
      return await send("/graphql", body, signal);
    } catch (e) {
      if (i >= times || signal?.aborted) throw e;
      await new Promise((done) => setTimeout(done, i * PAUSE_MS));
    }
}

export async function ask<R, V>(q: Query<R, V>, vars: V, signal?: AbortSignal): Promise<R> {
  const response = await sendAgain({ query: q.text, variables: vars }, signal);
  const answer = await read(response);
  if (response.status === 401) {
    lostListeners.forEach((fn) => fn());
    throw new AskError("unauthorized", "You are not logged in.");
  }
  const first = answer.errors?.[0];
  if (first) throw new AskError(first.extensions?.code ?? "refused", first.message);
  if (!response.ok || answer.data == null)
    throw new AskError(
      answer.error?.code ?? String(response.status),
      answer.error?.message ?? `The node answered ${response.status}.`,
    );
  return answer.data as R;
}

/** As `ask`, with a time limit, for what a page shows.  Mutations, and checks of the whole store, have none. */
export async function askSoon<R, V>(q: Query<R, V>, vars: V, signal?: AbortSignal): Promise<R> {
  const limit = AbortSignal.timeout(LIMIT_MS);
  try {
    return await ask(q, vars, signal ? AbortSignal.any([signal, limit]) : limit);
  } catch (e) {
    throw limit.aborted && !signal?.aborted ? unreachable() : e;
  }
}

export function messageOf(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}
