import { parseDuration } from "../../shared/time.ts";
import { ConfigError } from "../../errors.ts";
import type { EventView } from "../../operator/views.ts";
import { type OperatorClient, readPages, type ServiceFlags } from "../operator-client.ts";

export interface EventFilter {
  hook?: string;
  status?: string;
  /** Received at this time or later, and before `until`. */
  since?: string;
  until?: string;
}

export type FilterFlags = ServiceFlags & EventFilter;

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
  const { hook, status, since = "", until = "~" } = toFilter(flags);
  const events = readPages(async (page) => (await client.call("GET /api/events", { hook, status, ...page })).events);
  for await (const event of events) {
    // Newest first: all that follow are older. ISO 8601 times sort as text.
    if (event.receivedAt < since) return;
    if (event.receivedAt < until) yield event;
  }
}

/** With times in ISO 8601. */
export function toFilter({ hook, status, since, until }: FilterFlags): EventFilter {
  const now = Date.now();
  return { hook, status, since: parseTime(since, now), until: parseTime(until, now) };
}

/** `1h` is an hour before `now` (milliseconds since the epoch), anything else a date. Throws a `ConfigError` for neither. */
export function parseTime(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const time = new Date(/^\d+(ms|s|m|h|d)$/.test(text) ? now - parseDuration(text) : text);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  const message = `"${text}" is not a valid time: expected a duration before now, as 90m or 7d, or a date, as 2026-11-20T10:00:00Z.`;
  throw new ConfigError([{ message }]);
}
