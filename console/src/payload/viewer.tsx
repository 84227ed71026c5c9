// viewer.tsx - the bytes of a document: readable, as text, in hex; large ones in pieces; stages compared.
import { useEffect, useState } from "preact/hooks";
import * as api from "../api";
import { ask } from "../base/ask";
import { size } from "../base/format";
import { useQuery } from "../base/use_query";
import type { Stage } from "../types";
import { Diff } from "../ui/diff";
import { Empty, Failed, Loading, Say } from "../ui/say";
import { fromBase64, hexOf, isText, textOf } from "./bytes";
import { compare } from "./compare";
import { Pretty, prettyText } from "./pretty";
import { formatOf } from "./tokens";

/** What is read at once; smaller payloads are shown whole. */
const PIECE = 256 * 1024;

type Mode = "readable" | "text" | "hex" | "changes";

interface Props {
  id: string;
  stages: Stage[];
}

function Changes({ id, stages, stage }: Props & { stage: number }) {
  const [diff, setDiff] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const at = stages.findIndex((s) => s.stage === stage);
  const before = stages[at - 1];
  useEffect(() => {
    const read = async (s: number) => {
      const { document } = await ask(api.payload, { id, stage: s, from: 0, length: PIECE });
      if (!document?.payload?.isText || document.payload.truncated) throw new Error("Only text up to 256 KiB is compared.");
      const text = textOf(fromBase64(document.payload.text));
      return prettyText(text, formatOf(text));
    };
    Promise.all([read(before!.stage), read(stage)]).then(
      ([a, b]) => setDiff(compare(a, b)),
      (e: Error) => setProblem(e.message),
    );
  }, [stage]);
  if (problem) return <Say tone="wait">{problem}</Say>;
  if (diff === null) return <Loading />;
  return diff === "" ? <Empty title="The bytes differ, but their formatted text is equal" /> : <Diff text={diff} />;
}

export function PayloadViewer({ id, stages }: Props) {
  const [stage, setStage] = useState(stages[0]?.stage ?? 0);
  const [from, setFrom] = useState(0);
  const [mode, setMode] = useState<Mode>("readable");
  const { data, error, loading, reload } = useQuery(api.payload, { id, stage, from, length: PIECE });
  const payload = data?.document?.payload;
  const bytes = payload ? fromBase64(payload.text) : new Uint8Array();
  const readable = payload !== null && payload !== undefined && isText(bytes);
  const text = readable ? textOf(bytes) : "";
  const whole = payload !== undefined && payload !== null && payload.bytes === payload.size;
  const format = whole ? formatOf(text) : null;
  const possible: Mode[] = [
    ...(format ? (["readable"] as const) : []),
    ...(readable ? (["text"] as const) : []),
    "hex",
    ...(stages.findIndex((s) => s.stage === stage) > 0 ? (["changes"] as const) : []),
  ];
  const shown = possible.includes(mode) ? mode : possible[0]!;
  const choose = (s: number) => {
    setStage(s);
    setFrom(0);
  };
  return (
    <section class="card" aria-label="Payload">
      <header>
        <h2>Payload</h2>
        {stages.length > 1 && (
          <select aria-label="Stage" value={stage} onChange={(e) => choose(Number(e.currentTarget.value))}>
            {stages.map((s) => (
              <option key={s.stage} value={s.stage}>
                {s.stage === 0 ? "as received" : `${s.stage}: after ${s.name}`}, {s.size === null ? "not stored" : size(s.size)}
              </option>
            ))}
          </select>
        )}
        <div class="tabs" role="tablist">
          {possible.map((m) => (
            <button key={m} role="tab" aria-selected={m === shown} onClick={() => setMode(m)}>
              {m === "readable" ? format?.toUpperCase() : m === "hex" ? "Hex" : m === "text" ? "Text" : "Changes"}
            </button>
          ))}
        </div>
        <span class="room" />
        {payload && !whole && (
          <>
            <span class="quiet">
              {size(payload.from)} to {size(payload.from + payload.bytes)} of {size(payload.size)}
            </span>
            <button class="small" disabled={from === 0} onClick={() => setFrom(Math.max(0, from - PIECE))}>
              Previous
            </button>
            <button class="small" disabled={!payload.truncated} onClick={() => setFrom(from + PIECE)}>
              Next
            </button>
          </>
        )}
      </header>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {payload?.computedWith != null && (
        <Say tone="plain">This stage was not stored: computed again, with version {payload.computedWith}.</Say>
      )}
      {data && !payload && <Empty title="This payload no longer exists" />}
      {payload && shown === "readable" && format && <Pretty text={text} format={format} />}
      {payload && shown === "text" && (
        <pre class="text wrap" tabIndex={0} aria-label="Payload">
          {text}
        </pre>
      )}
      {payload && shown === "hex" && (
        <pre class="text" tabIndex={0} aria-label="Payload in hex">
          {hexOf(bytes, payload.from)}
        </pre>
      )}
      {shown === "changes" && <Changes key={stage} id={id} stages={stages} stage={stage} />}
    </section>
  );
}
