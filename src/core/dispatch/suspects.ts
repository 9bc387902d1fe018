import { DriverError } from "../errors.ts";
import type { Interruptions, Journal, Survival } from "../journal/journal.ts";
import { HOUR_MS } from "../shared/time.ts";

/** A suspect is given up after this many attempts alone, and this long after its first interruption. */
const MIN_ALONE = 3;
const MIN_AGE_MS = HOUR_MS;

/** How much sooner than usual a process must end. If something else ends it at random times, it often ends soon after any claim. */
const SOONER = 4;

/** A process is seen alive about this often, so it may have lived that much longer than is known. */
const UNSEEN_MS = 5000;

/** Whether a run or delivery ends the process: each time that it was alone, far sooner than the process ends without it. */
export function isGuilty({ since }: Interruptions, survival: Survival, now: number): boolean {
  const { alone, longestMs, otherEnds, otherMs } = survival;
  // The run was in progress when the process ended for the second and third time, although not alone.
  const usualMs = otherMs / Math.max(1, otherEnds - 2);
  return alone >= MIN_ALONE && now - since >= MIN_AGE_MS && (longestMs + UNSEEN_MS) * SOONER < usualMs;
}

/** Throws a permanent `DriverError` for a claimed run or delivery that ends the process. */
export async function assertInnocent(
  { id, interruptions }: { id: string; interruptions?: Interruptions },
  { readSurvival }: Pick<Journal, "readSurvival">,
): Promise<void> {
  if (!interruptions) return;
  const survival = await readSurvival(id, interruptions.since);
  if (!isGuilty(interruptions, survival, Date.now())) return;
  const message = `the process ended each of the ${survival.alone} times that this was executed alone`;
  throw new DriverError(message, { retryable: false });
}
