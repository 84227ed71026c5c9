// say.tsx - message boxes: errors, empty results, loading.
import type { ComponentChildren } from "preact";
import type { AskError } from "../base/ask";
import { Icon } from "./icon";

type Tone = "bad" | "wait" | "good" | "plain";

export function Say({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  const icon = tone === "good" ? "good" : tone === "plain" ? "info" : "warn";
  return (
    <div class={`say ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

const REMEDIES: Record<string, string> = {
  forbidden: "Ask an administrator for a role that has this right.",
  unreachable: "",
  unavailable: "Try again in a moment.",
  limit: "Use a narrower filter or a shorter time.",
  internal: "See the log of the node.",
};

/** An error of the node: what happened, and what to do. */
export function Failed({ error, again }: { error: AskError | null; again?: () => void }) {
  if (!error) return null;
  return (
    <Say tone="bad">
      {error.message} {REMEDIES[error.code] ?? ""}{" "}
      {again && (
        <button class="small" onClick={again}>
          Try again
        </button>
      )}
    </Say>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Loading() {
  return <div class="loading" role="status" aria-label="Loading" />;
}
