import type { ChildProcessByStdio } from "node:child_process";
import type { Readable } from "node:stream";
import { type ServiceProcess, spawnProgram, untilListening } from "../../src/cli/demo/service-process.ts";
import { PROGRAM } from "./program.ts";

export type { ServiceProcess };

/** Starts `webhooks serve` as a separate process and waits until it listens; rejects if it ends before. */
export function startProcess(configFile: string, env: Record<string, string> = {}, port = 0): Promise<ServiceProcess> {
  return untilListening(spawnService(configFile, env, port));
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
  return spawnProgram(PROGRAM, args, env);
}
