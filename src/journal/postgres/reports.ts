import type { Change } from "../journal.ts";
import { type Row, text } from "../rows.ts";
import type { Transaction } from "./transaction.ts";

/** A change of a run or a delivery, and the run whose events it concerns. */
export interface Report {
  change: Exclude<Change, { kind: "event" }>;
  run?: { id: string; eventId: string | undefined };
}

/** Reports each change, and after it the event of its run and those that joined it. Without a watcher nothing is read. */
export async function reportAll(transaction: Transaction, reports: Report[]): Promise<void> {
  if (reports.length === 0 || !(await transaction.isWatched())) return;
  const ids = reports.flatMap(({ run }) => (run?.eventId === undefined ? [] : run.id));
  const rows = await transaction.all(
    "SELECT run_id, event_id FROM hookline.joined_events WHERE run_id = ANY($1::uuid[]) ORDER BY place",
    [ids],
  );
  const joined = Map.groupBy(rows, (row: Row) => text(row.run_id));
  for (const { change, run } of reports) {
    transaction.report(change);
    if (run?.eventId === undefined) continue;
    const others = joined.get(run.id)?.map((row) => text(row.event_id)) ?? [];
    for (const id of [run.eventId, ...others]) transaction.report({ kind: "event", id });
  }
}
