// theme.ts - light or dark: the system's setting, or the user's choice.
import { keptStore, store } from "../base/store";

type Theme = "system" | "light" | "dark";

const chosen = keptStore<Theme>("theme", "system");
const system = matchMedia("(prefers-color-scheme: dark)");

/** The current theme, for components that draw on a canvas. */
export const look = store<"light" | "dark">("light");

function apply(): void {
  const mode = chosen.get();
  if (mode === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = mode;
  look.set(mode === "dark" || (mode === "system" && system.matches) ? "dark" : "light");
}

export function startTheme(): void {
  apply();
  chosen.listen(apply);
  system.addEventListener("change", apply);
}

export function turnTheme(): void {
  chosen.set(look.get() === "dark" ? "light" : "dark");
}
