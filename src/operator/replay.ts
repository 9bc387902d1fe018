import { HookError } from "../errors.ts";
import type { EventRecord } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { REDACTED } from "../shared/secret.ts";
import type { HookRequest } from "../types.ts";

/** Gives a body its meaning, as it was given when it came. Throws a `HookError`. */
export type ParseBody = (contentType: string, body: Buffer) => Pick<HookRequest, "payload" | "payloadIsBody">;

/**
 * The request of a stored event, to be run once more as a new one. It has no idempotency key, and none of the headers and
 * query parameters whose values were not kept. Throws a 409 where there is no body to run.
 */
export function toReplayRequest(event: EventRecord, parse: ParseBody): HookRequest {
  const { method, path, query, headers, contentType, body, client } = event.request;
  if (body.length === 0) {
    throw new HookError("no_stored_body");
  }
  return {
    id: createId(),
    replayOf: event.id,
    hook: event.hook,
    method,
    path,
    query: withoutRedacted(query),
    headers: withoutRedacted(headers),
    rawBody: body,
    ...parse(contentType, body),
    contentType,
    receivedAt: Date.now(),
    // Events from before credentials had names were sent with `hooks.token`.
    credential: event.credential ?? "token:default",
    client,
  };
}

function withoutRedacted(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== REDACTED));
}
