import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

export interface ForgetfulProxy {
  url: string;
  /** Passes the answers on from now on. */
  answer(): void;
  close(): Promise<void>;
}

/** Forwards each request, and keeps the answers to itself until `answer`: what a service did is done, and nobody hears of it. */
export async function startForgetful(target: string): Promise<ForgetfulProxy> {
  let isAnswering = false;
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const { host: _, connection: __, "content-length": ___, ...headers } = request.headers;
    const answer = await fetch(new URL(request.url ?? "/", target), {
      method: request.method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    });
    if (isAnswering) response.writeHead(answer.status).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    answer: () => void (isAnswering = true),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
