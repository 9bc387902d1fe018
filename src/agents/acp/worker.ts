import { setImmediate as nextTurn } from "node:timers/promises";
import { DriverError } from "../../errors.ts";
import type { AgentTurn } from "../driver.ts";
import { type AcpCall, AcpLoss, type AcpProgram, startAcpProgram } from "./process.ts";
import { type AcpAnswer, type AcpSession, openAcpSession } from "./session.ts";

/** A running agent with the sessions it keeps. */
export interface AcpWorker {
  /**
   * Carries out a turn in the session of its key; at the abort it is cancelled, and two seconds later the agent killed.
   * Rejects with an `AcpLoss` where the agent is lost meanwhile.
   */
  ask(turn: AgentTurn, model: string, signal: AbortSignal): Promise<AcpAnswer>;
  /** It takes no turn any more: it has gone, or has had its share. */
  isSpent(): boolean;
  /** Ends the agent once no turn is under way. */
  retire(): void;
}

interface State {
  program: AcpProgram;
  witness: AcpWitness;
  cwd: string;
  /** By session key. */
  sessions: Map<string, AcpSession>;
  /** How many it was ever asked for. */
  opened: number;
  /** Turns under way. */
  turns: number;
  retired: boolean;
}

/** Agents keep what was said in every session: one that has had this many is replaced by a fresh one. */
const MAX_SESSIONS = 100;

/** How long an agent may take to heed a cancelled turn, in milliseconds. */
const GRACE_MS = 2000;

/** Starts the agent. Throws where its arguments or its environment cannot be. */
export function createAcpWorker(call: AcpCall): AcpWorker {
  const program = startAcpProgram(call);
  const witness = createAcpWitness(program);
  const sessions = new Map<string, AcpSession>();
  const state: State = { program, witness, cwd: call.cwd, sessions, opened: 0, turns: 0, retired: false };
  return {
    ask: (turn, model, signal) => ask(state, { turn, model }, signal),
    isSpent: () => state.retired || state.opened >= MAX_SESSIONS || program.isGone(),
    retire() {
      state.retired = true;
      endIfIdle(state);
    },
  };
}

async function ask(
  state: State,
  { turn, model }: { turn: AgentTurn; model: string },
  signal: AbortSignal,
): Promise<AcpAnswer> {
  const stopListening = onAbort(signal, () => {
    state.sessions.get(turn.sessionKey)?.cancel();
    const grace = setTimeout(state.program.kill, GRACE_MS);
    return () => clearTimeout(grace);
  });
  state.turns += 1;
  try {
    const session = await state.witness.beforePrompt(() => takeSession(state, turn));
    signal.throwIfAborted();
    return await state.witness.duringPrompt(() => session.ask(turn, model));
  } catch (error) {
    forget(state, turn.sessionKey);
    throw error;
  } finally {
    stopListening();
    if (signal.aborted) forget(state, turn.sessionKey);
    state.turns -= 1;
    endIfIdle(state);
  }
}

/** A turn without a history begins its session afresh, whatever the agent remembers. */
async function takeSession(state: State, { sessionKey, history }: AgentTurn): Promise<AcpSession> {
  const known = state.sessions.get(sessionKey);
  if (known && history.length > 0) return known;
  forget(state, sessionKey);
  state.opened += 1;
  const session = await openAcpSession(await state.program.ready, state.cwd);
  state.sessions.set(sessionKey, session);
  return session;
}

/** What an agent remembers of a turn that failed is not what the session's history says. */
function forget({ sessions }: State, sessionKey: string): void {
  sessions.get(sessionKey)?.drop();
  sessions.delete(sessionKey);
}

function endIfIdle({ retired, turns, program }: State): void {
  if (retired && turns === 0) program.end();
}

/** Calls `act` at the abort. What is given back stops listening, and undoes what `act` gave to undo. */
function onAbort(signal: AbortSignal, act: () => () => void): () => void {
  let undo: (() => void) | undefined;
  const listener = (): void => void (undo = act());
  signal.addEventListener("abort", listener, { once: true });
  return () => {
    signal.removeEventListener("abort", listener);
    undo?.();
  };
}

/** Sees to it that an agent's last words are told of the turn that they belong to. */
export interface AcpWitness {
  /** Carries out what comes before a prompt. Rejects with an `AcpLoss` where the agent is lost meanwhile. */
  beforePrompt<Result>(step: () => Promise<Result>): Promise<Result>;
  /** Carries out a prompt. Rejects with an `AcpLoss` where the agent is lost meanwhile. */
  duringPrompt<Result>(step: () => Promise<Result>): Promise<Result>;
}

interface StderrState {
  program: AcpProgram;
  /** Prompts under way. */
  prompts: number;
  /** Several prompts were under way together since there was none. */
  mixed: boolean;
}

/**
 * All sessions write to one standard error, and what one is told may be quoted there: words that may be of another turn
 * are told of none.
 */
export function createAcpWitness(program: AcpProgram): AcpWitness {
  const state: StderrState = { program, prompts: 0, mixed: false };
  return {
    async beforePrompt(step) {
      try {
        return await step();
      } catch (error) {
        throw await toLoss(state, error, state.prompts > 0);
      }
    },
    async duringPrompt(step) {
      begin(state);
      try {
        return await step();
      } catch (error) {
        throw await toLoss(state, error, state.mixed);
      } finally {
        await end(state);
      }
    },
  };
}

function begin(state: StderrState): void {
  state.mixed = state.prompts > 0;
  if (!state.mixed) state.program.forgetWords();
  state.prompts += 1;
}

/** What the agent wrote before its answer has come with that, and may be read after it in the same turn of the loop. */
async function end(state: StderrState): Promise<void> {
  await nextTurn();
  state.prompts -= 1;
  if (state.prompts === 0) state.program.forgetWords();
}

async function toLoss({ program }: StderrState, error: unknown, silent: boolean): Promise<unknown> {
  // what the system, the agent or this service said needs no other words
  if (error instanceof DriverError || (error instanceof Error && "code" in error)) return error;
  return new AcpLoss(silent ? "" : await program.lastWords(), { cause: error });
}
