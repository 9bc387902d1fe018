import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

/** Forwards all requests; the answer to the first one that posts never comes, because `onPosted` ends the service. */
export async function startKillingProxy(target: string, posts: RegExp, onPosted: () => void) {
  let isKilled = false;
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const { authorization = "", "content-type": type = "application/json" } = request.headers;
    const answer = await fetch(`${target.replace(/\/$/, "")}${request.url}`, {
      method: request.method,
      headers: { authorization, "content-type": type },
      body: body.length > 0 ? new Uint8Array(body) : undefined,
    });
    const text = await answer.text();
    if (!isKilled && posts.test(request.url ?? "")) {
      isKilled = true;
      return onPosted();
    }
    response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  };
  const server = createServer((request, response) => void forward(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
