import { styleText } from "node:util";
import { toPrintable } from "../telemetry/to-printable.ts";
import { printTries } from "./print-tries.ts";

/** A dead letter as `GET /api/dead-letters` lists it. */
export interface DeadLetterRow {
  id: string;
  kind: string;
  eventId?: string;
  hook?: string;
  error: string;
  attempts: number;
  /** ISO 8601. */
  at: string;
}

/** What failed for good as a person reads it: what it is, when it was given up and for which event, the whole error. */
export function printDeadLetter({ id, kind, hook, eventId, error, attempts, at }: DeadLetterRow): string[] {
  const title = [styleText("bold", id), kind, hook && toPrintable(hook), printTries(attempts)];
  const origin = [`given up ${at}`, eventId && `event ${eventId}`];
  const below = [origin.filter(Boolean).join(", "), ...toPrintable(error).split("\n")];
  return [title.filter(Boolean).join("  "), ...below.map((line) => `  ${line}`)];
}
