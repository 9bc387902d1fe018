import { type Origin, toPrompt } from "../boundary/boundary.ts";
import type { NewEntry } from "../journal/journal.ts";
import { MAIN_SESSION, type WakeAction } from "../types.ts";

/** The system event that a wake adds to the main session. `at` is in milliseconds since the epoch. */
export function toSystemEvent(
  action: WakeAction,
  { eventId, at, ...origin }: Origin & { eventId: string; at: number },
): NewEntry {
  return {
    sessionKey: MAIN_SESSION,
    role: "system",
    text: toPrompt(action.text, action, origin),
    at,
    eventId,
    pending: true,
    urgent: action.mode === "now",
  };
}
