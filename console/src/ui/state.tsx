// state.tsx - a state as a word with a shape and a colour; each of the three alone identifies it.
import type { JSX } from "preact";

type Meaning = "good" | "busy" | "wait" | "held" | "doubt" | "bad" | "over";

const fill = { fill: "currentColor" };
const line = { fill: "none", stroke: "currentColor", "stroke-width": 1.8, "stroke-linecap": "round" as const };

const SHAPES: Record<string, () => JSX.Element> = {
  disc: () => <circle cx="6" cy="6" r="4.5" {...fill} />,
  ring: () => <circle cx="6" cy="6" r="4" {...line} />,
  half: () => (
    <>
      <circle cx="6" cy="6" r="4" {...line} />
      <path d="M6 2a4 4 0 0 1 0 8z" {...fill} />
    </>
  ),
  turn: () => <path d="M10 6a4 4 0 1 1-1.2-2.9M10 1v2.6H7.4" {...line} />,
  bars: () => <path d="M4 2v8M8 2v8" {...line} stroke-width="2.4" />,
  diamond: () => <path d="M6 .8L11.2 6 6 11.2.8 6z" {...fill} />,
  cross: () => <path d="M2.5 2.5l7 7M9.5 2.5l-7 7" {...line} stroke-width="2.4" />,
  slash: () => (
    <>
      <circle cx="6" cy="6" r="4" {...line} />
      <path d="M3.3 8.7l5.4-5.4" {...line} />
    </>
  ),
  triangle: () => <path d="M6 1l5.5 9.8H.5z" {...fill} />,
  square: () => <path d="M2 2h8v8H2z" {...fill} />,
};

const WORDS: Record<string, [Meaning, keyof typeof SHAPES & string]> = {
  delivered: ["good", "disc"],
  done: ["good", "square"],
  received: ["busy", "ring"],
  stored: ["busy", "ring"],
  ready: ["busy", "ring"],
  active: ["busy", "half"],
  sending: ["busy", "half"],
  retrying: ["wait", "turn"],
  retry: ["wait", "turn"],
  held: ["held", "bars"],
  waits: ["held", "bars"],
  in_doubt: ["doubt", "diamond"],
  doubt: ["doubt", "diamond"],
  unknown: ["doubt", "diamond"],
  dead: ["bad", "cross"],
  failed: ["bad", "cross"],
  cancelled: ["over", "slash"],
  dropped: ["over", "slash"],
  superseded: ["over", "slash"],
  again: ["busy", "turn"],
  open: ["bad", "triangle"],
  closed: ["good", "disc"],
  cleared: ["over", "ring"],
  planned: ["busy", "ring"],
  ended: ["over", "ring"],
  live: ["good", "disc"],
  alive: ["good", "disc"],
  up: ["good", "disc"],
  running: ["busy", "half"],
  scheduled: ["good", "ring"],
  due: ["wait", "turn"],
  paused: ["held", "bars"],
  suspended: ["bad", "triangle"],
  gone: ["over", "slash"],
  broken: ["bad", "triangle"],
  sent: ["good", "disc"],
  given_up: ["bad", "cross"],
  ok: ["good", "disc"],
  new: ["over", "ring"],
  loading: ["busy", "half"],
  current: ["good", "disc"],
  behind: ["wait", "turn"],
  stopped: ["bad", "triangle"],
  diverged: ["bad", "cross"],
  repaired: ["good", "square"],
  partial: ["wait", "half"],
  aborted: ["bad", "slash"],
};

export function meaningOf(word: string): Meaning {
  return WORDS[word]?.[0] ?? "over";
}

/** The shape alone, for pictures; drawn in a box of 12. */
export function Shape({ word }: { word: string }) {
  return SHAPES[WORDS[word]?.[1] ?? "ring"]!();
}

export function State({ word, text }: { word: string; text?: string }) {
  return (
    <span class={`state ${meaningOf(word)}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        <Shape word={word} />
      </svg>
      {text ?? word.replace(/_/g, " ")}
    </span>
  );
}
