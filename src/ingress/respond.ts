import { STATUS_CODES } from "node:http";
import { HookError } from "../errors.ts";
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
  const heard = toHookError(error);
  return {
    status: heard.status,
    headers: heard.headers,
    body: { ok: false, error: heard.message, code: heard.code, requestId },
  };
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

function toHookError(error: unknown): HookError {
  if (error instanceof HookError) return error;
  // By name: the journal's drivers are not for the ingress to import.
  if (error instanceof Error && error.name === "JournalUnavailable") return journalUnavailable();
  return toFrameworkError(error) ?? new HookError(500, "internal_error", "Something went wrong inside.");
}

function journalUnavailable(): HookError {
  return new HookError(503, "journal_unavailable", "The event could not be stored. Try again.", {
    headers: { "Retry-After": "1" },
  });
}

/** The HTTP framework's own 4xx, for routes that it parses; its messages can quote the request, so they are replaced. */
function toFrameworkError(error: unknown): HookError | undefined {
  const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 0;
  const reason = status >= 400 && status < 500 ? STATUS_CODES[status] : undefined;
  if (!reason) return undefined;
  return new HookError(status, reason.toLowerCase().replaceAll(/[^a-z]+/g, "_"), `${reason}.`);
}

/** Logs a fault of the service whole, which the caller hears nothing of, and gives the answer to any error. */
export function reportError(log: Log, { id }: Exchange, error: unknown): HookResponse {
  if (!isExpected(error)) log.error("a request failed", { requestId: id, error: describe(error) });
  return errorToResponse(error, id);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
