import { type Origin, protectAction, toPrompt } from "../boundary/boundary.ts";
import type { Entry, NewEntry, TurnOutcome } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { MAIN_SESSION, type WakeAction } from "../types.ts";
import { isOnlyAck, runAgentTurn, type TurnContext } from "./agent.ts";

export interface Heartbeat {
  runId: string;
  /** The system events that the main session is given, oldest first. */
  events: Entry[];
  /** Whether a channel has been used before, so that `last` names one. */
  routeIsKnown: boolean;
}

/** Runs a turn of the main session over its system events. A reply that is more than the ack is delivered. */
export async function runHeartbeat(heartbeat: Heartbeat, context: TurnContext): Promise<TurnOutcome> {
  const { runId, events, routeIsKnown } = heartbeat;
  const { ack } = context.settings.heartbeat;
  const message = { text: toMessage(events, ack) };
  const turn = await runAgentTurn({ kind: "heartbeat", runId, sessionKey: MAIN_SESSION, message }, context);

  const { reply, warnings } = turn;
  if (reply.trim() === "" || isOnlyAck(reply, ack)) return { ...turn, deliveries: [] };
  if (!routeIsKnown) return { ...turn, deliveries: [], warnings: [...warnings, NO_ROUTE] };
  return { ...turn, deliveries: [{ id: createId(), runId, channel: "last", text: reply }] };
}

const NO_ROUTE = "The reply was not delivered: no channel has been used yet.";

/** Each event is inside its own boundary. */
function toMessage(events: Entry[], ack: string): string {
  const listed = events.map((event, index) => `[${index + 1}] ${new Date(event.at).toISOString()}\n${toPrompt(event)}`);
  return [
    `Heartbeat. ${events.length} system event(s) since the last one, oldest first.`,
    ...listed,
    `If something needs attention, say so in a few words. If nothing does, reply with just ${ack}.`,
  ].join("\n\n");
}

/** The system event that a wake adds to the main session. `at` is in milliseconds since the epoch. */
export function toSystemEvent(
  action: WakeAction,
  { eventId, at, source, hook }: Origin & { eventId: string; at: number },
): NewEntry {
  const { text, boundary } = protectAction(action.text, action, { source, hook });
  return {
    sessionKey: MAIN_SESSION,
    role: "system",
    text,
    boundary,
    at,
    eventId,
    pending: true,
    urgent: action.mode === "now",
  };
}
