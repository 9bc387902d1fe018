import { setImmediate as nextTurn } from "node:timers/promises";
import type { EventSummary, Journal, Page } from "../journal/journal.ts";
import type { EventStatus } from "../types.ts";
import { toOutcome } from "./outcome.ts";

export interface EventFilter extends Page {
  prefix?: string;
  hook?: string;
  status?: EventStatus;
  mapping?: string;
  session?: string;
  /** Text that the row or the body contains, in any case. */
  q?: string;
}

export interface FoundEvents {
  events: EventSummary[];
  /** The search ended before the last event: it continues with this as `before`. */
  more?: string;
}

const PAGE_SIZE = 100;
/** How many events one search reads, and how many bodies: other requests wait meanwhile. */
const MAX_READ = 5000;
const MAX_BODIES = 500;

/** Events, newest first. Those of a mapping, of a session or with a text are searched for, which is bounded. */
export async function findEvents(
  journal: Pick<Journal, "listEvents" | "getEvent">,
  { mapping, session, q, ...page }: EventFilter,
): Promise<FoundEvents> {
  if (mapping === undefined && session === undefined && q === undefined) {
    return { events: await journal.listEvents(page) };
  }
  const isOurs = (event: EventSummary): boolean =>
    (mapping === undefined || event.mapping === mapping) &&
    (session === undefined || event.actions.some(({ sessionKey }) => sessionKey === session));
  const text = q?.toLowerCase() ?? "";
  const found: EventSummary[] = [];
  let { before } = page;
  let bodies = 0;
  for (let read = 0; read < MAX_READ; read += PAGE_SIZE) {
    const events = await journal.listEvents({ ...page, before, limit: PAGE_SIZE });
    for (const event of events) {
      const isBodyRead = isOurs(event) && !rowOf(event).includes(text);
      if (isBodyRead && bodies++ === MAX_BODIES) return { events: found, more: before };
      if (isOurs(event) && (!isBodyRead || (await bodyOf(journal, event.id)).includes(text))) found.push(event);
      before = event.id;
      if (found.length === page.limit) return { events: found, more: before };
    }
    if (events.length < PAGE_SIZE) return { events: found };
    await nextTurn();
  }
  return { events: found, more: before };
}

function rowOf(event: EventSummary): string {
  const { id, hook, mapping, event: name, actions } = event;
  const sessions = actions.map(({ sessionKey }) => sessionKey);
  return [id, hook, mapping, name, toOutcome(event).outcome, ...sessions].join("\n").toLowerCase();
}

async function bodyOf(journal: Pick<Journal, "getEvent">, id: string): Promise<string> {
  const event = await journal.getEvent(id);
  return event?.request.body.toString("utf8").toLowerCase() ?? "";
}
