// help.tsx - the keys that do something, behind "?".
import { useState } from "preact/hooks";
import { useKeys } from "../base/keys";
import { go } from "../base/router";
import { Dialog } from "../ui/dialog";
import { pagesOf } from "./pages";
import { useSession } from "./session";
import { turnTheme } from "./theme";

const MORE: [string, string][] = [
  ["/", "find documents"],
  ["j k", "next and previous row"],
  ["Enter", "open the row"],
  ["x", "select the row"],
  ["n p", "older and newer page of a list"],
  ["t", "light or dark"],
  ["?", "this list"],
];

export function Help() {
  const [open, setOpen] = useState(false);
  const pages = pagesOf(useSession());
  useKeys({
    "?": () => setOpen(true),
    t: turnTheme,
    ...Object.fromEntries(pages.map((p) => [`g ${p.key}`, () => go(`/${p.path}`)])),
  });
  if (!open) return null;
  return (
    <Dialog title="Keys" onClose={() => setOpen(false)}>
      <div class="body">
        <dl class="facts">
          {[...pages.map((p): [string, string] => [`g ${p.key}`, p.title]), ...MORE].map(([keys, what]) => (
            <>
              <dt>
                {keys.split(" ").map((k) => (
                  <>
                    <kbd>{k}</kbd>{" "}
                  </>
                ))}
              </dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
      </div>
    </Dialog>
  );
}
