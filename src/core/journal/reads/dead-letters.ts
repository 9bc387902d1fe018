import { isId } from "../../shared/id.ts";
import type { DeadLetterFilter, Page } from "../journal.ts";
import type { DeadLetter } from "../records/delivery.ts";
import { toDeadLetter } from "../rows.ts";
import type { Reader, ReadTables } from "./reader.ts";

/** No id sorts after this one. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * Dead letters are dead runs of hooks and failed deliveries. A failed heartbeat is not one: the next heartbeat gets its
 * system events.
 */
export async function listDeadLetters(
  { all, tables }: Reader,
  {
    limit,
    before = LAST_ID,
    kind,
    hook,
    group,
    failedFrom,
    failedTo,
  }: Pick<Page, "limit" | "before"> & DeadLetterFilter,
): Promise<DeadLetter[]> {
  if (!isId(before)) return [];
  const runs = toSql("run", { from: tables.deadRuns, hook: "hook" });
  const hookOfDelivery = `(SELECT hook FROM ${tables.states} AS event WHERE event.id = deliveries.event_id)`;
  const deliveries = toSql("delivery", { from: tables.failedDeliveries, hook: hookOfDelivery });
  const sql = `SELECT * FROM (${runs}) AS runs UNION ALL SELECT * FROM (${deliveries}) AS deliveries ORDER BY id DESC LIMIT $2`;
  return (await all(sql, [before, limit, kind, hook, group, failedFrom, failedTo])).map(toDeadLetter);
}

function toSql(kind: DeadLetter["kind"], { from, hook }: { from: ReadTables["deadRuns"]; hook: string }): string {
  return `
    SELECT id, '${kind}' AS kind, event_id, ${hook} AS hook, error, error_group, attempts, finished_at FROM ${from}
    WHERE state = '${kind === "run" ? "dead" : "failed"}' AND id < $1
      AND ($3::text IS NULL OR $3 = '${kind}') AND ($4::text IS NULL OR ${hook} = $4)
      AND ($5::text IS NULL OR error_group = $5) AND ($6::bigint IS NULL OR finished_at >= $6)
      AND ($7::bigint IS NULL OR finished_at < $7)
    ORDER BY id DESC LIMIT $2`;
}
