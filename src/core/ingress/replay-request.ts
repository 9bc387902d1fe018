import { HookError } from "../errors.ts";
import type { EventRecord } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { REDACTED } from "../shared/secret.ts";
import type { HookRequest } from "../types.ts";
import type { FindParser } from "./parse-body.ts";

/**
 * The request of a stored event, to be run again as a new one: without an idempotency key, and without the headers and
 * query parameters whose values were not stored. Rejects with a 409 `HookError` when the body was not stored.
 */
export async function toReplayRequest(
  { id, hook, credential, request }: EventRecord,
  findParser: FindParser,
): Promise<HookRequest> {
  const { method, path, query, headers, contentType, body, client } = request;
  if (body.length === 0) throw new HookError("no_stored_body");
  return {
    id: createId(),
    replayOf: id,
    hook,
    method,
    path,
    query: withoutRedacted(query),
    headers: withoutRedacted(headers),
    rawBody: body,
    ...(await findParser(contentType, hook)(body)),
    contentType,
    receivedAt: Date.now(),
    // Older versions did not store the credential, and had only `hooks.token`.
    credential: credential ?? "token:default",
    client,
  };
}

/** Without values that were not stored. */
export function withoutRedacted(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== REDACTED));
}
