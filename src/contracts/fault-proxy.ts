import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

/** What is done to a request instead of passing it on. */
export type Fault =
  | { kind: "answer"; status: number; headers?: Record<string, string>; body?: string }
  /** The connection is cut without an answer. */
  | { kind: "cut" }
  /** No answer ever comes. */
  | { kind: "hang" };

export interface FaultProxy {
  /** Stands for the target's URL. */
  url: string;
  /** What came, oldest first. */
  requests: { path: string | undefined; headers: Record<string, unknown>; body: string }[];
  /** From now on every request, or those whose body holds `marker`, meets this fault; without one it is passed on again. */
  inject(fault?: Fault, marker?: string): void;
  close(): Promise<void>;
}

/** Stands between a client and a real server, to make the network and the server fail in ways that the server cannot. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const requests: FaultProxy["requests"] = [];
  let current: { fault: Fault | undefined; marker: string } = { fault: undefined, marker: "" };
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    requests.push({ path: request.url, headers: request.headers, body: body.toString() });
    const { fault, marker } = current;
    if (fault && body.includes(marker)) meet(fault, request, response);
    else await passOn(new URL(target), { request, body }, response).catch(() => request.socket.destroy());
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

function meet(fault: Fault, request: IncomingMessage, response: ServerResponse): void {
  if (fault.kind === "answer") response.writeHead(fault.status, fault.headers).end(fault.body);
  if (fault.kind === "cut") request.socket.destroy();
}

async function passOn(
  target: URL,
  { request, body }: { request: IncomingMessage; body: Buffer },
  response: ServerResponse,
): Promise<void> {
  const answer = await fetch(new URL(request.url ?? "/", target), {
    method: request.method,
    headers: endToEnd(Object.entries(request.headers)),
    body: new Uint8Array(body),
  });
  response.writeHead(answer.status, Object.fromEntries(endToEnd(answer.headers)));
  response.end(await answer.text());
}

/** Headers that speak of one connection or of the bytes on it. */
const HOP_HEADERS = new Set(["host", "connection", "content-length", "content-encoding", "transfer-encoding"]);

function endToEnd(headers: Iterable<[string, unknown]>): [string, string][] {
  return Array.from(headers, ([name, value]): [string, string] => [name, String(value)]).filter(
    ([name]) => !HOP_HEADERS.has(name),
  );
}
