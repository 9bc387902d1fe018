import { createId } from "../create-id.ts";
import type { Entry, TurnOutcome } from "../journal/port.ts";
import { MAIN_SESSION } from "../types.ts";
import { isOnlyAck } from "./ack.ts";
import { takeTurn, type TurnContext } from "./turn.ts";

export interface Heartbeat {
  runId: string;
  /** The system events that the main session is given, oldest first. */
  events: Entry[];
  /** Whether `last` leads anywhere. */
  routeIsKnown: boolean;
}

/** Takes a turn of the main session over its system events; a reply that is more than the ack is delivered. */
export async function runHeartbeat(heartbeat: Heartbeat, context: TurnContext): Promise<TurnOutcome> {
  const { runId, events, routeIsKnown } = heartbeat;
  const { timeoutSeconds, heartbeat: settings } = context.settings;
  const message = toMessage(events, settings.ack);
  const turn = await takeTurn(
    { kind: "heartbeat", runId, sessionKey: MAIN_SESSION, message, timeoutSeconds },
    context,
  );

  const { reply, warnings } = turn;
  if (reply.trim() === "" || isOnlyAck(reply, settings.ack)) return { ...turn, deliveries: [] };
  if (!routeIsKnown) return { ...turn, deliveries: [], warnings: [...warnings, NO_ROUTE] };
  return { ...turn, deliveries: [{ id: createId(), runId, channel: "last", text: reply }] };
}

const NO_ROUTE = "Nothing was delivered: no channel has been used yet.";

/** The events' texts are inside their boundaries already. */
function toMessage(events: Entry[], ack: string): string {
  const listed = events.map(({ at, text }, index) => `[${index + 1}] ${new Date(at).toISOString()}\n${text}`);
  return [
    `Heartbeat. ${events.length} system event(s) came in since the last one, oldest first.`,
    ...listed,
    `If something needs attention, say so in a few words. If nothing does, reply with just ${ack}.`,
  ].join("\n\n");
}
