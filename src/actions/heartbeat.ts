import type { Entry, TurnOutcome } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { MAIN_SESSION } from "../types.ts";
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
  const turn = await takeTurn({ kind: "heartbeat", runId, sessionKey: MAIN_SESSION, message, timeoutSeconds }, context);

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

/** How much may stand beside the acknowledgement, in characters. */
const MAX_BESIDE = 300;

/** Whether a reply says nothing but the acknowledgement, first or last in it, with at most 300 characters beside it. */
export function isOnlyAck(reply: string, ack: string): boolean {
  const text = reply.trim();
  // before the patterns below, which are slow on long runs of punctuation
  if (text.length - ack.length > MAX_BESIDE) return false;
  return isAtEdge(text, ack.trim()) || isAtEdge(withoutPunctuation(text), withoutPunctuation(ack));
}

/** Drops quotes, the emphasis of Markdown and HTML, and other punctuation around a text. */
function withoutPunctuation(text: string): string {
  return text.replace(/<\/?[a-z]\w*>/gi, " ").replace(/^[\s\p{P}\p{S}]+|[\s\p{P}\p{S}]+$/gu, "");
}

/** Whether the text begins or ends with these words, and not in the middle of a longer one. */
function isAtEdge(text: string, words: string): boolean {
  if (words === "") return false;
  const isFirst = text.startsWith(words) && !/^[\p{L}\p{N}_]/u.test(text.slice(words.length));
  const isLast = text.endsWith(words) && !/[\p{L}\p{N}_]$/u.test(text.slice(0, -words.length));
  return isFirst || isLast;
}
