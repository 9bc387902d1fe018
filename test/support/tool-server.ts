import { createServer, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";

interface ToolRequest {
  method: string | undefined;
  /** With the query. */
  path: string | undefined;
  headers: IncomingHttpHeaders;
  text: string;
}

/** An HTTP service for tool sets on a free loopback port. */
export interface ToolServer {
  /** With a final slash. */
  url: string;
  port: number;
  requests: ToolRequest[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Answers "hello", but for the paths `/gone` (404), `/long` (20,000 characters), `/hang` (never), `/cut` (no answer) and
 * `/to?<address>` (a redirect). `answer`: what it says instead of "hello".
 */
export async function startToolServer(answer = (_request: ToolRequest): string => "hello"): Promise<ToolServer> {
  const requests: ToolRequest[] = [];
  const server = createServer(async (request, response) => {
    const { method, url: path = "", headers } = request;
    const received = { method, path, headers, text: await text(request) };
    requests.push(received);
    const [name = "", query = ""] = path.split("?");
    if (name.endsWith("/gone")) response.writeHead(404).end("not here");
    else if (name.endsWith("/long")) response.end("x".repeat(20_000));
    else if (name.endsWith("/cut")) request.socket.destroy();
    else if (name.endsWith("/to")) response.writeHead(302, { location: decodeURIComponent(query.slice(2)) }).end();
    else if (!name.endsWith("/hang")) response.end(answer(received));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${address.port}/`,
    port: address.port,
    requests,
    close,
    [Symbol.asyncDispose]: close,
  };
}
