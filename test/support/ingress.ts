import { expect, onTestFinished } from "vitest";
import type { HookToken } from "../../src/core/config/resolved-config.ts";
import type { HookError } from "../../src/core/errors.ts";
import { createAuthenticators, type Authenticators } from "../../src/core/ingress/authenticators.ts";
import { createParsers } from "../../src/core/ingress/parse-body.ts";
import type { IngressRuntime } from "../../src/core/ingress/serve-hook.ts";
import { createServer, type IngressOptions, type IngressServer } from "../../src/core/ingress/server.ts";
import { withLog } from "../../src/core/telemetry/telemetry.ts";
import type { HookRequest } from "../../src/core/types.ts";

export const TOKEN = "the-hook-token-of-these-tests";
export const BEARER = { authorization: `Bearer ${TOKEN}` };

/** The two transports: over a loopback socket, and in process. */
export const TRANSPORTS = ["socket", "process"] as const;
export type Transport = (typeof TRANSPORTS)[number];

type Hooks = IngressRuntime["config"]["hooks"] & { tokens: HookToken[] };

export interface Ingress {
  server: IngressServer;
  port: number;
  /** The current settings. A change applies from the next request on, as after a reload. */
  hooks: Hooks;
  /** The requests passed to `receive`. */
  received: HookRequest[];
  /** The calls of `refused`. */
  refused: { request: HookRequest; error: HookError }[];
  log: { level: string; message: string; fields: object }[];
  /** Sends a request; POST with the token unless `init` says otherwise. */
  send: (path: string, init?: RequestInit & { duplex?: "half" }) => Promise<Response>;
}

type Settings = Partial<Omit<IngressOptions, "current" | "telemetry">> & {
  hooks?: Partial<Hooks>;
  /** Default: the authenticators of `hooks.tokens`. */
  authenticators?: Authenticators;
  trustedProxies?: string[];
  role?: IngressRuntime["config"]["gateway"]["role"];
};

const DEFAULT_HOOKS: Hooks = {
  enabled: true,
  tokens: [{ name: "default", secrets: [TOKEN] }],
  path: "/hooks",
  maxBodyBytes: 10_000,
  bodyTimeoutMs: 60_000,
};

/** A real ingress in front of a function that records its requests. Closed after the test. */
export async function startIngress(transport: Transport, settings: Settings = {}): Promise<Ingress> {
  const { hooks: ownHooks, authenticators, trustedProxies = [], role = "all", ...options } = settings;
  const hooks = { ...DEFAULT_HOOKS, ...ownHooks };
  const gateway = { role, host: "127.0.0.1", port: 0, trustedProxies };
  const records = {
    received: [] as HookRequest[],
    refused: [] as Ingress["refused"],
    log: [] as Ingress["log"],
  };
  const note =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void records.log.push({ level, message, fields });

  const telemetry = withLog({ debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") });
  const server = createServer({
    current: () => ({
      config: { hooks, gateway },
      authenticators: authenticators ?? createAuthenticators({ tokens: hooks.tokens }),
      mappings: { maxBodyBytes: (_hook, byDefault) => byDefault, names: () => true, mayTake: () => true },
    }),
    telemetry,
    rejections: { add: (_request, _hook, error) => error },
    findParser: createParsers({ readMail: async (source) => ({ mail: String(source) }) }),
    readsPayload: () => true,
    receive: async (request) => {
      records.received.push(request);
      return { status: 200, headers: {}, body: { ok: true, hook: request.hook } };
    },
    readRun: async (runId, credential) => ({ status: 200, headers: {}, body: { runId, credential } }),
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
      return transport === "socket" ? fetch(request) : server.handle(request);
    },
  };
}

/** Checks the shape of an error response. */
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
