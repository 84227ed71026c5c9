// router.ts - the address bar as state: a path, and a query that keeps filters over a reload.
import { useEffect, useState } from "preact/hooks";

export interface Place {
  /** As it stands there: parts of it are decoded where they mean something. */
  path: string;
  query: URLSearchParams;
}

const listeners = new Set<() => void>();

export function place(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** A part of a path; what cannot be decoded stays as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function tell(): void {
  listeners.forEach((fn) => fn());
}

/** Go to an address of the console.  `replace` leaves no step for the back button. */
export function go(to: string, replace = false): void {
  if (to === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", to);
  else {
    history.pushState(null, "", to);
    scrollTo(0, 0);
  }
  tell();
}

/** The same path with another query; empty values are left out. */
export function withQuery(changes: Record<string, string | null>, base = place()): string {
  const query = new URLSearchParams(base.query);
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  const text = query.toString();
  return base.path + (text === "" ? "" : `?${text}`);
}

export function usePlace(): Place {
  const [now, set] = useState(place);
  useEffect(() => {
    const fn = () => set(place());
    listeners.add(fn);
    return () => {
      listeners.delete(fn);
    };
  }, []);
  return now;
}

/** Links are plain <a href>: clicks on those of the console stay in the page. */
function onClick(e: MouseEvent): void {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const link = (e.target as Element).closest("a");
  if (!link || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (link.dataset["plain"] !== undefined) return;
  e.preventDefault();
  go(link.pathname + link.search);
}

export function startRouter(): void {
  addEventListener("popstate", tell);
  addEventListener("click", onClick);
}
