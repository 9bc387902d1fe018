import { withLog } from "../../src/telemetry/telemetry.ts";
import { expect, onTestFinished } from "vitest";
import type { HookError } from "../../src/errors.ts";
import { createServer, type IngressOptions, type IngressServer } from "../../src/ingress/server.ts";
import type { IngressConfig } from "../../src/ingress/handler.ts";
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
  bodyTimeoutMs: 60_000,
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
    telemetry: withLog({ debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") }),
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

/** What every refusal looks like. */
export async function expectRefusal(response: Response, status: number, code: string): Promise<void> {
  expect({ status: response.status, body: await response.json() }).toEqual({
    status,
    body: {
      ok: false,
      code,
      error: expect.stringMatching(/\.$/),
      requestId: response.headers.get("x-request-id"),
    },
  });
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
}
