import { runHeartbeat } from "../actions/heartbeat.ts";
import type { Entry, TurnOutcome } from "../journal/journal.ts";
import { createAlarm } from "../shared/async.ts";
import { backoffMs } from "../shared/backoff.ts";
import { createId } from "../shared/id.ts";
import { MAIN_SESSION } from "../types.ts";
import type { DispatchContext } from "./context.ts";
import { readHistory } from "./history.ts";
import { toFailure } from "./run.ts";
import { takeWithin } from "../shared/text.ts";

/** Least time between two heartbeats: under a flood of asks, many become one. */
const MIN_GAP_MS = 100;

/** After failures. No end to the tries: the events stay pending, and asks wait for the next try. */
const BACKOFF = { firstMs: 2000, maxMs: 300_000 };

/** How often the configured period is looked at again: a reload may have changed it. */
const MAX_SLEEP_MS = 60_000;

export interface Heartbeat {
  /** Starts the periodic ones, and one at once where a system event still asks for it. */
  start(): void;
  /** Asks for one at once. Asks that come before it starts are one. */
  ask(): void;
  isRunning(): boolean;
  stop(): void;
  /** Resolves when none is under way. */
  idle(): Promise<void>;
}

/** Decides when the main session's heartbeats run: never two at a time. They take no place from the runs. */
export function createHeartbeat(context: DispatchContext, onEnd: (end: BeatEnd) => void): Heartbeat {
  const { log } = context;
  const next = createAlarm(begin);
  const period = createAlarm(checkPeriod);
  let lastPeriodAt = Date.now();
  let running: Promise<void> | undefined;
  let asked = false;
  let stopped = false;
  let failures = 0;
  let notBefore = 0;

  return {
    start() {
      lastPeriodAt = Date.now();
      checkPeriod();
      askIfUrgent().catch(reportFault);
    },
    ask,
    isRunning: () => running !== undefined,
    stop() {
      stopped = true;
      next.stop();
      period.stop();
    },
    idle: async () => running,
  };

  function ask(): void {
    asked = true;
    if (!running) next.set(notBefore);
  }

  function begin(): void {
    if (stopped) return;
    asked = false;
    running = run().finally(() => {
      running = undefined;
      if (asked) ask();
    });
  }

  async function run(): Promise<void> {
    try {
      const end = await beat(context);
      failures = 0;
      notBefore = Date.now() + MIN_GAP_MS;
      asked ||= end.more;
      onEnd(end);
    } catch (error) {
      if (context.signal.aborted) return;
      failures += 1;
      notBefore = Date.now() + backoffMs(failures, BACKOFF);
      asked = true;
      log.warn("heartbeat failed, will try again", { failures, error: String(error) });
    }
  }

  function checkPeriod(): void {
    const now = Date.now();
    const { everyMs } = context.settings().heartbeat;
    if (now - lastPeriodAt >= everyMs) {
      lastPeriodAt = now;
      ask();
    }
    period.set(now + Math.min(lastPeriodAt + everyMs - now, MAX_SLEEP_MS));
  }

  /** What was asked for before the service stopped is not forgotten. A full page may hide an urgent one behind it. */
  async function askIfUrgent(): Promise<void> {
    const pending = await context.journal.pendingSystemEvents(MAX_EVENTS);
    if (pending.some(({ urgent }) => urgent) || pending.length === MAX_EVENTS) ask();
  }

  function reportFault(error: unknown): void {
    if (!context.signal.aborted) log.error("heartbeat fault", { error: String(error) });
  }
}

/** What one heartbeat is given at most. What is over stays pending for the next, which follows at once. */
const MAX_EVENTS = 500;
const MAX_CHARACTERS = 200_000;

/** What a heartbeat asks of the dispatcher. */
export interface BeatEnd {
  /** Another heartbeat: there is more than one could take. */
  more: boolean;
  /** A look at the deliveries. */
  delivers: boolean;
}

/**
 * One heartbeat, recorded: it consumes the system events it was given if the turn succeeds. With none pending there is
 * no turn: the main session learns only from them, and a model that is asked about nothing costs just the same.
 * Rejects with what the turn failed of.
 */
async function beat(context: DispatchContext): Promise<BeatEnd> {
  const { journal, log } = context;
  const pending = await journal.pendingSystemEvents(MAX_EVENTS);
  if (pending.length === 0) return { more: false, delivers: false };
  const events = takeOldest(pending);
  const run = { id: createId(), startedAt: Date.now(), consumedSeqs: events.map(({ seq }) => seq) };
  const outcome = await takeTurn(run, events, context);
  await journal.completeHeartbeat(run, outcome);
  log.info("heartbeat done", { runId: run.id, events: events.length, deliveries: outcome.deliveries.length });
  const more = events.length < pending.length || pending.length === MAX_EVENTS;
  return { more, delivers: outcome.deliveries.length > 0 };
}

async function takeTurn(
  { id, startedAt }: { id: string; startedAt: number },
  events: Entry[],
  context: DispatchContext,
): Promise<TurnOutcome> {
  const { journal, signal } = context;
  const history = await readHistory({ journal, budget: context.session() }, MAIN_SESSION, Date.now());
  const routeIsKnown = (await journal.lastRoute()) !== undefined;
  try {
    const turn = { agent: context.agent(), settings: context.settings(), history, signal };
    return await runHeartbeat({ runId: id, events, routeIsKnown }, turn);
  } catch (error) {
    signal.throwIfAborted();
    const failure = { id, startedAt, finishedAt: Date.now(), error: toFailure(error).message };
    await journal.failHeartbeat(failure);
    throw error;
  }
}

/** As many as fit, at least one. */
function takeOldest(events: Entry[]): Entry[] {
  const oldest = takeWithin(events, MAX_CHARACTERS, ({ text }) => text.length);
  return oldest.length > 0 ? oldest : events.slice(0, 1);
}
