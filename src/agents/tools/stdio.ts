import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { pickEnvironment, type RunningProcess, startProcess } from "../../core/shared/system/child-process.ts";
import { createFolder } from "../../core/shared/system/files.ts";
import { NotSent } from "../../core/shared/net/connection.ts";

export interface StdioOptions {
  command: readonly string[];
  /** Variables besides PATH, LANG and HOME. */
  env: Record<string, string>;
  /** Its HOME and working folder, absolute. It is made if it does not exist. */
  folder: string;
  /** Throws if the line is no message. */
  parse(line: string): JSONRPCMessage;
  onStart?(program: RunningProcess): void;
}

/** More on one line is no message, but an attempt to fill the memory. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** A server that runs as a child of the service: each line of its output is a message, and it ends with its group. */
export function createStdio({ command, env, folder, parse, onStart }: StdioOptions): Transport {
  let running: RunningProcess | undefined;
  const transport: Transport = {
    async start() {
      createFolder(folder, 0o700);
      const environment = { ...pickEnvironment(["PATH", "LANG"]), HOME: folder, ...env };
      const started = startProcess({ command, cwd: folder, env: environment });
      running = started;
      onStart?.(started);
      readLines(started, (line) => {
        try {
          transport.onmessage?.(parse(line));
        } catch {
          // A line that is no message: some programs also write their log there.
        }
      });
      started.child.once("close", () => transport.onclose?.());
      await started.started;
    },
    async send(message) {
      if (!running?.isRunning()) throw new NotSent("The server has ended.");
      running.child.stdin.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      running?.end();
    },
  };
  return transport;
}

function readLines({ child, kill }: RunningProcess, onLine: (line: string) => void): void {
  let rest: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...rest, chunk.subarray(start, end)]).toString("utf8");
      rest = [];
      bytes = 0;
      start = end + 1;
      onLine(line);
    }
    rest.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes > MAX_LINE_BYTES) kill();
  });
}
