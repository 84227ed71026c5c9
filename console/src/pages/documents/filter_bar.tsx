// filter_bar.tsx - the filter as chips, and as text.
import { useRef, useState } from "preact/hooks";
import { keptStore, useStore } from "../../base/store";
import { WordDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { Menu } from "../../ui/menu";
import { tell } from "../../ui/toast";
import { FIELDS, joined, readText, STATES, type Term, writeText } from "./filter";

interface Props {
  terms: Term[];
  onChange: (terms: Term[]) => void;
}

interface Saved {
  name: string;
  text: string;
}

const saved = keptStore<Saved[]>("searches", []);

function Chip({ term, onRemove }: { term: Term; onRemove: () => void }) {
  const label = term.name === "where" ? term.value.replace("=", " = ") : `${term.name}: ${term.value.replace(/_/g, " ")}`;
  return (
    <span class="chip">
      {label}
      <button aria-label={`Remove ${label}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
    </span>
  );
}

function SavedSearches({ terms, onChange }: Props) {
  const searches = useStore(saved);
  const text = writeText(terms);
  const known = searches.find((s) => s.text === text);
  const [naming, setNaming] = useState(false);
  const save = (name: string) => {
    saved.set([...searches.filter((s) => s.name !== name), { name, text }]);
    tell(`Saved in this browser as "${name}".`);
  };
  const items = searches.map((s) => ({ label: s.name, about: s.text, run: () => onChange(readText(s.text)) }));
  if (terms.length > 0 && !known) items.push({ label: "Save this search…", about: text, run: () => setNaming(true) });
  if (known) items.push({ label: `Delete "${known.name}"`, about: "", run: () => saved.set(searches.filter((s) => s !== known)) });
  if (items.length === 0) return null;
  return (
    <>
      <Menu label="Searches" items={items} />
      {naming && <WordDialog title="Save this search" label="Name" word={text} action="Save" onClose={() => setNaming(false)} onWord={save} />}
    </>
  );
}

export function FilterBar({ terms, onChange }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [asText, setAsText] = useState(false);
  const submit = (e: Event) => {
    e.preventDefault();
    const added = readText(input.current!.value);
    onChange(joined(asText ? added : [...terms, ...added]));
    if (!asText) input.current!.value = "";
  };
  const state = terms.find((t) => t.name === "state")?.value ?? "";
  const setState = (value: string) => onChange([...terms.filter((t) => t.name !== "state"), ...(value ? [{ name: "state", value }] : [])]);
  return (
    <div class="filter">
      <form class="row" onSubmit={submit}>
        <select aria-label="State" value={state} onChange={(e) => setState(e.currentTarget.value)}>
          <option value="">any state</option>
          {STATES.map((s) => (
            <option key={s} value={s}>
              {s.replace("_", " ")}
            </option>
          ))}
        </select>
        <input
          key={String(asText)}
          ref={input}
          class="grow"
          aria-label="Filter"
          list="filter-words"
          spellcheck={false}
          defaultValue={asText ? writeText(terms) : ""}
          placeholder="sender:acme  receiver:hub  since:24h  po=4711  ORD_2026*"
        />
        <datalist id="filter-words">
          {Object.entries(FIELDS).map(([name, example]) => (
            <option key={name} value={name === "where" ? example : `${name}:${example}`} />
          ))}
        </datalist>
        <button>{asText ? "Use" : "Add"}</button>
        <button type="button" class="bare" aria-pressed={asText} onClick={() => setAsText(!asText)}>
          {asText ? "As chips" : "As text"}
        </button>
        <SavedSearches terms={terms} onChange={onChange} />
      </form>
      {!asText && terms.length > 0 && (
        <div class="chips">
          {terms.map((t) => (
            <Chip key={t.name + t.value} term={t} onRemove={() => onChange(terms.filter((u) => u !== t))} />
          ))}
          <button class="bare small" onClick={() => onChange([])}>
            Clear all
          </button>
        </div>
      )}
    </div>
  );
}
