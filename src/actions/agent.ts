import { createId } from "../create-id.ts";
import type { NewDelivery, TurnOutcome } from "../journal/port.ts";
import { isOnlyAck } from "./ack.ts";
import { type HookRun, originOf } from "./hook-run.ts";
import { passOn } from "./pass-on.ts";
import { toPrompt } from "./prompt.ts";
import { toSummary } from "./summary.ts";
import { takeTurn, type TurnContext } from "./turn.ts";

/** Carries out an agent action: a turn of its own session, the summary for the main one, the reply's delivery. */
export async function runAgentAction(run: HookRun, context: TurnContext): Promise<TurnOutcome> {
  const turn = await reply(run, context);
  return {
    ...turn,
    entries: [...turn.entries, toSummary(run, turn.reply, turn.finishedAt)],
    deliveries: toDeliveries(run, turn.reply, context.settings.heartbeat.ack),
  };
}

async function reply(run: HookRun, context: TurnContext): Promise<Omit<TurnOutcome, "deliveries">> {
  const { id: runId, eventId, sessionKey, action } = run;
  const message = toPrompt(action.message, action, originOf(run));
  if (action.agent === "none") return passOn(run, message);
  const { model, thinking, timeoutSeconds } = action;
  return takeTurn(
    { kind: "hook", runId, eventId, sessionKey, message, model, thinking, timeoutSeconds },
    context,
  );
}

function toDeliveries(run: HookRun, text: string, ack: string): NewDelivery[] {
  const { deliver, channel, to } = run.action;
  if (!deliver || text.trim() === "" || isAck(run, text, ack)) return [];
  return [{ id: createId(), runId: run.id, eventId: run.eventId, channel, to, text }];
}

/** Only an agent can acknowledge; in a message that is passed on, the same words are somebody else's. */
function isAck({ action }: HookRun, text: string, ack: string): boolean {
  return action.agent !== "none" && isOnlyAck(text, ack);
}
