import { ADD_TO_SPENT, toSpent } from "../../core/journal/writes/spend.ts";
import type { CountChange, Used } from "../../core/journal/writes/writer.ts";
import type { TransactionSql } from "./database.ts";
import { type Batch } from "./transaction.ts";
import { toJson } from "./text.ts";

/** Work that ends with a run ends for the event of the run and for those that joined it. */
interface RunCountChange extends CountChange {
  event_id: string | undefined;
  /** Each only once. */
  run_id: string;
}

/** Together with the commit. */
export function updateEventCounts({ withCommit }: TransactionSql, changes: RunCountChange[]): void {
  const ofEvents = changes
    .filter((change) => change.event_id !== undefined && (change.open !== 0 || change.dead !== 0))
    .map((change) => ({ canceled: 0, ...change }));
  if (ofEvents.length > 0) withCommit(UPDATE_COUNTS, [toJson(ofEvents)]);
}

/**
 * The statement that adds changes to the counts. Sorted, so that two transactions cannot wait for each other in a circle.
 * @param change - rows of `RunCountChange`
 */
export const addToCounts = (change: string): string => `
  WITH affected AS (
    SELECT run_id, event_id AS id, open, dead, canceled FROM ${change}
    UNION
    SELECT run_id, joined.event_id, open, dead, canceled FROM ${change} AS change
    CROSS JOIN LATERAL (SELECT event_id FROM hookline.joined_events WHERE joined_events.run_id = change.run_id OFFSET 0) AS joined),
  total AS (SELECT id, sum(open)::integer AS open, sum(dead)::integer AS dead, sum(canceled)::integer AS canceled
    FROM affected GROUP BY id),
  locked AS (
    SELECT id FROM hookline.event_states WHERE id = ANY(ARRAY(SELECT id FROM total)) ORDER BY id FOR UPDATE)
  UPDATE hookline.event_states AS state SET open = state.open + total.open, dead = state.dead + total.dead,
    canceled = state.canceled + total.canceled,
    status = CASE WHEN state.open + total.open > 0 THEN 'accepted' WHEN state.dead + total.dead > 0 THEN 'failed'
      WHEN state.canceled + total.canceled > 0 THEN 'canceled' ELSE 'done' END
  FROM total WHERE state.id = ANY(ARRAY(SELECT id FROM locked)) AND state.id = total.id`;

const UPDATE_COUNTS = `
  WITH change AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS row (event_id uuid, run_id uuid, open integer, dead integer, canceled integer)),
  counted AS (${addToCounts("change")} RETURNING 1)
  SELECT count(*) FROM counted`;

/** Adds what the runs used that the part `ended` of the batch has. `claim`: the id of the run. */
export function addSpends(batch: Batch, used: { claim: string; used: Used }[]): void {
  const rows = used.flatMap(({ claim, used: own }) => {
    const spent = toSpent(own);
    return spent ? [{ claim, ...spent }] : [];
  });
  // Sorted, so that two transactions cannot wait for each other in a circle.
  batch.add(
    "new_spend",
    rows,
    `INSERT INTO hookline.spend (hour, session_key, hook, mapping, model, runs, input_tokens, output_tokens, cost)
     SELECT hour, session_key, coalesce(hook, ''), mapping, model, sum(runs), sum(input_tokens), sum(output_tokens), sum(cost)
     FROM json_to_recordset($rows) AS row (claim uuid, hour bigint, model text, runs integer, input_tokens bigint, output_tokens bigint,
       cost double precision) JOIN ended ON row.claim = ended.id
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5 ${ADD_TO_SPENT}`,
  );
}
