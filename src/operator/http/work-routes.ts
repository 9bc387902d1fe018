import type { Journal } from "../../journal/journal.ts";
import { startOfDay } from "../../shared/time.ts";
import { DELIVERY_STATES, MAIN_SESSION, RUN_STATES } from "../../types.ts";
import { toRunTimeline, toRunView, toSessionTimeline, toView } from "../views.ts";
import { answering, cursor, limit, oneOf, PAGE, requireFound, text, time, type RoutesOf } from "./route.ts";

export interface WorkParts {
  journal: Journal;
}

type WorkPath = `/api/${"sessions" | "runs" | "deliveries" | "dead-letters"}${string}` | "/api/spend";

/** What became of events: conversations, runs, deliveries and dead letters. */
export function createWorkRoutes({ journal }: WorkParts): RoutesOf<WorkPath> {
  return {
    "GET /api/sessions": answering({
      about: "Sessions, the one with the newest entry first.",
      query: { limit: limit() },
      answer: async ({ query }) => ({ sessions: (await journal.listSessions(query)).map(toView) }),
    }),
    "GET /api/sessions/:key*": answering({
      about: "One session with its entries, oldest first. The main session is `main`.",
      query: { limit: limit(1000), after: cursor("Only entries after the one with this seq.") },
      async answer({ params: { key = "" }, query }) {
        const found = await journal.getSession(key, query);
        if (!found && key === MAIN_SESSION) return { key, entries: [] };
        const { session, entries } = requireFound(found, "session");
        return toSessionTimeline(session, entries);
      },
    }),
    "GET /api/runs": answering({
      about: "Agent turns, newest first.",
      query: { ...PAGE, state: oneOf("Only runs in this state.", RUN_STATES) },
      answer: async ({ query }) => ({ runs: (await journal.listRuns(query)).map(toRunView) }),
    }),
    "GET /api/runs/:id": answering({
      about: "One agent turn with its steps: context that was read, answers of the model, calls.",
      async answer({ params: { id = "" } }) {
        const run = requireFound(await journal.getRun(id), "run");
        return toRunTimeline(run, await journal.listSteps(id));
      },
    }),
    "POST /api/runs/release": answering({
      about: "Lets held runs start.",
      query: { reason: text("Only those that are held for this reason.") },
      answer: async ({ query: { reason } }) => ({
        ok: true as const,
        released: await journal.releaseHeld({ reason, forGood: true }),
      }),
    }),
    "GET /api/spend": answering({
      about: "What agents used, by hook, mapping and model.",
      query: { since: time("From then on; default: the start of today, UTC.") },
      answer: async ({ query: { since = startOfDay() } }) => ({
        since: new Date(since).toISOString(),
        spend: await journal.spend({ since }),
      }),
    }),
    "GET /api/deliveries": answering({
      about: "Deliveries, newest first.",
      query: { ...PAGE, state: oneOf("Only deliveries in this state.", DELIVERY_STATES) },
      answer: async ({ query }) => ({ deliveries: (await journal.listDeliveries(query)).map(toView) }),
    }),
    "GET /api/dead-letters": answering({
      about: "Runs and deliveries that failed permanently, newest first.",
      query: PAGE,
      answer: async ({ query }) => ({ deadLetters: (await journal.listDeadLetters(query)).map(toView) }),
    }),
    "POST /api/dead-letters/:id/retry": answering({
      about: "Gives a dead letter all its attempts again.",
      async answer({ params: { id = "" } }) {
        requireFound((await journal.retryDeadLetter(id, Date.now())) || undefined, "dead letter");
        return { ok: true as const, id };
      },
    }),
    "DELETE /api/dead-letters/:id": answering({
      about: "Marks a dead letter as dropped.",
      async answer({ params: { id = "" } }) {
        requireFound((await journal.dropDeadLetter(id)) || undefined, "dead letter");
        return { ok: true as const, id };
      },
    }),
  };
}
