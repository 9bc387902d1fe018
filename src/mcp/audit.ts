/** What a principal asked the endpoint for. */
export interface McpRequestRecord {
  at: number;
  /** undefined: nobody who is known. */
  principal: string | undefined;
  /** The address of the client. */
  client: string;
  method: string;
  /** The event type. */
  event: string | undefined;
  /** ok, the code of an error, or the status of a refusal. */
  outcome: string;
}

export interface AuditList {
  add(record: McpRequestRecord): void;
  /** Newest first. */
  list(limit: number): McpRequestRecord[];
}

const MAX_RECORDS = 500;
const MAX_TEXT = 200;

/** The last requests since the start, in memory. */
export function createAuditList(): AuditList {
  const records: McpRequestRecord[] = [];
  return {
    add({ method, event, ...record }) {
      records.push({ ...record, method: method.slice(0, MAX_TEXT), event: event?.slice(0, MAX_TEXT) });
      if (records.length > MAX_RECORDS) records.shift();
    },
    list: (limit) => records.toReversed().slice(0, limit),
  };
}
