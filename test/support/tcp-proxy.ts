import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A line to a real server of this machine, whatever is spoken on it, that can be cut. */
export interface TcpProxy {
  port: number;
  /** Cuts all connections, with what is under way on them. */
  cut(): void;
  /** From now on each new connection is cut once the server has sent so many bytes on it; undefined: none is. */
  cutAfter(bytes: (() => number) | undefined): void;
  /** How many connections were cut so far. */
  cuts(): number;
  /** Resolves once the server has sent so many more bytes, over all connections. */
  passed(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** Passes on what comes to a free port of the loopback. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const line: Line = { clients: new Set(), waiting: new Set(), bytes: 0, cuts: 0 };
  const server = createServer((client) => join(line, client, targetPort)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    cut: () => line.clients.forEach((client) => cut(line, client)),
    cutAfter: (bytes) => void (line.cutAfter = bytes),
    cuts: () => line.cuts,
    passed: (bytes) => new Promise((resolve) => line.waiting.add({ bytes: line.bytes + bytes, resolve })),
    async close() {
      for (const client of line.clients) client.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

interface Line {
  clients: Set<Socket>;
  waiting: Set<{ bytes: number; resolve(): void }>;
  /** What the server has sent so far. */
  bytes: number;
  cuts: number;
  cutAfter?: (() => number) | undefined;
}

function join(line: Line, client: Socket, targetPort: number): void {
  const server = connect(targetPort, "127.0.0.1");
  let left = line.cutAfter?.() ?? Infinity;
  // heard before it is passed on, so that the cut falls into what was sent
  server.on("data", ({ length }) => {
    left -= length;
    count(line, length);
    if (left <= 0) cut(line, client);
  });
  line.clients.add(client);
  client.on("close", () => {
    line.clients.delete(client);
    server.destroy();
  });
  client.on("error", () => {}); // it closes as well
  server.on("error", () => client.destroy());
  client.pipe(server);
  server.pipe(client);
}

function count(line: Line, bytes: number): void {
  line.bytes += bytes;
  for (const each of line.waiting) {
    if (line.bytes < each.bytes) continue;
    line.waiting.delete(each);
    each.resolve();
  }
}

/** Without a word, as where a line breaks. */
function cut(line: Line, client: Socket): void {
  if (client.destroyed) return;
  line.cuts += 1;
  client.resetAndDestroy();
}
