import { type PastEntry, runAgentAction, toFailureNotice, type TurnContext } from "../actions/agent-turn.ts";
import { toErrorSummary } from "../actions/main-session.ts";
import { ModelUnavailable } from "../actions/ask-models.ts";
import { ClaimLost, Suspended } from "../actions/steps.ts";
import { toPrompt } from "../boundary/boundary.ts";
import type { ResolvedConfig } from "../config/resolved-config.ts";
import { DriverError } from "../errors.ts";
import type { ClaimedRun, Journal, Run, Turn } from "../journal/journal.ts";
import { withOthers } from "../shared/author.ts";
import { takeWithin } from "../shared/text/text.ts";
import { failSpan } from "../telemetry/traces.ts";
import type { DispatchContext } from "./dispatch-context.ts";
import { createAsk, suspendRun, createStepStore, findWrittenGrants } from "./run-steps.ts";
import {
  countFailures,
  GIVE_BACK_MS,
  isClaimHeld,
  isForOthers,
  isUnavailable,
  MAX_OUTAGE_MS,
  outageDelayMs,
  retryDelayMs,
  toFailure,
} from "./retry.ts";
import { assertInnocent } from "./suspects.ts";

const BACKOFF = { firstMs: 1000, maxMs: 60_000 };

/** A model's context is limited, a burst of events is not. */
const MAX_CHARACTERS = 200_000;

/**
 * Executes a claimed run and records its result: false if the claim was lost. Rejects only if the service shuts down
 * meanwhile.
 */
export async function executeRun(
  claimed: ClaimedRun,
  context: DispatchContext,
  freeSlot: () => void,
): Promise<boolean> {
  const claimedAt = performance.now();
  const run = withJoined(claimed);
  try {
    const reason = await context.hold.findHold(claimed);
    if (reason !== undefined) return await hold(claimed, reason, context);
    await assertInnocent(run, context.journal);
    return await complete({ ...run, claimedAt }, context, freeSlot).catch((error: unknown) => {
      if (error instanceof Suspended) return suspendRun(run, error.waiting, context);
      throw error;
    });
  } catch (error) {
    // The run was canceled, or another node has it.
    if (context.signal.reason instanceof ClaimLost) return false;
    if (error instanceof ClaimLost) {
      // The journal decides how it goes on.
      await context.journal.releaseRun(run);
      return false;
    }
    if (context.signal.aborted) {
      // The attempt is not counted, and the run starts again after the restart.
      await context.journal.releaseRun(run);
      context.signal.throwIfAborted();
    }
    return recordRunFailure(run, error, context);
  }
}

function withJoined(claimed: ClaimedRun): ClaimedRun {
  const { action, joined } = claimed;
  const author = joined && action.author ? withOthers(action.author) : action.author;
  return {
    ...claimed,
    action: { ...action, ...joined?.access, author, message: joinMessages(action.message, joined) },
  };
}

async function hold(run: ClaimedRun, reason: string, { journal, telemetry }: DispatchContext): Promise<boolean> {
  const { id: runId, eventId, hook } = run;
  const isRecorded = await journal.holdRun(run, reason);
  if (isRecorded) telemetry.log.warn("run held", { step: "turn", runId, eventId, hook, reason });
  telemetry.activity.turned({ result: "held", ms: 0 });
  return isRecorded;
}

async function complete(
  run: ClaimedRun & { claimedAt: number },
  context: DispatchContext,
  freeSlot: () => void,
): Promise<boolean> {
  const { journal, signal } = context;
  const history = await readHistory({ journal, budget: context.current().config.session }, run.sessionKey, Date.now());
  if (!(await isClaimHeld(journal, run.claimedAt, () => journal.isClaimed(run)))) return false;
  const runtime = context.current();
  const { agent, tools, channels, mailboxes } = runtime;
  const readEvent = async (): Promise<object> => (run.eventId === undefined ? {} : context.readEvent(run.eventId));
  const files = { channels, mailboxes, readEvent };
  const steps = createStepStore(run, context);
  const written = findWrittenGrants(run, runtime);
  const ask = createAsk(context, run);
  const sessionStart = createSessionStart(context);
  const turn = {
    agent,
    tools,
    settings: runtime.config.agents,
    history,
    sessionStart,
    files,
    ask,
    steps,
    written,
    signal,
  };
  context.marks.show(run);
  const outcome = await runAgentAction(run, turn);
  const recording = journal.completeRun(run, outcome);
  freeSlot();
  const isRecorded = await recording;
  const { id: runId, eventId, hook, attempts, startedAt } = run;
  if (!isRecorded || outcome.deliveries.length === 0) context.marks.remove(runId);
  if (isRecorded) context.telemetry.log.info("run done", { step: "turn", runId, eventId, hook, attempts });
  context.telemetry.activity.turned({ result: "done", ms: msSince(startedAt), usage: outcome.usage });
  return isRecorded;
}

function msSince(time: number | undefined): number {
  return time === undefined ? 0 : Math.max(0, Date.now() - time);
}

async function recordRunFailure(run: ClaimedRun, given: unknown, context: DispatchContext): Promise<boolean> {
  const { journal, telemetry } = context;
  const { id: runId, eventId, hook, attempts } = run;
  const warnings = given instanceof DriverError ? given.warnings : undefined;
  const outage = isUnavailable(given) ? toOutage(run, given, context) : undefined;
  const cause = outage?.delayMs === undefined ? (outage?.end ?? given) : given;
  const error = toFailure(cause);
  const fields = { step: "turn", runId, eventId, hook, attempts, error: error.message };
  if (await isForOthers(cause, context)) {
    telemetry.log.warn("run given back: the nodes' configurations differ", fields);
    return journal.giveBackRun(run, Date.now() + GIVE_BACK_MS, { error: error.message, warnings });
  }
  const { maxAttempts } = context.current().config.agents;
  const delayMs = outage?.delayMs ?? retryDelayMs(cause, countFailures(run), { ...BACKOFF, maxAttempts });
  const finishedAt = Date.now();
  const ms = msSince(run.startedAt);
  telemetry.activity.turned({ result: delayMs === undefined ? "failed" : "retried", ms });
  failSpan();
  if (delayMs !== undefined && outage) {
    const { unavailableSince, waitingFor } = outage;
    telemetry.log.warn("run waits for the provider of its model", { ...fields, provider: waitingFor });
    return journal.giveBackRun(run, finishedAt + delayMs, {
      error: error.message,
      warnings,
      unavailableSince,
      waitingFor,
    });
  }
  if (delayMs !== undefined) {
    const isRecorded = await journal.retryRun(run, finishedAt + delayMs, error.message, warnings);
    telemetry.log.warn("run failed, will try again", fields);
    return isRecorded;
  }
  context.marks.remove(runId);
  const entries = [toErrorSummary(run, error, finishedAt)];
  const deliveries = (await hasNotice(run, journal)) ? [] : toFailureNotice(run);
  const isRecorded = await journal.deadLetterRun(run, {
    finishedAt,
    error: error.message,
    warnings,
    entries,
    deliveries,
  });
  telemetry.log.error("run failed permanently", fields);
  return isRecorded;
}

/** A dead letter that was retried may have failed before: one notice is enough. */
async function hasNotice({ id, eventId, action }: ClaimedRun, journal: Pick<Journal, "getEvent">): Promise<boolean> {
  if (action.onFailure === undefined || eventId === undefined) return false;
  const event = await journal.getEvent(eventId);
  return event?.deliveries.some(({ runId, isNotice }) => runId === id && isNotice) ?? false;
}

/** How long to wait for the run's provider, or the error once it has waited long enough. */
function toOutage(
  { action, unavailableSince = Infinity }: ClaimedRun,
  cause: DriverError,
  { current }: DispatchContext,
): { unavailableSince: number; waitingFor: string; delayMs?: number; end: DriverError } {
  const now = Date.now();
  // A clock that was set back must not make the wait longer.
  const since = Math.min(unavailableSince, now);
  const unavailable = cause instanceof ModelUnavailable ? cause.model : undefined;
  const [waitingFor = ""] = (unavailable ?? action.model ?? current().config.agents.model ?? "").split("/", 1);
  const message = `${waitingFor} was unavailable for ${MAX_OUTAGE_MS / 60_000} minutes: ${cause.message}`;
  const end = new DriverError(message, { retryable: false });
  return { unavailableSince: since, waitingFor, delayMs: outageDelayMs(cause, { since, now }), end };
}

/**
 * The message of a coalesced run: its own and those that joined it, numbered, in order. The first is always included in
 * full. If the others do not all fit, a note says how many of the last are omitted.
 */
export function joinMessages(first: string, joined: Run["joined"]): string {
  if (!joined) return first;
  const fitting = takeWithin([first, ...joined.messages], MAX_CHARACTERS, ({ length }) => length);
  const messages = fitting.length > 0 ? fitting : [first];
  const count = 1 + joined.messages.length + joined.leftOut;
  const omitted = count - messages.length;
  return [
    `${count} related messages, in order of arrival:`,
    ...messages.map((message, index) => `[${index + 1} of ${count}]\n${message}`),
    ...(omitted > 0 ? [`[The last ${omitted} messages are omitted because of their length or number.]`] : []),
  ].join("\n\n");
}

/** Most sessions are short, and long entries should not be read only to be left out. */
const FIRST_READ = 8;

const ENTRIES_PER_TURN = 2;

/** An estimate: each model counts differently, but in most texts no average token is shorter. */
const CHARACTERS_PER_TOKEN = 4;

/** The history for a turn that starts at `now`: the session's latest turns within the budget, oldest first. */
export async function readHistory(
  { journal, budget }: { journal: Pick<Journal, "history">; budget: ResolvedConfig["session"] },
  sessionKey: string,
  now: number,
): Promise<PastEntry[]> {
  const max = budget.maxTurns * ENTRIES_PER_TURN;
  for (let limit = Math.min(FIRST_READ, max); ; limit = Math.min(limit * 4, max)) {
    const entries = (await journal.history(sessionKey, limit)).map(asShown);
    const latest = takeFitting(takeCurrent(entries, budget.idleAfterMs, now), budget.maxTokens);
    const isAll = entries.length < limit || latest.length < entries.length || limit >= max;
    if (isAll) return withoutHalfTurn(latest).flatMap(toHistoryEntry);
  }
}

/** When the session began whose latest turns `readHistory` gives. */
export function createSessionStart({ journal, current }: DispatchContext): TurnContext["sessionStart"] {
  return (sessionKey) => journal.sessionStart(sessionKey, current().config.session.idleAfterMs);
}

/** The entries since the session was last idle. A slow answer is not idle time. */
function takeCurrent(entries: Turn[], idleAfterMs: number, now: number): Turn[] {
  const lastIdle = entries.findLastIndex(({ at }, index) => {
    const next = entries[index + 1];
    return next?.role !== "assistant" && (next?.at ?? now) - at >= idleAfterMs;
  });
  return entries.slice(lastIdle + 1);
}

function takeFitting(entries: Turn[], maxTokens: number): Turn[] {
  const latest = entries.toReversed();
  return takeWithin(latest, maxTokens, ({ text }) => text.length / CHARACTERS_PER_TOKEN).toReversed();
}

/** Models handle an answer without its question badly, and some services reject it. */
function withoutHalfTurn(entries: Turn[]): Turn[] {
  return entries[0]?.role === "assistant" ? entries.slice(1) : entries;
}

function asShown(entry: Turn): Turn {
  return entry.boundary ? { ...entry, text: toPrompt(entry) } : entry;
}

/** Some services reject blank messages. */
function toHistoryEntry({ role, text, sources }: Turn): PastEntry[] {
  return role === "system" || text.trim() === "" ? [] : [{ role, text, sources }];
}
