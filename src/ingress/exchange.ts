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

/** Asks for the body, where the client waits to be asked (RFC 9110, 10.1.1). */
export function sendContinue(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.expect?.toLowerCase() === "100-continue") res.writeContinue();
}
