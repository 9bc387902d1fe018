import type { ApiQuery, OperatorClient } from "./operator-client.ts";

/** An event as `GET /api/events` lists it. */
export interface EventRow {
  id: string;
  hook: string;
  mapping?: string;
  /** ISO 8601. */
  receivedAt: string;
  status: string;
  replayOf?: string;
}

export interface EventFilter {
  hook?: string;
  status?: string;
  /** ISO 8601: received at or after this moment, and before that one. */
  since?: string;
  until?: string;
}

const PAGE = 500;

/** All these events, newest first, a page at a time. */
export async function* readEventRows(
  client: OperatorClient,
  { hook, status, since = "", until = "~" }: EventFilter,
): AsyncGenerator<EventRow> {
  let before: string | undefined;
  do {
    const page = await readPage(client, { hook, status, before, limit: PAGE });
    for (const event of page) {
      // Newest first: what follows is older. Moments in ISO 8601 sort as text.
      if (event.receivedAt < since) return;
      if (event.receivedAt < until) yield event;
    }
    before = page.length === PAGE ? page.at(-1)?.id : undefined;
  } while (before !== undefined);
}

async function readPage(client: OperatorClient, query: ApiQuery): Promise<EventRow[]> {
  const response = await client.call("GET", "/api/events", query);
  const { events }: { events: EventRow[] } = JSON.parse(await response.text());
  return events;
}
