import { didYouMean } from "../../core/shared/text/text.ts";
import { HookError } from "../../core/errors.ts";
import { json, type RouteHandler, type RouteRequest } from "../../core/ingress/router.ts";
import { isId } from "../../core/shared/id.ts";
import { REQUEST_FILTERS } from "../../core/shared/words.ts";
import type { HttpResponse } from "../../core/types.ts";
import type { OperatorAnswers } from "../views.ts";

/** One row of the API's table: the server, the OpenAPI document and the reference are made from it. */
export interface ApiRoute {
  /** A description of the answer, in one or two sentences. */
  about: string;
  query?: Record<string, Parameter<unknown>>;
  /** JSON Schema of the body. */
  body?: object;
  isBodyOptional?: boolean;
  /** A body that works. */
  example?: unknown;
  /** Default: `application/json`. */
  contentType: string;
  handle: RouteHandler;
}

/** The rows of all routes. */
export type RouteTable = { [Route in keyof OperatorAnswers]: ApiRoute & { answers?: OperatorAnswers[Route] } };

/** The rows of some paths, under all methods. */
export type RoutesOf<Path extends string> = Pick<RouteTable, Extract<keyof RouteTable, `${string} ${Path}`>>;

interface Request<Query> extends Omit<RouteRequest, "query"> {
  query: Query;
}

interface RouteParts<Query> extends Partial<Pick<ApiRoute, "body" | "isBodyOptional" | "example" | "contentType">> {
  about: string;
  query?: Parameters<Query>;
}

/** A row that answers 200 with JSON. */
export function answering<Answer, Query extends object = object>(
  parts: RouteParts<Query> & { answer(request: Request<Query>): Answer | Promise<Answer> },
): ApiRoute & { answers?: Answer } {
  return responding({ ...parts, respond: async (request) => json(await parts.answer(request)) });
}

/** A row whose answers have another form or status. */
export function responding<Query extends object = object>({
  query,
  contentType = "application/json",
  respond,
  ...rest
}: RouteParts<Query> & { respond(request: Request<Query>): HttpResponse | Promise<HttpResponse> }): ApiRoute {
  return {
    ...rest,
    query,
    contentType,
    handle: (request) => respond({ ...request, query: parseQuery(request.query, query) }),
  };
}

/** A row that changes the item of the path's `:id`. `change` gives false if there is none. */
export function changing(
  what: string,
  about: string,
  change: (id: string) => Promise<boolean>,
): ApiRoute & { answers?: { ok: true; id: string } } {
  return answering({
    about,
    async answer({ params: { id = "" } }) {
      requireFound((await change(id)) || undefined, what);
      return { ok: true as const, id };
    },
  });
}

/** Returns the item, or throws a 404 when there is none. */
export function requireFound<Item>(item: Item | undefined, what: string): Item {
  if (item === undefined) throw new HookError("not_found", { message: `There is no such ${what}.` });
  return item;
}

const MAX_LIMIT = 1000;
const MAX_TEXT = 200;
/** The name of an error group is longer. */
export const MAX_GROUP = 300;

/** A parameter of a query: how it is read, and what the reference says of it. */
export interface Parameter<Value> {
  about: string;
  /** JSON Schema of its text. */
  schema: object;
  /** The text is undefined when it is absent or empty. Throws a 400. */
  parse(text: string | undefined, name: string): Value;
}

type Parameters<Values> = { [Name in keyof Values]: Parameter<Values[Name]> };

/** Reads the parameters that are listed. Throws a 400 for any other: a misspelled filter must not return everything. */
function parseQuery<Values extends object>(query: URLSearchParams, parameters?: Parameters<Values>): Values;
function parseQuery(query: URLSearchParams, parameters: Record<string, Parameter<unknown>> = {}): object {
  const known = Object.keys(parameters);
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const others = known.length > 0 ? `; known here: ${known.join(", ")}.` : "; this path takes none.";
    throw invalid(`Unknown parameter "${unknown.slice(0, 60)}"${didYouMean(unknown, known, others)}`);
  }
  return Object.fromEntries(known.map((name) => [name, parameters[name]?.parse(readOnce(query, name), name)]));
}

function readOnce(query: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = query.getAll(name);
  if (others.length > 0) throw invalid(`${name} must be given only once.`);
  return value || undefined;
}

/** `read` gives undefined for a text that it does not take; `must` ends the sentence of the 400. */
function parameter<Value>(
  about: string,
  schema: object,
  read: (given: string) => Value | undefined,
  must: string,
): Parameter<Value | undefined> {
  return {
    about,
    schema,
    parse(given, name) {
      if (given === undefined) return undefined;
      const value = read(given);
      if (value === undefined) throw invalid(`${name} ${must}.`);
      return value;
    },
  };
}

export function text(about: string, maxLength = MAX_TEXT): Parameter<string | undefined> {
  const read = (value: string) => (value.length <= maxLength ? value : undefined);
  return parameter(about, { type: "string", maxLength }, read, `may have at most ${maxLength} characters`);
}

function itemId(about: string): Parameter<string | undefined> {
  const read = (value: string) => (isId(value) ? value : undefined);
  return parameter(about, { type: "string", format: "uuid" }, read, "must be the id of an item of this list");
}

export function itemIds(about: string): Parameter<string[] | undefined> {
  const read = (value: string) => (value.split(",").every(isId) ? value.split(",") : undefined);
  return parameter(about, { type: "string" }, read, "must be ids of items of this list, separated by commas");
}

export function limit(usual = 50): Parameter<number> {
  const schema = { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: usual };
  const read = (value: string) => readWhole(value, 1, MAX_LIMIT);
  const given = parameter("How many, at most.", schema, read, `must be a whole number from 1 to ${MAX_LIMIT}`);
  return { ...given, parse: (value, name) => given.parse(value, name) ?? usual };
}

/** The number of an item in its list. Default: the `seq` of an entry. */
export function cursor(about: string, what = "the seq of an entry"): Parameter<number | undefined> {
  const read = (value: string) => readWhole(value, 0, Number.MAX_SAFE_INTEGER);
  return parameter(about, { type: "integer", minimum: 0 }, read, `must be ${what}`);
}

export function oneOf<Member extends string>(about: string, members: readonly Member[]): Parameter<Member | undefined> {
  const read = (value: string) => members.find((member) => member === value);
  return parameter(about, { enum: [...members] }, read, `must be one of ${members.join(", ")}`);
}

/** Stricter than `Date.parse`, which accepts "5". */
const ISO_DATE = /^\d{4}-\d\d-\d\d/;

/** A time in ISO 8601, as milliseconds since the epoch. */
export function time(about: string): Parameter<number | undefined> {
  const read = (value: string) => {
    const at = ISO_DATE.test(value) ? Date.parse(value) : Number.NaN;
    return Number.isNaN(at) ? undefined : at;
  };
  const schema = { type: "string", format: "date-time" };
  return parameter(`${about} A time in ISO 8601.`, schema, read, "must be a time in ISO 8601");
}

function readWhole(given: string, min: number, max: number): number | undefined {
  const number = /^\d+$/.test(given) ? Number(given) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

function invalid(message: string): HookError {
  return new HookError("invalid_query", { message });
}

export const HOOK = text("Only this hook.");
export const STATUS = oneOf("Only events in this state; unfinished: held, waiting or running.", REQUEST_FILTERS);
export const SESSION = text("Only events with an action in this session.");
export const TIMES = {
  from: time("Only what is of then or later."),
  to: time("Only what is of before then."),
};
export const PAGE = { limit: limit(), before: itemId("Only what is older than the item with this id.") };
