import type { Entry, TurnOutcome } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { MAIN_SESSION } from "../types.ts";
import { runAgentTurn, type TurnContext } from "./turn.ts";

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
  const message = toMessage(events, ack);
  const turn = await runAgentTurn({ kind: "heartbeat", runId, sessionKey: MAIN_SESSION, message }, context);

  const { reply, warnings } = turn;
  if (reply.trim() === "" || isOnlyAck(reply, ack)) return { ...turn, deliveries: [] };
  if (!routeIsKnown) return { ...turn, deliveries: [], warnings: [...warnings, NO_ROUTE] };
  return { ...turn, deliveries: [{ id: createId(), runId, channel: "last", text: reply }] };
}

const NO_ROUTE = "The reply was not delivered: no channel has been used yet.";

/** The texts of the events are already inside their boundaries. */
function toMessage(events: Entry[], ack: string): string {
  const listed = events.map(({ at, text }, index) => `[${index + 1}] ${new Date(at).toISOString()}\n${text}`);
  return [
    `Heartbeat. ${events.length} system event(s) since the last one, oldest first.`,
    ...listed,
    `If something needs attention, say so in a few words. If nothing does, reply with just ${ack}.`,
  ].join("\n\n");
}

/** How much text there may be beside the ack, in characters. */
const MAX_BESIDE = 300;

/** Whether a reply is just the ack: at its start or end, with at most 300 characters beside it. */
export function isOnlyAck(reply: string, ack: string): boolean {
  const text = reply.trim();
  // This comes first because the patterns below are slow on long runs of punctuation.
  if (text.length - ack.length > MAX_BESIDE) return false;
  return isAtEdge(text, ack.trim()) || isAtEdge(withoutPunctuation(text), withoutPunctuation(ack));
}

/** Drops quotes, Markdown and HTML emphasis, and other punctuation around a text. */
function withoutPunctuation(text: string): string {
  return text.replace(/<\/?[a-z]\w*>/gi, " ").replace(/^[\s\p{P}\p{S}]+|[\s\p{P}\p{S}]+$/gu, "");
}

/** Whether the text starts or ends with these words, as whole words. */
function isAtEdge(text: string, words: string): boolean {
  if (words === "") return false;
  const isFirst = text.startsWith(words) && !/^[\p{L}\p{N}_]/u.test(text.slice(words.length));
  const isLast = text.endsWith(words) && !/[\p{L}\p{N}_]$/u.test(text.slice(0, -words.length));
  return isFirst || isLast;
}
