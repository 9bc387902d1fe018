import type { Provider } from "../config/generated.ts";
import { DriverError } from "../errors.ts";
import { toAcpError } from "./acp-error.ts";
import { toAcpReply } from "./acp-reply.ts";
import { type AcpWorker, createAcpWorker } from "./acp-worker.ts";
import { requireModelId } from "./model-id.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "./port.ts";
import { toProgramEnvironment } from "./turn-environment.ts";

export interface AcpOptions {
  /** The provider's name in the config: the part of a model before the slash. */
  name: string;
  provider: Provider;
}

interface State extends AcpOptions {
  /** Who takes the next turn. */
  worker: AcpWorker | undefined;
  closed: boolean;
}

/**
 * Asks an agent of the Agent Client Protocol: one program for all turns, one of its sessions for each session key. A
 * program that was lost is started anew, and told the history. Whoever asks sends a session's turns one after the other.
 */
export function createAcp(options: AcpOptions): AgentDriver {
  const state: State = { ...options, worker: undefined, closed: false };
  return {
    name: options.name,
    run: (turn, signal) => run(state, turn, signal),
    close() {
      state.closed = true;
      state.worker?.retire();
    },
  };
}

async function run(state: State, turn: AgentTurn, signal: AbortSignal): Promise<AgentReply> {
  const model = requireModelId(state.name, turn.model);
  requireTime(state.name, signal);
  try {
    const answer = await ask(state, { turn, model }, signal);
    requireTime(state.name, signal);
    return toAcpReply(state.name, answer, turn.model);
  } catch (error) {
    requireTime(state.name, signal);
    throw toAcpError(error, { name: state.name, secrets: Object.values(state.provider.env ?? {}) });
  }
}

function requireTime(name: string, signal: AbortSignal): void {
  if (signal.aborted) throw new DriverError("passing", `The run was stopped before ${name} replied.`);
}

function ask(
  state: State,
  { turn, model }: { turn: AgentTurn; model: string },
  signal: AbortSignal,
): ReturnType<AcpWorker["ask"]> {
  const worker = takeWorker(state);
  const answer = worker.ask(turn, model, signal);
  // a turn that had taken this driver before it was closed
  if (state.closed) worker.retire();
  return answer;
}

function takeWorker(state: State): AcpWorker {
  if (state.worker && !state.worker.isSpent()) return state.worker;
  state.worker?.retire();
  const { command: [file, ...args] = [""], cwd = process.cwd(), env = {} } = state.provider;
  state.worker = createAcpWorker({ command: [file, ...args], cwd, env: toProgramEnvironment(env) });
  return state.worker;
}
