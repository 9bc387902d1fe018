import type { PublicationState } from "../journal/journal.ts";

export function toCursor(storeId: string, position: number): string {
  return `${storeId}.${position}`;
}

/**
 * The position that a cursor stands for. Without a cursor it is the newest. One that this store did not give, or whose events
 * are deleted, is replaced, and `truncated` says that events may be missing.
 */
export function fromCursor(
  cursor: string | undefined,
  storeId: string,
  { position, swept }: PublicationState,
): { after: number; truncated: boolean } {
  if (cursor === undefined) return { after: position, truncated: false };
  const [, store, digits] = /^([^.]{1,64})\.(\d{1,16})$/.exec(cursor) ?? [];
  const after = Number(digits);
  if (store !== storeId || !Number.isSafeInteger(after) || after > position)
    return { after: position, truncated: true };
  return after < swept ? { after: swept, truncated: true } : { after, truncated: false };
}
