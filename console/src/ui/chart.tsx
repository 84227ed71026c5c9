// chart.tsx - lines over time (uPlot), in the colours of the page.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useStore } from "../base/store";
import { look } from "../shell/theme";

export interface Line {
  label: string;
  /** The name of a colour of tokens.css. */
  colour: string;
  values: (number | null)[];
}

const HEIGHT = 170;

function colourOf(box: HTMLElement, name: string): string {
  box.style.color = `var(--${name})`;
  const text = getComputedStyle(box).color;
  box.style.color = "";
  return text;
}

function options(box: HTMLElement, lines: Line[]): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colourOf(box, "muted"),
    grid: { stroke: colourOf(box, "line"), width: 1 },
    ticks: { stroke: colourOf(box, "line"), width: 1, size: 4 },
    font: "11px system-ui, sans-serif",
  };
  return {
    width: box.clientWidth,
    height: HEIGHT,
    cursor: { y: false, points: { size: 5 } },
    legend: { live: true },
    scales: { y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.08)] } },
    axes: [
      { ...axis, values: "{HH}:{mm}" as unknown as uPlot.Axis.Values, space: 70, size: 28 },
      { ...axis, size: 46, space: 34 },
    ],
    series: [
      { value: "{HH}:{mm}:{ss}" },
      ...lines.map((line) => ({
        label: line.label,
        stroke: colourOf(box, line.colour),
        width: 1.5,
        points: { show: false },
      })),
    ],
  };
}

/** `times` are seconds; they and the values may change, the lines may not. */
export interface ChartProps {
  times: number[];
  lines: Line[];
}

export function Chart({ times, lines }: ChartProps) {
  const ref = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const mode = useStore(look);
  const data = [times, ...lines.map((l) => l.values)] as uPlot.AlignedData;

  useEffect(() => {
    const box = ref.current!;
    plot.current = new uPlot(options(box, lines), data, box);
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: box.clientWidth, height: HEIGHT }));
    resize.observe(box);
    return () => {
      resize.disconnect();
      plot.current?.destroy();
    };
  }, [mode]);
  useEffect(() => plot.current?.setData(data), [times, lines]);
  return <div class="chart" ref={ref} role="img" aria-label={lines.map((l) => l.label).join(", ") + " over time"} />;
}
