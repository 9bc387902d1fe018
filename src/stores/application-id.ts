import { hash } from "node:crypto";

/**
 * Tells the tables that the first version of a schema creates from all others, also from those that it created before its
 * release.
 */
export function toApplicationId([first = ""]: readonly string[]): number {
  const statements = first.replaceAll(/--.*/g, "").replaceAll(/\s+/g, " ").trim();
  return hash("sha256", statements, "buffer").readInt32BE();
}
