import { createId } from "../create-id.ts";
import type { NewDelivery, TurnOutcome } from "../journal/port.ts";
import { isOnlyAck } from "./ack.ts";
import { type HookRun, originOf } from "./hook-run.ts";
import { toPrompt } from "./prompt.ts";
import { toSummary } from "./summary.ts";
import { takeTurn, type TurnContext } from "./turn.ts";

/** Carries out an agent action: a turn of its own session, the summary for the main one, the reply's delivery. */
export async function runAgentAction(run: HookRun, context: TurnContext): Promise<TurnOutcome> {
  const { id: runId, eventId, sessionKey, action } = run;
  const message = toPrompt(action.message, action, originOf(run));
  const { model, thinking, timeoutSeconds } = action;
  const turn = await takeTurn(
    { kind: "hook", runId, eventId, sessionKey, message, model, thinking, timeoutSeconds },
    context,
  );
  return {
    ...turn,
    entries: [...turn.entries, toSummary(run, turn.reply, turn.finishedAt)],
    deliveries: toDeliveries(run, turn.reply, context.settings.heartbeat.ack),
  };
}

function toDeliveries(run: HookRun, reply: string, ack: string): NewDelivery[] {
  const { deliver, channel, to } = run.action;
  if (!deliver || reply.trim() === "" || isOnlyAck(reply, ack)) return [];
  return [{ id: createId(), runId: run.id, eventId: run.eventId, channel, to, text: reply }];
}
