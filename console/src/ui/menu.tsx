// menu.tsx - a button with a list of actions below it.
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon";

export interface MenuItem {
  label: string;
  about?: string;
  run: () => void;
}

export function Menu({ label, items, left, small }: { label: string; items: MenuItem[]; left?: boolean; small?: boolean }) {
  const [open, setOpen] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (e: Event) => {
      if (!ref.current?.contains(e.target as Node)) setOpen(false);
    };
    const escape = (e: KeyboardEvent) => {
      if (e.key === "Escape") setOpen(false);
    };
    addEventListener("pointerdown", outside);
    addEventListener("keydown", escape);
    ref.current?.querySelector<HTMLElement>("div > button")?.focus();
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("keydown", escape);
    };
  }, [open]);
  const choose = (item: MenuItem) => {
    setOpen(false);
    item.run();
  };
  return (
    <div class={left ? "menu left" : "menu"} ref={ref}>
      <button class={small ? "small" : ""} aria-haspopup="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
        {label} <Icon name="down" />
      </button>
      {open && (
        <div role="menu">
          {items.map((item) => (
            <button role="menuitem" key={item.label} onClick={() => choose(item)}>
              <span>
                {item.label}
                {item.about && <small>{item.about}</small>}
              </span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
