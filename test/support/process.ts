import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { PROGRAM } from "./program.ts";

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

/** Starts `webhooks serve` as a separate process and waits until it listens; rejects if it ends before. */
export async function startProcess(
  configFile: string,
  env: Record<string, string> = {},
  port = 0,
): Promise<ServiceProcess> {
  const child = spawnService(configFile, env, port);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = once(child, "exit");
  let output = "";

  for await (const line of createInterface({ input: child.stdout })) {
    const url = /Listening on (\S+)/.exec(line)?.[1];
    if (!url) continue;
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
  throw new Error(`the service did not start:\n${errors}`);
}

/** Starts `webhooks serve` as a separate process, without waiting. */
export function spawnService(
  configFile: string,
  env: Record<string, string> = {},
  port = 0,
): ChildProcessByStdio<null, Readable, Readable> {
  return spawnWebhooks(["serve", "--config", configFile, "--port", String(port)], env);
}

/** Starts `webhooks` as a separate process. The caller must read both outputs. */
export function spawnWebhooks(
  args: string[],
  env: Record<string, string> = {},
): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
}
