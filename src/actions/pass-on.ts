import type { NewEntry, TurnOutcome } from "../journal/port.ts";
import type { HookRun } from "./hook-run.ts";

/**
 * The turn of an action that asks no agent: the message itself is the reply. `prompt` is the message as an agent would see it,
 * and what the session keeps for both sides: a later turn of the session is given them, and must not take outside text
 * for its own words.
 */
export function passOn(run: HookRun, prompt: string): Omit<TurnOutcome, "deliveries"> {
  const { id: runId, eventId, sessionKey, action } = run;
  const at = Date.now();
  const entries = (["user", "assistant"] as const).map((role): NewEntry => ({
    sessionKey,
    role,
    text: prompt,
    at,
    eventId,
    runId,
  }));
  return { finishedAt: at, reply: action.message, model: "none", warnings: [], entries };
}
