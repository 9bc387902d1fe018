import type { IncomingMessage, ServerResponse } from "node:http";

/** One request on its connection, and the way to answer it. */
export interface Exchange {
  /** UUIDv7. */
  id: string;
  req: IncomingMessage;
  res: ServerResponse;
  /** The client's address, as `toClient` gives it. */
  client: string;
}
