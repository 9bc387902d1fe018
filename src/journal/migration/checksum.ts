import { hash } from "node:crypto";
import { storable } from "../postgres/transaction.ts";
import type { Row } from "../rows.ts";

/** Of the rows of a table, in any order. */
export interface Checksum {
  rows: number;
  /** The sum of their hashes. */
  sum: bigint;
}

export function addRow(checksum: Checksum, row: Row): void {
  checksum.rows += 1;
  checksum.sum = (checksum.sum + BigInt(`0x${hash("sha256", toText(row)).slice(0, 32)}`)) % 2n ** 128n;
}

export function formatChecksum({ sum }: Checksum): string {
  return sum.toString(16).padStart(32, "0");
}

/** A row as PostgreSQL stores it: the same from both sides. */
export function toStored(row: Row): Record<string, string | number> {
  const stored: Record<string, string | number> = {};
  for (const column of Object.keys(row).toSorted()) {
    const value = row[column] ?? null;
    if (value !== null) stored[column] = toStoredValue(value);
  }
  return stored;
}

function toText(row: Row): string {
  return JSON.stringify(Object.entries(toStored(row)));
}

function toStoredValue(value: NonNullable<Row[string]>): string | number {
  if (typeof value === "string") return storable(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  return Number(value);
}
