import type { NumberedPublication } from "../journal/journal.ts";
import { VIA } from "../mapping/publish.ts";
import { parseExact } from "../shared/exact-json.ts";

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
