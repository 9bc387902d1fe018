import type { Survival } from "../records/suspect.ts";
import { integer } from "../columns.ts";
import { ENDED } from "../writes/lives.ts";
import type { Reader } from "./reader.ts";

export async function readSurvival({ get, clockOffsetMs }: Reader, suspect: string, since: number): Promise<Survival> {
  const row = (await get(READ_SURVIVAL, [suspect, since + clockOffsetMs])) ?? {};
  return {
    alone: integer(row.alone),
    longestMs: integer(row.longest),
    otherEnds: integer(row.other_ends),
    otherMs: integer(row.other_ms),
  };
}

const READ_SURVIVAL = `
  SELECT count(*) FILTER (WHERE suspect = $1::uuid AND state = '${ENDED}') AS alone,
    coalesce(max(CASE WHEN suspect = $1::uuid AND state = '${ENDED}' THEN seen_at - started_at END), 0) AS longest,
    count(*) FILTER (WHERE suspect IS DISTINCT FROM $1::uuid AND state = '${ENDED}') AS other_ends,
    coalesce(sum(CASE WHEN suspect = $1::uuid THEN 0
      WHEN started_at < $2::bigint THEN seen_at - $2::bigint ELSE seen_at - started_at END), 0)::bigint AS other_ms
  FROM hookline.lives WHERE seen_at >= $2::bigint`;

export async function countRestarts({ get, clockOffsetMs }: Reader, since: number): Promise<number> {
  const counted = `SELECT count(*) AS ends FROM hookline.lives
    WHERE state = '${ENDED}' AND suspect IS NULL AND seen_at >= $1`;
  return integer((await get(counted, [since + clockOffsetMs]))?.ends);
}
