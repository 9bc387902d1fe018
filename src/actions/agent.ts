import { type Origin, toLabel, toPrompt } from "../boundary/boundary.ts";
import type { NewDelivery, NewEntry, Run, TurnOutcome } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { type AgentAction, MAIN_SESSION } from "../types.ts";
import { isOnlyAck } from "./heartbeat.ts";
import { takeTurn, type TurnContext, TurnTimeout } from "./turn.ts";

/** Carries out an agent action: a turn of its own session, the summary for the main one, the reply's delivery. */
export async function runAgentAction(run: HookRun, context: TurnContext): Promise<TurnOutcome> {
  const turn = await runOrPassOn(run, context);
  return {
    ...turn,
    entries: [...turn.entries, toSummary(run, turn.reply, turn.finishedAt)],
    deliveries: toDeliveries(run, turn.reply, context.settings.heartbeat.ack),
  };
}

async function runOrPassOn(run: HookRun, context: TurnContext): Promise<Omit<TurnOutcome, "deliveries">> {
  const { id: runId, eventId, sessionKey, action } = run;
  const message = toPrompt(action.message, action, originOf(run));
  if (action.agent === "none") return passOn(run, message);
  const { model, thinking, timeoutSeconds } = action;
  return takeTurn({ kind: "hook", runId, eventId, sessionKey, message, model, thinking, timeoutSeconds }, context);
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

/**
 * The turn of an action that asks no agent: the message itself is the reply. `prompt` is the message as an agent would see it,
 * and what the session keeps for both sides: a later turn of the session is given them, and must not take outside text
 * for its own words.
 */
function passOn(run: HookRun, prompt: string): Omit<TurnOutcome, "deliveries"> {
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

/** A run of an agent action, as against a heartbeat's. */
export type HookRun = Run & { action: AgentAction };

/** A claimed run always has an action: heartbeats are recorded, never claimed. */
export function requireHookRun(run: Run): HookRun {
  const { action } = run;
  if (!action) throw new Error(`run ${run.id} was claimed and has no action`);
  return { ...run, action };
}

/** Where the untrusted text of a run came from. */
function originOf(run: HookRun): Origin {
  const hook = run.hook ?? run.action.name;
  return { source: `webhook ${hook}`, hook };
}

/** How much of a reply or an error the main session is given, in characters; the whole stands in the run. */
const MAX_CHARACTERS = 2000;

/** The main session's word of a run that replied: `Hook <name>: …`. */
export function toSummary(run: HookRun, reply: string, at: number): NewEntry {
  return toEntry(run, `Hook ${toLabel(run.action.name)}: ${toOutsideText(run, reply)}`, at);
}

/** The main session's word of a run that failed for good: `Hook <name> (error): …`. */
export function toErrorSummary(run: HookRun, error: Error, at: number): NewEntry {
  // a provider's sentence may quote what it was sent; that of a timeout is our own
  const text = error instanceof TurnTimeout ? error.message : toOutsideText(run, error.message);
  return toEntry(run, `Hook ${toLabel(run.action.name)} (error): ${text}`, at);
}

function toEntry(run: HookRun, text: string, at: number): NewEntry {
  const { id: runId, eventId, action } = run;
  const urgent = action.wakeMode === "now";
  return { sessionKey: MAIN_SESSION, role: "system", text, at, eventId, runId, pending: true, urgent };
}

/** What an agent made of untrusted text is as untrusted as that. */
function toOutsideText(run: HookRun, text: string): string {
  const { allowUnsafeExternalContent } = run.action;
  return toPrompt(shorten(text.trim() || "(no text)"), { allowUnsafeExternalContent }, originOf(run));
}

function shorten(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  // never the first half of a surrogate pair alone
  const start = text.slice(0, MAX_CHARACTERS).replace(/[\uD800-\uDBFF]$/, "");
  return `${start}\n[… it goes on for ${text.length - start.length} more characters]`;
}
