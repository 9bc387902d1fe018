import { isId } from "../../shared/id.ts";
import { RUN_CANCELED } from "../records/approval.ts";
import { text } from "../columns.ts";
import { FAILED_REQUEST } from "../conditions.ts";
import { withdrawApprovals } from "./approval-states.ts";
import { type Origin, recipientLockOf, sessionLock, toOrigin, type Work, type Writer } from "./writer.ts";

export function* retryDeadLetter(writer: Writer, id: string, now: number): Work<boolean> {
  const letter = yield* lockLetter(writer, id);
  if (!letter) return false;
  const isRun = letter.kind === "run";
  const requeue = isRun ? REQUEUE_RUN : REQUEUE_DELIVERY;
  if ((yield* writer.run(requeue, [id, now + writer.clockOffsetMs])) === 0) return false;
  writer.addToTotals(isRun ? { runs: 1 } : { deliveries: 1 });
  yield* endLetter(writer, letter, 1);
  writer.announce(letter.kind);
  return true;
}

export function* dropDeadLetter(writer: Writer, id: string): Work<boolean> {
  const letter = yield* lockLetter(writer, id);
  if (!letter) return yield* dropRequest(writer, id);
  const isRun = letter.kind === "run";
  if ((yield* writer.run(isRun ? DROP_RUN : DROP_DELIVERY, [id])) === 0) return false;
  yield* endLetter(writer, letter, 0);
  if (isRun) yield* withdrawApprovals(writer, { runId: id }, RUN_CANCELED);
  return true;
}

function* dropRequest(writer: Writer, id: string): Work<boolean> {
  if (!isId(id) || (yield* writer.run(dropRequestIn(writer), [id])) === 0) return false;
  yield* writer.report([{ kind: "dead-letter", id, eventId: id, isDead: false }]);
  return true;
}

const dropRequestIn = ({ tables }: Writer): string =>
  `UPDATE ${tables.states} SET dead = 0, canceled = 1, status = 'canceled' WHERE id = $1 AND ${FAILED_REQUEST}`;

interface Letter extends Origin {
  id: string;
  kind: "run" | "delivery";
}

/** Its event has one dead letter less. */
function* endLetter(writer: Writer, { id, runId, eventId }: Letter, open: 0 | 1): Work<void> {
  writer.count({ runId, eventId }, { open, dead: -1, canceled: 1 - open });
  yield* writer.report([{ kind: "dead-letter", id, eventId, isDead: false, runId }]);
}

/** Takes the lock of its queue. */
function* lockLetter({ get, lock, tables }: Writer, id: string): Work<Letter | undefined> {
  if (!isId(id)) return undefined;
  const run = yield* get(`SELECT id AS run_id, event_id, session_key FROM ${tables.runs} WHERE id = $1`, [id]);
  if (run) {
    yield* lock([sessionLock(text(run.session_key))]);
    return { id, kind: "run", ...toOrigin(run) };
  }
  const find = "SELECT run_id, event_id, channel, recipient FROM hookline.deliveries WHERE id = $1";
  const delivery = yield* get(find, [id]);
  if (!delivery) return undefined;
  yield* lock([recipientLockOf(delivery)]);
  return { id, kind: "delivery", ...toOrigin(delivery) };
}

/* Behind what the session or the recipient has in progress. */

const REQUEUE_RUN = `
  UPDATE hookline.runs SET attempts = 0, interruptions = 0, interrupted_at = NULL, due_at = $2, not_before = NULL, started_at = NULL, finished_at = NULL, error = NULL,
    unavailable_since = NULL, waiting_for = NULL,
    state = CASE WHEN EXISTS (SELECT 1 FROM hookline.runs AS other
      WHERE other.session_key = runs.session_key AND other.finished_at IS NULL) THEN 'queued' ELSE 'ready' END
  WHERE id = $1 AND state = 'dead' AND kind = 'hook'`;

const REQUEUE_DELIVERY = `
  UPDATE hookline.deliveries SET attempts = 0, interruptions = 0, interrupted_at = NULL, due_at = $2, not_before = NULL, finished_at = NULL, error = NULL,
    state = CASE WHEN EXISTS (SELECT 1 FROM hookline.deliveries AS other WHERE other.channel = deliveries.channel
      AND other.recipient IS NOT DISTINCT FROM deliveries.recipient AND other.finished_at IS NULL)
      THEN 'queued' ELSE 'pending' END
  WHERE id = $1 AND state = 'failed'`;

const DROP_RUN = "UPDATE hookline.runs SET state = 'canceled' WHERE id = $1 AND state = 'dead' AND kind = 'hook'";

const DROP_DELIVERY = "UPDATE hookline.deliveries SET state = 'canceled' WHERE id = $1 AND state = 'failed'";
