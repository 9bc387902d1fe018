import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { ConfigError, messageOf } from "../../core/errors.ts";
import { SERVER_OPTIONS } from "../../core/shared/net/server-options.ts";
import { startProcess } from "../../core/shared/system/child-process.ts";
import { createFolder } from "../../core/shared/system/files.ts";
import { toPrintable } from "../../core/telemetry/log.ts";

/** Takes a request to a hook, and nothing else. */
type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Tunnel {
  /** The public address, without a slash at the end. */
  url: string;
  /** From now on, requests go there. */
  serve(handler: Handler): void;
  close(): Promise<void>;
}

export interface TunnelOptions {
  /** A command with `{port}`; without it, the port is its last argument. */
  program: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  stateDir: string;
  /** Called if the program ends by itself. */
  ended(message: string): void;
}

const MAX_START_MS = 60_000;
/** How long a program runs on after its address. An address in an error message is the last that it prints before it ends. */
const MIN_RUN_MS = 1000;
const MAX_OUTPUT = 8000;

/** Programs whose arguments are known. The addresses of their documentation and of their API are none of a tunnel. */
const KNOWN: Record<string, { args: string; address?: RegExp }> = {
  cloudflared: {
    // Its own file may define other tunnels, which it would start instead.
    args: "tunnel --no-autoupdate --config {empty} --url http://127.0.0.1:{port}",
    address: /https:\/\/(?!api\.)[a-z0-9-]+\.trycloudflare\.com/,
  },
  ngrok: { args: "http {port} --log stdout", address: /(?<=\burl=)https:\/\/[\w.-]+/ },
  tailscale: { args: "funnel {port}" },
};
const ANY_ADDRESS = /https:\/\/[\w.-]+(?::\d+)?/;

/** Starts the program in front of a port that serves nothing but hooks. Throws a `ConfigError` if it gives no address. */
export async function openTunnel({ program, cwd, env, stateDir, ended }: TunnelOptions): Promise<Tunnel> {
  let handler: Handler = refuse;
  const server = createServer(SERVER_OPTIONS, (request, response) => handler(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = String(typeof address === "object" ? address?.port : address);
  const { command, args, pattern } = toCommand(program, { port, stateDir });
  // Its group ends with this process, also if that is killed.
  const { child, started, isRunning, end } = startProcess({ command: [command, ...args], cwd, env });
  // Its error event says the same.
  started.catch(() => undefined);
  child.stdin.end();
  const onExit = (code: number | null, signal: NodeJS.Signals | null): void =>
    ended(`The tunnel's program ended (${signal ?? code}): no sender reaches this service.`);
  try {
    const url = await readAddress(child, { command, pattern });
    child.once("exit", onExit);
    return { url, serve: (next) => void (handler = next), close };
  } catch (error) {
    await close();
    throw error;
  }

  async function close(): Promise<void> {
    child.off("exit", onExit);
    if (isRunning()) {
      const gone = once(child, "exit");
      end();
      await gone;
    }
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(503, { "retry-after": "2" }).end();
}

function toCommand(
  program: string,
  { port, stateDir }: { port: string; stateDir: string },
): { command: string; args: string[]; pattern: RegExp } {
  const [command = "", ...given] = Array.from(
    program.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
    (match) => match.slice(1).find((part) => part !== undefined) ?? "",
  );
  const known = given.length === 0 ? KNOWN[path.basename(command)] : undefined;
  const words = known?.args.split(" ") ?? (program.includes("{port}") ? given : [...given, "{port}"]);
  const empty = path.join(stateDir, "tunnel.yml");
  if (words.includes("{empty}")) {
    createFolder(stateDir, 0o700);
    writeFileSync(empty, "");
  }
  const args = words.map((word) => word.replaceAll("{port}", port).replaceAll("{empty}", empty));
  return { command, args, pattern: known?.address ?? ANY_ADDRESS };
}

/** The first https address that the program prints, if it runs on. Later output is read, and dropped. */
async function readAddress(
  child: ChildProcess,
  { command, pattern }: { command: string; pattern: RegExp },
): Promise<string> {
  const found = Promise.withResolvers<string>();
  let opened: NodeJS.Timeout | undefined;
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    let latest = "";
    let url = "";
    stream?.on("data", (chunk: Buffer) => {
      const text = chunk.toString("utf8");
      if (output.length < MAX_OUTPUT) output += text;
      latest = (latest + text).slice(-MAX_OUTPUT);
      const seen = pattern.exec(latest)?.[0];
      // The rest of it may come later.
      if (seen?.startsWith(url)) url = seen;
      if (url !== "") opened ??= setTimeout(() => found.resolve(new URL(url).origin), MIN_RUN_MS);
    });
  }
  const fail = (why: string): void => found.reject(toError(command, why, output));
  child.once("error", (error) =>
    fail(`it cannot be started (${messageOf(error)}): install it, or name another program`),
  );
  child.once("exit", (code, signal) => fail(`it ended (${signal ?? code}) before it opened a tunnel`));
  const timer = setTimeout(() => fail(`it named no https address within ${MAX_START_MS / 1000} s`), MAX_START_MS);
  try {
    return await found.promise;
  } finally {
    clearTimeout(timer);
    clearTimeout(opened);
  }
}

function toError(command: string, why: string, output: string): ConfigError {
  const said = output
    .trim()
    .split("\n")
    .slice(-5)
    .map((line) => `  ${toPrintable(line)}`);
  const message = `The tunnel's program ${command} failed: ${why}.`;
  return new ConfigError([{ message, excerpt: said.join("\n") || undefined }]);
}
