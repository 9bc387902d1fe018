import { didYouMean } from "../config/did-you-mean.ts";
import { HookError } from "../errors.ts";

/** Parameters as they came: nothing is known of them. */
export type Query = Record<string, unknown>;

const MOST = 1000;

/** Throws a 400 for a parameter that is none of these: who misspells a filter is not to be given everything. */
export function requireOnly(query: Query, ...known: string[]): void {
  const unknown = Object.keys(query).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const end = didYouMean(unknown, known, `; known here: ${known.join(", ")}.`);
  throw new HookError("invalid_query", { message: `There is no parameter "${unknown.slice(0, 60)}"${end}` });
}

/** The query's `limit`: a whole number from 1 to 1000. */
export function toLimit(query: Query, usual = 50): number {
  const text = toText(query, "limit");
  if (text === undefined) return usual;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1) return Math.min(limit, MOST);
  throw new HookError("invalid_query", { message: `limit must be a whole number from 1 to ${MOST}.` });
}

/** The query's page of a list, newest first. */
export function toPage(query: Query): { limit: number; before: string | undefined } {
  return { limit: toLimit(query), before: toText(query, "before") };
}

/** A query parameter given at most once. */
export function toText(query: Query, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new HookError("invalid_query", { message: `${name} may stand only once.` });
}

/** A query parameter out of a closed set. */
export function toOneOf<Member extends string>(
  query: Query,
  name: string,
  members: readonly Member[],
): Member | undefined {
  const text = toText(query, name);
  if (text === undefined) return undefined;
  const member = members.find((candidate) => candidate === text);
  if (member !== undefined) return member;
  throw new HookError("invalid_query", { message: `${name} must be one of ${members.join(", ")}.` });
}

/** A query parameter that is a moment in ISO 8601, in milliseconds since the epoch. */
export function toMoment(query: Query, name: string): number | undefined {
  const text = toText(query, name);
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return at;
  throw new HookError("invalid_query", { message: `${name} must be a moment in ISO 8601.` });
}

/** Gives what was looked for, or throws a 404 that says what there is none of. */
export function requireFound<Item>(item: Item | undefined, what: string): Item {
  if (item === undefined) throw new HookError("not_found", { message: `There is no such ${what}.` });
  return item;
}
