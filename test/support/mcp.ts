import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";

export const MCP_TOKEN = "mcp-token-of-desk-for-tests-0123456789";
export const OTHER_TOKEN = "mcp-token-of-other-for-tests-0123456789";

type Mcp = NonNullable<NonNullable<UserConfig["gateway"]>["mcp"]>;
type Mapping = NonNullable<NonNullable<UserConfig["hooks"]>["mappings"]>[number];

/** A hook whose deploys start nothing and are published, and two principals. */
export function publishing(mcp: Mcp = {}, mapping: Partial<Mapping> = {}): UserConfig {
  const deploys: Mapping = {
    match: { path: "deploys" },
    action: "none",
    publish: { arguments: { env: "{{payload.env}}", n: "{{payload.n}}" } },
    ...mapping,
  };
  return {
    gateway: {
      mcp: {
        principals: {
          desk: { secret: MCP_TOKEN, events: ["deploys*"] },
          other: { secret: OTHER_TOKEN, events: ["*"], arguments: { env: "staging" } },
        },
        allowHosts: ["127.0.0.1"],
        ...mcp,
      },
    },
    hooks: { mappings: [deploys] },
  };
}

/** Whatever the other side sends. */
export type Json = ReturnType<typeof JSON.parse>;

export interface RpcAnswer {
  status: number;
  headers: Headers;
  result: Json;
  error?: { code: number; message: string; data?: Json };
}

const MODERN = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
};

/** Sends a JSON-RPC request as a client of the newest protocol. */
export async function rpc(
  url: string,
  method: string,
  params: object = {},
  { token = MCP_TOKEN, headers = {} }: { token?: string; headers?: Record<string, string> } = {},
): Promise<RpcAnswer> {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      "mcp-protocol-version": MODERN,
      "mcp-method": method,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: META } }),
  });
  const body: Json = await response.json();
  return { status: response.status, headers: response.headers, result: body.result, error: body.error };
}

export function createSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

export interface Received {
  headers: IncomingHttpHeaders;
  text: string;
  body: Json;
  path: string;
}

export interface Callback {
  url: string;
  /** All but the challenges. */
  received: Received[];
  challenges: Received[];
  /** Answers a message that is no challenge; undefined: 204. */
  answer?: (message: Received) => number | Promise<number>;
  /** Answers a challenge. Default: the echo. */
  echo?: (challenge: string) => { status: number; body: string };
  close(): Promise<void>;
}

/** A subscriber's own server on loopback. */
export async function startCallback(): Promise<Callback> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    const message: Received = { headers: request.headers, text, body: JSON.parse(text), path: request.url ?? "" };
    if (message.body.type === "verification") {
      callback.challenges.push(message);
      const { challenge } = message.body;
      const { status, body } = callback.echo?.(challenge) ?? { status: 200, body: JSON.stringify({ challenge }) };
      response.writeHead(status, { "content-type": "application/json" }).end(body);
      return;
    }
    callback.received.push(message);
    response.writeHead((await callback.answer?.(message)) ?? 204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
  const { port } = server.address() as AddressInfo;
  const callback: Callback = {
    url: `http://127.0.0.1:${port}/events?mcp_event_subscription=abc`,
    received: [],
    challenges: [],
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return callback;
}

/** Whether one of the signatures is of this secret, over the bytes that came. */
export function isSignedBy({ headers, text }: Received, secret: string): boolean {
  const content = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${text}`;
  const digest = createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(content)
    .digest("base64");
  return String(headers["webhook-signature"]).split(" ").includes(`v1,${digest}`);
}
