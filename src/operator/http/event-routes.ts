import { HOUR_MS } from "../../core/shared/time.ts";
import { Readable } from "node:stream";
import { type FindParser, isJson } from "../../core/ingress/parse-body.ts";
import type { EventRecord, Journal } from "../../core/journal/journal.ts";
import { HookError } from "../../core/errors.ts";
import { readOwn, toObject, toText } from "../../core/shared/json.ts";
import type { HttpResponse } from "../../core/types.ts";
import { keepEnded } from "../inbox/ended-items.ts";
import { readFailedItems } from "../inbox/read-inbox.ts";
import { findEvents, listSince, type StoredEventFilter } from "../stored-events.ts";
import { toEventTimeline, toEventView } from "../views.ts";
import {
  answering,
  HOOK,
  MAX_GROUP,
  PAGE,
  requireFound,
  responding,
  SESSION,
  STATUS,
  text,
  time,
  TIMES,
  type RoutesOf,
} from "./route.ts";
import { readQuestions } from "./work-routes.ts";
import type { RouteServices } from "./services.ts";

/** Most senders keep no more. */
const DEFAULT_SINCE_MS = 72 * HOUR_MS;

type EventPath = `/api/events${string}`;

/** Received events, and running them again. */
export function createEventRoutes(services: RouteServices): RoutesOf<EventPath> {
  const { journal, findParser, replay, catchUp } = services;
  return {
    "GET /api/events": answering({
      about:
        "Events, newest first. A search gives what it has found in a tenth of a second: with `more`, it continues with that as `before`.",
      query: {
        ...PAGE,
        ...TIMES,
        prefix: text("Only events whose ids begin with it."),
        hook: HOOK,
        status: STATUS,
        mapping: text("Only events of this mapping."),
        session: SESSION,
        event: text("Only events with this name."),
        credential: text("Only events that this credential let in."),
        model: text("Only events with a turn that this model answered."),
        channel: text("Only events with a delivery to this channel."),
        group: text("Only events with a dead letter of this error group.", MAX_GROUP),
        q: text(
          "Only events whose row, body, prompts, replies or errors contain this text, in any case, and whose fields have these values: `payload.action = opened`, `headers.x-github-delivery = …`.",
        ),
      },
      async answer({ query }) {
        const { events, searchedTo, ...found } = await findEvents(journal, query);
        return {
          events: events.map(toEventView),
          ...found,
          searchedTo: searchedTo === undefined ? undefined : new Date(searchedTo).toISOString(),
        };
      },
    }),
    "GET /api/events/export": responding({
      about: "Events as NDJSON, one timeline a line, newest first.",
      query: {
        hook: HOOK,
        status: STATUS,
        since: time("Received then or later."),
        until: time("Received before then."),
      },
      contentType: "application/x-ndjson",
      respond: ({ query }) => ({
        status: 200,
        headers: { "Content-Type": "application/x-ndjson" },
        body: Readable.from(exportEvents(journal, query, findParser)),
      }),
    }),
    "POST /api/events/catch-up": answering({
      about:
        "Events that a preset's sender could not deliver since a time. Unless dryRun is true, they arrive again from now on, also after a restart.",
      body: {
        type: "object",
        required: ["preset"],
        properties: {
          preset: { type: "string" },
          hook: { type: "string", description: "Default: the preset's name." },
          since: { type: "string", format: "date-time", description: "Default: three days ago." },
          dryRun: { type: "boolean" },
        },
      },
      example: { preset: "stripe", dryRun: true },
      async answer({ readJson }) {
        const { preset, hook, since, dryRun } = toObject(await readJson());
        const from = since === undefined ? Date.now() - DEFAULT_SINCE_MS : Date.parse(toText(since));
        if (typeof preset !== "string" || Number.isNaN(from)) {
          const message = "preset must be a text, and since a time in ISO 8601.";
          throw new HookError("invalid_payload", { message });
        }
        const named = typeof hook === "string" ? hook : undefined;
        return catchUp({ preset, hook: named, since: from, dryRun: dryRun === true });
      },
    }),
    "GET /api/events/:id": answering({
      about: "One event: request, mapping, log, error, runs, entries, deliveries.",
      async answer({ params: { id = "" } }) {
        const event = requireFound(await journal.getEvent(id), "event");
        const questions = await readQuestions(journal, event.runs);
        const timeline = await toEventTimeline(event, findParser);
        return { ...timeline, runs: timeline.runs.map((run) => ({ ...run, approvalId: questions.get(run.id) })) };
      },
    }),
    "GET /api/events/:id/body": responding({
      about: "The bytes of its request's body, decompressed, as they are stored.",
      contentType: "application/octet-stream",
      async respond({ params: { id = "" } }) {
        const { body } = requireFound(await journal.getEvent(id), "event").request;
        // Nothing that a sender writes may run in a browser.
        const headers = { "Content-Type": "application/octet-stream", "Content-Disposition": "attachment" };
        return { status: 200, headers, body };
      },
    }),
    "POST /api/events/:id/replay": responding({
      about: "Runs the event again as a new one, through the current mappings, and answers as the hook would.",
      body: {
        type: "object",
        properties: {
          payload: { description: "Instead of the event's own." },
          deliver: { const: false, description: "No reply is delivered." },
        },
      },
      isBodyOptional: true,
      example: {},
      async respond({ params: { id = "" }, exchange, readJson }) {
        const body = isJson(exchange.headers["content-type"] ?? "") ? await readJson() : undefined;
        const event = requireFound(await journal.getEvent(id), "event");
        const again = (): Promise<HttpResponse> =>
          replay(withPayload(event, body), { deliver: readOwn(body, "deliver") !== false });
        if (event.failureGroup === undefined) return again();
        return keepEnded("replayed", { journal, readFailed: () => readFailedItems(services) }, again);
      },
    }),
  };
}

/** The event with another payload, if the body of the replay has one. */
function withPayload(event: EventRecord, body: unknown): EventRecord {
  const payload = readOwn(body, "payload");
  if (payload === undefined) return event;
  const edited = { contentType: "application/json", body: Buffer.from(JSON.stringify(payload)) };
  return { ...event, request: { ...event.request, ...edited } };
}

/** The timelines of all matching events, newest first, one line of JSON each. */
async function* exportEvents(
  journal: Journal,
  filter: StoredEventFilter,
  findParser: FindParser,
): AsyncGenerator<string> {
  for await (const event of listSince(journal, filter)) {
    yield `${JSON.stringify(await toEventTimeline(event, findParser))}\n`;
  }
}
