import type * as Croner from "croner";
import type { Cron } from "croner";
import { messageOf } from "../errors.ts";
import { loadAtFirstUse } from "./system/package.ts";
import { DAY_MS, HOUR_MS, parseDuration } from "./time.ts";

const croner = loadAtFirstUse<typeof Croner>("croner");

/** Times as a person writes them: a cron expression in a time zone, or the multiples of a period since 1970 in UTC. */
export interface Recurrence {
  /** Five fields, or a name such as `@daily`. */
  cron?: string;
  /** The zone of `cron`. Default: UTC. */
  timezone?: string;
  every?: string;
}

/** The first of these times after another. In milliseconds since the epoch; `Infinity`: there is none. */
export type NextTime = (after: number) => number;

/** The mistake in a recurrence, and the field that has it. */
export function findFlaw({
  cron,
  timezone,
  every,
}: Recurrence): { field?: keyof Recurrence; message: string } | undefined {
  if (cron === undefined && every === undefined) {
    return { message: 'It needs cron, such as "0 7 * * *", or every, such as "15m". Set one of them.' };
  }
  if (cron === undefined) {
    const message = "Only cron has a time zone: every counts in UTC. Remove this setting.";
    return timezone === undefined ? undefined : { field: "timezone", message };
  }
  if (every !== undefined) return { field: "every", message: "cron says when. Set either cron or every, not both." };
  if (timezone !== undefined && !isTimeZone(timezone)) {
    return { field: "timezone", message: `There is no time zone "${timezone}". Write one such as "Europe/Berlin".` };
  }
  const message = findCronFlaw(cron);
  return message === undefined ? undefined : { field: "cron", message };
}

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** The library also takes single dates. */
const FORM = /^(?:@[a-z]+|\S+(?:\s+\S+){4})$/i;
const FIELDS = 'Write five fields (minute, hour, day, month, weekday) such as "0 7 * * 1-5", or a name such as @daily.';

function findCronFlaw(cron: string): string | undefined {
  if (!FORM.test(cron.trim())) return `This is not a cron expression. ${FIELDS}`;
  try {
    if (openPattern(cron).nextRun(new Date(0))) return undefined;
    return "No date fits this cron expression, so its time never comes. Choose another day.";
  } catch (error) {
    const cause = messageOf(error).replace(/^CronPattern: /, "");
    return `This cron expression cannot be used (${cause}). ${FIELDS}`;
  }
}

/** The library knows no zone here: it counts on the clock of the wall, which `toTimes` then finds in the zone. */
function openPattern(cron: string): Cron {
  return new (croner().Cron)(cron.trim(), { mode: "5-part", timezone: "UTC" });
}

/** The recurrence has no flaw. */
export function compileRecurrence({ cron, timezone = "UTC", every = "24h" }: Recurrence): NextTime {
  if (cron !== undefined) return compileCron(cron, timezone);
  const periodMs = parseDuration(every);
  return (after) => (Math.floor(after / periodMs) + 1) * periodMs;
}

/** How far a clock change can be ahead and still repeat times that are over. */
const LOOK_AHEAD_MS = 3 * HOUR_MS;

/**
 * A time that a clock change leaves out comes at the end of the gap. A time that it repeats comes once, unless minute or hour
 * have a `*`: these go by what has passed. With `*` as the hour, a time of the gap is that of the next hour.
 */
function compileCron(cron: string, timezone: string): NextTime {
  const pattern = openPattern(cron);
  const offsetAt = offsetIn(timezone);
  const [minute = "", hour = ""] = /^@hourly$/i.test(cron.trim()) ? ["0", "*"] : cron.trim().split(/\s+/);
  const isRepeated = /[*?]/.test(minute + hour);
  const isHourly = /^[*?]$/.test(hour);
  return next;

  function next(after: number): number {
    // Before a change that sets the clock back, times that are over come again.
    const backMs = Math.max(0, offsetAt(after) - offsetAt(after + LOOK_AHEAD_MS));
    let wall = after + offsetAt(after) - backMs;
    for (let found = Infinity; ;) {
      const run = pattern.nextRun(new Date(wall));
      if (!run) return found;
      wall = run.getTime();
      const times = toTimes(wall);
      if ((times[0] ?? -Infinity) >= found) return found;
      found = Math.min(found, ...times.filter((time) => time > after));
    }
  }

  /** When the clock of the wall shows this time: at most twice, in order. */
  function toTimes(wall: number): number[] {
    const [before, after] = [offsetAt(wall - DAY_MS), offsetAt(wall + DAY_MS)];
    if (before === after) return [wall - before];
    const shown = [wall - before, wall - after].filter((time) => time + offsetAt(time) === wall);
    if (shown.length > 0) return isRepeated ? [...new Set(shown)] : shown.slice(0, 1);
    if (isHourly && pattern.match(new Date(wall + after - before))) return [];
    return [findChange(wall - after, wall - before)];
  }

  /** The only change between two times. */
  function findChange(from: number, to: number): number {
    let [low, high] = [from, to];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offsetAt(middle) === offsetAt(from)) low = middle;
      else high = middle;
    }
    return high;
  }
}

/** A formatter costs more than all that is asked of it. */
const zones = new Map<string, (time: number) => number>();
const MAX_DAYS = 1000;

/** How far the clock of the wall is ahead of UTC, in milliseconds. */
function offsetIn(timeZone: string): (time: number) => number {
  const offsetAt = zones.get(timeZone) ?? createOffsetAt(timeZone);
  zones.set(timeZone, offsetAt);
  return offsetAt;
}

function createOffsetAt(timeZone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  /** At the start of days in UTC. */
  const known = new Map<number, number>();
  return (time) => {
    const day = Math.floor(time / DAY_MS);
    const offset = readStart(day);
    // No zone changes its clock twice in a day.
    return offset === readStart(day + 1) ? offset : read(time);
  };

  function readStart(day: number): number {
    const offset = known.get(day) ?? read(day * DAY_MS);
    if (known.size === MAX_DAYS) known.clear();
    known.set(day, offset);
    return offset;
  }

  function read(time: number): number {
    const [, sign = "", hours = 0, minutes = 0] = /GMT([+-])(\d+):(\d+)/.exec(format.format(time)) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours) * HOUR_MS + Number(minutes) * 60_000);
  }
}

/** The last time after `since`, and not after `until`. It looks back from `until`, which may be years later. */
export function findLast(next: NextTime, { since, until }: { since: number; until: number }): number | undefined {
  if (next(since) > until) return undefined;
  for (let backMs = 60_000; ; backMs *= 2) {
    const from = Math.max(since, until - backMs);
    let found: number | undefined;
    for (let time = next(from); time <= until; time = next(time)) found = time;
    if (found !== undefined || from === since) return found;
  }
}

/** In ISO 8601, as the clock of the wall shows it, with its offset: `2026-03-29T07:00:00+02:00`. */
export function toWallTime(time: number, { timezone = "UTC" }: Recurrence): string {
  const offsetMs = offsetIn(timezone)(time);
  const minutes = Math.abs(offsetMs) / 60_000;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0"));
  const shown = new Date(time + offsetMs).toISOString().replace(/(?:\.000)?Z$/, "");
  return `${shown}${offsetMs < 0 ? "-" : "+"}${hours}:${rest}`;
}
