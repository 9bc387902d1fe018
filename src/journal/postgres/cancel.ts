import { isId } from "../../shared/id.ts";
import { RUN_CANCELED } from "../records/approval.ts";
import type { NewEntry } from "../records/session.ts";
import { optional, text, toUnknownStep } from "../rows.ts";
import { addEntries } from "./entries.ts";
import { withdrawApprovals } from "./approvals.ts";
import { updateEventCounts } from "./counters.ts";
import { reportsOfEntries } from "./runs.ts";
import { addSteps } from "./steps.ts";
import { Batch, lock, reportAll, sessionLock, toPostgresText, type Transaction, windowLock } from "./transaction.ts";

export async function cancelRun(
  transaction: Transaction,
  id: string,
  { finishedAt, error, entries }: { finishedAt: number; error: string; entries: NewEntry[] },
): Promise<boolean> {
  if (!isId(id)) return false;
  const { get, all, isRepeated } = transaction;
  const found = await get("SELECT session_key, coalesce_key FROM hookline.runs WHERE id = $1 AND kind = 'hook'", [id]);
  if (!found) return false;
  const sessionKey = text(found.session_key);
  // Nothing joins it meanwhile.
  const windows = found.coalesce_key ? [windowLock(text(found.coalesce_key))] : [];
  await lock(transaction, [sessionLock(sessionKey), ...windows]);
  const row = await get(CANCEL_RUN, [id, finishedAt, toPostgresText(error)]);
  // The earlier attempt has canceled it.
  if (!row) return isRepeated && (await get(WAS_CANCELED, [id, finishedAt])) !== undefined;
  const eventId = optional(text, row.event_id);
  const started = await all("SELECT detail FROM hookline.steps WHERE run_id = $1 AND state = 'started'", [id]);
  const batch = new Batch();
  addSteps(batch, [
    {
      runId: id,
      steps: started.map((step) => toUnknownStep(step, finishedAt)),
    },
  ]);
  addEntries(batch, entries);
  await batch.run(transaction, "1");
  await withdrawApprovals(transaction, { runId: id }, RUN_CANCELED);
  updateEventCounts(transaction, [{ event_id: eventId, run_id: id, open: -1, dead: 0 }]);
  if (await get(PROMOTE_NEXT, [sessionKey])) transaction.announce("run");
  if (row.was === "running") transaction.announce("cancel");
  await reportAll(transaction, [...reportsOfEntries(entries), { kind: "run", id, eventId, state: "dropped" }]);
  return true;
}

/** Another token makes the last claim void. */
const CANCEL_RUN = `
  WITH before AS (SELECT id, state FROM hookline.runs WHERE id = $1 AND finished_at IS NULL FOR UPDATE)
  UPDATE hookline.runs SET state = 'dropped', claims = 0, coalesce_key = NULL, not_before = NULL, hold_reason = NULL,
    finished_at = $2, error = $3
  FROM before WHERE runs.id = before.id RETURNING event_id, before.state AS was`;

const WAS_CANCELED = "SELECT 1 FROM hookline.runs WHERE id = $1 AND state = 'dropped' AND finished_at = $2";

const PROMOTE_NEXT = `
  UPDATE hookline.runs SET state = 'ready' WHERE state = 'queued' AND id =
    (SELECT id FROM hookline.runs WHERE session_key = $1 AND finished_at IS NULL ORDER BY seq LIMIT 1)
  RETURNING 1 AS promoted`;
