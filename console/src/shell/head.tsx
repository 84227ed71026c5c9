// head.tsx - the header of every page: location, pauses, search, account.
import { useRef, useState } from "preact/hooks";
import { useKeys } from "../base/keys";
import { go } from "../base/router";
import { addressOf, readText } from "../pages/documents/filter";
import { Brand, Icon } from "../ui/icon";
import { attempt } from "../ui/toast";
import { Account } from "./account";
import { logOut, useSession } from "./session";
import { turnTheme } from "./theme";

function Location() {
  const { about } = useSession();
  return (
    <div class="location">
      <span class="strong">{about.location ?? about.host}</span>
      {about.environment && <span class={`environment ${about.colour}`}>{about.environment}</span>}
    </div>
  );
}

function Paused() {
  const { about } = useSession();
  if (about.pauses.length === 0) return null;
  const reasons = about.pauses.map((p) => `${p.what}: ${p.reason ?? "no reason given"} (${p.by})`).join("\n");
  return (
    <div class="paused" role="status" title={reasons}>
      <Icon name="pause" /> {about.pauses.map((p) => p.what).join(", ")} paused
    </div>
  );
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{13,}$/i;

function Find() {
  const input = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => input.current?.focus() });
  const submit = (e: Event) => {
    e.preventDefault();
    const text = input.current!.value.trim();
    if (text === "") return;
    go(ID.test(text) ? `/documents/${text}` : addressOf(readText(text)));
    input.current!.value = "";
    input.current!.blur();
  };
  return (
    <form class="find" role="search" onSubmit={submit}>
      <input ref={input} aria-label="Find documents" placeholder="Find: id, file name, sender:acme, po=4711" spellcheck={false} />
      <kbd>/</kbd>
    </form>
  );
}

export function Head() {
  const { me } = useSession();
  const [open, setOpen] = useState(false);
  return (
    <header class="head">
      <a class="brand" href="/" aria-label="Waybill, overview">
        <Brand />
        <span>Waybill</span>
      </a>
      <Location />
      <Paused />
      <Find />
      <div class="whoami">
        <button class="bare" title="Your account" onClick={() => setOpen(true)}>
          {me.name}
        </button>
        <button class="bare" aria-label="Light or dark" title="Light or dark" onClick={turnTheme}>
          <Icon name="theme" />
        </button>
        <button class="bare" aria-label="Log out" title="Log out" onClick={() => void attempt(logOut)}>
          <Icon name="out" />
        </button>
      </div>
      {open && <Account onClose={() => setOpen(false)} />}
    </header>
  );
}
