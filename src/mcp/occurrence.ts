import { hash } from "node:crypto";
import type { NumberedPublication, Publications } from "../core/journal/journal.ts";
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

/** A publication as a cursor names it. */
export interface Mark {
  position: number;
  id: string;
}

/** Digits of a cursor behind its position: some bits of the id of the publication there. */
const MARK_DIGITS = 6;

/**
 * `<store id>.<position><digits of the publication's id>`: a store that was restored from a copy may have given the position to
 * another publication. The beginning, before any publication, is 0.
 */
export function toCursor(storeId: string, { position, id }: Mark): string {
  if (position === 0) return `${storeId}.0`;
  const bits = hash("sha256", id, "buffer").readUInt32BE() % 10 ** MARK_DIGITS;
  return `${storeId}.${position}${String(bits).padStart(MARK_DIGITS, "0")}`;
}

/**
 * The position that a cursor stands for. Without a cursor it is the newest. One that this store did not give, or whose events
 * are deleted, is replaced by the oldest position whose later events are all there, and `truncated` says that events may be
 * missing.
 */
export async function fromCursor(
  cursor: string | undefined,
  storeId: string,
  { state, idAt }: Pick<Publications, "state" | "idAt">,
): Promise<{ after: number; truncated: boolean }> {
  const { position: newest, swept } = await state();
  if (cursor === undefined) return { after: newest, truncated: false };
  const [, digits = ""] = /\.(\d{1,22})$/.exec(cursor) ?? [];
  const position = digits === "0" ? 0 : Number(digits.slice(0, -MARK_DIGITS) || Number.NaN);
  const oldest = { after: swept, truncated: true };
  if (!Number.isSafeInteger(position) || position < swept || position > newest) return oldest;
  // Nothing comes before the beginning.
  const id = position === 0 ? "" : await idAt(position);
  const isOwn = id !== undefined && toCursor(storeId, { position, id }) === cursor;
  return isOwn ? { after: position, truncated: false } : oldest;
}
