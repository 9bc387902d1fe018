import { type FailedAttempt, MAX_FAILED_ATTEMPTS } from "../records/failed-attempt.ts";
import type { Writer } from "./writer.ts";

/** Keeps the failed attempt of a claimed run or delivery, and forgets the oldest if there are too many. */
export function addFailedAttempt(
  { withCommit }: Pick<Writer, "withCommit">,
  table: "runs" | "deliveries",
  id: string,
  { at, error, warnings = [] }: { at: number } & Pick<FailedAttempt, "error" | "warnings">,
): void {
  const insert = insertAttempts(`hookline.${table} AS work`, "$2::bigint", "$3", "$4::text");
  withCommit(`${insert} WHERE id = $1`, [id, at, error, warnings.length > 0 ? JSON.stringify(warnings) : undefined]);
  withCommit(FORGET, [id]);
}

/** `work`: rows of runs or deliveries with their `id` and `started_at`. */
export const insertAttempts = (work: string, endedAt: string, error: string, warnings = "NULL"): string => `
  INSERT INTO hookline.failed_attempts (work_id, n, started_at, ended_at, error, warnings)
  SELECT id, 1 + (SELECT coalesce(max(n), 0) FROM hookline.failed_attempts WHERE work_id = work.id), started_at, ${endedAt},
    ${error}, ${warnings} FROM ${work}`;

const FORGET = `
  DELETE FROM hookline.failed_attempts WHERE work_id = $1
    AND n <= (SELECT max(n) FROM hookline.failed_attempts WHERE work_id = $1) - ${MAX_FAILED_ATTEMPTS}`;
