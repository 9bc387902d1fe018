/**
 * A moment as ISO 8601, or in a form of `YYYY MM DD HH mm ss` (or `yyyy dd`), in UTC either way; `undefined` where the value is none. It can be ISO
 * 8601, the date of a mail's header, or the time since the epoch as a number or its digits.
 */
export function formatDate(value: unknown, form?: string): string | undefined {
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
