import { runAgentAction } from "../actions/agent.ts";
import { type HookRun, requireHookRun } from "../actions/hook-run.ts";
import { toErrorSummary } from "../actions/summary.ts";
import type { Run } from "../journal/port.ts";
import type { DispatchContext } from "./context.ts";
import { toFailure } from "./failure.ts";
import { readHistory } from "./history.ts";
import { joinMessages } from "./join-messages.ts";
import { requireTriesLeft, retryDelayMs } from "./retry.ts";

/** What the end of a run asks of the dispatcher. */
export interface RunEnd {
  /** A heartbeat at once. */
  wakes: boolean;
  /** A look at the deliveries. */
  delivers: boolean;
}

const BACKOFF = { firstMs: 1000, mostMs: 60_000 };

/** Carries out a claimed run and records what came of it; rejects only when the service stops meanwhile. */
export async function carryOutRun(claimed: Run, context: DispatchContext): Promise<RunEnd> {
  const run = withJoined(requireHookRun(claimed));
  try {
    requireTriesLeft(run.attempts, context.settings().maxAttempts);
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
