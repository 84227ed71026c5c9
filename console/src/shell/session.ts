// session.ts - the current user, their rights, and the node.
import { about, me as whoami } from "../api";
import { AskError, askSoon, messageOf, post, setToken } from "../base/ask";
import { store, useStore } from "../base/store";
import type { About, Me } from "../types";

export interface Session {
  me: Me;
  about: About;
}

/** undefined: not known yet; null: nobody is logged in. */
export const session = store<Session | null | undefined>(undefined);

export async function openSession(): Promise<void> {
  const [{ me }, node] = await Promise.all([askSoon(whoami, {}), askSoon(about, {})]);
  session.set({ me, about: node.about });
}

/** At the start: perhaps a cookie or a token of this tab is good. */
export async function findSession(): Promise<void> {
  try {
    await openSession();
  } catch (e) {
    if (e instanceof AskError && e.code === "unauthorized") session.set(null);
    else throw e;
  }
}

export async function refreshAbout(): Promise<void> {
  const now = session.get();
  if (!now) return;
  const node = await askSoon(about, {});
  session.set({ ...now, about: node.about });
}

export async function logIn(user: string, password: string): Promise<void> {
  setToken(null);
  await post("/login", { user, password });
  await openSession();
}

export async function logInWithToken(token: string): Promise<void> {
  setToken(token);
  try {
    await openSession();
  } catch (e) {
    setToken(null);
    if (e instanceof AskError && e.code === "unauthorized")
      throw new AskError("unauthorized", "The node does not know this token. The token is in the file `token` of its data folder.");
    throw e;
  }
}

/** A token is forgotten in any case. A session must be ended by the node: if that fails its cookie remains valid for the
 * next person at this browser, so report the failure and stay logged in. */
export async function logOut(): Promise<void> {
  const wasUser = session.get()?.me.kind === "user";
  setToken(null);
  try {
    await post("/logout", {});
  } catch (e) {
    if (wasUser) throw new AskError("logout", `You are still logged in: the log-out failed. ${messageOf(e)}`);
  }
  session.set(null);
}

/** The current session; pages are shown only after login. */
export function useSession(): Session {
  return useStore(session)!;
}

export function can(s: Session, right: string): boolean {
  return right === "any" || s.me.rights.includes(right);
}

export function useCan(right: string): boolean {
  return can(useSession(), right);
}
