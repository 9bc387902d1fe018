import { cutText } from "../../shared/text.ts";
/** A helper that gives a value: `{{truncate body 100}}`, `(eq action "opened")`. */
export interface Helper {
  /** Least and most parameters. */
  takes: readonly [number, number];
  /** Its first value is made a text for it, at the cost of writing that text. */
  readsText?: true;
  run: (...values: unknown[]) => unknown;
}

/** Everything a template can call beside `if`, `unless`, `each`, `with` and `lookup`. Whatever the values, none throws. */
export const HELPERS: Record<string, Helper> = {
  /** JSON of any value. */
  json: { takes: [1, 1], run: toJson },
  /** The first value that is not missing, null or empty text. */
  default: { takes: [2, Infinity], run: pickGiven },
  /** At most so many characters; a text that was cut ends in `…`. */
  truncate: { takes: [2, 2], readsText: true, run: truncate },
  /** The items of a list as one text, between them `, ` or the second value. */
  join: { takes: [1, 2], run: join },
  lower: { takes: [1, 1], run: (value) => toText(value).toLowerCase() },
  upper: { takes: [1, 1], run: (value) => toText(value).toUpperCase() },
  /** A moment as ISO 8601, or in the given form of `YYYY MM DD HH mm ss`; always UTC. */
  date: { takes: [1, 2], run: renderDate },
  /** Same type, same value. */
  eq: { takes: [2, 2], run: (left, right) => left === right },
  /** The first value that `if` takes for false, else the last one (`at(-1)`). */
  and: { takes: [1, Infinity], run: (...values) => values.at(values.findIndex((value) => !isTrue(value))) },
  /** The first value that `if` takes for true, else the last one. */
  or: { takes: [1, Infinity], run: (...values) => values.at(values.findIndex(isTrue)) },
  not: { takes: [1, 1], run: (value) => !isTrue(value) },
};

/** What a value is in a text: nothing where there is none, JSON where it is a list or an object. */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : toJson(value);
}

function toJson(value: unknown): string {
  return JSON.stringify(value ?? null);
}

function pickGiven(...values: unknown[]): unknown {
  return values.find((value) => value !== undefined && value !== null && value !== "");
}

function truncate(value: unknown, length: unknown): string {
  const text = toText(value);
  const most = Number(length);
  if (!(text.length > most)) return text;
  if (most < 1) return "";
  return `${cutText(text, most - 1)}…`;
}

function join(list: unknown, separator: unknown = ", "): string {
  return Array.isArray(list) ? list.map(toText).join(toText(separator)) : toText(list);
}

/** What is no date stays as it is. */
function renderDate(value: unknown, form?: unknown): string {
  return formatDate(value, form === undefined ? undefined : toText(form)) ?? toText(value);
}

/** As `if` sees it: an empty list is false. */
function isTrue(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/**
 * A moment as ISO 8601, or in a form of `YYYY MM DD HH mm ss` (or `yyyy dd`), in UTC either way; `undefined` where the value is none. It can be ISO
 * 8601, the date of a mail's header, or the time since the epoch as a number or its digits.
 */
function formatDate(value: unknown, form?: string): string | undefined {
  const date = new Date(toMilliseconds(value));
  if (Number.isNaN(date.getTime())) return undefined;
  const iso = date.toISOString();
  if (form === undefined) return iso;
  const [year = "", month = "", day = "", hour = "", minute = "", second = ""] = iso.split(/[-T:.]/);
  const parts: Record<string, string> = {
    YYYY: year,
    yyyy: year,
    MM: month,
    DD: day,
    dd: day,
    HH: hour,
    mm: minute,
    ss: second,
  };
  return form.replace(/YYYY|yyyy|MM|DD|dd|HH|mm|ss/g, (token) => parts[token] ?? token);
}

/** Numbers are seconds, or milliseconds where seconds would be far off. */
function toMilliseconds(value: unknown): number {
  if (typeof value === "number") return value < FIRST_MILLISECONDS ? value * 1000 : value;
  if (typeof value !== "string") return NaN;
  if (/^\d{9,}(?:\.\d+)?$/.test(value)) return toMilliseconds(Number(value));
  // `Date.parse` makes a date of nearly anything ("part 2"): only the two forms are meant.
  return DATE_START.test(value) ? Date.parse(value) : NaN;
}

const DATE_START = /^\d{4}-\d{2}|^(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4}/;

/** As seconds it is the year 5138, as milliseconds 1973. */
const FIRST_MILLISECONDS = 1e11;
