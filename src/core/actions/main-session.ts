import { protect, protectAction, toHookOrigin, toLabel } from "../boundary/boundary.ts";
import type { NewEntry, Run } from "../journal/journal.ts";
import { cutText } from "../shared/text/text.ts";
import { type AgentAction, MAIN_SESSION, type WakeAction, type WakeMode } from "../types.ts";
import { TurnTimeout } from "./loop.ts";

// Everything that hooks add to the main session: system events, which its next heartbeat is given.

/** The system event of a wake. `at` is in milliseconds since the epoch. */
export function toSystemEvent(
  action: WakeAction,
  { eventId, at, hook }: { eventId: string; at: number; hook: string },
): NewEntry {
  const bounded = protectAction(action.text, action, toHookOrigin(hook, action.author));
  return { ...toPending(action.mode), ...bounded, at, eventId };
}

/** A run whose end the main session gets. */
interface SummarizedRun extends Pick<Run, "id" | "eventId" | "hook"> {
  action: Pick<AgentAction, "name" | "trustedName" | "wakeMode" | "allowUnsafeExternalContent">;
}

/** The summary of a run that succeeded: `Hook <name>: …`. */
export function toSummary(run: SummarizedRun, reply: string, at: number): NewEntry {
  return createSummary(run, { label: `Hook ${toLabel(run.action.name)}`, text: reply.trim(), at });
}

/** The summary of a run that failed permanently: `Hook <name> (error): …`. */
export function toErrorSummary(run: SummarizedRun, error: Error, at: number): NewEntry {
  const label = `Hook ${toLabel(run.action.name)} (error)`;
  // A provider's error may quote what it was sent, which came from outside. Only the timeout's text is our own.
  return createSummary(run, { label, text: error.message, trustedText: error instanceof TurnTimeout, at });
}

/** The summary of a run that an operator ended: `Hook <name> (canceled): …`. It starts no heartbeat. */
export function toCanceledSummary(run: SummarizedRun, at: number): NewEntry {
  const label = `Hook ${toLabel(run.action.name)} (canceled)`;
  const summary = createSummary(run, {
    label,
    text: "An operator canceled this turn.",
    trustedText: true,
    at,
  });
  return { ...summary, urgent: false };
}

/** An agent's reply to untrusted text is untrusted too, and so is a name that the request chose. */
function createSummary(
  run: SummarizedRun,
  { label, text, trustedText, at }: { label: string; text: string; trustedText?: boolean; at: number },
): NewEntry {
  const { id: runId, eventId, hook, action } = run;
  const { name, trustedName, wakeMode, allowUnsafeExternalContent } = action;
  const excerpt = shorten(text || "(no text)");
  const entry = { ...toPending(wakeMode), at, eventId, runId };
  const before = `${label}: `;
  if (trustedName && trustedText) return { ...entry, text: before + excerpt };
  const [trusted, untrusted] = trustedName ? [before, excerpt] : [undefined, before + excerpt];
  const origin = toHookOrigin(hook ?? name);
  return { ...entry, ...protect(untrusted, { allowUnsafeExternalContent, before: trusted }, origin) };
}

/** In characters; the run keeps the whole text. */
const MAX_EXCERPT = 2000;

function shorten(text: string): string {
  if (text.length <= MAX_EXCERPT) return text;
  const start = cutText(text, MAX_EXCERPT);
  return `${start}\n[… ${text.length - start.length} more characters]`;
}

/** A system event of the main session. An urgent one starts a heartbeat at once, any other waits for the next periodic one. */
function toPending(mode: WakeMode) {
  return { sessionKey: MAIN_SESSION, role: "system", pending: true, urgent: mode === "now" } as const;
}
