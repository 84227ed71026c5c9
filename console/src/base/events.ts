// events.ts - GET /events: server-sent events of the node.
//
// Read with fetch, not EventSource, which cannot send the token of a node.  One stream for all
// components, while one listens and the tab is visible: browsers allow few connections to one
// host.  Without it pages work and only poll less often.
import { useEffect, useRef } from "preact/hooks";
import { credentials } from "./ask";

type Listener = (data: unknown) => void;

const listeners = new Map<string, Set<Listener>>();
let stream: AbortController | null = null;
let wait = 1000;

function tell(block: string): void {
  let kind = "message";
  let data = "";
  for (const line of block.split("\n"))
    if (line.startsWith("event:")) kind = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5);
  const fns = listeners.get(kind);
  if (!fns || data === "") return;
  try {
    const value: unknown = JSON.parse(data);
    fns.forEach((fn) => fn(value));
  } catch {
    /* not ours */
  }
}

async function follow(abort: AbortController): Promise<void> {
  const response = await fetch("/events", {
    headers: { Accept: "text/event-stream", ...credentials() },
    signal: abort.signal,
    cache: "no-store",
  });
  if (!response.ok || !response.body) throw new Error(String(response.status));
  wait = 1000;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    blocks.forEach(tell);
  }
}

async function run(abort: AbortController): Promise<void> {
  while (!abort.signal.aborted) {
    await follow(abort).catch(() => undefined);
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, 60000);
  }
}

/** Opens or closes the stream, as needed now. */
function adjust(): void {
  const wanted = document.visibilityState === "visible" && [...listeners.values()].some((set) => set.size > 0);
  if (wanted && !stream) {
    stream = new AbortController();
    void run(stream);
  } else if (!wanted) {
    stream?.abort();
    stream = null;
  }
}

document.addEventListener("visibilitychange", adjust);

/** Until the returned function is called. */
export function listen(kind: string, fn: Listener): () => void {
  const fns = listeners.get(kind) ?? new Set();
  listeners.set(kind, fns.add(fn));
  adjust();
  return () => {
    fns.delete(fn);
    adjust();
  };
}

/** While the component is mounted. */
export function useEvent(kind: string, fn: Listener): void {
  const latest = useRef(fn);
  latest.current = fn;
  useEffect(() => listen(kind, (data) => latest.current(data)), [kind]);
}
