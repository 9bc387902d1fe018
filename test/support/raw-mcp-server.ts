/** An MCP server whose every answer a test can replace: it validates nothing, and follows its specification by default. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readAll } from "node:stream/consumers";

interface RawMessage {
  id?: unknown;
  method?: string;
  params?: { name?: string; cursor?: string; arguments?: { text?: string } };
}

export interface RawExchange {
  message: RawMessage;
  response: ServerResponse;
  /** Answers with the message that a usual server would send. */
  reply(result: unknown): void;
}

export interface RawMcpOptions {
  /** The answer to `tools/list`. */
  tools?: unknown[];
  /** Asked before the usual answer. Gives true if it has answered. */
  intercept?(exchange: RawExchange, server: RawMcp): boolean | void;
  /** How a request with an unknown session is answered. */
  refuseSession?(response: ServerResponse, message: RawMessage): void;
}

export interface RawMcp {
  /** The names of the tools that were executed. */
  calls: string[];
  answer(request: IncomingMessage, response: ServerResponse, body: unknown): void;
  /** Forgets as a server does that was started again. */
  forgetSessions(): void;
}

export const OK_TOOL = {
  name: "ok",
  description: "Says hello.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
};

export function createRawMcp({
  tools = [OK_TOOL],
  intercept = () => false,
  refuseSession = (response) => void response.writeHead(404).end("Session not found"),
}: RawMcpOptions = {}): RawMcp {
  let sessions = new Set<string>();
  const server: RawMcp = {
    calls: [],
    forgetSessions: () => (sessions = new Set()),
    answer(request, response, body) {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const message = body as RawMessage;
      const { id, method = "", params = {} } = message;
      const reply = (result: unknown): void => void sendJson(response, { jsonrpc: "2.0", id, result });
      if (method === "initialize") sessions.add(startSession(response));
      else if (method !== "server/discover" && !sessions.has(String(request.headers["mcp-session-id"]))) {
        return refuseSession(response, message);
      }
      if (intercept({ message, response, reply }, server)) return;
      if (id === undefined) return void response.writeHead(202).end();
      if (method === "initialize") return reply(INFO);
      if (method === "tools/list") return reply({ tools });
      if (method !== "tools/call") return void sendJson(response, toError(id, -32601, "Method not found"));
      server.calls.push(params.name ?? "");
      return reply({ content: [{ type: "text", text: `hello ${params.arguments?.text ?? ""}` }] });
    },
  };
  return server;
}

export interface RawMcpServer extends RawMcp {
  url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startRawMcp(options: RawMcpOptions = {}): Promise<RawMcpServer> {
  const own = createRawMcp(options);
  const server = createServer(async (request, response) => {
    own.answer(request, response, request.method === "POST" ? JSON.parse(await readAll(request)) : undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    ...own,
    url: `http://127.0.0.1:${address.port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const INFO = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "raw", version: "1" },
};

function startSession(response: ServerResponse): string {
  const session = randomUUID();
  response.setHeader("mcp-session-id", session);
  return session;
}

export function toError(id: unknown, code: number, message: string): object {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): ServerResponse {
  return response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** A stream of messages, which ends after them. */
export function sendEvents(response: ServerResponse, ...messages: unknown[]): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const message of messages) response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  return response.end();
}
