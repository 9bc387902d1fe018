import { toPrompt } from "../boundary/boundary.ts";
import type { NewDelivery, TurnOutcome } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { isOnlyAck } from "./heartbeat.ts";
import { type HookRun, originOf, toSummary } from "./system-event.ts";
import { runAgentTurn, type TurnContext, type TurnResult } from "./turn.ts";

/** Runs an agent action: a turn of its own session, a summary for the main session, the delivery of the reply. */
export async function runAgentAction(run: HookRun, context: TurnContext): Promise<TurnOutcome> {
  const turn = await runTurn(run, context);
  return {
    ...turn,
    entries: [...turn.entries, toSummary(run, turn.reply, turn.finishedAt)],
    deliveries: toDeliveries(run, turn.reply, context.settings.heartbeat.ack),
  };
}

async function runTurn(run: HookRun, context: TurnContext): Promise<TurnResult> {
  const { id: runId, eventId, sessionKey, action } = run;
  const message = toPrompt(action.message, action, originOf(run));
  if (action.agent === "none") return passOn(run, message);
  const { model, thinking, timeoutSeconds } = action;
  return runAgentTurn({ kind: "hook", runId, eventId, sessionKey, message, model, thinking, timeoutSeconds }, context);
}

/**
 * Without an agent the message itself is the reply. The session keeps the wrapped message for both sides, because a later
 * turn is given these entries and must not take outside text for the assistant's own words.
 */
function passOn({ id: runId, eventId, sessionKey, action }: HookRun, prompt: string): TurnResult {
  const at = Date.now();
  const entry = { sessionKey, text: prompt, at, eventId, runId };
  return {
    finishedAt: at,
    reply: action.message,
    model: "none",
    warnings: [],
    entries: [
      { ...entry, role: "user" },
      { ...entry, role: "assistant" },
    ],
  };
}

function toDeliveries({ id: runId, eventId, action }: HookRun, text: string, ack: string): NewDelivery[] {
  const { deliver, channel, to, agent } = action;
  if (!deliver || text.trim() === "") return [];
  // Only an agent can acknowledge. In a message that was passed on, the same words come from outside.
  if (agent !== "none" && isOnlyAck(text, ack)) return [];
  return [{ id: createId(), runId, eventId, channel, to, text }];
}
