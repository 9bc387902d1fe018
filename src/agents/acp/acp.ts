import type { Provider } from "../../config/schema/generated.ts";
import { DriverError } from "../../errors.ts";
import { toProgramEnvironment } from "../command.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "../driver.ts";
import { toStartError, withoutSecrets } from "../errors.ts";
import { requireModelId } from "../model.ts";
import { AcpLoss } from "./process.ts";
import type { AcpAnswer } from "./session.ts";
import { type AcpWorker, createAcpWorker } from "./worker.ts";

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
  if (signal.aborted) throw new DriverError(`The run was stopped before ${name} replied.`, { retryable: true });
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

/**
 * The reply in what an agent answered. A text that was cut short by a limit is a reply with a warning; throws a
 * `DriverError` where it refused, was cancelled, or met a limit before it wrote anything.
 */
function toAcpReply(name: string, { text, stopReason, warnings }: AcpAnswer, model: string | undefined): AgentReply {
  const finished = stopReason === "end_turn";
  const given = stopReason !== "refusal" && stopReason !== "cancelled" && text.trim() !== "";
  if (!finished && !given) throw noReply(name, stopReason);
  const incomplete = finished ? [] : [`The reply may be incomplete: it ended with "${stopReason}".`];
  return { text, model, warnings: [...warnings, ...incomplete] };
}

/** The same prompt would be refused, or meet the limit, again. */
function noReply(name: string, reason: AcpAnswer["stopReason"]): DriverError {
  const retryable = reason === "cancelled";
  return new DriverError(`${name} ended with "${reason}" before it wrote a reply.`, { retryable });
}

/** JSON-RPC: the agent failed, at what nobody knows. */
const INTERNAL_ERROR = -32603;

/** The protocol's own: nobody has logged in. */
const AUTHENTICATION_REQUIRED = -32000;

const MAX_COMPLAINT_LENGTH = 300;

/** Sorts what went wrong between the service and an agent of the Agent Client Protocol. */
function toAcpError(error: unknown, { name, secrets }: { name: string; secrets: string[] }): DriverError {
  if (error instanceof DriverError) return error;
  const words = error instanceof Error ? withoutSecrets(error.message, secrets) : "";
  if (error instanceof AcpLoss) {
    const lost = `${name} was lost before it replied`;
    return new DriverError(words ? `${lost}: ${words.slice(-MAX_COMPLAINT_LENGTH)}` : `${lost}.`, { retryable: true });
  }
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (typeof code === "string") return toStartError(name, error);
  if (code === AUTHENTICATION_REQUIRED) {
    return new DriverError(
      `${name} wants a login: log in with the program itself, or give it a key in agents.providers.${name}.env.`,
      { retryable: false },
    );
  }
  const retryable = code === INTERNAL_ERROR;
  return new DriverError(`${name} failed: ${words.slice(0, MAX_COMPLAINT_LENGTH)}`, { retryable });
}
