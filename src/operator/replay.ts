import { HookError } from "../errors.ts";
import type { FindParser } from "../ingress/parse-body.ts";
import type { EventRecord, Journal } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { REDACTED } from "../shared/secret.ts";
import type { EventStatus, HookRequest } from "../types.ts";

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
    ...(await findParser(contentType)(body)),
    contentType,
    receivedAt: Date.now(),
    // Older versions did not store the credential, and had only `hooks.token`.
    credential: credential ?? "token:default",
    client,
  };
}

function withoutRedacted(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== REDACTED));
}

const PAGE_SIZE = 100;

export interface StoredEventFilter {
  hook?: string;
  status?: EventStatus;
  /** Received at this time or later, in milliseconds since the epoch. */
  since?: number;
  /** Received before this time. */
  until?: number;
}

/** All matching events, newest first; read from the journal as they are needed. */
export async function* listSince(
  journal: Pick<Journal, "listEvents" | "getEvent">,
  { hook, status, since = 0, until = Infinity }: StoredEventFilter,
): AsyncGenerator<EventRecord> {
  let before: string | undefined;
  do {
    const page = await journal.listEvents({ hook, status, before, limit: PAGE_SIZE });
    for (const { id, receivedAt } of page) {
      // Ids sort by time, so all that follow are older.
      if (receivedAt < since) return;
      const event = receivedAt < until ? await journal.getEvent(id) : undefined;
      if (event) yield event;
    }
    before = page.length === PAGE_SIZE ? page.at(-1)?.id : undefined;
  } while (before !== undefined);
}
