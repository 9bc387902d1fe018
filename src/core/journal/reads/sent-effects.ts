import { text } from "../rows.ts";
import type { Reader } from "./reader.ts";

export async function findEffects(
  { all }: Reader,
  { events, runs }: { events: string[]; runs: string[] },
): Promise<{ events: Set<string>; runs: Set<string> }> {
  const sent = await all(
    "SELECT DISTINCT event_id AS id FROM hookline.deliveries WHERE event_id = ANY($1::uuid[]) AND parts_sent > 0",
    [events],
  );
  // A call has an id of its own if it changes something.
  const called = await all(
    `SELECT DISTINCT run_id AS id FROM hookline.steps WHERE run_id = ANY($1::uuid[])
       AND state IN ('started', 'done', 'unknown') AND detail LIKE '%"callId"%'`,
    [runs],
  );
  const idsOf = (rows: typeof sent): Set<string> => new Set(rows.map((row) => text(row.id)));
  return { events: idsOf(sent), runs: idsOf(called) };
}
