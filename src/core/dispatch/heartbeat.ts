import type { TurnContext } from "../actions/agent-turn.ts";
import { type HeartbeatTurn, runHeartbeatTurn } from "../actions/heartbeat-turn.ts";
import { toPrompt } from "../boundary/boundary.ts";
import type { Entry, Lease, Route, TurnOutcome } from "../journal/journal.ts";
import { backoffMs, createAlarm } from "../shared/time.ts";
import { DriverError, NotConfigured } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { toChannelName } from "../shared/channel-names.ts";
import { takeWithin } from "../shared/text/text.ts";
import { MAIN_SESSION } from "../types.ts";
import type { DispatchContext } from "./dispatch-context.ts";
import { createAsk } from "./run-steps.ts";
import { MAX_RETRY_AFTER_MS, toFailure } from "./retry.ts";
import { createSessionStart, readHistory } from "./execute-run.ts";

/** Minimum time between two heartbeats: many requests become one. */
const MIN_GAP_MS = 100;

/** Retried without end: the system events stay pending. */
const BACKOFF = { firstMs: 2000, maxMs: 300_000 };

/** How often to try again while another node holds the lease. */
const LEASE_RETRY_MS = 1000;

/** Limits of one heartbeat. Further events stay pending for the next, which follows at once. */
const MAX_EVENTS = 500;
const MAX_CHARACTERS = 200_000;

export interface Heartbeat {
  /** Runs one at once: its time has come. */
  beat(): void;
  /** Requests one, at once or at the end of the join window of the one before. Requests that come before it starts join it. */
  request(): void;
  /** Requests one at once if a pending system event is urgent: a spent budget may have skipped it. */
  requestIfUrgent(): Promise<void>;
  /** Another node has released a lease: a request that waits for it tries again. */
  retry(): void;
  /** None starts until `resume`. */
  pause(): void;
  resume(): void;
  isRunning(): boolean;
  stop(): void;
  /** Resolves when none is running. */
  idle(): Promise<void>;
  /** The lease of this node, once it has run one. */
  lease(): Lease | undefined;
}

/** Runs the heartbeats of the main session, one at a time. They do not count against `maxConcurrent`. */
export function createHeartbeat(context: DispatchContext): Heartbeat {
  const { log } = context.telemetry;
  const next = createAlarm(begin);
  let running: Promise<void> | undefined;
  let lease: Lease | undefined;
  let isLeased = false;
  let requested = false;
  let stopped = false;
  let isPaused = false;
  let failures = 0;
  /** In times of `performance.now()`, since the clock of the machine may be set back. */
  let notBefore = 0;
  /** When the requested one may start, and when the one after it may. */
  let startsAt = 0;
  let windowEndsAt = 0;

  return {
    beat: requestAtOnce,
    request() {
      if (!requested) {
        startsAt = Math.max(performance.now(), windowEndsAt);
        windowEndsAt = startsAt + context.current().config.agents.heartbeat.joinMs;
      }
      schedule();
    },
    requestIfUrgent,
    retry() {
      if (!isLeased) return;
      notBefore = 0;
      schedule();
    },
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      if (requested) schedule();
    },
    isRunning: () => running !== undefined,
    stop() {
      stopped = true;
      next.stop();
    },
    idle: async () => running,
    lease: () => lease,
  };

  function requestAtOnce(): void {
    startsAt = 0;
    schedule();
  }

  function schedule(): void {
    requested = true;
    if (!running) next.set(Date.now() + Math.max(notBefore, startsAt) - performance.now());
  }

  function begin(): void {
    if (stopped || isPaused) return;
    requested = false;
    running = run().finally(() => {
      running = undefined;
      if (requested) schedule();
    });
  }

  async function run(): Promise<void> {
    try {
      lease = await context.journal.lease("heartbeat");
      isLeased = lease === undefined;
      const hasMore = lease !== undefined && (await runHeartbeat(lease, context));
      failures = 0;
      notBefore = performance.now() + (isLeased ? LEASE_RETRY_MS : MIN_GAP_MS);
      requested ||= isLeased || hasMore;
    } catch (error) {
      if (context.signal.aborted) return;
      failures += 1;
      // Another node may have what this one lacks.
      if (lease && error instanceof NotConfigured) await context.journal.releaseLease(lease);
      notBefore = performance.now() + Math.max(backoffMs(failures, BACKOFF), retryAfterOf(error));
      requested = true;
      log.warn("heartbeat failed, will try again", { failures, error: String(error) });
    }
  }

  /** For requests from before the last stop. Behind a full page there may be an urgent event. */
  async function requestIfUrgent(): Promise<void> {
    const pending = await context.journal.pendingSystemEvents(MAX_EVENTS);
    if (pending.some(({ urgent }) => urgent) || pending.length === MAX_EVENTS) requestAtOnce();
  }
}

/** The service's wait, limited like that of a run. */
function retryAfterOf(error: unknown): number {
  return error instanceof DriverError ? Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0;
}

/**
 * Runs one heartbeat and records it: it consumes the system events it was given if the turn succeeds. Without any there
 * is no turn: the main session has nothing new, and the model would cost the same. True if events are left for another one.
 * Rejects with the turn's error.
 */
async function runHeartbeat(lease: Lease, context: DispatchContext): Promise<boolean> {
  const { journal, telemetry } = context;
  const pending = await journal.pendingSystemEvents(MAX_EVENTS);
  if (pending.length === 0) return false;
  if (!(await context.hold.allowsHeartbeat())) {
    telemetry.log.warn("heartbeat skipped: the budget is spent", { events: pending.length });
    return false;
  }
  const events = takeOldest(pending);
  const run = { id: createId(), startedAt: Date.now() };
  const { outcome, told } = await context.spans.ofHeartbeat(run.id, events, () => runTurn(run, events, context));
  const fields = { runId: run.id, events: told.length, deliveries: outcome.deliveries.length };
  const consumed = { ...run, consumedSeqs: told.map(({ seq }) => seq), lease };
  if (await journal.completeHeartbeat(consumed, outcome))
    telemetry.log.info("heartbeat done", { step: "heartbeat", ...fields });
  else telemetry.log.info("heartbeat result dropped: the lease was lost", fields);
  return told.length < pending.length || pending.length === MAX_EVENTS;
}

async function runTurn(
  { id, startedAt }: { id: string; startedAt: number },
  events: Entry[],
  context: DispatchContext,
): Promise<{ outcome: TurnOutcome; told: Entry[] }> {
  const { journal, signal } = context;
  const history = await readHistory({ journal, budget: context.current().config.session }, MAIN_SESSION, Date.now());
  try {
    const { agent, tools, config } = context.current();
    const { channel, to } = config.agents.heartbeat;
    const route = channel !== undefined && to !== undefined ? { channel, to } : await journal.operatorRoute();
    const isPublic = route !== undefined && isPublicRoute(route, config);
    const settings = config.agents;
    const turn = {
      agent,
      tools,
      settings,
      history,
      sessionStart: createSessionStart(context),
      ask: createAsk(context),
      signal,
    };
    return await runWithLess({ runId: id, events, route, isPublic }, turn);
  } catch (error) {
    signal.throwIfAborted();
    await journal.failHeartbeat({ id, startedAt, finishedAt: Date.now(), error: toFailure(error).message });
    throw error;
  }
}

/** The operator says that others can see what is written there: of the channel, or of a target of a mapping. */
function isPublicRoute(
  { channel, to }: Route,
  { channelRules, hooks }: ReturnType<DispatchContext["current"]>["config"],
): boolean {
  const targets = hooks.mappings.flatMap(({ mapping: { deliver } }) => (Array.isArray(deliver) ? deliver : []));
  return (
    channelRules.get(channel)?.audience === "public" ||
    targets.some(
      (target) => target.audience === "public" && toChannelName(target.channel) === channel && target.to?.trim() === to,
    )
  );
}

/** While the prompt does not fit, runs the turn with half of the events. It did not fit without the history either. */
async function runWithLess(
  turn: HeartbeatTurn,
  context: TurnContext,
): Promise<{ outcome: TurnOutcome; told: Entry[] }> {
  const { events } = turn;
  try {
    return { outcome: await runHeartbeatTurn(turn, context), told: events };
  } catch (error) {
    const isTooLong = error instanceof DriverError && error.modelFailure === "too-long";
    if (!isTooLong || events.length === 1) throw error;
    const half = events.slice(0, Math.ceil(events.length / 2));
    return runWithLess({ ...turn, events: half }, { ...context, history: [] });
  }
}

/** The notes that fit, at least one. */
function takeOldest(events: Entry[]): Entry[] {
  const oldest = takeWithin(events, MAX_CHARACTERS, (event) => toPrompt(event).length);
  return oldest.length > 0 ? oldest : events.slice(0, 1);
}
