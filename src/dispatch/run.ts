import type { HistoryEntry } from "../agents/driver.ts";
import { answerAgentAction, runAgentAction, toErrorSummary } from "../actions/agent.ts";
import { toPrompt } from "../boundary/boundary.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { messageOf } from "../errors.ts";
import type { ClaimedRun, Entry, Journal, Run, TurnOutcome } from "../journal/journal.ts";
import { takeWithin } from "../shared/text.ts";
import { failSpan, isTraced } from "../telemetry/traces.ts";
import type { DispatchContext } from "./context.ts";
import { assertAttemptsLeft, isClaimHeld, retryDelayMs, toFailure } from "./retry.ts";

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
  const run = withJoined(claimed);
  try {
    const reason = await context.hold.findHold(claimed);
    if (reason !== undefined) return await hold(claimed, reason, context);
    assertAttemptsLeft(run.attempts, context.current().config.agents.maxAttempts);
    return await complete(run, context, freeSlot);
  } catch (error) {
    await releaseOnShutdown(run, context);
    return recordRunFailure(run, error, context);
  }
}

function withJoined(claimed: ClaimedRun): ClaimedRun {
  const { action, joined } = claimed;
  return { ...claimed, action: { ...action, message: joinMessages(action.message, joined) } };
}

/**
 * The outcome of a run that no event joined and that needs no waiting. Undefined also where something has to be checked, shown or
 * traced first.
 */
export function answerRun(run: ClaimedRun, context: DispatchContext): TurnOutcome | undefined {
  const { deliver, toSource, agent } = run.action;
  const program = context.current();
  const settings = program.config.agents;
  const isLimited = (deliver && toSource) || (agent !== "none" && settings.budget !== undefined);
  if (isLimited || isTraced() || run.attempts > settings.maxAttempts) return undefined;
  try {
    return answerAgentAction(run, { agent: program.agent, settings });
  } catch {
    // The run is claimed, and fails there.
    return undefined;
  }
}

async function hold(run: ClaimedRun, reason: string, { journal, telemetry }: DispatchContext): Promise<boolean> {
  const { id: runId, eventId, hook } = run;
  const isRecorded = await journal.holdRun(run, reason);
  if (isRecorded) telemetry.steps.warn("run held", { runId, eventId, hook, reason });
  telemetry.activity.turned({ result: "held", ms: 0 });
  return isRecorded;
}

async function complete(run: ClaimedRun, context: DispatchContext, freeSlot: () => void): Promise<boolean> {
  const { journal, signal } = context;
  const history = await readHistory({ journal, budget: context.current().config.session }, run.sessionKey, Date.now());
  if (!(await isClaimHeld(run.startedAt ?? 0, () => isSameAttempt(run, journal)))) return false;
  const program = context.current();
  const turn = { agent: program.agent, settings: program.config.agents, history, signal };
  const outcome = await showWorking(run, context, () => runAgentAction(run, turn));
  const recording = journal.completeRun(run, outcome);
  freeSlot();
  const isRecorded = await recording;
  showDone({ ...run, usage: outcome.usage }, context, isRecorded);
  return isRecorded;
}

export function showDone(run: ClaimedRun, { telemetry }: DispatchContext, isRecorded = true): void {
  const { id: runId, eventId, hook, attempts, startedAt, usage } = run;
  if (isRecorded) telemetry.steps.info("run done", { runId, eventId, hook, attempts });
  telemetry.activity.turned({ result: "done", ms: msSince(startedAt), usage });
}

async function isSameAttempt({ id, attempts }: ClaimedRun, journal: Pick<Journal, "getRun">): Promise<boolean> {
  const run = await journal.getRun(id);
  return run?.state === "running" && run.attempts === attempts;
}

const MARK_TIMEOUT_MS = 10_000;

/** Shows at the place of the event that the run is in progress, where its channel can. A failure changes nothing. */
async function showWorking<Result>(
  { action: { deliver, toSource, channel, to }, id: runId }: ClaimedRun,
  { current, log }: DispatchContext,
  work: () => Promise<Result>,
): Promise<Result> {
  const { channels, config } = current();
  const driver = channels.get(channel);
  const isDryRun = config.channelRules.get(channel)?.dryRun;
  if (!deliver || !toSource || to === undefined || !driver?.startWorking || isDryRun) return work();
  const ignore = (error: unknown): void => log.info("no mark of work", { runId, channel, error: messageOf(error) });
  const started = driver.startWorking(to, AbortSignal.timeout(MARK_TIMEOUT_MS)).catch(ignore);
  try {
    return await work();
  } finally {
    void started.then((stop) => stop?.()).catch(ignore);
  }
}

function msSince(time: number | undefined): number {
  return time === undefined ? 0 : Math.max(0, Date.now() - time);
}

/** The attempt is not counted, and the run starts again after the restart. */
async function releaseOnShutdown(run: ClaimedRun, { journal, signal }: DispatchContext): Promise<void> {
  if (!signal.aborted) return;
  await journal.releaseRun(run);
  signal.throwIfAborted();
}

async function recordRunFailure(run: ClaimedRun, cause: unknown, context: DispatchContext): Promise<boolean> {
  const { journal, telemetry } = context;
  const { id: runId, eventId, hook, attempts } = run;
  const error = toFailure(cause);
  const fields = { runId, eventId, hook, attempts, error: error.message };
  const { maxAttempts } = context.current().config.agents;
  const delayMs = retryDelayMs(cause, attempts, { ...BACKOFF, maxAttempts });
  const finishedAt = Date.now();
  const ms = msSince(run.startedAt);
  telemetry.activity.turned({ result: delayMs === undefined ? "dead" : "retried", ms });
  failSpan();
  if (delayMs !== undefined) {
    const isRecorded = await journal.retryRun(run, finishedAt + delayMs, error.message);
    telemetry.steps.warn("run failed, will try again", fields);
    return isRecorded;
  }
  const entries = [toErrorSummary(run, error, finishedAt)];
  const isRecorded = await journal.deadLetterRun(run, { finishedAt, error: error.message, entries });
  telemetry.steps.error("run failed permanently", fields);
  return isRecorded;
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
): Promise<HistoryEntry[]> {
  const max = budget.maxTurns * ENTRIES_PER_TURN;
  for (let limit = Math.min(FIRST_READ, max); ; limit = Math.min(limit * 4, max)) {
    const entries = (await journal.history(sessionKey, limit)).map(asShown);
    const latest = takeFitting(takeCurrent(entries, budget.idleAfterMs, now), budget.maxTokens);
    const isAll = entries.length < limit || latest.length < entries.length || limit >= max;
    if (isAll) return withoutHalfTurn(latest).flatMap(toHistoryEntry);
  }
}

/** The entries since the session was last idle. A slow answer is not idle time. */
function takeCurrent(entries: Entry[], idleAfterMs: number, now: number): Entry[] {
  const lastIdle = entries.findLastIndex(({ at }, index) => {
    const next = entries[index + 1];
    return next?.role !== "assistant" && (next?.at ?? now) - at >= idleAfterMs;
  });
  return entries.slice(lastIdle + 1);
}

function takeFitting(entries: Entry[], maxTokens: number): Entry[] {
  const latest = entries.toReversed();
  return takeWithin(latest, maxTokens, ({ text }) => text.length / CHARACTERS_PER_TOKEN).toReversed();
}

/** Models handle an answer without its question badly, and some services reject it. */
function withoutHalfTurn(entries: Entry[]): Entry[] {
  return entries[0]?.role === "assistant" ? entries.slice(1) : entries;
}

function asShown(entry: Entry): Entry {
  return entry.boundary ? { ...entry, text: toPrompt(entry) } : entry;
}

/** Some services reject blank messages. */
function toHistoryEntry({ role, text }: Entry): HistoryEntry[] {
  return role === "system" || text.trim() === "" ? [] : [{ role, text }];
}
