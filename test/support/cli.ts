import { execFile } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { onTestFailed } from "vitest";
import type { CliIo } from "../../src/cli/io.ts";
import { runCli } from "../../src/cli/main.ts";
import { sharedPool } from "./pool.ts";

/** The exit code and output of a command. */
export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

interface Surroundings {
  /** Standard input. */
  input?: string;
  /** Variables in addition to this process's. */
  env?: Record<string, string>;
}

/** A command running in this process. */
export interface RunningCommand {
  /** Its output so far. */
  stdout(): string;
  stderr(): string;
  /** Has the effect of SIGTERM. */
  stop(): void;
  ended: Promise<CliResult>;
}

/** Runs `webhooks` in this process, as if called in a folder without a terminal. */
export function runWebhooks(folder: string, ...args: string[]): Promise<CliResult> {
  return startWebhooks(folder, args).ended;
}

/** Like `runWebhooks`, for a command that runs until it is stopped. */
export function startWebhooks(
  folder: string,
  args: string[],
  { input = "", env = {} }: Surroundings = {},
): RunningCommand {
  const { io, stdout, stderr, stop } = createTestIo(folder, { input, env });
  const ended = runCli(args, io).then((code) => ({ code, stdout: stdout(), stderr: stderr() }));
  onTestFailed(async () => {
    // Otherwise the whole run would wait for a command that the test has not come to stop.
    stop();
    console.error(["webhooks", ...args].join(" "), await ended);
  });
  return { stdout, stderr, stop, ended };
}

/** A `CliIo` without a terminal, and its output. */
export function createTestIo(
  folder: string,
  { input = "", env = {} }: Surroundings = {},
): { io: CliIo } & Omit<RunningCommand, "ended"> {
  const stdout = createCapture();
  const stderr = createCapture();
  const stopping = new AbortController();
  const io: CliIo = {
    cwd: folder,
    env: { ...plainEnv(), ...env },
    stdin: Readable.from([input]),
    stdout,
    stderr,
    exitCode: 0,
    stopSignal: () => stopping.signal,
    interrupt: () => stopping.abort(),
    finishUnread: () => {},
    pool: sharedPool,
  };
  return { io, stdout: stdout.text, stderr: stderr.text, stop: () => stopping.abort() };
}

function createCapture(): Writable & { text(): string } {
  let written = "";
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      written += String(chunk);
      done();
    },
  });
  return Object.assign(stream, { text: () => written });
}

/** Runs `webhooks mail setup` in a folder without a terminal. `answer`: its output, if that is JSON. */
export async function setUpMail(
  folder: string,
  flags: string[],
  surroundings?: Surroundings,
): Promise<CliResult & { answer: unknown }> {
  const result = await startWebhooks(folder, ["mail", "setup", ...flags], surroundings).ended;
  return { ...result, answer: result.stdout.startsWith("{") ? JSON.parse(result.stdout) : undefined };
}

/** Runs a program in a folder, without a terminal or colors. A failing test shows how its programs ended. */
export function run(
  folder: string,
  file: string,
  args: string[],
  { input = "", env = {} }: Surroundings = {},
): Promise<CliResult> {
  const { promise: ended, resolve } = Promise.withResolvers<CliResult>();
  const child = execFile(file, args, { cwd: folder, env: { ...plainEnv(), ...env } }, (error, stdout, stderr) => {
    const code = typeof error?.code === "number" ? error.code : Number(error !== null);
    resolve({ code, stdout, stderr });
  });
  // A program that reads nothing may have ended.
  child.stdin?.on("error", () => undefined).end(input);
  onTestFailed(async () => {
    child.kill();
    console.error([file, ...args].join(" "), await ended);
  });
  return ended;
}

/** This process's environment without npm's folder and without colors, as in a plain shell. */
export function plainEnv(): NodeJS.ProcessEnv {
  const { WEBHOOKS_CONFIG: _, FORCE_COLOR: __, ...env } = process.env;
  const ofNpm = (name: string): boolean => name === "INIT_CWD" || name.startsWith("npm_");
  return { ...Object.fromEntries(Object.entries(env).filter(([name]) => !ofNpm(name))), NO_COLOR: "1" };
}
