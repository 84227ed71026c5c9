// draft.ts - the configuration being edited; kept for this tab until it is applied or discarded.
import { store } from "../../base/store";
import type { ConfigFileInput } from "../../types";

export interface Draft {
  /** The live version it began with. */
  base: number;
  text: string;
}

const NAME = "waybill-draft";

function read(): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(NAME) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

export const draft = store<Draft | null>(read());

/** Files that go along with it.  They may be large: they last as long as the page. */
export const draftFiles = store<ConfigFileInput[]>([]);

export function discard(): void {
  draft.set(null);
  draftFiles.set([]);
}

draft.listen(() => {
  const now = draft.get();
  if (now) sessionStorage.setItem(NAME, JSON.stringify(now));
  else sessionStorage.removeItem(NAME);
});
