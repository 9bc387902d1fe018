import { INTERRUPTED, MAX_FAILED_ATTEMPTS } from "../records/failed-attempt.ts";
import type { Database } from "./database.ts";

type Table = "runs" | "deliveries";

/** Keeps the failed attempt of a claimed run or delivery, and forgets the oldest if there are too many. */
export function insertFailedAttempt(
  { run }: Database,
  table: Table,
  id: string,
  end: { at: number; error: string },
): void {
  run(`${toInsert(table, "?2", "?3")} WHERE id = ?1`, id, end.at, end.error);
  run(FORGET, id);
}

/** The same for everything that was interrupted: these are few. */
export function insertInterrupted({ run }: Database, table: Table, state: "running" | "sending"): void {
  run(`${toInsert(table, "NULL", "?1")} INDEXED BY ${table}_state WHERE state = '${state}'`, INTERRUPTED);
}

const toInsert = (table: Table, at: string, error: string): string => `
  INSERT INTO failed_attempts (work_id, n, started_at, ended_at, error)
  SELECT id, 1 + (SELECT coalesce(max(n), 0) FROM failed_attempts WHERE work_id = id), started_at, ${at}, ${error}
  FROM ${table}`;

const FORGET = `
  DELETE FROM failed_attempts WHERE work_id = ?1
    AND n <= (SELECT max(n) FROM failed_attempts WHERE work_id = ?1) - ${MAX_FAILED_ATTEMPTS}`;
