// card.tsx - a card of facts: a title, and words with what they stand for.
import type { ComponentChildren } from "preact";

/** Half of a row of `columns`; the children are <dt> and <dd>. */
export function FactsCard({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card c6">
      <header>
        <h2>{title}</h2>
      </header>
      <div class="body">
        <dl class="facts">{children}</dl>
      </div>
    </section>
  );
}
