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

/** Runs `webhooks mail setup` in a folder, with nobody at a terminal. `answer`: what it printed, where that is JSON. */
export async function setUpMail(
  folder: string,
  flags: string[],
  surroundings?: Surroundings,
): Promise<CliResult & { answer: unknown }> {
  const result = await run(folder, process.execPath, [main, "mail", "setup", ...flags], surroundings);
  return { ...result, answer: result.stdout.startsWith("{") ? JSON.parse(result.stdout) : undefined };
}

/** What a program finds beside its arguments. */
interface Surroundings {
  /** What is piped in. */
  input?: string;
  /** Variables beside this process's own. */
  env?: Record<string, string>;
}

/**
 * Runs a program in a folder, as from a plain shell: not from npm, and without colours. A test that fails shows how its
 * programs ended.
 */
export function run(
  folder: string,
  file: string,
  args: string[],
  { input = "", env = {} }: Surroundings = {},
): Promise<CliResult> {
  const { INIT_CWD: _, WEBHOOKS_CONFIG: __, FORCE_COLOR: ___, ...own } = process.env;
  const ended = new Promise<CliResult>((resolve) => {
    const options = { cwd: folder, env: { ...own, ...env, NO_COLOR: "1" } };
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : Number(error !== null);
      resolve({ code, stdout, stderr });
    });
    child.stdin?.end(input);
  });
  onTestFailed(async () => console.error([file, ...args].join(" "), await ended));
  return ended;
}
