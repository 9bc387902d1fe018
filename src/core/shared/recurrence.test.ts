import { expect, test } from "vitest";
import { compileRecurrence, findFlaw, findLast, type Recurrence, toWallTime } from "./recurrence.ts";
import { HOUR_MS } from "./time.ts";

const ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];
const YEAR = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2027, 0, 1) };
/** In these months each of the zones has a clock change. */
const CHANGES = [
  { from: Date.UTC(2026, 2, 1), to: Date.UTC(2026, 3, 15) },
  { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 10, 15) },
];

/** All times from one to another, on the clock of the wall. */
function list(recurrence: Recurrence, from: string, to: string): string[] {
  const next = compileRecurrence(recurrence);
  const times = [];
  for (let time = next(Date.parse(from) - 1); time < Date.parse(to); time = next(time)) times.push(time);
  return times.map((time) => toWallTime(time, recurrence).slice(11, -9) + toWallTime(time, recurrence).slice(-6));
}

/** The days of both clock changes in Berlin, from 01:00 to 04:00. */
const SPRING = ["2026-03-29T00:00Z", "2026-03-29T02:00Z"] as const;
const AUTUMN = ["2026-10-24T23:00Z", "2026-10-25T03:00Z"] as const;
const berlin = (cron: string): Recurrence => ({ cron, timezone: "Europe/Berlin" });

test.each([
  // A fixed time in the gap comes at its end, one that is repeated once.
  ["30 2 * * *", ["03:00+02:00"], ["02:30+02:00"]],
  ["0,30 2 * * *", ["03:00+02:00"], ["02:00+02:00", "02:30+02:00"]],
  ["0 2,3 * * *", ["03:00+02:00"], ["02:00+02:00", "03:00+01:00"]],
  ["30 2,3 * * *", ["03:00+02:00", "03:30+02:00"], ["02:30+02:00", "03:30+01:00"]],
  ["0-59/30 2 * * *", ["03:00+02:00"], ["02:00+02:00", "02:30+02:00"]],
  // With a `*` they go by what has passed.
  ["*/30 * * * *", ["01:00+01:00", "01:30+01:00", "03:00+02:00", "03:30+02:00"], repeated(["00", "30"])],
  ["*/30 2 * * *", ["03:00+02:00"], ["02:00+02:00", "02:30+02:00", "02:00+01:00", "02:30+01:00"]],
  ["7 * * * *", ["01:07+01:00", "03:07+02:00"], repeated(["07"])],
  ["@hourly", ["01:00+01:00", "03:00+02:00"], repeated(["00"])],
  ["0 */2 * * *", ["03:00+02:00"], ["02:00+02:00", "02:00+01:00"]],
])("%s over the clock changes of Berlin", (cron, spring, autumn) => {
  expect(list(berlin(cron), ...SPRING)).toEqual(spring);
  expect(list(berlin(cron), ...AUTUMN)).toEqual(autumn);
});

function repeated(minutes: string[]): string[] {
  return ["01:mm+02:00", "02:mm+02:00", "02:mm+01:00", "03:mm+01:00"].flatMap((hour) =>
    minutes.map((minute) => hour.replace("mm", minute)),
  );
}

test("a gap of half an hour leaves out no hour", () => {
  const hourly = { cron: "10 * * * *", timezone: "Australia/Lord_Howe" };
  expect(list(hourly, "2026-10-03T14:30Z", "2026-10-03T17:00Z")).toEqual(["01:10+10:30", "02:30+11:00", "03:10+11:00"]);
});

test.each(ZONES)("in a year in %s no time comes twice, and none is lost", (timezone) => {
  const listTimes = (cron: string, { from, to } = YEAR): number[] => {
    const next = compileRecurrence({ cron, timezone });
    const times = [];
    for (let time = next(from - 1); time < to; time = next(time)) times.push(time);
    // From wherever one asks, this is the next.
    for (const time of times.slice(0, 365)) expect(next(time - 1)).toBe(time);
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
    return times;
  };
  const day = new Intl.DateTimeFormat("en", { timeZone: timezone, dateStyle: "short" });
  for (const cron of ["15 2 * * *", "@daily"]) {
    const days = listTimes(cron).map((time) => day.format(time));
    expect([days.length, new Set(days).size]).toEqual([365, 365]);
  }
  for (const months of CHANGES) {
    expect(listTimes("0 * * * *", months)).toHaveLength((months.to - months.from) / HOUR_MS);
  }
});

test.each([
  [{ cron: "@daily" }, "2026-02-01T00:00:00+00:00"],
  [{ cron: "0 7 * * MON-FRI", timezone: "America/New_York" }, "2026-02-02T07:00:00-05:00"],
  [{ cron: "0 0 L * *" }, "2026-02-28T00:00:00+00:00"],
  [{ cron: "0 12 15W * *", timezone: "Asia/Kolkata" }, "2026-02-16T12:00:00+05:30"],
  [{ cron: "0 9 * FEB FRI#2", timezone: "Europe/Berlin" }, "2026-02-13T09:00:00+01:00"],
  [{ cron: "0 0 29 2 *" }, "2028-02-29T00:00:00+00:00"],
  [{ every: "1m" }, "2026-01-31T00:01:00+00:00"],
  [{ every: "7h" }, "2026-01-31T01:00:00+00:00"],
  [{ every: "24h" }, "2026-02-01T00:00:00+00:00"],
])("%j", (recurrence, time) => {
  const next = compileRecurrence(recurrence)(Date.UTC(2026, 0, 31));
  expect(toWallTime(next, recurrence)).toBe(time);
});

const FIELDS = 'Write five fields (minute, hour, day, month, weekday) such as "0 7 * * 1-5", or a name such as @daily.';

test.each<[Recurrence, string | undefined, string]>([
  [{}, undefined, 'It needs cron, such as "0 7 * * *", or every, such as "15m". Set one of them.'],
  [
    { every: "1h", timezone: "UTC" },
    "timezone",
    "Only cron has a time zone: every counts in UTC. Remove this setting.",
  ],
  [{ every: "1h", cron: "@daily" }, "every", "cron says when. Set either cron or every, not both."],
  [
    { cron: "@daily", timezone: "Europe/Bonn" },
    "timezone",
    'There is no time zone "Europe/Bonn". Write one such as "Europe/Berlin".',
  ],
  [{ cron: "60 * * * *" }, "cron", `This cron expression cannot be used (Invalid value for minute: 60). ${FIELDS}`],
  [{ cron: "0 7 * * XYZ" }, "cron", `This cron expression cannot be used (`],
  [{ cron: "* * * * * *" }, "cron", `This is not a cron expression. ${FIELDS}`],
  [{ cron: "7 * * *" }, "cron", `This is not a cron expression. ${FIELDS}`],
  [{ cron: "2026-12-24T00:00:00" }, "cron", `This is not a cron expression. ${FIELDS}`],
  [{ cron: "@reboot" }, "cron", "This cron expression cannot be used ("],
  [{ cron: "0 0 30 2 *" }, "cron", "No date fits this cron expression, so its time never comes. Choose another day."],
  [
    { cron: "0 0 31 4,6,9,11 *" },
    "cron",
    "No date fits this cron expression, so its time never comes. Choose another day.",
  ],
])("%j has a flaw", (recurrence, field, message) => {
  expect(findFlaw(recurrence)).toEqual({ ...(field && { field }), message: expect.stringContaining(message) });
});

test("the last time is found at once, however long nobody looked", () => {
  const next = compileRecurrence({ cron: "* * * * *", timezone: "Europe/Berlin" });
  const until = Date.UTC(2026, 5, 1, 12, 0, 30);
  expect(findLast(next, { since: 0, until })).toBe(until - 30_000);
  expect(findLast(next, { since: until - 30_000, until })).toBeUndefined();
  expect(findLast(compileRecurrence({ cron: "0 0 1 1 *" }), { since: 0, until })).toBe(Date.UTC(2026, 0, 1));
  expect(findLast(compileRecurrence({ cron: "0 0 1 1 *" }), { since: Date.UTC(2026, 0, 1), until })).toBeUndefined();
});
