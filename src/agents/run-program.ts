import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { collectTail } from "./collect-tail.ts";
import { createProcessGroup } from "./process-group.ts";

export interface ProgramCall {
  /** The program and its arguments; no shell reads them. */
  command: readonly [string, ...string[]];
  cwd: string | undefined;
  /** All that the program's environment holds. */
  env: NodeJS.ProcessEnv;
  /** Its standard input. */
  input: string;
  /** Its standard output at most; one that writes more is ended. */
  mostBytes: number;
}

export interface ProgramEnd {
  /** null: it was ended by `signal`. */
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Its standard output, as UTF-8. */
  output: string;
  /** It wrote more than it may; `output` is not all of it. */
  overflowed: boolean;
  /** The end of what it wrote to standard error. */
  complaint: string;
}

/** How long after a program's end its last words may take, in milliseconds. */
const DRAIN_MS = 1000;

/**
 * Runs a program to its end, in a process group of its own: what it has left behind ends with it. At the abort the group
 * gets SIGTERM, two seconds later SIGKILL. Rejects only where it cannot be started.
 */
export async function runProgram(call: ProgramCall, abort: AbortSignal): Promise<ProgramEnd> {
  const child = await start(call);
  const closed = once(child, "close");
  const group = createProcessGroup(child.pid ?? 0);
  child.once("exit", () => {
    abort.removeEventListener("abort", group.end);
    group.kill();
    setTimeout(() => hangUp(child), DRAIN_MS).unref();
  });
  const output = collect(child.stdout, { mostBytes: call.mostBytes, onMore: group.kill });
  const complaint = collectTail(child.stderr);
  abort.addEventListener("abort", group.end, { once: true });
  if (abort.aborted) group.end();
  feed(child.stdin, call.input);
  await closed;
  const { exitCode, signalCode } = child;
  return { code: exitCode, signal: signalCode, ...output(), complaint: complaint.text() };
}

async function start({ command, cwd, env }: ProgramCall): Promise<ChildProcessWithoutNullStreams> {
  const [file, ...args] = command;
  const child = spawn(file, args, { cwd, env, detached: true });
  await once(child, "spawn");
  return child;
}

function feed(stdin: Writable, input: string): void {
  // a program need not read its prompt
  stdin.on("error", () => {});
  stdin.end(input);
}

/** Somebody who left the group may hold the pipes open for as long as they like. */
function hangUp({ stdout, stderr }: ChildProcessWithoutNullStreams): void {
  stdout.destroy();
  stderr.destroy();
}

function collect(
  stream: Readable,
  { mostBytes, onMore }: { mostBytes: number; onMore(): void },
): () => Pick<ProgramEnd, "output" | "overflowed"> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostBytes) onMore();
    else chunks.push(chunk);
  });
  return () => ({ output: Buffer.concat(chunks).toString("utf8"), overflowed: bytes > mostBytes });
}
