import { INTERRUPTED, MAX_FAILED_ATTEMPTS } from "../records/failed-attempt.ts";
import type { TransactionSql } from "./database.ts";
import { toPostgresText } from "./transaction.ts";

type Table = "runs" | "deliveries";

/** Keeps the failed attempt of a claimed run or delivery, and forgets the oldest if there are too many. */
export function addFailedAttempt(
  { withCommit }: TransactionSql,
  table: Table,
  id: string,
  { at, error }: { at: number; error: string },
): void {
  withCommit(`${toInsert(`hookline.${table} AS work`, "$2::bigint", "$3")} WHERE id = $1`, [
    id,
    at,
    toPostgresText(error),
  ]);
  withCommit(FORGET, [id]);
}

/** A statement that returns abandoned work with `id` and `started_at`, and keeps that its attempts were interrupted. */
export function withInterrupted(update: string): string {
  return `WITH work AS (${update} RETURNING id, started_at) ${toInsert("work", "NULL", `'${INTERRUPTED}'`)}`;
}

const toInsert = (from: string, at: string, error: string): string => `
  INSERT INTO hookline.failed_attempts (work_id, n, started_at, ended_at, error)
  SELECT id, 1 + (SELECT coalesce(max(n), 0) FROM hookline.failed_attempts WHERE work_id = work.id), started_at, ${at},
    ${error} FROM ${from}`;

const FORGET = `
  DELETE FROM hookline.failed_attempts WHERE work_id = $1
    AND n <= (SELECT max(n) FROM hookline.failed_attempts WHERE work_id = $1) - ${MAX_FAILED_ATTEMPTS}`;
