import { RUN_CANCELED } from "../records/approval.ts";
import type { NewEntry } from "../records/session.ts";
import { integer, text, toUnknownStep } from "../rows.ts";
import { withdrawApprovals } from "./approvals.ts";
import { updateRunCounts } from "./counters.ts";
import { insertEntry } from "./entries.ts";
import { reportRun, type Transaction } from "./group-commit.ts";
import { promoteNext } from "./runs.ts";
import { insertStep } from "./steps.ts";

export function cancelRun(
  transaction: Transaction,
  id: string,
  { finishedAt, error, entries }: { finishedAt: number; error: string; entries: NewEntry[] },
): boolean {
  const row = transaction.get(
    "SELECT seq, event_seq, session_key, state FROM runs WHERE id = ? AND kind = 'hook' AND finished_at IS NULL",
    id,
  );
  if (!row) return false;
  const [seq, eventSeq] = [integer(row.seq), integer(row.event_seq)];
  transaction.run(CANCEL_RUN, finishedAt, error, seq);
  for (const step of transaction.all("SELECT detail FROM steps WHERE run_id = ? AND state = 'started'", id)) {
    insertStep(transaction, id, toUnknownStep(step, finishedAt));
  }
  withdrawApprovals(transaction, { runId: id }, RUN_CANCELED);
  for (const entry of entries) insertEntry(transaction, entry, { eventSeq, runSeq: seq });
  transaction.counters.add({ runs: -1 });
  // A queued one is behind another, which stays as it is.
  if (row.state !== "queued") promoteNext(transaction, text(row.session_key));
  updateRunCounts(transaction, { seq, eventSeq }, { open: -1, dead: 0 });
  if (row.state === "running") transaction.announce("cancel");
  reportRun(transaction, seq, "dropped");
  return true;
}

/** Another claim makes the token of the last one void. */
const CANCEL_RUN = `
  UPDATE runs SET state = 'dropped', claims = claims + 1, coalesce_key = NULL, not_before = NULL, hold_reason = NULL,
    finished_at = ?, error = ? WHERE seq = ?`;
