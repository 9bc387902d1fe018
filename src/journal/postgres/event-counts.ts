import type { TransactionSql } from "./database.ts";
import { toJson } from "./transaction.ts";

/**
 * `open` counts an event's unfinished runs and deliveries, `lost` those that failed permanently. What ends with a run
 * ends for the event of the run and for those that joined it.
 */
export interface CountChange {
  event_id: string | undefined;
  /** Each only once. */
  run_id: string;
  open: number;
  lost: number;
}

/** Together with the commit. With the last open one an event is done or dead. */
export function updateEventCounts({ withCommit }: TransactionSql, changes: CountChange[]): void {
  const ofEvents = changes.filter(
    (change) => change.event_id !== undefined && (change.open !== 0 || change.lost !== 0),
  );
  if (ofEvents.length > 0) withCommit(UPDATE_COUNTS, [toJson(ofEvents)]);
}

/** Sorted, so that two transactions cannot wait for each other in a circle. */
const UPDATE_COUNTS = `
  WITH change AS (
    SELECT * FROM json_to_recordset($1::json) AS row (event_id uuid, run_id uuid, open integer, lost integer)),
  affected AS (
    SELECT run_id, event_id AS id, open, lost FROM change
    UNION
    SELECT run_id, joined.event_id, open, lost FROM change
    CROSS JOIN LATERAL (SELECT event_id FROM hookline.joined_events WHERE joined_events.run_id = change.run_id OFFSET 0) AS joined),
  total AS (SELECT id, sum(open)::integer AS open, sum(lost)::integer AS lost FROM affected GROUP BY id),
  locked AS (
    SELECT id FROM hookline.event_states WHERE id = ANY(ARRAY(SELECT id FROM total)) ORDER BY id FOR UPDATE)
  UPDATE hookline.event_states AS state SET open = state.open + total.open, lost = state.lost + total.lost,
    status = CASE WHEN state.open + total.open > 0 THEN 'accepted'
      WHEN state.lost + total.lost > 0 THEN 'dead' ELSE 'done' END
  FROM total WHERE state.id = ANY(ARRAY(SELECT id FROM locked)) AND state.id = total.id`;
