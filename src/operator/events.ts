import type { FastifyInstance } from "fastify";
import { Readable } from "node:stream";
import type { EventRecord, Journal } from "../journal/journal.ts";
import { EVENT_STATUSES, type EventStatus, type HookResponse } from "../types.ts";
import { type Query, requireFound, requireOnly, toMoment, toOneOf, toPage, toText } from "./query.ts";
import { toDeadLetterView, toEventTimeline, toEventView } from "./views.ts";

export interface EventOptions {
  journal: Journal;
  /** Runs the event's request again as a new one, and gives what its sender would be answered. */
  replay(event: EventRecord): Promise<HookResponse>;
}

/** What was received: to look at, to run again. */
export function registerEvents(api: FastifyInstance, { journal, replay }: EventOptions): void {
  api.get<{ Querystring: Query }>("/api/events", async ({ query }) => {
    requireOnly(query, "limit", "before", "hook", "status");
    const status = toOneOf(query, "status", EVENT_STATUSES);
    const events = await journal.listEvents({ ...toPage(query), hook: toText(query, "hook"), status });
    return { events: events.map(toEventView) };
  });

  api.get<{ Querystring: Query }>("/api/events/export", async ({ query }, reply) => {
    requireOnly(query, "hook", "status", "since", "until");
    const lines = exportEvents(journal, {
      hook: toText(query, "hook"),
      status: toOneOf(query, "status", EVENT_STATUSES),
      since: toMoment(query, "since"),
      until: toMoment(query, "until"),
    });
    return reply.type("application/x-ndjson").send(Readable.from(lines));
  });

  api.get<{ Params: { id: string } }>("/api/events/:id", async ({ params }) =>
    toEventTimeline(requireFound(await journal.getEvent(params.id), "event")),
  );

  api.post<{ Params: { id: string } }>("/api/events/:id/replay", async ({ params }, reply) => {
    const { status, headers, body } = await replay(requireFound(await journal.getEvent(params.id), "event"));
    return reply.code(status).headers(headers).send(body);
  });
}

const PAGE = 100;

interface ExportFilter {
  hook?: string;
  status?: EventStatus;
  /** Received at or after this moment, and before that one: milliseconds since the epoch. */
  since?: number;
  until?: number;
}

/** The timelines of all these events, newest first, a line of JSON each; read from the journal as they are asked for. */
async function* exportEvents(
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

/** What failed for good: to look at, to try again, to drop. */
export function registerDeadLetters(api: FastifyInstance, { journal }: { journal: Journal }): void {
  api.get<{ Querystring: Query }>("/api/dead-letters", async ({ query }) => {
    requireOnly(query, "limit", "before");
    const deadLetters = await journal.listDeadLetters(toPage(query));
    return { deadLetters: deadLetters.map(toDeadLetterView) };
  });

  api.post<{ Params: { id: string } }>("/api/dead-letters/:id/retry", async ({ params: { id } }) => {
    requireFound((await journal.retryDeadLetter(id, Date.now())) || undefined, "dead letter");
    return { ok: true, id };
  });

  api.delete<{ Params: { id: string } }>("/api/dead-letters/:id", async ({ params: { id } }) => {
    requireFound((await journal.dropDeadLetter(id)) || undefined, "dead letter");
    return { ok: true, id };
  });
}
