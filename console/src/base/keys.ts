// keys.ts - the keyboard: single keys, and two in a row such as "g d".
import { useLayoutEffect, useRef } from "preact/hooks";

export type Keys = Record<string, (e: KeyboardEvent) => void>;

const PAUSE_MS = 2000;
const stack: { current: Keys }[] = [];
let before = "";
let timer = 0;

const TYPING = "input, textarea, select, [contenteditable], dialog *";
const PRESSED = "a, button, summary, [role]";

/** The key is for what has the focus: a field, a window, or something that Enter presses. */
function isTaken(e: KeyboardEvent): boolean {
  if (e.ctrlKey || e.metaKey || e.altKey) return true;
  return e.target instanceof Element && e.target.matches(e.key === "Enter" ? `${TYPING}, ${PRESSED}` : TYPING);
}

function onKey(e: KeyboardEvent): void {
  if (isTaken(e)) return;
  const two = `${before} ${e.key}`;
  before = e.key;
  clearTimeout(timer);
  timer = window.setTimeout(() => (before = ""), PAUSE_MS);
  for (const { current: keys } of [...stack].reverse()) {
    const fn = keys[two] ?? keys[e.key];
    if (!fn) continue;
    if (keys[two]) before = "";
    e.preventDefault();
    fn(e);
    return;
  }
}

export function startKeys(): void {
  addEventListener("keydown", onKey);
}

/** While the component is mounted; the latest one has priority. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  /* Before it is painted: a user who sees it may press a key. */
  useLayoutEffect(() => {
    stack.push(latest);
    return () => {
      stack.splice(stack.indexOf(latest), 1);
    };
  }, []);
}
