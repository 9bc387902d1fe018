import { ConfigError } from "../../errors.ts";
import type { EventView } from "../../operator/views.ts";
import { type OperatorClient, readPages, type ServiceFlags } from "../operator-client.ts";

export interface FilterFlags extends ServiceFlags {
  hook?: string;
  status?: string;
  /** Received at this time or later, and before `until`, in ISO 8601. */
  since?: string;
  until?: string;
}

/** In place of an id: the newest event. */
export const LAST = "last";

/** The id that begins so. Throws a `ConfigError` if there is none, or several. */
export async function findId(client: OperatorClient, start: string): Promise<string> {
  const query = start === LAST ? { limit: 1 } : { prefix: start, limit: 5 };
  const { events } = await client.call("GET /api/events", query);
  const [event, other] = events;
  if (event && !other) return event.id;
  const found = events.map(({ id }) => id).join(", ");
  const none = start === LAST ? "No event has been received yet." : `No event has the id ${start}.`;
  const message = event
    ? `Several events begin with ${start}, such as ${found}.`
    : `${none} \`webhooks events list\` shows them.`;
  throw new ConfigError([{ message }]);
}

/** The events that the flags choose, newest first. */
export async function* readEvents(client: OperatorClient, flags: FilterFlags): AsyncGenerator<EventView> {
  const { hook, status, since = "", until = "~" } = flags;
  const events = readPages(async (page) => (await client.call("GET /api/events", { hook, status, ...page })).events);
  for await (const event of events) {
    // Newest first: all that follow are older. ISO 8601 times sort as text.
    if (event.receivedAt < since) return;
    if (event.receivedAt < until) yield event;
  }
}
