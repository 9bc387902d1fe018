/** An MCP server whose every answer a test can replace: it validates nothing and knows no specification but the usual one. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readAll } from "node:stream/consumers";

interface RawMessage {
  id?: unknown;
  method?: string;
  params?: { name?: string; cursor?: string; arguments?: { text?: string } };
}

interface Exchange {
  message: RawMessage;
  request: IncomingMessage;
  response: ServerResponse;
  /** Answers with the message that a usual server would send. */
  reply(result: unknown): void;
}

export interface RawMcpServer {
  url: string;
  /** The names of the tools that were executed. */
  calls: string[];
  /** The messages that came, by method, in their order. */
  methods: string[];
  /** What `tools/list` answers. */
  tools: unknown[];
  /** Asked before the usual answer. Gives true if it has answered, or will. */
  intercept: (exchange: Exchange) => boolean | void;
  /** Forgets every session, as a server does that was started again. */
  forgetSessions(): void;
  /** How a request with an unknown session is answered. */
  refuseSession: (response: ServerResponse, message: RawMessage) => void;
  [Symbol.asyncDispose](): Promise<void>;
}

const OK_TOOL = { name: "ok", description: "Says hello.", inputSchema: { type: "object" } };

export async function startRawMcp(tools: unknown[] = [OK_TOOL]): Promise<RawMcpServer> {
  let sessions = new Set<string>();
  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(await readAll(request)) as RawMessage;
    const { id, method = "", params = {} } = message;
    own.methods.push(method);
    const reply = (result: unknown): void => void sendJson(response, { jsonrpc: "2.0", id, result });
    if (method === "initialize") sessions.add(startSession(response));
    else if (method !== "server/discover" && !sessions.has(String(request.headers["mcp-session-id"]))) {
      return own.refuseSession(response, message);
    }
    if (own.intercept({ message, request, response, reply })) return undefined;
    if (id === undefined) return response.writeHead(202).end();
    if (method === "initialize") return reply(INFO);
    if (method === "tools/list") return reply({ tools: own.tools });
    if (method !== "tools/call")
      return sendJson(response, { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
    own.calls.push(params.name ?? "");
    return reply({ content: [{ type: "text", text: `hello ${params.arguments?.text ?? ""}` }] });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const own: RawMcpServer = {
    url: `http://127.0.0.1:${address.port}/mcp`,
    calls: [],
    methods: [],
    tools,
    intercept: () => false,
    forgetSessions: () => (sessions = new Set()),
    refuseSession: (response) => void response.writeHead(404).end("Session not found"),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return own;
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

function sendJson(response: ServerResponse, body: unknown, status = 200): ServerResponse {
  return response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
