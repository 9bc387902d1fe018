import type { Database } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

export function pauseMapping(database: Database, mapping: string, at: number): boolean {
  return database.run("INSERT INTO pauses (mapping, since) VALUES (?, ?) ON CONFLICT DO NOTHING", mapping, at) > 0;
}

export function resumeMapping(transaction: Transaction, mapping: string): boolean {
  const isResumed = transaction.run("DELETE FROM pauses WHERE mapping = ?", mapping) > 0;
  if (isResumed) transaction.announce("run");
  return isResumed;
}

export function isPaused(database: Database, mapping: string | undefined): boolean {
  return mapping !== undefined && database.get("SELECT 1 FROM pauses WHERE mapping = ?", mapping) !== undefined;
}
