import { firstIdAt } from "../../shared/id.ts";
import { EVENT_STATUSES, type EventStatus } from "../../types.ts";
import { type Tally, TALLY_NAMES } from "../records/tally.ts";
import { integer, oneOf } from "../columns.ts";
import type { Reader } from "./reader.ts";

export async function listTallies({ all }: Reader, from: number, stepMs: number): Promise<Omit<Tally, "mapping">[]> {
  const found = await all(LIST, [from, stepMs]);
  return found.map((row) => ({ at: integer(row.step), what: oneOf(TALLY_NAMES, row.what), n: integer(row.n) }));
}

const LIST = `
  SELECT at - at % $2::bigint AS step, what, CASE WHEN what = 'slowestMs' THEN max(n) ELSE sum(n)::bigint END AS n
  FROM hookline.tallies WHERE at >= $1 GROUP BY 1, 2 ORDER BY 1, 2`;

/** By the index of each status alone: the rows of a week are not read. */
export async function countSince({ all, tables }: Reader, from: number): Promise<Record<EventStatus, number>> {
  const { states, order } = tables;
  const since =
    order === "id"
      ? "id >= $1"
      : `seq > coalesce((SELECT seq FROM ${states} WHERE id < $1 ORDER BY id DESC LIMIT 1), 0)`;
  const counts = EVENT_STATUSES.map(
    (status) =>
      `SELECT '${status}' AS status, count(*) AS count FROM ${states} WHERE status = '${status}' AND ${since}`,
  );
  const found = await all(counts.join(" UNION ALL "), [firstIdAt(from)]);
  const of = (status: EventStatus): number => integer(found.find((row) => row.status === status)?.count);
  return {
    accepted: of("accepted"),
    skipped: of("skipped"),
    rejected: of("rejected"),
    done: of("done"),
    failed: of("failed"),
    canceled: of("canceled"),
  };
}
