import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** A service in a process, which listens. */
export interface ServiceProcess {
  url: string;
  child: ChildProcess;
  /** Its standard output since it started to listen. */
  output(): string;
  /** Its standard error so far. */
  errors(): string;
  /** Sends the signal and waits for the end; returns the exit code, or the signal that ended the process. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** Starts the program `webhooks` as a separate process. The caller must read both outputs. */
export function spawnProgram(
  program: string,
  args: string[],
  env: Record<string, string> = {},
): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
}

/** Waits until `webhooks serve` listens; rejects with what it printed if it ends before. */
export async function untilListening(child: ChildProcessByStdio<null, Readable, Readable>): Promise<ServiceProcess> {
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = once(child, "exit");
  let output = "";
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /Listening on (\S+)/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stdout.resume();
    return {
      url,
      child,
      output: () => output,
      errors: () => errors,
      async end(signal) {
        child.kill(signal);
        const [code, killedBy] = await ended;
        return code ?? killedBy;
      },
    };
  }
  throw new Error(`The service did not start:\n${errors}`);
}
