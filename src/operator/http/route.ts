import { HookError } from "../../errors.ts";
import type { Exchange } from "../../ingress/exchange.ts";
import { json, type RouteHandler } from "../../ingress/router.ts";
import type { HttpResponse } from "../../types.ts";
import { type Parameter, type Parameters, parseQuery } from "./query.ts";

/** One row of the API's table: the server, the OpenAPI document and the reference are made from it. */
export interface ApiRoute {
  /** What it gives, in a sentence or two. */
  about: string;
  query?: Record<string, Parameter<unknown>>;
  /** JSON Schema of the body. */
  body?: object;
  /** A body or a query that works. */
  example?: unknown;
  /** Default: `application/json`. */
  contentType: string;
  handle: RouteHandler;
}

interface Request<Query> {
  /** The decoded values of the path's `:names`. */
  params: Record<string, string>;
  query: Query;
  exchange: Exchange;
  readJson(maxBytes?: number): Promise<unknown>;
}

interface RouteParts<Query> extends Partial<Pick<ApiRoute, "body" | "example" | "contentType">> {
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

/** Returns the item, or throws a 404 when there is none. */
export function requireFound<Item>(item: Item | undefined, what: string): Item {
  if (item === undefined) throw new HookError("not_found", { message: `There is no such ${what}.` });
  return item;
}
