// editor.tsx - a text with line numbers and problems in place.
import { useEffect, useRef } from "preact/hooks";
import type { Problem } from "../../types";
import { Prose } from "../../ui/prose";

interface Props {
  text: string;
  problems: Problem[];
  warnings: Problem[];
  /** Go there. */
  line: number | null;
  readOnly: boolean;
  onInput: (text: string) => void;
}

const LINE_PX = 18;

/** The caret at the start of a line, in view. */
function goTo(box: HTMLTextAreaElement, line: number): void {
  const at = box.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const end = box.value.indexOf("\n", at);
  box.focus();
  box.setSelectionRange(at, end < 0 ? box.value.length : end);
  box.scrollTop = Math.max(0, (line - 6) * LINE_PX);
}

export function Editor({ text, problems, warnings, line, readOnly, onInput }: Props) {
  const box = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (line !== null && box.current) goTo(box.current, line);
  }, [line]);
  const scroll = () => {
    if (gutter.current && box.current) gutter.current.scrollTop = box.current.scrollTop;
  };
  const found = new Map<number, [tone: string, problem: Problem]>();
  for (const p of warnings) found.set(p.line, ["wait", p]);
  for (const p of problems) found.set(p.line, ["bad", p]);
  const onKey = (e: KeyboardEvent) => {
    if (e.key !== "Tab" || e.shiftKey || readOnly) return;
    e.preventDefault();
    const { selectionStart: at, value } = box.current!;
    box.current!.setRangeText("  ", at, box.current!.selectionEnd, "end");
    if (value !== box.current!.value) onInput(box.current!.value);
  };
  return (
    <div class="editor">
      <div class="gutter" ref={gutter} aria-hidden="true">
        {text.split("\n").map((_, i) => {
          const [tone, problem] = found.get(i + 1) ?? [];
          return (
            <div key={i} class={tone ?? ""} title={problem?.message}>
              {i + 1}
            </div>
          );
        })}
      </div>
      <textarea
        ref={box}
        class="mono"
        aria-label="Configuration"
        spellcheck={false}
        wrap="off"
        value={text}
        readOnly={readOnly}
        onScroll={scroll}
        onInput={(e) => onInput(e.currentTarget.value)}
        onKeyDown={onKey}
      />
    </div>
  );
}

export function Problems({ problems, tone, onGo }: { problems: Problem[]; tone: "bad" | "wait"; onGo: (line: number) => void }) {
  return (
    <ul class="problems">
      {problems.map((p, i) => (
        <li key={i}>
          <button class="bare small" onClick={() => onGo(p.line)}>
            line {p.line}
          </button>
          <span>
            <span class={tone}>
              <Prose text={p.message} />
            </span>{" "}
            {p.hint && (
              <span class="quiet">
                <Prose text={p.hint} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
