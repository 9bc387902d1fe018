import { toPrompt } from "../boundary/boundary.ts";
import type { Entry, NewDelivery, Route, TurnOutcome } from "../journal/journal.ts";
import { toGrants } from "../mapping/policy/grants.ts";
import { createId } from "../shared/id.ts";
import { MAIN_SESSION } from "../types.ts";
import { isOnlyAck, runAgentTurn, type TurnContext } from "./agent-turn.ts";
import { sendReplies } from "./reply.ts";

export interface HeartbeatTurn {
  runId: string;
  /** The system events that the main session is given, oldest first. */
  events: Entry[];
  /** Where the reply goes. */
  route: Route | undefined;
  /** Others can see what is written there. */
  isPublic: boolean;
}

/** Runs a turn of the main session over its system events. A reply that is more than the ack is delivered. */
export async function runHeartbeatTurn(heartbeat: HeartbeatTurn, context: TurnContext): Promise<TurnOutcome> {
  const { runId, events, route, isPublic } = heartbeat;
  const { ack } = context.settings.heartbeat;
  const message = { text: toMessage(events, ack) };
  const grants = toGrants(context.settings.heartbeat.grants) ?? [];
  const sources = events.flatMap((event) => event.sources ?? []);
  const origin = { source: "heartbeat", hook: "heartbeat" };
  const request = { kind: "heartbeat", runId, sessionKey: MAIN_SESSION, message, grants, sources, origin } as const;
  const { sources: read, ...turn } = await runAgentTurn(request, context);

  const { reply, warnings } = turn;
  if (reply.trim() === "" || isOnlyAck(reply, ack)) return { ...turn, deliveries: [] };
  if (!route) return { ...turn, deliveries: [], warnings: [...warnings, NO_ROUTE] };
  const delivery: NewDelivery = { id: createId(), runId, ...route, routeBy: "operator", text: reply };
  const sent = await sendReplies([{ delivery, isPrivate: !isPublic }], {
    about: { runId, hook: "heartbeat", step: turn.lastStep?.n ?? 0, sources: read },
    linkHosts: context.settings.linkHosts,
    isReview: false,
    ask: context.ask,
  });
  return { ...turn, ...sent, warnings: [...warnings, ...sent.warnings] };
}

const NO_ROUTE = "The reply was not delivered: set agents.defaults.heartbeat.channel and agents.defaults.heartbeat.to.";

/** Each event is inside its own boundary. */
function toMessage(events: Entry[], ack: string): string {
  const listed = events.map((event, index) => `[${index + 1}] ${new Date(event.at).toISOString()}\n${toPrompt(event)}`);
  return [
    `Heartbeat. ${events.length} system event(s) since the last one, oldest first.`,
    ...listed,
    `If something needs attention, say so in a few words. If nothing does, reply with just ${ack}.`,
  ].join("\n\n");
}
