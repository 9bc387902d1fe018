import { spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { expect } from "vitest";
import { runCli } from "../../src/cli/main.ts";
import { createTestIo } from "./cli.ts";
import { PROGRAM } from "./program.ts";

/** `webhooks` on a terminal, with a simulated user. */
export interface Terminal {
  /** Waits for a question, then types. */
  answer(question: string, keys: string): Promise<void>;
  /** Types without waiting. */
  type(keys: string): void;
  /** Everything the terminal has shown, without colors and cursor moves. */
  shown(): string;
  /** The same as it was sent. */
  raw(): string;
  /** Waits for the end, and returns the exit code. */
  end(): Promise<number>;
}

export const ENTER = "\r";
export const DOWN = "\u001b[B";
export const INTERRUPT = "\u0003";

/** Runs `webhooks` in this process, on streams that look like a terminal. */
export function openTerminal(
  folder: string,
  args: string[],
  env: Record<string, string> = {},
): Terminal & { stop(): void } {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const stdout = Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY: true, columns: 200, rows: 50 });
  const { io, stop } = createTestIo(folder, { env });
  const ended = runCli(args, { ...io, stdin, stdout, stderr: stdout });
  return { ...createTerminal(stdout, stdin, ended), stop };
}

/** Runs `webhooks` as a program on a pseudo terminal, which util-linux's `script` creates. */
export function spawnTerminal(folder: string, args: string[], extra: Record<string, string> = {}): Terminal {
  const { INIT_CWD: _, WEBHOOKS_CONFIG: __, CI: ___, ...env } = process.env;
  const command = [process.execPath, PROGRAM, ...args].map((part) => `'${part}'`).join(" ");
  // A new terminal has no width.
  const sized = `stty rows 50 cols 200; exec ${command}`;
  const child = spawn("/usr/bin/script", ["--quiet", "--return", "--command", sized, "/dev/null"], {
    cwd: folder,
    env: { ...env, ...extra, TERM: "xterm" },
  });
  const ended = once(child, "close").then(([code]) => Number(code));
  return createTerminal(child.stdout.setEncoding("utf8"), child.stdin, ended);
}

function createTerminal(screen: Readable, keyboard: Writable, ended: Promise<number>): Terminal {
  let output = "";
  let seen = 0;
  screen.on("data", (text: string) => (output += text));
  return {
    async answer(question, keys) {
      const isAsked = (): boolean => output.includes(question, seen);
      await expect.poll(isAsked, { message: `${question}\n${output.slice(seen)}` }).toBe(true);
      seen = output.indexOf(question, seen) + question.length;
      keyboard.write(keys);
    },
    type: (keys) => void keyboard.write(keys),
    raw: () => output,
    shown: () => stripVTControlCharacters(output),
    end: () => ended,
  };
}

/** Answers what `init` asks: any sender, and OpenAI with its key. */
export async function answerInit(terminal: Terminal): Promise<void> {
  await terminal.answer("Who sends the first webhooks?", ENTER);
  await terminal.answer("Which model should answer?", DOWN + DOWN + ENTER);
  await terminal.answer("The model's name", `gpt-5.2${ENTER}`);
  await terminal.answer("Where is the key of openai?", ENTER);
  await terminal.answer("Key (hidden)", `sk-secret-key${ENTER}`);
}
