import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ActivityView } from "../api-client.ts";
import { period } from "../inbox/period.tsx";
import { formatMs, formatNumber } from "../parts/format.ts";
import { useCall, useWidget } from "../parts/load.tsx";
import { setQuery } from "../router.ts";

/** Rate and latency of the period, once they are unfolded. */
export function Charts(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="charts" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Charts</summary>
      {isOpen && <Drawn />}
    </details>
  );
}

function Drawn(): JSX.Element {
  const { data } = useCall("GET /api/activity", { period: period.value });
  const steps = data ? withGaps(data) : [];
  return (
    <>
      <ChartBox
        label={`Requests in ${data?.stepMinutes ?? 5} minutes`}
        format={formatNumber}
        steps={steps}
        lines={{
          all: ["--accent", ({ requests }) => requests],
          "4xx": ["--warn", ({ clientErrors }) => clientErrors],
          "5xx": ["--bad", ({ serverErrors }) => serverErrors],
        }}
      />
      <ChartBox
        label="Response time"
        format={(ms) => (ms === 0 ? "0" : formatMs(ms))}
        steps={steps}
        lines={{
          mean: ["--accent", ({ requests, totalMs = 0 }) => (requests ? totalMs / requests : null)],
          slowest: ["--quiet", ({ requests, slowestMs }) => (requests ? slowestMs : null)],
        }}
      />
    </>
  );
}

type Step = Partial<ActivityView["steps"][number]> & { at: string };

/** All steps of the period. One in which the service did not run has no values: a gap. */
function withGaps({ from, stepMinutes, steps }: ActivityView): Step[] {
  const stepMs = stepMinutes * 60_000;
  const known = new Map(steps.map((step) => [Date.parse(step.at), step]));
  const first = Math.floor(Date.parse(from) / stepMs);
  const count = Math.floor(Date.now() / stepMs) - first + 1;
  return Array.from({ length: count }, (_, index) => {
    const at = (first + index) * stepMs;
    return known.get(at) ?? { at: new Date(at).toISOString() };
  });
}

/** In whole minutes, as the charts have them. */
function selectTimes(from: number, to: number): void {
  const toTime = (seconds: number): string => new Date(seconds * 1000).toISOString();
  const end = Math.max(Math.ceil(to / 60), Math.floor(from / 60) + 1);
  setQuery({ period: undefined, from: toTime(Math.floor(from / 60) * 60), to: toTime(end * 60), before: undefined });
}

interface ChartBoxProps {
  label: string;
  steps: readonly Step[];
  /** By name, each with its color and its value at a step. */
  lines: Record<string, [color: string, of: (step: Step) => number | null | undefined]>;
  format(value: number): string;
}

function ChartBox({ label, steps, lines, format }: ChartBoxProps): JSX.Element {
  const times = steps.map(({ at }) => Date.parse(at) / 1000);
  const series = Object.entries(lines).map(([name, [color, of]]) => {
    return { label: name, color, values: steps.map((step) => of(step) ?? null) };
  });
  const host = useWidget(
    async () => {
      const { createChart } = await import("./charts.ts");
      return (element) => createChart(element, { format, onSelect: selectTimes });
    },
    (chart) => chart.update(times, series),
    JSON.stringify([times, series]),
  );
  const newest = series.map(({ label: name, values }) => `${name} ${values.at(-1) ?? "none"}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>
        {label}
        {series.map(({ label: name, color }) => (
          <span key={name} class={color.slice(2)}>
            {name}
          </span>
        ))}
      </figcaption>
      <div class="canvas" role="img" aria-label={`${label}: ${newest}`} ref={host} />
    </figure>
  );
}
