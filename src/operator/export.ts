import type { FindParser } from "../ingress/parse-body.ts";
import type { Journal } from "../journal/journal.ts";
import type { EventStatus } from "../types.ts";
import { toEventTimeline } from "./views.ts";

const EXPORT_PAGE_SIZE = 100;

interface ExportFilter {
  hook?: string;
  status?: EventStatus;
  /** Received at this time or later, in milliseconds since the epoch. */
  since?: number;
  /** Received before this time. */
  until?: number;
}

/** The timelines of all matching events, newest first, one line of JSON each; read from the journal as they are needed. */
export async function* exportEvents(
  journal: Journal,
  { hook, status, since = 0, until = Infinity }: ExportFilter,
  findParser: FindParser,
): AsyncGenerator<string> {
  let before: string | undefined;
  do {
    const page = await journal.listEvents({ hook, status, before, limit: EXPORT_PAGE_SIZE });
    for (const { id, receivedAt } of page) {
      // Ids sort by time, so all that follow are older.
      if (receivedAt < since) return;
      const event = receivedAt < until ? await journal.getEvent(id) : undefined;
      if (event) yield `${JSON.stringify(await toEventTimeline(event, findParser))}\n`;
    }
    before = page.length === EXPORT_PAGE_SIZE ? page.at(-1)?.id : undefined;
  } while (before !== undefined);
}
