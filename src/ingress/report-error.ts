import type { Log } from "../telemetry/log.ts";
import type { HookResponse } from "../types.ts";
import type { Exchange } from "./exchange.ts";
import { errorToResponse, isExpected } from "./respond.ts";

/** Logs a fault of the service whole, which the caller hears nothing of, and gives the answer to any error. */
export function reportError(log: Log, { id }: Exchange, error: unknown): HookResponse {
  if (!isExpected(error)) log.error("a request failed", { requestId: id, error: describe(error) });
  return errorToResponse(error, id);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
