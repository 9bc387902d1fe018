import { didYouMean } from "../config/did-you-mean.ts";
import { HookError } from "../errors.ts";

const MAX_LIMIT = 1000;

/** Throws a 400 for an unknown parameter: a misspelled filter must not return everything. */
export function requireOnly(query: URLSearchParams, ...known: string[]): void {
  for (const name of query.keys()) {
    if (known.includes(name)) continue;
    throw invalid(
      `Unknown parameter "${name.slice(0, 60)}"${didYouMean(name, known, `; known here: ${known.join(", ")}.`)}`,
    );
  }
}

/** The `limit`: a whole number from 1 to 1000. */
export function toLimit(query: URLSearchParams, usual = 50): number {
  const text = toText(query, "limit");
  if (text === undefined) return usual;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1) return Math.min(limit, MAX_LIMIT);
  throw invalid(`limit must be a whole number from 1 to ${MAX_LIMIT}.`);
}

/** The page of a list that is sorted newest first. */
export function toPage(query: URLSearchParams): { limit: number; before: string | undefined } {
  return { limit: toLimit(query), before: toText(query, "before") };
}

/** The cursor of a list that is sorted oldest first. */
export function toCursor(query: URLSearchParams): number | undefined {
  const text = toText(query, "after");
  if (text === undefined) return undefined;
  const after = Number(text);
  if (Number.isSafeInteger(after) && after >= 0) return after;
  throw invalid("after must be the seq of an entry.");
}

/** A parameter that is given at most once; undefined when it is empty. */
export function toText(query: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = query.getAll(name);
  if (others.length > 0) throw invalid(`${name} must be given only once.`);
  return value || undefined;
}

/** A parameter from a closed set. */
export function toOneOf<Member extends string>(
  query: URLSearchParams,
  name: string,
  members: readonly Member[],
): Member | undefined {
  const text = toText(query, name);
  if (text === undefined) return undefined;
  const member = members.find((candidate) => candidate === text);
  if (member !== undefined) return member;
  throw invalid(`${name} must be one of ${members.join(", ")}.`);
}

/** A time in ISO 8601, as milliseconds since the epoch. */
export function toMoment(query: URLSearchParams, name: string): number | undefined {
  const text = toText(query, name);
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return at;
  throw invalid(`${name} must be a time in ISO 8601.`);
}

/** Returns the item, or throws a 404 when there is none. */
export function requireFound<Item>(item: Item | undefined, what: string): Item {
  if (item === undefined) throw new HookError("not_found", { message: `There is no such ${what}.` });
  return item;
}

function invalid(message: string): HookError {
  return new HookError("invalid_query", { message });
}
