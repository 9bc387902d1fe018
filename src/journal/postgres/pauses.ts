import { text } from "../rows.ts";
import type { Sql } from "./database.ts";
import { toPostgresText, type Transaction } from "./transaction.ts";

export async function pauseMapping({ run, isRepeated }: Transaction, mapping: string, at: number): Promise<boolean> {
  const values = [toPostgresText(mapping), at];
  const added = await run(
    "INSERT INTO hookline.pauses (mapping, since) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    values,
  );
  return added > 0 || isRepeated;
}

export async function resumeMapping(transaction: Transaction, mapping: string): Promise<boolean> {
  const removed = await transaction.run("DELETE FROM hookline.pauses WHERE mapping = $1", [toPostgresText(mapping)]);
  transaction.announce("run");
  return removed > 0 || transaction.isRepeated;
}

/** Those of the mappings that are paused. */
export async function readPaused({ all }: Sql, mappings: (string | undefined)[]): Promise<ReadonlySet<string>> {
  const named = mappings.filter((mapping) => mapping !== undefined).map(toPostgresText);
  if (named.length === 0) return new Set();
  const rows = await all("SELECT mapping FROM hookline.pauses WHERE mapping = ANY($1::text[])", [named]);
  return new Set(rows.map((row) => text(row.mapping)));
}
