import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { REQUEST_FILTERS, UNFINISHED_WORDS } from "../../../core/shared/words.ts";
import type { ActivityView, StatusView } from "../api-client.ts";
import { feed } from "../live.ts";
import { type Filter, FILTERS } from "../row.ts";
import { formatMs, formatNumber, toLine } from "../parts/format.ts";
import { useCall, useWidget } from "../parts/load.tsx";
import { TimeFilter } from "../parts/times.tsx";
import { Title } from "../parts/title.tsx";
import { hrefTo, route, setQuery } from "../router.ts";
import type { Series } from "./charts.ts";
import { RequestList } from "./request-list.tsx";
import { SavedViews } from "./saved-views.tsx";

/** The first screen: counts and charts, and every request as it arrives. */
export function Requests(): JSX.Element {
  const { query } = route.value;
  const filter: Filter = Object.fromEntries(FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));
  return (
    <section class="feed" aria-label="Requests">
      <Title text="Requests" isHidden />
      <Overview />
      <FilterBar filter={filter} />
      <RequestList key={JSON.stringify(filter)} filter={filter} />
    </section>
  );
}

/** Filters that only links of other screens set. */
const FACETS = ["session", "event", "credential", "model", "channel", "group"] as const;

function FilterBar({ filter }: { filter: Filter }): JSX.Element {
  // A list that changes with every frame could not be chosen from.
  const [names, setNames] = useState({ hooks: new Set<string>(), mappings: new Set<string>() });
  const collect = (): void => {
    const rows = feed.listAll();
    setNames({
      hooks: new Set(rows.map(({ hook }) => hook)),
      mappings: new Set(rows.flatMap(({ mapping }) => mapping ?? [])),
    });
  };
  const choose = (name: keyof Filter, options: Iterable<string>): JSX.Element => (
    <select
      aria-label={name}
      value={filter[name] ?? ""}
      class={filter[name] ? "chosen" : ""}
      onFocus={collect}
      onPointerEnter={collect}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
    >
      <option value="">{name}: all</option>
      {[...new Set([...options, filter[name] ?? ""])]
        .filter(Boolean)
        .toSorted()
        .map((option) => (
          <option key={option} value={option}>
            {toLine(option, 60)}
          </option>
        ))}
    </select>
  );
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        name="search"
        aria-label="Search requests"
        placeholder="Search, or payload.action = opened ( / )"
        title="Text of a payload, a prompt, a reply or an error, in any case. A field: payload.repository.full_name = acme/shop, headers.x-github-delivery = …"
        maxLength={200}
        value={filter.text ?? ""}
        onInput={(event) => setQuery({ text: event.currentTarget.value })}
      />
      <TimeFilter />
      {choose("hook", names.hooks)}
      {choose("mapping", names.mappings)}
      {choose("status", REQUEST_FILTERS)}
      {FACETS.map(
        (name) =>
          filter[name] && (
            <button key={name} type="button" class="chosen" onClick={() => setQuery({ [name]: undefined })}>
              {name === "group" ? "error" : name} {toLine(filter[name], 30)} ✕
            </button>
          ),
      )}
      {Object.keys(filter).length > 0 && (
        <button
          type="button"
          onClick={() => setQuery(Object.fromEntries([...FILTERS, "period"].map((name) => [name, undefined])))}
        >
          Clear
        </button>
      )}
      <SavedViews />
    </form>
  );
}

const SHOWN = ["done", "skipped", "refused", "failed", "canceled", "unfinished"] as const;
const MINUTE_MS = 60_000;

/** The requests of the last day by state, and rate and latency over time. */
function Overview(): JSX.Element {
  const { data: activity } = useCall("GET /api/activity");
  const { data: status } = useCall("GET /api/status");
  const steps = activity ? toSteps(activity) : [];
  const times = steps.map(({ at }) => at / 1000);
  return (
    <div class="overview">
      <div class="counts">
        {SHOWN.map((name) => (
          <Count
            key={name}
            name={name === "unfinished" ? "not finished" : name}
            count={activity && (activity.events[name] ?? 0)}
            href={hrefTo([], { status: name })}
          />
        ))}
        {UNFINISHED_WORDS.map((name) => (
          <Count
            key={name}
            name={name}
            title={`${name} turns`}
            count={activity && (activity.runs[name] ?? 0)}
            max={activity?.countedTo}
            href={hrefTo(["runs"], { state: name })}
          />
        ))}
        <BudgetUse budget={status?.budget} />
      </div>
      <ChartBox
        label="Requests in five minutes"
        format={formatNumber}
        times={times}
        series={[
          { label: "all", color: "--accent", isArea: true, values: steps.map((step) => step.requests ?? null) },
          { label: "4xx", color: "--warn", values: steps.map((step) => step.clientErrors ?? null) },
          { label: "5xx", color: "--bad", values: steps.map((step) => step.serverErrors ?? null) },
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
            values: steps.map(({ requests, totalMs = 0 }) => (requests ? totalMs / requests : null)),
          },
          {
            label: "slowest",
            color: "--quiet",
            values: steps.map(({ requests, slowestMs = 0 }) => (requests ? slowestMs : null)),
          },
        ]}
      />
    </div>
  );
}

interface CountProps {
  name: string;
  title?: string;
  /** undefined: not known yet. */
  count: number | undefined;
  /** Counting ends there: there may be more. */
  max?: number;
  href: string;
}

function Count({ name, title, count, max = Infinity, href }: CountProps): JSX.Element {
  return (
    <a href={href} title={title}>
      <b>{count === undefined ? "–" : `${formatNumber(count)}${count >= max ? "+" : ""}`}</b> {name}
    </a>
  );
}

/** How much of today's budget is used. */
function BudgetUse({ budget }: { budget: StatusView["budget"] }): JSX.Element | null {
  if (budget?.perDay === undefined) return null;
  const share = Math.round((budget.spentToday / budget.perDay) * 100);
  return (
    <a href={hrefTo(["spend"])} class={share >= 100 ? "bad" : undefined}>
      <b>{share} %</b> budget
    </a>
  );
}

type Step = Partial<Omit<ActivityView["steps"][number], "at">> & { at: number };

/** All steps of the period. Those in which the service did not run are empty: a gap. */
function toSteps({ from, stepMinutes, steps }: ActivityView): Step[] {
  const byTime = new Map(steps.map((step) => [Date.parse(step.at), step]));
  const stepMs = stepMinutes * MINUTE_MS;
  const start = Math.ceil(Date.parse(from) / stepMs) * stepMs;
  const count = Math.floor((Date.now() - start) / stepMs) + 1;
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * stepMs;
    return { ...byTime.get(at), at };
  });
}

interface ChartBoxProps {
  label: string;
  times: number[];
  series: Series[];
  format(value: number): string;
}

/** In whole minutes, as the charts have them. */
function selectTimes(from: number, to: number): void {
  const toTime = (seconds: number): string => new Date(seconds * 1000).toISOString();
  const end = Math.max(Math.ceil(to / 60), Math.floor(from / 60) + 1);
  setQuery({ period: undefined, from: toTime(Math.floor(from / 60) * 60), to: toTime(end * 60), before: undefined });
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
