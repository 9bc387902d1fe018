/** A request of a principal to the MCP endpoint. */
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
