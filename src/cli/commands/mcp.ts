import type { Command } from "commander";
import { createInterface } from "node:readline";
import { isObject, parseJson, readOwn } from "../../core/shared/json.ts";
import { toBearer } from "../../core/shared/secret.ts";
import { toOneOf, UsageError } from "../command.ts";
import { causeOf } from "../context.ts";
import { type CliIo, print, printError, printJson, printJsonLine } from "../io.ts";

const DEFAULT_URL = "http://127.0.0.1:18790";
/** The variable that holds the token of a principal. */
const TOKEN_VARIABLE = "HOOKLINE_MCP_TOKEN";
const SET_TOKEN = `Set ${TOKEN_VARIABLE} to the secret of a principal of gateway.mcp.`;

interface McpFlags {
  url: string;
}

/** `webhooks mcp`. It reads neither the configuration nor the operator's token. */
export function addMcp(program: Command, io: CliIo): void {
  const mcp = program
    .command("mcp")
    .description(`Connect an agent's stdio to the MCP endpoint of a service, with the token in ${TOKEN_VARIABLE}.`);
  addUrl(mcp).action(({ url }: McpFlags) => relay(toEndpoint(url), io));
  addUrl(mcp.command("setup"))
    .description("Print what a client's configuration needs to use the MCP endpoint.")
    .argument("<client>", Object.keys(CLIENTS).join(", "), toOneOf(CLIENT_NAMES))
    .option("--json", "print one JSON object", false)
    .action((client: (typeof CLIENT_NAMES)[number], { json }: McpFlags & { json: boolean }, command: Command) => {
      const { url } = command.optsWithGlobals<McpFlags>();
      const lines = CLIENTS[client](toEndpoint(url));
      if (json) printJson(io, { client, configuration: lines.join("\n"), variable: TOKEN_VARIABLE });
      else print(io, ...lines, "", SET_TOKEN);
    });
}

function addUrl(command: Command): Command {
  return command.option("--url <address>", "address of the service, without /mcp", DEFAULT_URL);
}

function toEndpoint(url: string): string {
  return `${url.replace(/\/+$/, "").replace(/\/mcp$/, "")}/mcp`;
}

const CLIENT_NAMES = ["claude-code", "codex", "cursor", "vscode"] as const;

/** Instructions for each client: its file, and the lines to add. */
const CLIENTS = {
  "claude-code": (url: string) => [
    "Add to .mcp.json in the project:",
    "",
    toJson({ mcpServers: { hookline: { type: "http", url, headers: toHeaders(`\${${TOKEN_VARIABLE}}`) } } }),
  ],
  codex: (url: string) => [
    "Add to ~/.codex/config.toml:",
    "",
    "[mcp_servers.hookline]",
    `url = ${JSON.stringify(url)}`,
    `bearer_token_env_var = "${TOKEN_VARIABLE}"`,
  ],
  cursor: (url: string) => [
    "Add to .cursor/mcp.json in the project:",
    "",
    toJson({ mcpServers: { hookline: { url, headers: toHeaders(`\${env:${TOKEN_VARIABLE}}`) } } }),
  ],
  vscode: (url: string) => [
    "Add to .vscode/mcp.json in the workspace:",
    "",
    toJson({ servers: { hookline: { type: "http", url, headers: toHeaders(`\${env:${TOKEN_VARIABLE}}`) } } }),
  ],
} satisfies Record<(typeof CLIENT_NAMES)[number], (url: string) => string[]>;

function toHeaders(token: string): object {
  return { Authorization: `Bearer ${token}` };
}

function toJson(value: object): string {
  return JSON.stringify(value, undefined, 2);
}

const VERSION_FIELD = "io.modelcontextprotocol/protocolVersion";

/** Sends each JSON-RPC message on standard input to the endpoint, and writes the answers to standard output. */
async function relay(endpoint: string, io: CliIo): Promise<void> {
  const token = io.env[TOKEN_VARIABLE];
  if (!token) throw new UsageError(SET_TOKEN);
  const signal = io.stopSignal();
  const lines = createInterface({ input: io.stdin, signal });
  const running = new Set<Promise<void>>();
  /** The protocol version of the server's answer to `initialize`. */
  let version: string | undefined;
  try {
    for await (const line of lines) {
      if (line.trim() === "") continue;
      const task = forward(line).finally(() => running.delete(task));
      running.add(task);
      // The version is known before the next message needs it.
      if (readOwn(parseJson(line), "method") === "initialize") await task;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await Promise.all(running);

  async function forward(line: string): Promise<void> {
    const message = parseJson(line);
    if (!isObject(message)) return answerError(undefined, -32700, "This is not a JSON-RPC message.");
    try {
      const response = await fetch(endpoint, { method: "POST", headers: headersOf(message), body: line, signal });
      const answers = readAnswers(response.headers.get("content-type") ?? "", await response.text());
      for (const answer of answers) {
        version ??= toVersion(answer);
        printJsonLine(io, answer);
      }
      if (!response.ok && answers.length === 0) {
        answerError(message["id"], -32000, `The service has answered ${response.status}. See: npx hookline mcp --help`);
      }
    } catch (error) {
      if (signal.aborted) return;
      printError(io, `${endpoint}: ${causeOf(error)}`);
      answerError(message["id"], -32000, "The service cannot be reached.");
    }
  }

  function headersOf(message: Record<string, unknown>): Record<string, string> {
    const own = readOwn(readOwn(message["params"], "_meta"), VERSION_FIELD);
    const used = typeof own === "string" ? own : version;
    return {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: toBearer(token ?? ""),
      ...(used !== undefined && { "mcp-protocol-version": used }),
      // The newer protocol names the method in a header too.
      ...(typeof own === "string" && typeof message["method"] === "string" && { "mcp-method": message["method"] }),
    };
  }

  /** A notification gets no answer. */
  function answerError(id: unknown, code: number, text: string): void {
    if (typeof id !== "string" && typeof id !== "number" && code !== -32700) return printError(io, text);
    printJsonLine(io, { jsonrpc: "2.0", id: id ?? null, error: { code, message: text } });
  }
}

/** The messages of an answer, which is JSON or a stream of server-sent events. */
function readAnswers(contentType: string, body: string): unknown[] {
  const texts = contentType.startsWith("text/event-stream")
    ? body.split("\n").flatMap((line) => (line.startsWith("data:") ? line.slice(5) : []))
    : [body];
  return texts.map(parseJson).filter((answer) => readOwn(answer, "jsonrpc") === "2.0");
}

function toVersion(answer: unknown): string | undefined {
  const found = readOwn(readOwn(answer, "result"), "protocolVersion");
  return typeof found === "string" ? found : undefined;
}
