import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

/** How a request fails instead of being forwarded. */
export type Fault =
  | { kind: "answer"; status: number; headers?: Record<string, string>; body?: string }
  /** The connection is closed without an answer. */
  | { kind: "cut" }
  /** There is never an answer. */
  | { kind: "hang" };

/** A proxy that fails on demand. */
export interface FaultProxy {
  /** Use it in place of the target's URL. */
  url: string;
  /** The requests so far, oldest first. */
  requests: { path: string | undefined; headers: Record<string, unknown>; body: string }[];
  /** Makes requests fail, or those whose body contains `marker`. Without a fault they are forwarded again. */
  inject(fault?: Fault, marker?: string): void;
  close(): Promise<void>;
}

/** Starts a proxy between a client and a real server that can make requests fail. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const requests: FaultProxy["requests"] = [];
  let current: { fault: Fault | undefined; marker: string } = { fault: undefined, marker: "" };
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    requests.push({ path: request.url, headers: request.headers, body: body.toString() });
    const { fault, marker } = current;
    if (fault && body.includes(marker)) fail(fault, request, response);
    else await forward(new URL(target), { request, body }, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port.");
  return {
    url: `http://127.0.0.1:${address.port}${new URL(target).pathname}`,
    requests,
    inject: (fault, marker = "") => void (current = { fault, marker }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function fail(fault: Fault, request: IncomingMessage, response: ServerResponse): void {
  if (fault.kind === "answer") response.writeHead(fault.status, fault.headers).end(fault.body);
  if (fault.kind === "cut") request.socket.destroy();
}

async function forward(
  target: URL,
  { request, body }: { request: IncomingMessage; body: Buffer },
  response: ServerResponse,
): Promise<void> {
  const answer = await fetch(new URL(request.url ?? "/", target), {
    method: request.method,
    headers: withoutHopHeaders(Object.entries(request.headers)),
    // A GET has none.
    body: body.length > 0 ? new Uint8Array(body) : undefined,
  });
  response.writeHead(answer.status, Object.fromEntries(withoutHopHeaders(answer.headers)));
  response.end(await answer.text());
}

/** Headers that belong to one connection or to the bytes on it. */
const HOP_HEADERS = new Set(["host", "connection", "content-length", "content-encoding", "transfer-encoding"]);

function withoutHopHeaders(headers: Iterable<[string, unknown]>): [string, string][] {
  return Array.from(headers, ([name, value]): [string, string] => [name, String(value)]).filter(
    ([name]) => !HOP_HEADERS.has(name),
  );
}
