import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { HookError } from "../../src/errors.ts";
import { createServer, type IngressOptions, type IngressServer } from "../../src/ingress/server.ts";
import type { IngressConfig } from "../../src/ingress/serve-hook.ts";
import type { HookRequest } from "../../src/types.ts";

export const TOKEN = "the-hook-token-of-these-tests";
export const BEARER = { authorization: `Bearer ${TOKEN}` };

/** The two ways in: over a loopback socket, and in process. */
export const DOORS = ["socket", "process"] as const;
export type Door = (typeof DOORS)[number];

export interface Ingress {
  server: IngressServer;
  port: number;
  hooks: IngressConfig["hooks"];
  /** What `receive` was given. */
  received: HookRequest[];
  /** What `refused` was told. */
  refused: { request: HookRequest; error: HookError }[];
  log: { level: string; message: string; fields: object }[];
  /** Sends a request through the door; POST with the token unless `init` says otherwise. */
  send: (path: string, init?: RequestInit & { duplex?: "half" }) => Promise<Response>;
}

type Settings = Partial<Omit<IngressOptions, "config" | "log">> & {
  hooks?: Partial<IngressConfig["hooks"]>;
  trustedProxies?: string[];
};

const DEFAULT_HOOKS = {
  enabled: true,
  token: TOKEN,
  path: "/hooks",
  maxBodyBytes: 10_000,
  bodyTimeoutMs: 5_000,
};

/** A real ingress in front of a function that records what it is given. Closed when the test is over. */
export async function startIngress(door: Door, settings: Settings = {}): Promise<Ingress> {
  const { hooks: ownHooks, trustedProxies = [], ...options } = settings;
  const hooks = { ...DEFAULT_HOOKS, ...ownHooks };
  const records = {
    received: [] as HookRequest[],
    refused: [] as Ingress["refused"],
    log: [] as Ingress["log"],
  };
  const note =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void records.log.push({ level, message, fields });

  const server = createServer({
    config: () => ({ hooks, gateway: { host: "127.0.0.1", port: 0, trustedProxies } }),
    log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") },
    receive: async (request) => {
      records.received.push(request);
      return { status: 200, headers: {}, body: { ok: true, hook: request.hook } };
    },
    refused: (request, error) => void records.refused.push({ request, error }),
    ...options,
  });
  onTestFinished(() => server.close());
  const { url, port } = await server.listen();
  return {
    server,
    port,
    hooks,
    ...records,
    send(path, init) {
      const request = new Request(url + path, { method: "POST", headers: BEARER, ...init });
      return door === "socket" ? fetch(request) : server.handle(request);
    },
  };
}

/** A connection that speaks bytes, for what no HTTP client would send. */
export interface RawConnection {
  socket: Socket;
  write: (...pieces: (string | Buffer)[]) => void;
  /** Everything that came back once the other side has closed the connection. */
  closed: Promise<string>;
  /** Waits until what came back holds `text`. */
  reads: (text: string) => Promise<string>;
}

export function openRaw(port: number): RawConnection {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => void (text += chunk));
  // A reset by the other side also ends the connection.
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return {
    socket,
    write: (...pieces) => pieces.forEach((piece) => socket.write(piece)),
    closed: new Promise((resolve) => socket.once("close", () => resolve(text))),
    reads: (wanted) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (text.includes(wanted)) resolve(text);
        };
        socket.on("data", check).once("close", () => reject(new Error(`closed before ${wanted}: ${text}`)));
        check();
      }),
  };
}

/** The head of a POST with the token. */
export function rawHead(path: string, ...headers: string[]): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    "Host: hookline.test",
    `Authorization: Bearer ${TOKEN}`,
    ...headers,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** Status and body of each answer in what came back. */
export function parseAnswers(text: string): { status: number; body: { code?: string; ok?: boolean } }[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})[^]*?\r\n\r\n(\{[^]*?\})?(?=HTTP\/1\.1|$)/g)].map(
    ([, status, body]) => ({ status: Number(status), body: body === undefined ? {} : JSON.parse(body) }),
  );
}
