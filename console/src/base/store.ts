// store.ts - a value shared by several components.
import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
  get(): T;
  set(value: T): void;
  listen(fn: () => void): () => void;
}

export function store<T>(first: T): Store<T> {
  const listeners = new Set<() => void>();
  let value = first;
  return {
    get: () => value,
    set(next) {
      value = next;
      listeners.forEach((fn) => fn());
    },
    listen(fn) {
      listeners.add(fn);
      return () => listeners.delete(fn);
    },
  };
}

export function useStore<T>(s: Store<T>): T {
  const [value, set] = useState(s.get);
  useEffect(() => {
    set(() => s.get());
    return s.listen(() => set(() => s.get()));
  }, [s]);
  return value;
}

/** Stored by the browser across visits; `first` when it cannot be read. */
export function keptStore<T>(name: string, first: T): Store<T> {
  let start = first;
  try {
    const text = localStorage.getItem(`waybill-${name}`);
    if (text !== null) start = JSON.parse(text) as T;
  } catch {
    start = first;
  }
  const s = store(start);
  s.listen(() => {
    try {
      localStorage.setItem(`waybill-${name}`, JSON.stringify(s.get()));
    } catch {
      /* no storage: the value lasts for this visit only */
    }
  });
  return s;
}
