import type { Command } from "commander";
import { toOneOf } from "../command.ts";
import { type CliIo, print, printJson } from "../io.ts";
import { relay, TOKEN_VARIABLE } from "../live/relay.ts";

const DEFAULT_URL = "http://127.0.0.1:18790";

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
      const token = `Set ${TOKEN_VARIABLE} to the secret of a principal of gateway.mcp.`;
      if (json) printJson(io, { client, configuration: lines.join("\n"), variable: TOKEN_VARIABLE });
      else print(io, ...lines, "", token);
    });
}

function addUrl(command: Command): Command {
  return command.option("--url <address>", "address of the service, without /mcp", DEFAULT_URL);
}

function toEndpoint(url: string): string {
  return `${url.replace(/\/+$/, "").replace(/\/mcp$/, "")}/mcp`;
}

const CLIENT_NAMES = ["claude-code", "codex", "cursor", "vscode"] as const;

/** What each client reads, and where. */
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
