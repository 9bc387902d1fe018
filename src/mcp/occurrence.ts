import type { NumberedPublication, PublicationState } from "../core/journal/journal.ts";
import { VIA } from "../core/mapping/publish.ts";
import { parseExact } from "../core/shared/exact-json.ts";

/** An occurrence of an event, as subscribers get it. */
export function toOccurrence(publication: NumberedPublication): object {
  const { id, name, at, via } = publication;
  return {
    eventId: id,
    name,
    timestamp: new Date(at).toISOString(),
    data: parseExact(toData(publication)),
    _meta: { [VIA]: via },
  };
}

/** The same as JSON, with a cursor. Its data is not parsed. */
export function toOccurrenceJson(publication: NumberedPublication, cursor: string): string {
  const { id, name, at, via } = publication;
  const head = JSON.stringify({ eventId: id, name, timestamp: new Date(at).toISOString(), cursor });
  return `${head.slice(0, -1)},"data":${toData(publication)},"_meta":${JSON.stringify({ [VIA]: via })}}`;
}

function toData({ data, arguments: args }: NumberedPublication): string {
  return data ?? JSON.stringify(args);
}

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
