import { type Origin, toLabel, toPrompt } from "../boundary/boundary.ts";
import type { NewEntry, Run } from "../journal/journal.ts";
import { cutText } from "../shared/text.ts";
import { type AgentAction, MAIN_SESSION, type WakeAction } from "../types.ts";
import { TurnTimeout } from "./turn.ts";

/** A run of an agent action; a heartbeat's run has no action. */
export type HookRun = Run & { action: AgentAction };

/** The system event that a wake adds to the main session. `at` is in milliseconds since the epoch. */
export function toSystemEvent(
  action: WakeAction,
  { eventId, at, ...origin }: Origin & { eventId: string; at: number },
): NewEntry {
  return createSystemEvent({ text: toPrompt(action.text, action, origin), at, eventId, urgent: action.mode === "now" });
}

/** The summary of a run that succeeded: `Hook <name>: …`. */
export function toSummary(run: HookRun, reply: string, at: number): NewEntry {
  return createSummary(run, `Hook ${toLabel(run.action.name)}: ${wrapExcerpt(run, reply)}`, at);
}

/** The summary of a run that failed permanently: `Hook <name> (error): …`. */
export function toErrorSummary(run: HookRun, error: Error, at: number): NewEntry {
  // A provider's error may quote what it was sent, which came from outside. Only the timeout's text is our own.
  const text = error instanceof TurnTimeout ? error.message : wrapExcerpt(run, error.message);
  return createSummary(run, `Hook ${toLabel(run.action.name)} (error): ${text}`, at);
}

/** Where the untrusted text of a run came from. */
export function originOf(run: HookRun): Origin {
  const hook = run.hook ?? run.action.name;
  return { source: `webhook ${hook}`, hook };
}

function createSummary({ id: runId, eventId, action }: HookRun, text: string, at: number): NewEntry {
  return createSystemEvent({ text, at, eventId, runId, urgent: action.wakeMode === "now" });
}

function createSystemEvent(entry: Pick<NewEntry, "text" | "at" | "eventId" | "runId" | "urgent">): NewEntry {
  return { sessionKey: MAIN_SESSION, role: "system", pending: true, ...entry };
}

/** In characters; the run keeps the whole text. */
const MAX_EXCERPT = 2000;

/** What an agent makes of untrusted text is just as untrusted. */
function wrapExcerpt(run: HookRun, text: string): string {
  const { allowUnsafeExternalContent } = run.action;
  return toPrompt(shorten(text.trim() || "(no text)"), { allowUnsafeExternalContent }, originOf(run));
}

function shorten(text: string): string {
  if (text.length <= MAX_EXCERPT) return text;
  const start = cutText(text, MAX_EXCERPT);
  return `${start}\n[… ${text.length - start.length} more characters]`;
}
