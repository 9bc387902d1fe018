import type { IncomingHttpHeaders } from "node:http";
import type { HookError } from "../errors.ts";
import { cutText } from "../shared/text.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** A request that was refused before its sender was known. Nothing of its body is kept. */
export interface Rejection {
  /** The id of the request. */
  id: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** undefined: the path cannot be the name of a hook. */
  hook?: string;
  method: string;
  /** missing · malformed · wrong · expired: its credential · no_such_hook · or the code of the answer. */
  reason: string;
  /** The sentence of the answer. */
  message: string;
  /** A note about all refused requests of this sender. */
  hint?: string;
  client: string;
  /** Names only. */
  headers: string[];
  /** The declared size in bytes. */
  size?: number;
  /** How many more requests this client was refused while it was throttled. */
  repeated?: number;
}

interface RefusedRequest {
  id: string;
  method: string;
  client: string;
  headers: IncomingHttpHeaders;
}

type RefusalError = Pick<HookError, "code" | "message">;

interface RejectionDetails {
  reason?: string;
  hint?: string;
  /** The client has failed too often. */
  isThrottled?: boolean;
}

export interface RejectionLog {
  /** Keeps a refused request; gives the error back. */
  add<E extends RefusalError>(
    request: RefusedRequest,
    hook: string | undefined,
    error: E,
    details?: RejectionDetails,
  ): E;
  /** Newest first. */
  list(limit: number): Rejection[];
}

const MAX_REJECTIONS = 500;
const MAX_HEADERS = 64;
const MAX_NAME_LENGTH = 100;
const LOG_INTERVAL_MS = 60_000;

/** Keeps the newest refused requests in memory, and logs a line a minute for each reason. */
export function createRejectionLog(
  { log }: Pick<Telemetry, "log">,
  changed: (rejection: Rejection) => void = () => undefined,
): RejectionLog {
  const kept: Rejection[] = [];
  /** How many there were since the last line, by reason. */
  const counts = new Map<string, number>();

  return {
    add(request, hook, error, details = {}) {
      const refusal = toRefusal(request, hook, error, details);
      report(refusal);
      changed((details.isThrottled && countRepeated(request.client)) || keep(toRejection(refusal, request)));
      return error;
    },
    list: (limit) => kept.slice(-limit).toReversed(),
  };

  function keep(rejection: Rejection): Rejection {
    kept.push(rejection);
    if (kept.length > MAX_REJECTIONS) kept.shift();
    return rejection;
  }

  /** A client that is refused again and again must not push out all others. */
  function countRepeated(client: string): Rejection | undefined {
    const last = kept.findLast((rejection) => rejection.client === client);
    if (last) last.repeated = (last.repeated ?? 0) + 1;
    return last;
  }

  function report(refusal: Reported): void {
    const { reason } = refusal;
    const count = counts.get(reason);
    if (count === undefined) write(refusal, 1);
    else counts.set(reason, count + 1);
  }

  function write({ reason, hook, client, hint }: Reported, count: number): void {
    log.warn("requests refused", { step: "request", reason, count, hook, client, hint });
    counts.set(reason, 0);
    setTimeout(() => {
      const more = counts.get(reason) ?? 0;
      const last = kept.findLast((rejection) => rejection.reason === reason);
      if (more > 0 && last) write(last, more);
      else counts.delete(reason);
    }, LOG_INTERVAL_MS).unref();
  }
}

/** The facts about every refusal, also about one that is only counted. */
type Reported = Pick<Rejection, "hook" | "reason" | "message" | "hint" | "client">;

function toRefusal(
  { client }: RefusedRequest,
  hook: string | undefined,
  { code, message }: RefusalError,
  { reason = code === "not_found" ? "no_such_hook" : code, hint }: RejectionDetails,
): Reported {
  return { hook: hook && cutText(hook, MAX_NAME_LENGTH), reason, message, hint, client };
}

function toRejection(refusal: Reported, { id, method, headers }: RefusedRequest): Rejection {
  const size = headers["content-length"];
  return {
    id,
    at: Date.now(),
    method,
    ...refusal,
    headers: Object.keys(headers)
      .slice(0, MAX_HEADERS)
      .map((name) => cutText(name, MAX_NAME_LENGTH)),
    size: size === undefined ? undefined : Number(size),
  };
}
