import type { FastifyInstance } from "fastify";
import { Readable } from "node:stream";
import type { EventRecord, Journal } from "../journal/port.ts";
import { EVENT_STATUSES, type HookResponse } from "../types.ts";
import { exportEvents } from "./export.ts";
import { type Query, requireOnly, toMoment, toOneOf, toPage, toText } from "./query.ts";
import { requireFound } from "./require-found.ts";
import { toEventTimeline, toEventView } from "./views.ts";

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
