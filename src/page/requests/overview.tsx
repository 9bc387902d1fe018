import type { JSX } from "preact";
import { call, type StatsView } from "../api.ts";
import { Copy } from "../parts/controls.tsx";
import { useLoad, useWidget } from "../parts/load.tsx";
import { formatMs, formatNumber } from "../parts/text.ts";
import { hrefTo } from "../router.ts";
import type { Series } from "./charts.ts";
import type { EventStatus } from "../../types.ts";

const SHOWN: readonly EventStatus[] = ["accepted", "done", "skipped", "rejected", "failed", "dead"];
const MINUTE_MS = 60_000;
const MINUTES = 60;

/** How it goes: events by state, and rate and latency over time. */
export function Overview(): JSX.Element {
  const { data: stats } = useLoad("stats", () => call("GET /api/stats"));
  const { data: status } = useLoad("status", () => call("GET /api/status"));
  const minutes = toMinutes(stats?.minutes ?? []);
  const times = minutes.map(({ at }) => at / 1000);
  return (
    <div class="overview">
      <div class="counts">
        {SHOWN.map((name) => {
          const count = stats?.events[name] ?? 0;
          const text = count >= (stats?.countedTo ?? Infinity) ? `${formatNumber(count)}+` : formatNumber(count);
          return <Count key={name} name={name} value={text} href={hrefTo([], { status: name })} />;
        })}
        <Count
          name="running"
          value={formatNumber(status?.queue.runningRuns ?? 0)}
          href={hrefTo(["runs"], { state: "running" })}
        />
        <Count
          name="waiting"
          value={formatNumber(status?.queue.pendingRuns ?? 0)}
          href={hrefTo(["runs"], { state: "ready" })}
        />
      </div>
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
    </div>
  );
}

function Count({ name, value, href }: { name: string; value: string; href: string }): JSX.Element {
  return (
    <a href={href}>
      <b>{value}</b> {name}
    </a>
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
      return (element) => createChart(element, format);
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

/** Before the first request: the command that sends one to a hook of this configuration. */
export function FirstHook(): JSX.Element {
  const { data } = useLoad("mappings", () => call("GET /api/mappings"));
  const open = data?.mappings.find(({ url, auth }) => url !== undefined && auth === undefined);
  const address = open?.url ?? `${data?.hooksUrl ?? ""}/wake`;
  const command = [
    `curl ${address}`,
    `-H "Authorization: Bearer $HOOK_TOKEN"`,
    `-H "Content-Type: application/json"`,
    `-d '${open ? "{}" : '{"text":"Hello"}'}'`,
  ].join(" \\\n  ");
  return (
    <div class="empty">
      <p>No request has come yet. Send the first one:</p>
      <pre>{command}</pre>
      <Copy text={command} />
    </div>
  );
}
