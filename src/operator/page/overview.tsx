import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get } from "./api.ts";
import type { Chart, Series } from "./charts.ts";
import { allRows } from "./live.ts";
import { Copy, formatMs, formatNumber, useLoad } from "./parts.tsx";
import { hrefTo } from "./router.ts";

/** How it goes: counts by state, and rate and latency over time. */
export function Overview(): JSX.Element {
  const { data } = useLoad("status", () => get("/api/status"));
  const buckets = toBuckets();
  const times = buckets.map(({ at }) => at / 1000);
  return (
    <div class="overview">
      <div class="counts">
        {data && (
          <>
            <Count name="recorded" value={data.queue.events} href={hrefTo([])} />
            <Count name="running" value={data.queue.runningRuns} href={hrefTo(["runs"], { state: "running" })} />
            <Count name="waiting" value={data.queue.pendingRuns} href={hrefTo(["runs"], { state: "ready" })} />
            <Count
              name="to deliver"
              value={data.queue.pendingDeliveries}
              href={hrefTo(["deliveries"], { state: "pending" })}
            />
          </>
        )}
      </div>
      <ChartBox
        label="Requests a minute"
        format={formatNumber}
        times={times}
        series={[
          { label: "all", color: "--accent", isArea: true, values: buckets.map(({ count }) => count) },
          { label: "failed or refused", color: "--bad", values: buckets.map(({ bad }) => bad) },
        ]}
      />
      <ChartBox
        label="Time to the end"
        format={formatMs}
        times={times}
        series={[
          { label: "median", color: "--accent", values: buckets.map(({ took }) => quantile(took, 0.5)) },
          { label: "95 %", color: "--quiet", values: buckets.map(({ took }) => quantile(took, 0.95)) },
        ]}
      />
    </div>
  );
}

function Count({ name, value, href }: { name: string; value: number; href: string }): JSX.Element {
  return (
    <a href={href}>
      <b>{formatNumber(value)}</b> {name}
    </a>
  );
}

interface Bucket {
  at: number;
  count: number;
  bad: number;
  took: number[];
}

const MINUTE = 60_000;
const MINUTES = 30;

function toBuckets(): Bucket[] {
  const end = Math.floor(Date.now() / MINUTE) * MINUTE;
  const buckets = Array.from({ length: MINUTES }, (_, index): Bucket => ({
    at: end - (MINUTES - 1 - index) * MINUTE,
    count: 0,
    bad: 0,
    took: [],
  }));
  for (const { at, status, durationMs } of allRows()) {
    const bucket = buckets[MINUTES - 1 - (end - Math.floor(at / MINUTE) * MINUTE) / MINUTE];
    if (!bucket) continue;
    bucket.count++;
    if (status === "rejected" || status === "failed" || status === "dead") bucket.bad++;
    if (durationMs !== undefined) bucket.took.push(durationMs);
  }
  return buckets;
}

function quantile(values: number[], share: number): number | null {
  if (values.length === 0) return null;
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? null;
}

interface ChartBoxProps {
  label: string;
  times: number[];
  series: Series[];
  format(value: number): string;
}

/** Loads the charts when the first one is shown. */
function ChartBox({ label, times, series, format }: ChartBoxProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart>(undefined);
  const latest = useRef({ times, series });
  latest.current = { times, series };
  useEffect(() => {
    let isGone = false;
    const start = async (): Promise<void> => {
      const { createChart } = await import("./charts.ts");
      if (isGone || !host.current) return;
      chart.current = createChart(host.current, format);
      chart.current.update(latest.current.times, latest.current.series);
    };
    void start();
    return () => {
      isGone = true;
      chart.current?.destroy();
    };
  }, []);
  useEffect(() => chart.current?.update(times, series), [JSON.stringify([times, series])]);
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

/** Before the first request: the command that sends one. */
export function FirstHook(): JSX.Element {
  const command = [
    `curl ${location.origin}/hooks/wake`,
    `-H "Authorization: Bearer $HOOK_TOKEN"`,
    `-H "Content-Type: application/json"`,
    `-d '{"text":"Hello"}'`,
  ].join(" \\\n  ");
  return (
    <div class="empty">
      <p>No request has come yet. Send the first one:</p>
      <pre>{command}</pre>
      <Copy text={command} />
    </div>
  );
}
