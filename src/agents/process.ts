import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

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

/** Between the polite end and the certain one, in milliseconds. */
const GRACE_MS = 2000;

/** Those under way. */
const groups = new Set<number>();

// A service that stops does not wait for the grace time, and leaves nobody behind who still acts.
process.on("exit", () => groups.forEach((id) => send(id, "SIGKILL")));

/** A program with all that it has started. */
export interface ProcessGroup {
  /** SIGTERM, and SIGKILL to whoever is still there two seconds later. */
  end(): void;
  /** SIGKILL to whoever is left. */
  kill(): void;
}

/** `id`: process id of the group's first one. */
export function createProcessGroup(id: number): ProcessGroup {
  groups.add(id);
  let grace: NodeJS.Timeout | undefined;
  return {
    end() {
      send(id, "SIGTERM");
      grace ??= setTimeout(kill, GRACE_MS);
    },
    kill,
  };

  function kill(): void {
    clearTimeout(grace);
    groups.delete(id);
    send(id, "SIGKILL");
  }
}

function send(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-id, signal);
  } catch {
    // nobody is left
  }
}

/** The end of what a stream has given so far. */
export interface Tail {
  /** As UTF-8, without colours and control characters. */
  text(): string;
  /** Leaves behind what came up to now. */
  clear(): void;
}

/** How much is kept, in bytes. */
const MAX_BYTES = 4096;

/** Reads a stream, so that whoever writes to it never waits, and keeps no more than the end. */
export function collectTail(stream: Readable): Tail {
  let tail = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-MAX_BYTES);
  });
  return {
    text: () => stripVTControlCharacters(tail.toString("utf8")).replaceAll(/\p{Cc}+/gu, " "),
    clear: () => void (tail = Buffer.alloc(0)),
  };
}
