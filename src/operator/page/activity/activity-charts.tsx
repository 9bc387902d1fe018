import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { StatsView } from "../api-client.ts";
import { formatMs, formatNumber } from "../parts/format.ts";
import { useCall, useWidget } from "../parts/load.tsx";
import { setQuery } from "../router.ts";
import type { Series } from "./charts.ts";

const MINUTE_MS = 60_000;
const MINUTES = 60;

/** Rate and latency of the last hour, once they are unfolded. */
export function Charts(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="charts" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Charts of the last hour</summary>
      {isOpen && <Drawn />}
    </details>
  );
}

function Drawn(): JSX.Element {
  const { data: stats } = useCall("GET /api/stats");
  const minutes = stats ? toMinutes(stats.minutes) : [];
  const times = minutes.map(({ at }) => at / 1000);
  return (
    <>
      <ChartBox
        label="Requests per minute"
        format={formatNumber}
        times={times}
        series={[
          { label: "all", color: "--accent", isArea: true, values: minutes.map(({ requests }) => requests) },
          { label: "4xx", color: "--warn", values: minutes.map(({ clientErrors }) => clientErrors) },
          { label: "5xx", color: "--bad", values: minutes.map(({ serverErrors }) => serverErrors) },
        ]}
      />
      <ChartBox
        label="Response time"
        format={(ms) => (ms === 0 ? "0" : formatMs(ms))}
        times={times}
        series={[
          {
            label: "mean",
            color: "--accent",
            values: minutes.map(({ requests, totalMs }) => (requests ? totalMs / requests : null)),
          },
          {
            label: "slowest",
            color: "--quiet",
            values: minutes.map(({ requests, maxMs }) => (requests ? maxMs : null)),
          },
        ]}
      />
    </>
  );
}

type Minute = Omit<StatsView["minutes"][number], "at"> & { at: number };
const NOTHING = { requests: 0, clientErrors: 0, serverErrors: 0, totalMs: 0, maxMs: 0, turns: 0, failedTurns: 0 };

/** The last hour without gaps. */
function toMinutes(known: StatsView["minutes"]): Minute[] {
  const byTime = new Map(known.map((minute) => [Date.parse(minute.at), minute]));
  const end = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  return Array.from({ length: MINUTES }, (_, index) => {
    const at = end - (MINUTES - 1 - index) * MINUTE_MS;
    return { ...NOTHING, ...byTime.get(at), at };
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
  times: number[];
  series: Series[];
  format(value: number): string;
}

function ChartBox({ label, times, series, format }: ChartBoxProps): JSX.Element {
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
