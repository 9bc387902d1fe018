import { toHookError } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { ActionReceipt, HttpResponse, Receipt } from "../types.ts";
import type { Exchange } from "./exchange.ts";

/** What the caller hears once the journal has committed. */
export function receiptToResponse(receipt: Receipt): HttpResponse {
  const headers: Record<string, string> = receipt.replayed ? { "Idempotency-Replayed": "true" } : {};
  const [first, ...others] = receipt.actions;
  if (!first) return { status: 204, headers };
  const body = {
    ok: true,
    ...(others.length === 0 ? singleAction(first) : severalActions(receipt.actions)),
    eventId: receipt.eventId,
    ...(receipt.warnings.length > 0 && { warnings: receipt.warnings }),
  };
  return { status: receipt.actions.some(isAgent) ? 202 : 200, headers, body };
}

/** The one place where errors become HTTP. What is not meant for a caller becomes a 500 with nothing inside. */
export function errorToResponse(error: unknown, requestId: string): HttpResponse {
  const { status, headers, message, code } = toHookError(error);
  return { status, headers, body: { ok: false, error: message, code, requestId } };
}

/** True for errors whose reason the caller hears: they are no fault of the service. */
export function isExpected(error: unknown): boolean {
  return toHookError(error).code !== "internal_error";
}

function singleAction(action: ActionReceipt): object {
  if (!isAgent(action)) return { mode: action.mode };
  const { runId, sessionKey, coalesced } = action;
  return { runId, sessionKey, ...(coalesced && { coalesced }) };
}

function severalActions(actions: ActionReceipt[]): object {
  return { actions, runIds: actions.flatMap((action) => action.runId ?? []) };
}

function isAgent(action: ActionReceipt): boolean {
  return action.kind === "agent";
}

/** Logs a fault of the service whole, which the caller hears nothing of, and gives the answer to any error. */
export function reportError(log: Log, { id }: Exchange, error: unknown): HttpResponse {
  if (!isExpected(error)) log.error("a request failed", { requestId: id, error: describe(error) });
  return errorToResponse(error, id);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
