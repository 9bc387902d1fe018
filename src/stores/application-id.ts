import { hash } from "node:crypto";

/** By the first version: each opening of a file asks. */
const ids = new Map<string, number>();

/**
 * Tells the tables that the first version of a schema creates from all others, also from those that it created before its
 * release.
 */
export function toApplicationId([first = ""]: readonly string[]): number {
  const known = ids.get(first);
  if (known !== undefined) return known;
  const statements = first.replaceAll(/--.*/g, "").replaceAll(/\s+/g, " ").trim();
  const id = hash("sha256", statements, "buffer").readInt32BE();
  ids.set(first, id);
  return id;
}
