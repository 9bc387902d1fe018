import { createServer, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";

export interface JsonRequest {
  method: string | undefined;
  /** With the query. */
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** The body as it came. */
  text: string;
}

export interface JsonAnswer {
  status: number;
  headers?: Record<string, string>;
  /** undefined: there is none. */
  body?: unknown;
  /** A body that is sent as it is. */
  text?: string;
}

/**
 * A server on a free loopback port that accepts JSON or a form and answers with JSON, for doubles of services. `lost`: the
 * connection ends without an answer.
 */
export async function startJsonServer(
  answer: (request: JsonRequest) => JsonAnswer | "lost",
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const { method, url: path, headers } = request;
    const sent = await text(request);
    const body = parseBody(sent, headers["content-type"]);
    const answered = answer({ method, path, headers, body, text: sent });
    if (answered === "lost") {
      request.socket.destroy();
      return;
    }
    const { status, headers: more, body: said, text: written = JSON.stringify(said) } = answered;
    if (written === undefined) response.writeHead(status, more).end();
    else response.writeHead(status, { "content-type": "application/json", ...more }).end(written);
  });
  // In a busy process, an idle connection would be closed while the next request is on its way.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    url: `http://127.0.0.1:${address.port}/`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function parseBody(body: string, type: string | undefined): Record<string, unknown> {
  if (body === "") return {};
  const isForm = type?.startsWith("application/x-www-form-urlencoded");
  return isForm ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body);
}
