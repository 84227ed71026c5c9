// trace.tsx - the timeline as a picture: a row for each stage and endpoint, time to the right.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { took } from "../../base/format";
import { go } from "../../base/router";
import type { DocumentDetail } from "../../types";
import { meaningOf, Shape } from "../../ui/state";
import { layOut, type Mark, type Trace, type Wait } from "./lanes";

const LEFT = 132;
const RIGHT = 64;
const TOP = 8;
const LANE = 30;
const AXIS = 22;
const LABEL_GAP = 58;
const NAME_MOST = 19;

function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, set] = useState(900);
  useEffect(() => {
    const box = ref.current!;
    const watch = new ResizeObserver(() => set(Math.max(360, box.clientWidth)));
    watch.observe(box);
    return () => watch.disconnect();
  }, []);
  return { ref, width };
}

/** Labels that neither cover nor repeat each other. */
function labels(trace: Trace, x: (at: number) => number) {
  let last = -Infinity;
  let before = "";
  return trace.ticks.flatMap((t) => {
    const text = t.us === 0 ? "0" : `+${took(t.us)}`;
    if (x(t.at) - last < LABEL_GAP || text === before) return [];
    last = x(t.at);
    before = text;
    return [{ ...t, text }];
  });
}

interface Props {
  document: DocumentDetail;
  chosen: number;
  onChoose: (line: number) => void;
}

export function TracePicture({ document, chosen, onChoose }: Props) {
  const { ref, width } = useWidth();
  const trace = useMemo(() => layOut(document), [document]);
  const unit = (width - LEFT - RIGHT) / trace.width;
  const x = (at: number) => LEFT + at * unit;
  const y = (lane: number) => TOP + lane * LANE + LANE / 2;
  const height = TOP + trace.lanes.length * LANE + AXIS;
  return (
    <div class="trace" ref={ref}>
      <svg width={width} height={height} role="group" aria-label="The trace of the document over time">
        {trace.lanes.map((name, i) => (
          <g key={name}>
            <title>{name}</title>
            <line class="lane" x1={LEFT - 6} x2={width} y1={y(i)} y2={y(i)} />
            <text class="name" x={LEFT - 14} y={y(i) + 4}>
              {name.length > NAME_MOST ? `${name.slice(0, NAME_MOST - 1)}…` : name}
            </text>
          </g>
        ))}
        {labels(trace, x).map((t) => (
          <g key={t.us}>
            <line class="tick" x1={x(t.at)} x2={x(t.at)} y1={TOP} y2={height - AXIS + 4} />
            <text class="label" x={x(t.at)} y={height - 6}>
              {t.text}
            </text>
          </g>
        ))}
        {trace.waits.map((w) => (
          <WaitLine key={w.lane} wait={w} x={x(w.from)} end={width - RIGHT / 2} y={y(w.lane)} />
        ))}
        {trace.marks.map((m, i) => (
          <MarkShape key={i} mark={m} x={x(m.at)} from={x(m.from)} y={y(m.lane)} chosen={m.line === chosen && m.line >= 0} onChoose={onChoose} />
        ))}
      </svg>
    </div>
  );
}

function WaitLine({ wait, x, end, y }: { wait: Wait; x: number; end: number; y: number }) {
  return (
    <g class={meaningOf(wait.word)}>
      <title>{wait.title}</title>
      <line class="waiting" x1={x} x2={end} y1={y} y2={y} />
      <g transform={`translate(${end - 6} ${y - 6})`}>
        <Shape word={wait.word} />
      </g>
    </g>
  );
}

interface MarkProps {
  mark: Mark;
  x: number;
  from: number;
  y: number;
  chosen: boolean;
  onChoose: (line: number) => void;
}

function MarkShape({ mark, x, from, y, chosen, onChoose }: MarkProps) {
  const act = () => (mark.href ? go(mark.href) : onChoose(mark.line));
  const onKey = (e: KeyboardEvent) => {
    if (e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    e.stopPropagation();
    act();
  };
  return (
    <g class={`mark ${meaningOf(mark.word)}${chosen ? " chosen" : ""}`} tabindex={0} role="button" aria-label={mark.title} onClick={act} onKeyDown={onKey}>
      <title>{mark.title}</title>
      <rect class="reach" x={x - 10} y={y - 12} width={20} height={24} rx={4} />
      {x - from > 2 && <rect class="span" x={from} y={y - 3} width={x - from} height={6} rx={3} />}
      <g transform={`translate(${x - 6} ${y - 6})`}>
        <circle class="back" cx="6" cy="6" r="7" />
        <Shape word={mark.word} />
      </g>
    </g>
  );
}
