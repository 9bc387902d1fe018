import uPlot from "uplot";

interface Series {
  label: string;
  /** The name of a custom property with the color. */
  color: string;
  values: (number | null)[];
}

interface Chart {
  update(times: number[], series: Series[]): void;
  destroy(): void;
}

const HEIGHT = 92;

interface ChartOptions {
  format(value: number): string;
  /** A person has drawn over a part of the chart: seconds since the epoch. */
  onSelect(from: number, to: number): void;
}

/** Draws values over time (seconds since the epoch) into the element, in the colors of the page. */
export function createChart(element: HTMLElement, options: ChartOptions): Chart {
  let plot: uPlot | undefined;
  let latest: { times: number[]; series: Series[] } = { times: [], series: [] };
  const resize = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
  resize.observe(element);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", draw);
  return {
    update(times, series) {
      latest = { times, series };
      if (plot) plot.setData(toData());
      else draw();
    },
    destroy() {
      resize.disconnect();
      scheme.removeEventListener("change", draw);
      plot?.destroy();
    },
  };

  function draw(): void {
    // Nothing is known yet.
    if (latest.times.length === 0) return;
    plot?.destroy();
    plot = new uPlot(toOptions(element, latest.series, options), toData(), element);
  }

  function toData(): uPlot.AlignedData {
    return [latest.times, ...latest.series.map(({ values }) => values)];
  }
}

/** A narrower selection is a click. */
const MIN_SELECTED = 4;

function toOptions(element: HTMLElement, series: readonly Series[], { format, onSelect }: ChartOptions): uPlot.Options {
  const style = getComputedStyle(element);
  // A canvas does not know the functions of CSS, so each color is read as it is computed.
  const color = (name: string): string => {
    element.style.color = `var(${name})`;
    return getComputedStyle(element).color;
  };
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: color("--quiet"), font, grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [6, 20, 0, 0],
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < MIN_SELECTED) return;
          onSelect(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
    legend: { show: false },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      {
        ...axis,
        size: 22,
        space: 70,
        values: (_plot, splits) => splits.map((at) => new Date(at * 1000).toTimeString().slice(0, 5)),
      },
      { ...axis, size: 44, space: 26, values: (_plot, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map(({ label, color: name, values }) => ({
        label,
        stroke: color(name),
        width: 1.5,
        points: { show: values.filter((value) => value !== null).length < 20, size: 4 },
      })),
    ],
  };
}
