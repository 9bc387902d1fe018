import { INTERRUPTED } from "../records/failed-attempt.ts";
import { addFailedAttempt, insertAttempts } from "../writes/failed-attempts.ts";
import type { Database } from "./database.ts";
import { runTranslated } from "./read.ts";

export function insertFailedAttempt(
  database: Database,
  table: "runs" | "deliveries",
  id: string,
  end: { at: number; error: string },
): void {
  addFailedAttempt({ withCommit: (sql, values) => void runTranslated(database, sql, values) }, table, id, end);
}

/** Keeps that attempts were interrupted: these are few. */
export function insertInterrupted(
  database: Database,
  table: "runs" | "deliveries",
  state: "running" | "sending",
): void {
  const work = `hookline.${table} AS work INDEXED BY ${table}_state`;
  runTranslated(database, `${insertAttempts(work, "NULL", "$1")} WHERE state = '${state}'`, [INTERRUPTED]);
}
