import type { Journal, Run } from "../../core/journal/journal.ts";
import { readOwn } from "../../core/shared/json.ts";
import { startOfDay } from "../../core/shared/time.ts";
import { MESSAGE_WORDS, ofMessages, ofTurns, TURN_WORDS } from "../../core/shared/words.ts";
import { MAIN_SESSION } from "../../core/types.ts";
import { BULK_SCHEMA, createBulk } from "../bulk/bulk.ts";
import { groupDeadLetters, MAX_LETTERS } from "../dead-letter-groups.ts";
import { type FailureEnd, keepEnded } from "../inbox/ended-items.ts";
import { readFailedItems } from "../inbox/read-inbox.ts";
import { toView } from "../iso-times.ts";
import { readSubjects } from "../stored-events.ts";
import { toSessionTimeline } from "../views.ts";
import { toDeliveryView, toRunTimeline, toRunView, toUsed } from "../work-views.ts";
import {
  answering,
  changing,
  cursor,
  HOOK,
  itemIds,
  limit,
  MAX_GROUP,
  oneOf,
  PAGE,
  requireFound,
  text,
  time,
  TIMES,
  type RoutesOf,
} from "./route.ts";
import type { RouteServices } from "./services.ts";

type WorkPath = `/api/${"sessions" | "runs" | "deliveries" | "dead-letters" | "bulk"}${string}` | "/api/spend";

const FAILED = { from: time("Only what failed then or later."), to: time("Only what failed before then.") };

/** Results of events: sessions, runs, deliveries and dead letters, and actions on everything that a filter chooses. */
export function createWorkRoutes(services: RouteServices): RoutesOf<WorkPath> {
  const { journal, cancel, config } = services;
  const bulk = createBulk(services);
  const ending = <Result>(end: FailureEnd, work: () => Promise<Result>): Promise<Result> =>
    keepEnded(end, { journal, readFailed: () => readFailedItems(services) }, work);
  return {
    "GET /api/sessions": answering({
      about: "Sessions, the one with the newest entry first.",
      query: { limit: limit() },
      async answer({ query }) {
        const sessions = await journal.listSessions(query);
        const subjects = await readSubjects(journal, sessions);
        return {
          sessions: sessions.map(({ eventId, ...one }) => ({ ...toView(one), subject: subjects.get(eventId) })),
        };
      },
    }),
    "GET /api/sessions/:key*": answering({
      about: "One session with its entries, oldest first. The main session is `main`.",
      query: {
        limit: limit(1000),
        after: cursor("Only entries after the one with this seq."),
        before: cursor("The last entries before the one with this seq, instead."),
      },
      async answer({ params: { key = "" }, query }) {
        const found = await journal.getSession(key, query);
        if (!found && key === MAIN_SESSION) return { key, entries: [] };
        const { session, entries } = requireFound(found, "session");
        return toSessionTimeline(session, entries, await journal.listThreads(key));
      },
    }),
    "GET /api/runs": answering({
      about: "Agent turns, newest first.",
      query: {
        ...PAGE,
        ...TIMES,
        state: oneOf("Only runs in this state.", TURN_WORDS),
        hook: HOOK,
        mapping: text("Only runs of this mapping."),
        session: text("Only runs of this session."),
        group: text("Only runs that failed with this error group.", MAX_GROUP),
      },
      async answer({ query: { state, session: sessionKey, ...page } }) {
        const runs = await journal.listRuns({ ...page, sessionKey, state: state && ofTurns(state) });
        const subjects = await readSubjects(journal, runs);
        const questions = await readQuestions(journal, runs);
        const held = runs.filter((run) => run.state === "held");
        const used = new Map(
          await Promise.all(held.map(async ({ id }) => [id, toUsed(await journal.listSteps(id))] as const)),
        );
        return {
          runs: runs.map((run) => ({
            ...toRunView(run),
            ...used.get(run.id),
            subject: subjects.get(run.eventId),
            approvalId: questions.get(run.id),
          })),
        };
      },
    }),
    "GET /api/runs/:id": answering({
      about: "One agent turn with its steps: context that was read, answers of the model, calls.",
      async answer({ params: { id = "" } }) {
        const run = requireFound(await journal.getRun(id), "run");
        return toRunTimeline(run, await journal.listSteps(id));
      },
    }),
    "POST /api/runs/release": answering({
      about: "Lets held runs start, but not those that wait for an approval or an outcome.",
      query: {
        reason: text("Only those that are held for this reason."),
        session: text("Only that of this session."),
        run: itemIds("Only these runs: their ids, separated by commas."),
      },
      answer: async ({ query: { reason, session: sessionKey, run: runs } }) => ({
        ok: true as const,
        released: await journal.releaseHeld({ reason, sessionKey, runs, forGood: true }),
      }),
    }),
    "POST /api/runs/:id/cancel": changing(
      "run",
      "Ends an unfinished turn for good: no reply, no delivery. Its session goes on with the next turn.",
      cancel,
    ),
    "GET /api/spend": answering({
      about: "Usage of agents, by day (UTC), hook, mapping and model.",
      query: {
        since: time("From then on; default: the start of today, UTC."),
        until: time("Before then."),
      },
      answer: async ({ query: { since = startOfDay(), until } }) => ({
        since: new Date(since).toISOString(),
        currency: config().agents.currency,
        spend: await journal.spend({ since, until }),
      }),
    }),
    "GET /api/deliveries": answering({
      about: "Deliveries, newest first.",
      query: {
        ...PAGE,
        ...TIMES,
        state: oneOf("Only deliveries in this state.", MESSAGE_WORDS),
        channel: text("Only deliveries to this channel."),
        group: text("Only deliveries that failed with this error group.", MAX_GROUP),
      },
      async answer({ query: { state, ...page } }) {
        const deliveries = await journal.listDeliveries({ ...page, state: state && ofMessages(state) });
        return { deliveries: deliveries.map(toDeliveryView) };
      },
    }),
    "GET /api/dead-letters": answering({
      about: "Runs and deliveries that failed permanently, newest first.",
      query: {
        ...PAGE,
        kind: oneOf("Only runs or only deliveries.", ["run", "delivery"] as const),
        hook: HOOK,
        group: text("Only those of this error group.", MAX_GROUP),
        ...FAILED,
      },
      async answer({ query: { from: failedFrom, to: failedTo, ...filter } }) {
        const letters = await journal.listDeadLetters({ ...filter, failedFrom, failedTo });
        return { deadLetters: letters.map(toView) };
      },
    }),
    "GET /api/dead-letters/groups": answering({
      about: "Dead letters by hook, kind and error, the largest group first. Counting ends at `countedTo`.",
      query: FAILED,
      async answer({ query: { from: failedFrom, to: failedTo } }) {
        const letters = await journal.listDeadLetters({ failedFrom, failedTo, limit: MAX_LETTERS });
        return { groups: groupDeadLetters(letters).map(toView), countedTo: MAX_LETTERS };
      },
    }),
    "POST /api/dead-letters/:id/retry": changing("dead letter", "Gives a dead letter all its attempts again.", (id) =>
      ending("retried", () => journal.retryDeadLetter(id, Date.now())),
    ),
    "DELETE /api/dead-letters/:id": changing(
      "dead letter",
      "Marks a dead letter, or a failed request, as canceled.",
      (id) => ending("canceled", () => journal.dropDeadLetter(id)),
    ),
    "POST /api/bulk": answering({
      about:
        "Counts what an action would change, the newest 1,000, or with the count's `token` changes exactly those, and answers when it is done.",
      body: BULK_SCHEMA,
      example: { action: "retry", filter: { kind: "run" } },
      async answer({ readJson }) {
        const body = await readJson();
        const end = ENDS.get(readOwn(body, "action"));
        const isPreview = readOwn(body, "token") === undefined;
        return end === undefined || isPreview ? bulk.run(body) : ending(end, () => bulk.run(body));
      },
    }),
    "GET /api/bulk/:id": answering({
      about: "How far the action with this token has come.",
      answer: async ({ params: { id = "" } }) => requireFound(await bulk.progress(id), "action with this token"),
    }),
  };
}

/** How the actions of `POST /api/bulk` end failures. */
const ENDS: ReadonlyMap<unknown, FailureEnd> = new Map([
  ["retry", "retried"],
  ["replay", "replayed"],
  ["drop", "canceled"],
]);

const MAX_QUESTIONS = 1000;

/** The open questions that hold some turns, by the turns' ids. */
export async function readQuestions(
  journal: Pick<Journal, "listApprovals">,
  runs: readonly Run[],
): Promise<Map<string, string>> {
  if (!runs.some(({ state }) => state === "held")) return new Map();
  const open = await journal.listApprovals({ state: "open", limit: MAX_QUESTIONS });
  return new Map(open.map(({ id, runId }) => [runId, id]));
}
