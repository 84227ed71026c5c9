// toast.tsx - short notices that disappear by themselves.
import { messageOf } from "../base/ask";
import { store, useStore } from "../base/store";
import { Say } from "./say";

interface Toast {
  id: number;
  tone: "good" | "bad";
  text: string;
}

const STAYS_MS = 6000;
const toasts = store<Toast[]>([]);
let number = 0;

export function tell(text: string, tone: "good" | "bad" = "good"): void {
  const id = ++number;
  toasts.set([...toasts.get(), { id, tone, text }]);
  setTimeout(() => toasts.set(toasts.get().filter((t) => t.id !== id)), STAYS_MS);
}

/** Runs `fn` and shows its error, if any. */
export async function attempt(fn: () => Promise<void>): Promise<void> {
  try {
    await fn();
  } catch (e) {
    tell(messageOf(e), "bad");
  }
}

export function Toasts() {
  return (
    <div class="toasts" aria-live="polite">
      {useStore(toasts).map((t) => (
        <Say tone={t.tone} key={t.id}>
          {t.text}
        </Say>
      ))}
    </div>
  );
}
