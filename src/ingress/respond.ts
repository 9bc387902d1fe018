import { toHookError } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { ActionReceipt, HttpResponse, Receipt } from "../types.ts";

/** The answer to a request that the journal has committed. */
export function receiptToResponse({ eventId, actions, warnings, replayed }: Receipt): HttpResponse {
  const headers: Record<string, string> = replayed ? { "Idempotency-Replayed": "true" } : {};
  const [first, ...others] = actions;
  if (!first) return { status: 204, headers };
  const body = {
    ok: true,
    ...(others.length === 0 ? toSingle(first) : { actions, runIds: actions.flatMap(({ runId }) => runId ?? []) }),
    eventId,
    ...(warnings.length > 0 && { warnings }),
  };
  return { status: actions.some(({ kind }) => kind === "agent") ? 202 : 200, headers, body };
}

function toSingle({ kind, mode, runId, sessionKey, coalesced }: ActionReceipt): object {
  return kind === "wake" ? { mode } : { runId, sessionKey, ...(coalesced && { coalesced }) };
}

/** The answer to an error. An unexpected error is logged whole, and its answer reveals nothing. */
export function errorToResponse(error: unknown, requestId: string, log: Log): HttpResponse {
  const { status, headers, message, code } = toHookError(error);
  if (code === "internal_error") log.error("a request failed", { requestId, error: describe(error) });
  return { status, headers, body: { ok: false, error: message, code, requestId } };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
