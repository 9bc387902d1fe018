import { didYouMean } from "../config/schema/problems.ts";
import { HookError } from "../errors.ts";

const MAX_LIMIT = 1000;

/** Converts the text of a parameter, which is undefined when it is absent or empty. Throws a 400. */
type Parser<Value> = (text: string | undefined, name: string) => Value;

/** Reads the parameters that are listed. Throws a 400 for any other: a misspelled filter must not return everything. */
export function parseQuery<Values extends object>(
  query: URLSearchParams,
  parsers: { [Name in keyof Values]: Parser<Values[Name]> },
): Values;
export function parseQuery(query: URLSearchParams, parsers: Record<string, Parser<unknown>>): object {
  const known = Object.keys(parsers);
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const end = didYouMean(unknown, known, `; known here: ${known.join(", ")}.`);
    throw invalid(`Unknown parameter "${unknown.slice(0, 60)}"${end}`);
  }
  return Object.fromEntries(known.map((name) => [name, parsers[name]?.(readOnce(query, name), name)]));
}

function readOnce(query: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = query.getAll(name);
  if (others.length > 0) throw invalid(`${name} must be given only once.`);
  return value || undefined;
}

export function text(value: string | undefined): string | undefined {
  return value;
}

/** A whole number from 1 to 1000. */
export function limit(usual = 50): Parser<number> {
  return (value, name) => {
    const number = Number(value ?? usual);
    if (Number.isInteger(number) && number >= 1) return Math.min(number, MAX_LIMIT);
    throw invalid(`${name} must be a whole number from 1 to ${MAX_LIMIT}.`);
  };
}

/** The `seq` of an entry. */
export function cursor(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined;
  const seq = Number(value);
  if (Number.isSafeInteger(seq) && seq >= 0) return seq;
  throw invalid(`${name} must be the seq of an entry.`);
}

export function oneOf<Member extends string>(members: readonly Member[]): Parser<Member | undefined> {
  return (value, name) => {
    const member = members.find((candidate) => candidate === value);
    if (value === undefined || member !== undefined) return member;
    throw invalid(`${name} must be one of ${members.join(", ")}.`);
  };
}

/** A time in ISO 8601, as milliseconds since the epoch. */
export function time(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined;
  const at = Date.parse(value);
  if (!Number.isNaN(at)) return at;
  throw invalid(`${name} must be a time in ISO 8601.`);
}

function invalid(message: string): HookError {
  return new HookError("invalid_query", { message });
}
