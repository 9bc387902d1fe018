import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy to a real local server, for any protocol, whose connections can be cut. */
export interface TcpProxy {
  port: number;
  /** From now on new connections go to this port. */
  setTarget(port: number): void;
  /** Cuts all connections, with the data in flight. */
  cut(): void;
  /** From now on each new connection is cut after this many bytes from the server; undefined: none is. */
  cutAfter(bytes: (() => number) | undefined): void;
  /** Cuts each connection on which the server sends this text, before it is passed on; undefined: none is. */
  cutAt(text: string | undefined): void;
  /** The number of connections cut so far. */
  cuts(): number;
  /** Resolves once the server has sent this many more bytes, over all connections. */
  passed(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** Forwards connections from a free loopback port. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const line: Line = { clients: new Set(), waiting: new Set(), bytes: 0, cuts: 0 };
  let target = targetPort;
  const server = createServer((client) => join(line, client, target)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    setTarget: (to) => void (target = to),
    cut: () => line.clients.forEach((client) => cut(line, client)),
    cutAfter: (bytes) => void (line.cutAfter = bytes),
    cutAt: (text) => void (line.cutAt = text),
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
  /** The bytes that the server has sent so far. */
  bytes: number;
  cuts: number;
  cutAfter?: (() => number) | undefined;
  cutAt?: string | undefined;
}

function join(line: Line, client: Socket, targetPort: number): void {
  const server = connect(targetPort, "127.0.0.1");
  let left = line.cutAfter?.() ?? Infinity;
  // Counted before it is passed on, so that the cut falls into the sent data.
  server.on("data", (data) => {
    left -= data.length;
    count(line, data.length);
    if (left <= 0 || (line.cutAt !== undefined && data.includes(line.cutAt))) cut(line, client);
  });
  line.clients.add(client);
  client.on("close", () => {
    line.clients.delete(client);
    server.destroy();
  });
  client.on("error", () => {}); // The client emits `close` too.
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

/** Without a FIN, like a broken network connection. */
function cut(line: Line, client: Socket): void {
  if (client.destroyed) return;
  line.cuts += 1;
  client.resetAndDestroy();
}
