// time.tsx - a time, with all of it on hover.
import { useState } from "preact/hooks";
import { ago, when } from "../base/format";
import { useEvery } from "../base/use_query";

export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={`${new Date(at).toString()}\n${at}`}>
      {when(at)}
    </time>
  );
}

const TICK_MS = 5000;

/** "3 m ago", kept up to date. */
export function Ago({ at }: { at: string }) {
  const [, turn] = useState(0);
  useEvery(() => turn((n) => n + 1), TICK_MS);
  return (
    <time dateTime={at} title={at}>
      {ago(at)}
    </time>
  );
}
