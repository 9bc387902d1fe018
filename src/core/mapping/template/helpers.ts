import { ExactNumber, parseExact } from "../../shared/exact-json.ts";
import { isObject, isTooDeep, toText, isTrue } from "../../shared/json.ts";
import { htmlToText } from "../../shared/html/html.ts";
import { toBrief } from "../../shared/text/brief.ts";
import { cutText } from "../../shared/text/text.ts";

/** A helper that gives a value: `{{truncate body 100}}`, `(eq action "opened")`. */
export interface Helper {
  /** Minimum and maximum number of parameters. */
  takes: readonly [number, number];
  /** Its first value is converted to text, which costs the length of that text. */
  readsText?: true;
  /** Reading a character of its first value takes about as long as writing this many. */
  cost?: number;
  /** A missing first value becomes text, and still counts as missing in a key. */
  showsMissing?: true;
  run: (...values: unknown[]) => unknown;
}

/** Everything a template can call beside `if`, `unless`, `each`, `with` and `lookup`. None throws, whatever the values. */
export const HELPERS: Record<string, Helper> = {
  json: { takes: [1, 1], showsMissing: true, run: (value) => JSON.stringify(value ?? null) },
  /** The value that a text contains as JSON, plain or in Base64, for senders that put JSON into a string. Missing for any other text. */
  parse: { takes: [1, 1], readsText: true, run: ofValue(parse) },
  /** The first value that is not missing, null or empty text. */
  default: {
    takes: [2, Infinity],
    run: (...values) => values.find((value) => value !== undefined && value !== null && value !== ""),
  },
  /** At most this many characters; a text that was cut ends in `…`. */
  truncate: { takes: [2, 2], readsText: true, run: ofValue(truncate) },
  /** The text in front of the first such mark; all of it without one: `{{before url "/rest/"}}`. */
  before: { takes: [2, 2], readsText: true, run: ofValue(before) },
  /** The rest of the text, behind the first such mark; all of it without one. */
  rest: { takes: [2, 2], readsText: true, run: ofValue(textBehind) },
  /** The items of a list, separated by `, ` or the second value. */
  join: { takes: [1, 2], run: ofValue(join) },
  /** A mail's text with long quotes and long addresses shortened. */
  brief: { takes: [1, 1], readsText: true, run: ofValue((value) => toBrief(toText(value))) },
  /** The text that a reader sees of HTML: hidden text is left out. A text without HTML stays as it is. */
  htmlToText: { takes: [1, 1], readsText: true, cost: 4, run: ofValue((value) => toSeen(toText(value))) },
  /** A technical name as words: `invoice.payment_failed` is `invoice payment failed`. */
  words: { takes: [1, 1], readsText: true, run: ofValue(toWords) },
  /** An object's other fields that have a value: `{{#each (without payload "id type")}}`. */
  without: { takes: [2, 2], run: ofValue(without) },
  lower: { takes: [1, 1], run: ofValue((value) => toText(value).toLowerCase()) },
  upper: { takes: [1, 1], run: ofValue((value) => toText(value).toUpperCase()) },
  date: { takes: [1, 2], run: ofValue(renderDate) },
  /** An amount in the smallest unit of its currency as people write it: `{{money 1000 "usd"}}` is `10.00 USD`. */
  money: { takes: [2, 3], readsText: true, run: ofValue(renderMoney) },
  /** Same type, same value. */
  eq: { takes: [2, 2], run: (left, right) => toNumber(left) === toNumber(right) },
  /** The first value that `if` takes for false, else the last one (`at(-1)`). */
  and: { takes: [1, Infinity], run: (...values) => values.at(values.findIndex((value) => !isTrue(value))) },
  /** The first value that `if` takes for true, else the last one. */
  or: { takes: [1, Infinity], run: (...values) => values.at(values.findIndex(isTrue)) },
  not: { takes: [1, 1], run: (value) => !isTrue(value) },
};

/** A missing value stays missing. */
function ofValue(run: Helper["run"]): Helper["run"] {
  return (value, ...rest) => (value === undefined || value === null ? undefined : run(value, ...rest));
}

function toSeen(text: string): string {
  return TAG_OR_ENTITY.test(text) ? htmlToText(text) : text;
}

const TAG_OR_ENTITY = /<[a-z/!?]|&(?:#|[a-z]+;)/i;

function toWords(value: unknown): string {
  const text = toText(value).replace(/([a-z\d])([A-Z])/g, "$1 $2");
  return text
    .replace(/[\s._:/-]+/g, " ")
    .trim()
    .toLowerCase();
}

function without(value: unknown, names: unknown): unknown {
  if (!isObject(value)) return undefined;
  const left = new Set(toText(names).split(" "));
  const isGiven = ([name, field]: [string, unknown]): boolean =>
    !left.has(name) && field !== null && field !== undefined && field !== "";
  return Object.fromEntries(Object.entries(value).filter(isGiven));
}

/** How the Base64 of an object or of a list of objects begins. */
const BASE64_OF_JSON = /^(?:e[3wy]|W[3yz])[\w+/-]+=*$/;

function parse(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    const parsed = parseExact(BASE64_OF_JSON.test(value) ? Buffer.from(value, "base64").toString() : value);
    return isTooDeep(parsed) ? undefined : parsed;
  } catch {
    return undefined;
  }
}

function truncate(value: unknown, length: unknown): string {
  const text = toText(value);
  const max = Number(length);
  if (!(text.length > max)) return text;
  return max < 1 ? "" : `${cutText(text, max - 1)}…`;
}

function before(value: unknown, mark: unknown): string {
  const text = toText(value);
  const end = text.indexOf(toText(mark));
  return end === -1 ? text : text.slice(0, end);
}

function textBehind(value: unknown, mark: unknown): string {
  const [text, found] = [toText(value), toText(mark)];
  const start = text.indexOf(found);
  return start === -1 ? text : text.slice(start + found.length);
}

function join(list: unknown, separator: unknown = ", "): string {
  return Array.isArray(list) ? list.map(toText).join(toText(separator)) : toText(list);
}

/** A long number in its exact form is one like any other, where it is not written. */
function toNumber(value: unknown): unknown {
  return value instanceof ExactNumber ? Number(value) : value;
}

/** A time as ISO 8601, or in a format of `YYYY MM DD HH mm ss`, always in UTC. Anything that is not a time is unchanged. */
function renderDate(value: unknown, format?: unknown): string {
  const date = new Date(toMilliseconds(toNumber(value)));
  if (Number.isNaN(date.getTime())) return toText(value);
  const iso = date.toISOString();
  if (format === undefined) return iso;
  const [YYYY = "", MM = "", DD = "", HH = "", mm = "", ss = ""] = iso.split(/[-T:.]/);
  const parts: Record<string, string> = { YYYY, yyyy: YYYY, MM, DD, dd: DD, HH, mm, ss };
  return toText(format).replace(/YYYY|yyyy|MM|DD|dd|HH|mm|ss/g, (token) => parts[token] ?? token);
}

/** A number is in seconds if as milliseconds it would be before 1973; as seconds it would be after the year 5138. */
const FIRST_MILLISECONDS = 1e11;
const DATE_START = /^\d{4}-\d{2}|^(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4}/;

/** The zones that `Date.parse` knows, at the end. */
const ZONE = /(?:z|ut|utc|gmt|[ecmp][sd]t|:[\d.]+ *[+-]\d\d(?::?\d\d)?| [+-]\d{4})(?: *\([^()]*\))?$/i;

/**
 * Accepts ISO 8601, the date of a mail's header, and a Unix time as a number or its digits. A time without a zone is in UTC. NaN
 * for anything else.
 */
function toMilliseconds(value: unknown): number {
  if (typeof value === "number") return value < FIRST_MILLISECONDS ? value * 1000 : value;
  if (typeof value !== "string") return NaN;
  if (/^\d{9,}(?:\.\d+)?$/.test(value)) return toMilliseconds(Number(value));
  // `Date.parse` accepts nearly anything ("part 2"), but only these two forms are meant.
  if (!DATE_START.test(value)) return NaN;
  // `Date.parse` would take the server's zone. ISO 8601 needs a `Z`, other forms a `UTC`.
  const forms = ZONE.test(value) ? [value] : [`${value}Z`, `${value} UTC`];
  return forms.map((form) => Date.parse(form)).find((time) => !Number.isNaN(time)) ?? NaN;
}

/**
 * `digits`: how many of the amount's digits are behind the point; by default as many as the currency has. 0: the amount is
 * in whole units. What is no number stays as it is.
 */
function renderMoney(value: unknown, currency: unknown, digits?: unknown): string {
  const text = toText(value);
  const code = toText(currency).toUpperCase();
  const [, sign, units = "", rest = ""] = /^(-?)(\d{1,40})(?:\.(\d{1,40}))?$/.exec(text) ?? [];
  if (sign === undefined || code === "") return [text, code].join(" ").trim();
  const usual = THREE_DIGITS.has(code) ? 3 : NO_DIGITS.has(code) ? 0 : 2;
  const behind = typeof digits === "number" && digits >= 0 && digits <= 10 ? Math.trunc(digits) : usual;
  const padded = units.padStart(behind + 1, "0");
  const whole = padded.slice(0, padded.length - behind).replace(/^0+(?=\d)/, "");
  const fraction = `${padded.slice(padded.length - behind)}${rest}`.replace(/0+$/, "").padEnd(usual, "0");
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`} ${code}`;
}

/** Currencies as Stripe counts them (ISK and UGX with two digits), and Telegram's stars. https://docs.stripe.com/currencies */
const NO_DIGITS = new Set("BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF XTR".split(" "));
const THREE_DIGITS = new Set("BHD IQD JOD KWD LYD OMR TND".split(" "));
