/** An MCP server for tests over HTTP, in this process. `mcp-program.mjs` is the same over stdio. */
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { z } from "zod";

export interface McpTestServer {
  /** The address of its endpoint. */
  url: string;
  /** The names of the tools that were called. */
  calls: string[];
  /** The ids of these calls. */
  callIds: string[];
  /** The headers of the last request. */
  headers(): Record<string, unknown>;
  /** The server describes its tool `ok` like this from now on. */
  describe(description: string): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

function createTools(description: string, onCall: (name: string, meta: unknown) => void): McpServer {
  const server = new McpServer({ name: "test", version: "1.0.0" });
  const add = (name: string, about: string, answer: (text: string) => unknown): void => {
    const input = { description: about, inputSchema: z.object({ text: z.string().optional() }) };
    server.registerTool(name, input, (async ({ text = "" }: { text?: string }, { mcpReq }: never) => {
      onCall(name, (mcpReq as { _meta?: unknown })._meta);
      return answer(text);
    }) as never);
  };
  const say = (text: string): object => ({ content: [{ type: "text", text }] });
  add("ok", description, (text) => say(`hello ${text}`));
  add("fail", "Fails.", () => ({ ...say("it is broken"), isError: true }));
  add("long", "Says much.", () => say("x".repeat(20_000)));
  add("hang", "Never answers.", () => new Promise(() => {}));
  add("exit", "Ends the server.", () => process.exit(1));
  add("environment", "The environment.", () => say(JSON.stringify({ ...process.env, cwd: process.cwd() })));
  return server;
}

/** `before`: what each request waits for, by its method. `file`: as the `record` of the server over stdio. */
export async function startMcpServer(
  before?: (method: string) => Promise<void> | undefined,
  file?: string,
): Promise<McpTestServer> {
  const calls: string[] = [];
  const callIds: string[] = [];
  let description = "Says hello.";
  let headers: Record<string, unknown> = {};
  const handler = createMcpHandler(() =>
    createTools(description, (name, meta) => {
      calls.push(name);
      callIds.push(toCallId(meta));
      if (file !== undefined) appendCall(file, name, meta);
    }),
  );
  const server = createServer(async (request, response) => {
    headers = request.headers;
    const { method = "GET", url = "/" } = request;
    const body = method === "POST" ? await buffer(request) : undefined;
    if (body) await before?.(JSON.parse(body.toString()).method);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const init = { method, headers: request.headers as Record<string, string>, body, signal: gone.signal };
    const answer = await handler.fetch(new Request(`http://127.0.0.1${url}`, init));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await handler.close();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    calls,
    callIds,
    headers: () => headers,
    describe: (next) => void (description = next),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The command of the server over stdio. `record`: the file with a line for each call: its name and its call id. */
export function stdioCommand(record: string): string[] {
  return [process.execPath, path.join(import.meta.dirname, "mcp-program.mjs"), record];
}

function appendCall(file: string, name: string, meta: unknown): void {
  appendFileSync(file, `${name} ${toCallId(meta)}\n`);
}

function toCallId(meta: unknown): string {
  return String((meta as Record<string, unknown> | undefined)?.["hookline/callId"]);
}
