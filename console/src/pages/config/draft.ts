// draft.ts - the configuration being edited; kept for this tab until it is applied or discarded.
import { store } from "../../base/store";

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

draft.listen(() => {
  const now = draft.get();
  if (now) sessionStorage.setItem(NAME, JSON.stringify(now));
  else sessionStorage.removeItem(NAME);
});
