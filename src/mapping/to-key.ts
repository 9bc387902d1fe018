import { createHash } from "node:crypto";

/** The longest key that is kept as it is, in characters. */
export const MAX_KEY_LENGTH = 255;

/** What a template gave as a key of any length: a long one is known by its hash; none where it is blank. */
export function toKey(rendered: string | undefined): string | undefined {
  const key = rendered?.trim() ?? "";
  if (key.length <= MAX_KEY_LENGTH) return key || undefined;
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}
