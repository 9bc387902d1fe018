import { requireHookRun, runAgentAction } from "../actions/agent.ts";
import { type HookRun, toErrorSummary } from "../actions/system-event.ts";
import { DriverError } from "../errors.ts";
import type { Run } from "../journal/journal.ts";
import type { DispatchContext } from "./context.ts";
import { readHistory } from "./history.ts";
import { assertAttemptsLeft, retryDelayMs } from "./retry.ts";

/** What the end of a run asks of the dispatcher. */
export interface RunEnd {
  /** A heartbeat at once. */
  wakes: boolean;
  /** A look at the deliveries. */
  delivers: boolean;
}

const BACKOFF = { firstMs: 1000, maxMs: 60_000 };

/** Carries out a claimed run and records what came of it; rejects only when the service stops meanwhile. */
export async function carryOutRun(claimed: Run, context: DispatchContext): Promise<RunEnd> {
  const run = withJoined(requireHookRun(claimed));
  try {
    assertAttemptsLeft(run.attempts, context.settings().maxAttempts);
    return await complete(run, context);
  } catch (error) {
    await releaseIfStopped(run, context);
    return recordFailure(run, error, context);
  }
}

function withJoined(run: HookRun): HookRun {
  const { action, joined } = run;
  return { ...run, action: { ...action, message: joinMessages(action.message, joined) } };
}

/** Cut off by the stop: nothing is recorded of the try, and the run starts again after the restart. */
async function releaseIfStopped(run: HookRun, { journal, signal }: DispatchContext): Promise<void> {
  if (!signal.aborted) return;
  await journal.releaseRun(run.id);
  signal.throwIfAborted();
}

async function complete(run: HookRun, context: DispatchContext): Promise<RunEnd> {
  const { journal, signal, log } = context;
  const { id: runId, eventId, hook } = run;
  const history = await readHistory({ journal, budget: context.session() }, run.sessionKey, Date.now());
  const outcome = await runAgentAction(run, {
    agent: context.agent(),
    settings: context.settings(),
    history,
    signal,
  });
  await journal.completeRun(runId, outcome);
  log.info("run done", { runId, eventId, hook, attempts: run.attempts });
  return { wakes: run.action.wakeMode === "now", delivers: outcome.deliveries.length > 0 };
}

async function recordFailure(run: HookRun, cause: unknown, context: DispatchContext): Promise<RunEnd> {
  const { journal, log } = context;
  const { id: runId, eventId, hook, attempts } = run;
  const error = toFailure(cause);
  const fields = { runId, eventId, hook, attempts, error: error.message };
  const delayMs = retryDelayMs(cause, attempts, { ...BACKOFF, maxAttempts: context.settings().maxAttempts });
  const finishedAt = Date.now();
  if (delayMs !== undefined) {
    log.warn("run failed, will try again", fields);
    await journal.retryRun(runId, finishedAt + delayMs, error.message);
    return { wakes: false, delivers: false };
  }
  log.error("run failed for good", fields);
  const entries = [toErrorSummary(run, error, finishedAt)];
  await journal.buryRun(runId, { finishedAt, error: error.message, entries });
  return { wakes: run.action.wakeMode === "now", delivers: false };
}

/** A model's context has an end, and a burst may have none. */
const MAX_CHARACTERS = 200_000;

/**
 * The message of a coalesced run: its own and those that joined it, numbered, in the order they came. The first always
 * stands whole; where the others do not all fit, it says how many of the last are left out.
 */
export function joinMessages(first: string, joined: Run["joined"]): string {
  if (!joined) return first;
  const messages = takeFitting([first, ...joined.messages]);
  const count = 1 + joined.messages.length + joined.leftOut;
  const leftOut = count - messages.length;
  return [
    `${count} messages about one thing, in the order they came:`,
    ...messages.map((message, index) => `[${index + 1} of ${count}]\n${message}`),
    ...(leftOut > 0 ? [`[The last ${leftOut} are left out here: together they are too long.]`] : []),
  ].join("\n\n");
}

function takeFitting(messages: string[]): string[] {
  let characters = 0;
  const tooFar = messages.findIndex(({ length }) => (characters += length) > MAX_CHARACTERS);
  return tooFar === -1 ? messages : messages.slice(0, Math.max(tooFar, 1));
}

/** The longest error that is kept, in characters. */
const MAX_ERROR_CHARACTERS = 500;

/** What went wrong as an error whose message can be shown: drivers choose their words, anything else is a fault of ours. */
export function toFailure(cause: unknown): Error {
  if (cause instanceof DriverError && cause.message.length <= MAX_ERROR_CHARACTERS) return cause;
  const text = cause instanceof DriverError ? cause.message : `unexpected fault: ${String(cause)}`;
  return new Error(text.slice(0, MAX_ERROR_CHARACTERS), { cause });
}
