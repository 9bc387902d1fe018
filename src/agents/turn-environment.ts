import type { AgentTurn } from "./port.ts";

/** What a program needs to find others and its own settings; the rest of the service's environment holds secrets. */
const PASSED_ON = ["PATH", "HOME", "LANG"];

export interface TurnFacts {
  /** The model without its provider. */
  model: string;
  /** Path of the history's file. */
  history: string;
  /** How much the program may write to standard output. */
  mostBytes: number;
}

/** All that a program's environment holds: what `own` names, and the turn's `HOOKLINE_` variables over it. */
export function toTurnEnvironment(
  turn: AgentTurn,
  facts: TurnFacts,
  own: Record<string, string>,
): NodeJS.ProcessEnv {
  return {
    ...toProgramEnvironment(own),
    HOOKLINE_RUN_ID: turn.runId,
    HOOKLINE_SESSION_KEY: turn.sessionKey,
    HOOKLINE_KIND: turn.kind,
    HOOKLINE_MODEL: facts.model,
    HOOKLINE_THINKING: turn.thinking,
    HOOKLINE_TIMEOUT_SECONDS: String(turn.timeoutSeconds),
    HOOKLINE_MAX_REPLY_BYTES: String(facts.mostBytes),
    HOOKLINE_ACK: turn.ack,
    HOOKLINE_HISTORY: facts.history,
  };
}

/** What a program's environment holds whatever it is asked: what it needs to run, and what `own` names. */
export function toProgramEnvironment(own: Record<string, string>): NodeJS.ProcessEnv {
  return { ...Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]])), ...own };
}
