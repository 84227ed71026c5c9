// state.tsx - a system in one word: held and why, failing, or open.
import type { System } from "../../types";
import { State } from "../../ui/state";

export function SystemState({ system: s }: { system: System }) {
  if (s.held.length > 0) return <State word="held" text={s.held.join(", ")} />;
  if (s.retrying > 0) return <State word="retrying" />;
  return <State word="ok" text="open" />;
}
