import { execFile } from "node:child_process";
import path from "node:path";
import { onTestFailed } from "vitest";

const main = path.join(import.meta.dirname, "../../src/cli/main.ts");

/** How a command ended, and what it wrote. */
export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `webhooks` as a process of its own in a folder. */
export function runWebhooks(folder: string, ...args: string[]): Promise<CliResult> {
  return run(folder, process.execPath, [main, ...args]);
}

/**
 * Runs a program in a folder, as from a plain shell: not from npm, and without colours. A test that fails shows how its
 * programs ended.
 */
export function run(folder: string, file: string, args: string[]): Promise<CliResult> {
  const { INIT_CWD: _, WEBHOOKS_CONFIG: __, FORCE_COLOR: ___, ...env } = process.env;
  const ended = new Promise<CliResult>((resolve) => {
    execFile(file, args, { cwd: folder, env: { ...env, NO_COLOR: "1" } }, (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : Number(error !== null);
      resolve({ code, stdout, stderr });
    });
  });
  onTestFailed(async () => console.error([file, ...args].join(" "), await ended));
  return ended;
}
