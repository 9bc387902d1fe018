import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { Socket } from "node:net";
import path from "node:path";
import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { settlesWithin } from "../time.ts";

export interface ProcessOptions {
  /** The program and its arguments, run without a shell. */
  command: readonly string[];
  cwd?: string;
  /** The whole environment. */
  env: NodeJS.ProcessEnv;
}

/** A program with everything that it starts: its process group. */
export interface RunningProcess {
  child: ChildProcessWithoutNullStreams;
  /** Rejects when the program cannot be started. */
  started: Promise<unknown>;
  isRunning(): boolean;
  /** Sends SIGTERM to the group, and SIGKILL two seconds later. */
  end(): void;
  /** Sends SIGKILL to the group. */
  kill(): void;
  /** The end of standard error, without colors and control characters. Waits up to a second for a closing stream. */
  stderrTail(): Promise<string>;
}

const GRACE_MS = 2000;
/** How long after the program's exit its streams may stay open. */
const DRAIN_MS = 1000;
const MAX_TAIL_BYTES = 4096;

/** The groups that are running, by id. When the service exits, nothing that it started may continue to act. */
const running = new Map<number, () => void>();
process.on("exit", () => running.forEach((kill) => kill()));

/** Reads which groups start and end. The end of its input is the end of the service: it kills those that are left. */
const WARDEN = `
groups=" "
while read -r change group; do
  case $change in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -KILL "-$group"; done
`;

let warden: ChildProcess | undefined;

function tellWarden(change: string): void {
  if (warden?.stdin?.writable) warden.stdin.write(`${change}\n`);
  else openWarden();
}

/** A service that is killed cannot end its programs, so another process does. */
function openWarden(): void {
  if (warden?.stdin?.writable) return;
  warden = spawn("/bin/sh", ["-c", WARDEN], { stdio: ["pipe", "ignore", "ignore"], detached: true, env: {} });
  // Neither it nor its input keeps this process running.
  warden.unref();
  if (warden.stdin instanceof Socket) warden.stdin.unref();
  warden.on("error", () => {});
  warden.stdin?.on("error", () => {});
  for (const group of running.keys()) warden.stdin?.write(`+ ${group}\n`);
}

/** Starts a program. Its group is killed when the program exits. Throws for invalid arguments or environment values. */
export function startProcess({ command: [file = "", ...args], cwd, env }: ProcessOptions): RunningProcess {
  // First: a program that ran before it would outlive a service that is killed meanwhile.
  openWarden();
  const child = spawn(file, args, { cwd, env, detached: true });
  const { pid } = child;
  const started = once(child, "spawn");
  const readTail = collectTail(child.stderr);
  const stderrClosed = new Promise((resolve) => child.stderr.once("close", resolve));
  let isRunning = pid !== undefined;
  let grace: NodeJS.Timeout | undefined;
  if (pid !== undefined) {
    running.set(pid, kill);
    tellWarden(`+ ${pid}`);
  }
  // `started` reports an error at the start. Later ones show in how the program exits.
  child.on("error", () => {});
  // The program may exit without reading its input.
  child.stdin.on("error", () => {});
  child.once("exit", () => {
    kill();
    // A process that has left the group may hold the streams open.
    setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), DRAIN_MS).unref();
  });
  return { child, started, isRunning: () => isRunning, end, kill, stderrTail };

  function end(): void {
    if (!isRunning) return;
    sendToGroup("SIGTERM");
    grace ??= setTimeout(kill, GRACE_MS);
  }

  /** Acts once, since the system may give the id to another group later. */
  function kill(): void {
    if (!isRunning) return;
    isRunning = false;
    clearTimeout(grace);
    sendToGroup("SIGKILL");
    if (pid === undefined) return;
    running.delete(pid);
    tellWarden(`- ${pid}`);
  }

  function sendToGroup(signal: NodeJS.Signals): void {
    try {
      if (pid !== undefined) process.kill(-pid, signal);
    } catch {
      // Every process of the group has already ended.
    }
  }

  async function stderrTail(): Promise<string> {
    await settlesWithin(stderrClosed, DRAIN_MS);
    return stripVTControlCharacters(readTail().toString("utf8")).replaceAll(/\p{Cc}+/gu, " ");
  }
}

export interface ProgramOptions extends ProcessOptions {
  /** Standard input. */
  input: string;
  /** A program that writes more is killed. */
  maxOutputBytes: number;
}

export interface ProgramResult {
  /** null: the program was ended by `signal`. */
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Standard output as UTF-8; undefined: it was more than `maxOutputBytes`. */
  output: string | undefined;
  /** The end of standard error. */
  errorOutput: string;
}

/** Runs a program to its end, or ends it when the signal aborts. Rejects when the program cannot be started. */
export async function runProgram(
  { input, maxOutputBytes, ...options }: ProgramOptions,
  signal: AbortSignal,
): Promise<ProgramResult> {
  const { child, started, end, kill, stderrTail } = startProcess(options);
  await started;
  const closed = once(child, "close");
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxOutputBytes) kill();
    else chunks.push(chunk);
  });
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  child.stdin.end(input);
  await closed;
  signal.removeEventListener("abort", end);
  return {
    code: child.exitCode,
    signal: child.signalCode,
    output: bytes > maxOutputBytes ? undefined : Buffer.concat(chunks).toString("utf8"),
    errorOutput: await stderrTail(),
  };
}

/**
 * A warning about the option `command` if its program is not where it would be looked for: its path from `cwd`, or a name in
 * the folders of `PATH`. It may be installed where the service runs, so this is no error.
 */
export function findMissingProgram(
  [file = ""]: readonly string[],
  { cwd, env }: Pick<ProcessOptions, "env"> & { cwd: string },
): { key: string; message: string; level: "warning" }[] {
  const folders = file.includes("/") ? [""] : (env["PATH"]?.split(path.delimiter) ?? []);
  if (folders.some((folder) => existsSync(path.resolve(cwd, folder, file)))) return [];
  const message = `There is no program "${file}" on this machine. Install it, or write its whole path.`;
  return [{ key: "command", message, level: "warning" }];
}

/** The command with its program's path resolved from `cwd`. A name is left: the system looks for it in `PATH`. */
export function resolveProgram([file = "", ...args]: readonly string[], cwd: string): string[] {
  return [file.includes("/") ? path.resolve(cwd, file) : file, ...args];
}

/**
 * The same for a program that does not run in `cwd`: its arguments too, also those of options (`--config=./a.json`), if they
 * begin with `./` or `../`, or name a file there.
 */
export function resolveCommand(command: readonly string[], cwd: string): string[] {
  const [program = "", ...args] = resolveProgram(command, cwd);
  return [
    program,
    ...args.map((arg) =>
      arg.replace(/^(-[\w-]*=)?([^-][^]*)$/, (_, option = "", value: string) => option + resolveArgument(value, cwd)),
    ),
  ];
}

function resolveArgument(value: string, cwd: string): string {
  const isPath = /^\.{1,2}(?:\/|$)/.test(value) || (/^[^/:]+[./]/.test(value) && isFile(path.resolve(cwd, value)));
  return isPath ? path.resolve(cwd, value) : value;
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

/** These variables of the service's own environment. The others may hold secrets. */
export function pickEnvironment(names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}

/** Reads a stream to its end, so that the writer never blocks, and keeps the last bytes. */
function collectTail(stream: Readable): () => Buffer {
  let tail = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-MAX_TAIL_BYTES);
  });
  return () => tail;
}
