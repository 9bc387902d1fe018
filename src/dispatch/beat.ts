import { createId } from "../create-id.ts";
import { runHeartbeat } from "../actions/heartbeat.ts";
import type { Entry, TurnOutcome } from "../journal/port.ts";
import { MAIN_SESSION } from "../types.ts";
import type { DispatchContext } from "./context.ts";
import { toFailure } from "./failure.ts";
import { readHistory } from "./history.ts";

/** What one heartbeat is given at most. What is over stays pending for the next, which follows at once. */
export const MOST_EVENTS = 500;
const MOST_CHARACTERS = 200_000;

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
export async function beat(context: DispatchContext): Promise<BeatEnd> {
  const { journal, log } = context;
  const pending = await journal.pendingSystemEvents(MOST_EVENTS);
  if (pending.length === 0) return { more: false, delivers: false };
  const events = takeOldest(pending);
  const run = { id: createId(), startedAt: Date.now(), consumedSeqs: events.map(({ seq }) => seq) };
  const outcome = await takeTurn(run, events, context);
  await journal.completeHeartbeat(run, outcome);
  log.info("heartbeat done", { runId: run.id, events: events.length, deliveries: outcome.deliveries.length });
  const more = events.length < pending.length || pending.length === MOST_EVENTS;
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
  let characters = 0;
  const tooFar = events.findIndex(({ text }) => (characters += text.length) > MOST_CHARACTERS);
  return tooFar === -1 ? events : events.slice(0, Math.max(tooFar, 1));
}
