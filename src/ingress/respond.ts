import { HookError, type HookErrorCode, toHookError } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { ActionReceipt, HookResponse, Receipt } from "../types.ts";
import type { Exchange } from "./exchange.ts";

/** What the caller hears once the journal has committed. */
export function receiptToResponse(receipt: Receipt): HookResponse {
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
export function errorToResponse(error: unknown, requestId: string): HookResponse {
  const { status, headers, message, code } = toFrameworkError(error) ?? toHookError(error);
  return { status, headers, body: { ok: false, error: message, code, requestId } };
}

/** True for errors whose reason the caller hears: they are no fault of the service. */
export function isExpected(error: unknown): boolean {
  return toFrameworkError(error) !== undefined || toHookError(error).code !== "internal_error";
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

const FRAMEWORK_ERRORS: Record<number, HookErrorCode> = {
  400: "bad_request",
  413: "body_too_large",
  415: "unsupported_media_type",
};

/** The framework's own errors; their messages can quote the request, so they are replaced. */
function toFrameworkError(error: unknown): HookError | undefined {
  const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 0;
  const code = FRAMEWORK_ERRORS[status];
  return code && new HookError(code);
}

/** Logs a fault of the service whole, which the caller hears nothing of, and gives the answer to any error. */
export function reportError(log: Log, { id }: Exchange, error: unknown): HookResponse {
  if (!isExpected(error)) log.error("a request failed", { requestId: id, error: describe(error) });
  return errorToResponse(error, id);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
