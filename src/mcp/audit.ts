import type { AuditList, McpRequestRecord } from "../core/ports/audit.ts";

/** How many records are kept of known principals, and as many of unknown clients, which must not displace the others. */
const MAX_RECORDS = 500;
const MAX_TEXT = 200;

/** The last requests since the start, in memory. */
export function createAuditList(): AuditList {
  const records: Record<"known" | "unknown", McpRequestRecord[]> = { known: [], unknown: [] };
  return {
    add({ method, event, ...record }) {
      const own = records[record.principal === undefined ? "unknown" : "known"];
      own.push({ ...record, method: method.slice(0, MAX_TEXT), event: event?.slice(0, MAX_TEXT) });
      if (own.length > MAX_RECORDS) own.shift();
    },
    list: (limit) =>
      [...records.known.toReversed(), ...records.unknown.toReversed()]
        .toSorted((one, other) => other.at - one.at)
        .slice(0, limit),
  };
}
