import type { IncomingMessage, ServerResponse } from "node:http";

/** Asks for the body, where the client waits to be asked (RFC 9110, 10.1.1). */
export function sendContinue(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.expect?.toLowerCase() === "100-continue") res.writeContinue();
}
