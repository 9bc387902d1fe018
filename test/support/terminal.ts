import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect } from "vitest";

const main = path.join(import.meta.dirname, "../../src/cli/webhooks.ts");

/** `webhooks` on a terminal of its own, and a person at it. */
export interface Terminal {
  /** Waits for a question, then types. */
  answer(question: string, keys: string): Promise<void>;
  /** All that the terminal has shown, without colours and cursor moves. */
  shown(): string;
  /** Gives the exit code. */
  end(): Promise<number>;
}

export const ENTER = "\r";
export const DOWN = "\u001b[B";
export const INTERRUPT = "\u0003";

/** Runs `webhooks` in a folder on a pseudo terminal, which util-linux's `script` makes. */
export function openTerminal(folder: string, args: string[]): Terminal {
  const { INIT_CWD: _, WEBHOOKS_CONFIG: __, CI: ___, ...env } = process.env;
  const command = [process.execPath, main, ...args].map((part) => `'${part}'`).join(" ");
  // A new one has no width at all.
  const sized = `stty rows 50 cols 200; exec ${command}`;
  const child = spawn("/usr/bin/script", ["--quiet", "--return", "--command", sized, "/dev/null"], {
    cwd: folder,
    env: { ...env, TERM: "xterm" },
  });
  const ended = once(child, "close");
  let output = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  return {
    async answer(question, keys) {
      const isAsked = (): boolean => output.includes(question, seen);
      await expect.poll(isAsked, { timeout: 60_000, message: `${question}\n${output.slice(seen)}` }).toBe(true);
      seen = output.indexOf(question, seen) + question.length;
      child.stdin.write(keys);
    },
    shown: () => stripVTControlCharacters(output),
    async end() {
      const [code] = await ended;
      return Number(code);
    },
  };
}
