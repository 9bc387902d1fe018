import { setImmediate as nextTurn } from "node:timers/promises";
import { DriverError } from "../errors.ts";
import { AcpLoss } from "./acp-loss.ts";
import type { AcpProgram } from "./acp-program.ts";

/** Sees to it that an agent's last words are told of the turn that they belong to. */
export interface AcpWitness {
  /** Carries out what comes before a prompt. Rejects with an `AcpLoss` where the agent is lost meanwhile. */
  beforePrompt<Result>(step: () => Promise<Result>): Promise<Result>;
  /** Carries out a prompt. Rejects with an `AcpLoss` where the agent is lost meanwhile. */
  duringPrompt<Result>(step: () => Promise<Result>): Promise<Result>;
}

interface State {
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
  const state: State = { program, prompts: 0, mixed: false };
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

function begin(state: State): void {
  state.mixed = state.prompts > 0;
  if (!state.mixed) state.program.forgetWords();
  state.prompts += 1;
}

/** What the agent wrote before its answer has come with that, and may be read after it in the same turn of the loop. */
async function end(state: State): Promise<void> {
  await nextTurn();
  state.prompts -= 1;
  if (state.prompts === 0) state.program.forgetWords();
}

async function toLoss({ program }: State, error: unknown, silent: boolean): Promise<unknown> {
  // what the system, the agent or this service said needs no other words
  if (error instanceof DriverError || (error instanceof Error && "code" in error)) return error;
  return new AcpLoss(silent ? "" : await program.lastWords(), { cause: error });
}
