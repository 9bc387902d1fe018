/** The errors of MCP Events, and those of JSON-RPC that it uses. */
export const CODES = {
  invalidParams: -32602,
  internal: -32603,
  notFound: -32011,
  forbidden: -32012,
  resourceExhausted: -32013,
  unsupported: -32014,
  callbackEndpoint: -32015,
} as const;

/** An error that the client of the endpoint gets. Its message and data hold nothing that it may not know. */
export class McpError extends Error {
  override name = "McpError";
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: keyof typeof CODES, message: string, data?: object) {
    super(message);
    this.code = CODES[code];
    this.data = data;
  }
}

export function invalid(message: string): McpError {
  return new McpError("invalidParams", message);
}
