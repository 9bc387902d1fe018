import { DAY_MS, HOUR_MS } from "../../../core/shared/time.ts";
import type { JSX } from "preact";
import { route, setQuery } from "../router.ts";

/** The start of a day of this browser, some days ago. */
function startOfDay(daysAgo: number): string {
  const today = new Date();
  return new Date(today.getFullYear(), today.getMonth(), today.getDate() - daysAgo).toISOString();
}

const before = (ms: number): string => new Date(Date.now() - ms).toISOString();

/** Periods by name. Without an end, what comes now is in them. */
const PERIODS: Record<string, () => { from: string; to?: string }> = {
  "last hour": () => ({ from: before(HOUR_MS) }),
  today: () => ({ from: startOfDay(0) }),
  yesterday: () => ({ from: startOfDay(1), to: startOfDay(0) }),
  "last 7 days": () => ({ from: before(7 * DAY_MS) }),
};

/** The times of a period as it is now, for the URL. */
export function toTimes(period: string): { from?: string; to?: string } {
  return { from: undefined, to: undefined, ...PERIODS[period]?.() };
}

/** A choice of a period, which the URL keeps as two times. */
export function TimeFilter(): JSX.Element {
  const { from, to, period = "" } = route.value.query;
  const isOwn = period === "" && (from !== undefined || to !== undefined);
  const choose = (name: string): void => setQuery({ period: name, ...toTimes(name), before: undefined });
  return (
    <>
      <select
        aria-label="time"
        class={from || to ? "chosen" : ""}
        value={isOwn ? "between" : period}
        onChange={({ currentTarget: { value } }) =>
          value === "between" ? setQuery({ period: undefined, from: startOfDay(1) }) : choose(value)
        }
      >
        <option value="">time: all</option>
        {Object.keys(PERIODS).map((name) => (
          <option key={name}>{name}</option>
        ))}
        <option value="between">between…</option>
      </select>
      {isOwn && (
        <span class="facts between">
          <Moment name="from" at={from} /> <Moment name="to" at={to} />
        </span>
      )}
    </>
  );
}

/** In the zone of this browser. */
function Moment({ name, at }: { name: "from" | "to"; at: string | undefined }): JSX.Element {
  const date = at === undefined ? undefined : new Date(at);
  const local = date && new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  return (
    <input
      type="datetime-local"
      aria-label={name}
      value={local ?? ""}
      onChange={({ currentTarget: { value } }) =>
        setQuery({ [name]: value === "" ? undefined : new Date(value).toISOString(), before: undefined })
      }
    />
  );
}
