import type { RunWait } from "../journal/journal.ts";

/** The cause of a run's wait, as a part of a line. */
export function describeWait({ kind, runId, holdReason, mapping }: RunWait): string {
  if (kind === "held") return `waits behind a held turn (${holdReason})`;
  if (kind === "turn") return "waits for another turn of its session";
  return runId ? `waits behind a turn of the paused mapping ${mapping}` : `waits: the mapping ${mapping} is paused`;
}
