import type { NewEntry } from "../journal/port.ts";
import { MAIN_SESSION } from "../types.ts";
import { TurnTimeout } from "./ask.ts";
import { toLabel } from "./boundary.ts";
import { type HookRun, originOf } from "./hook-run.ts";
import { toPrompt } from "./prompt.ts";

/** How much of a reply or an error the main session is given, in characters; the whole stands in the run. */
const MOST_CHARACTERS = 2000;

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
  if (text.length <= MOST_CHARACTERS) return text;
  // never the first half of a surrogate pair alone
  const start = text.slice(0, MOST_CHARACTERS).replace(/[\uD800-\uDBFF]$/, "");
  return `${start}\n[… it goes on for ${text.length - start.length} more characters]`;
}
