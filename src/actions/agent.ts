import { type Bounded, type Origin, protect, protectAction, toLabel } from "../boundary/boundary.ts";
import type { NewDelivery, NewEntry, Run, TurnOutcome } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { cutText } from "../shared/text.ts";
import { type AgentAction, MAIN_SESSION } from "../types.ts";
import { isOnlyAck, runAgentTurn, type TurnContext, type TurnResult, TurnTimeout } from "./turn.ts";

/** A run of an agent action; a heartbeat's run has no action. */
export type HookRun = Run & { action: AgentAction };

/** Runs an agent action: a turn in its session, a summary for the main session, the delivery of the reply. */
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
  const message = protectAction(action.message, action, originOf(run));
  if (action.agent === "none") return passOn(run, message);
  const { model, thinking, timeoutSeconds } = action;
  return runAgentTurn({ kind: "hook", runId, eventId, sessionKey, message, model, thinking, timeoutSeconds }, context);
}

/**
 * Without an agent the message itself is the reply. The session keeps the wrapped message for both sides, because a later
 * turn is given these entries and must not take outside text for the assistant's own words.
 */
function passOn({ id: runId, eventId, sessionKey, action }: HookRun, message: Bounded): TurnResult {
  const at = Date.now();
  const entry = { sessionKey, ...message, at, eventId, runId };
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

function toDeliveries({ id: runId, eventId, sessionKey, action }: HookRun, text: string, ack: string): NewDelivery[] {
  const { deliver, channel, to, agent, toSource, update } = action;
  if (!deliver || text.trim() === "") return [];
  // Only an agent can acknowledge. In a message that was passed on, the same words come from outside.
  if (agent !== "none" && isOnlyAck(text, ack)) return [];
  const conversation = toSource && sessionKey;
  return [{ id: createId(), runId, eventId, channel, to, text, conversation, update }];
}

/** The summary of a run that succeeded: `Hook <name>: …`. */
export function toSummary(run: HookRun, reply: string, at: number): NewEntry {
  return createSummary(run, { label: `Hook ${toLabel(run.action.name)}`, text: reply.trim(), at });
}

/** The summary of a run that failed permanently: `Hook <name> (error): …`. */
export function toErrorSummary(run: HookRun, error: Error, at: number): NewEntry {
  const label = `Hook ${toLabel(run.action.name)} (error)`;
  // A provider's error may quote what it was sent, which came from outside. Only the timeout's text is our own.
  return createSummary(run, { label, text: error.message, trustedText: error instanceof TurnTimeout, at });
}

/** Where the untrusted text of a run came from. */
function originOf(run: HookRun): Origin {
  const hook = run.hook ?? run.action.name;
  return { source: `webhook ${hook}`, hook };
}

/** What an agent makes of untrusted text is just as untrusted; so is a name that the request chose. */
function createSummary(
  run: HookRun,
  { label, text, trustedText, at }: { label: string; text: string; trustedText?: boolean; at: number },
): NewEntry {
  const { id: runId, eventId, action } = run;
  const { trustedName, wakeMode, allowUnsafeExternalContent } = action;
  const excerpt = shorten(text || "(no text)");
  const entry = { sessionKey: MAIN_SESSION, role: "system", at, eventId, runId, pending: true } as const;
  const urgent = wakeMode === "now";
  const before = `${label}: `;
  if (trustedName && trustedText) return { ...entry, text: before + excerpt, urgent };
  const [trusted, untrusted] = trustedName ? [before, excerpt] : [undefined, before + excerpt];
  const summary = protect(untrusted, { allowUnsafeExternalContent, before: trusted }, originOf(run));
  return { ...entry, ...summary, urgent };
}

/** In characters; the run keeps the whole text. */
const MAX_EXCERPT = 2000;

function shorten(text: string): string {
  if (text.length <= MAX_EXCERPT) return text;
  const start = cutText(text, MAX_EXCERPT);
  return `${start}\n[… ${text.length - start.length} more characters]`;
}
