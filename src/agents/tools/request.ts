import { toText } from "../../core/shared/json.ts";
import { type Connection, NotSent, toUnknownOutcome } from "../../core/shared/net/connection.ts";
import { type CallResult, toError } from "../../core/ports/tool-set.ts";
import { compileFields, type CompileTemplate } from "../../core/shared/template-values.ts";
import { compilePath, RefusedArgument } from "./path.ts";

export const METHODS = ["get", "post", "put", "patch", "delete"] as const;

type Args = Record<string, unknown>;

/** A request whose path, query and body are made of a call's arguments. Its path is under its method. */
interface RequestForm extends Partial<Record<(typeof METHODS)[number], string>> {
  query?: Args;
  /** Makes the body. Absent: none is sent. */
  fillBody?(args: Args): Args;
}

/** The same for all requests of one service. */
interface Server {
  /** A URL without a query. */
  baseUrl: string;
  connection: Connection;
  headers: Record<string, string>;
}

interface SendOptions {
  signal: AbortSignal;
  /** The key by which the service recognizes a repeat. */
  callId?: string;
}

/** Rejects with a `RefusedArgument`, a `NotSent` or an error of `fetch`. */
type Send = (server: Server, args: Args, options: SendOptions) => Promise<Response>;

/** `key`: where it is written. Throws an `Error` that says what is wrong with it. */
export function compileRequest(
  { query = {}, fillBody, ...paths }: RequestForm,
  key: string,
  compileTemplate: CompileTemplate,
): { method: string; path: string; send: Send } {
  const known = METHODS.find((name) => paths[name] !== undefined) ?? "get";
  const method = known.toUpperCase();
  const path = paths[known] ?? "/";
  const { render } = compilePath(path);
  const fillQuery = compileFields(query, `${key}query`, compileTemplate);
  return {
    method,
    path,
    async send({ baseUrl, connection, headers }, args, { signal, callId }) {
      const { origin, pathname } = new URL(baseUrl);
      const url = toUrl(origin, pathname.replace(/\/+$/, "") + render(args), fillQuery(args));
      const body = fillBody && JSON.stringify(fillBody(args));
      return connection.fetch(url, {
        method,
        headers: {
          "user-agent": "hookline",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
          ...(method !== "GET" && callId !== undefined && { "idempotency-key": callId }),
        },
        body,
        signal,
      });
    },
  };
}

/** The URL parser must not change the path: the server would get another one than was checked. */
function toUrl(origin: string, path: string, query: Args): URL {
  const url = new URL(origin + path);
  if (url.pathname !== path) throw new RefusedArgument("The arguments make another path than the call says.");
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== null) url.searchParams.append(name, toText(item));
    }
  }
  return url;
}

export function toResult(status: number, host: string, text: string): CallResult {
  if (text.includes("\0")) return toError(`${status} from ${host}, with an answer that is no text.`);
  if (status >= 200 && status < 300) return { text, isError: false };
  const reason = `${status} from ${host}`;
  return toError(reason, text === "" ? reason : `${reason}\n${text}`);
}

/** The result of a request that failed. Throws a `DriverError` if that is not known. */
export function toFailure(error: unknown, host: string, signal: AbortSignal): CallResult {
  if (error instanceof NotSent) return { ...toError(error.message), isUnreached: true };
  if (error instanceof RefusedArgument) return toError(error.message);
  throw toUnknownOutcome(host, error, signal);
}
