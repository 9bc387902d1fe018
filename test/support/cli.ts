import { execFile } from "node:child_process";
import path from "node:path";

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

/** Runs a program in a folder, as from a plain shell: not from npm, and without colours. */
export function run(folder: string, file: string, args: string[]): Promise<CliResult> {
  const { INIT_CWD: _, WEBHOOKS_CONFIG: __, FORCE_COLOR: ___, ...env } = process.env;
  return new Promise((resolve) => {
    execFile(file, args, { cwd: folder, env: { ...env, NO_COLOR: "1" } }, (error, stdout, stderr) => {
      resolve({
        code: typeof error?.code === "number" ? error.code : Number(error !== null),
        stdout,
        stderr,
      });
    });
  });
}
