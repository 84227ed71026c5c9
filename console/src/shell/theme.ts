// theme.ts - light or dark: as the system says, or as somebody chose here.
import { keptStore } from "../base/store";

export type Theme = "system" | "light" | "dark";

export const theme = keptStore<Theme>("theme", "system");

function apply(): void {
  const mode = theme.get();
  if (mode === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = mode;
}

export function startTheme(): void {
  apply();
  theme.listen(apply);
}

export function turnTheme(): void {
  const dark = theme.get() === "dark" || (theme.get() === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  theme.set(dark ? "light" : "dark");
}
