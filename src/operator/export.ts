import type { Journal } from "../journal/port.ts";
import type { EventStatus } from "../types.ts";
import { toEventTimeline } from "./views.ts";

const PAGE = 100;

export interface ExportFilter {
  hook?: string;
  status?: EventStatus;
  /** Received at or after this moment, and before that one: milliseconds since the epoch. */
  since?: number;
  until?: number;
}

/** The timelines of all these events, newest first, a line of JSON each; read from the journal as they are asked for. */
export async function* exportEvents(
  journal: Pick<Journal, "listEvents" | "getEvent">,
  { hook, status, since = 0, until = Infinity }: ExportFilter,
): AsyncGenerator<string> {
  let before: string | undefined;
  do {
    const page = await journal.listEvents({ hook, status, before, limit: PAGE });
    for (const { id, receivedAt } of page) {
      // Ids sort by time: what follows is older.
      if (receivedAt < since) return;
      const event = receivedAt < until ? await journal.getEvent(id) : undefined;
      if (event) yield `${JSON.stringify(toEventTimeline(event))}\n`;
    }
    before = page.length === PAGE ? page.at(-1)?.id : undefined;
  } while (before !== undefined);
}
