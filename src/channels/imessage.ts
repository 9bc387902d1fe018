import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { DriverError } from "../errors.ts";
import { isObject } from "../shared/json.ts";
import type { ChannelDriver, OutgoingMessage } from "./driver.ts";

export interface ImessageOptions {
  /** A program and its arguments that speak the JSON-RPC of `imsg rpc`: `["ssh", "mac", "imsg", "rpc"]`. */
  command?: string[];
}

/**
 * Sends through `imsg`, which drives Messages on a Mac. It knows no idempotency key: a message whose answer was lost may
 * come twice.
 */
export function createImessage({ command = ["imsg", "rpc"] }: ImessageOptions): ChannelDriver {
  return {
    name: "imessage",
    limit: 4000,
    checkRecipient: (to) => void toTarget(to),
    send: (message, signal) => send(command, message, signal),
  };
}

type Target = { to: string } | { chat_id: number } | { chat_guid: string } | { chat_identifier: string };

const NUMBER_OR_ADDRESS = /^(?:\+?\d{3,15}|[^\s@:]+@[^\s@:]+\.[^\s@:]+)$/;
const CHAT = /^(chat_guid|chat_identifier):(\S+)$/;
const CHAT_ID = /^chat_id:([1-9]\d{0,14})$/;

function toTarget(to: string): Target {
  if (NUMBER_OR_ADDRESS.test(to)) return { to };
  const chatId = CHAT_ID.exec(to)?.[1];
  if (chatId) return { chat_id: Number(chatId) };
  const [, kind, id] = CHAT.exec(to) ?? [];
  if (id) return kind === "chat_guid" ? { chat_guid: id } : { chat_identifier: id };
  throw new DriverError(
    "Expected a number such as +15551234567, an e-mail address, or a chat as `imsg chats --json` shows it: chat_id:42, chat_guid:… or chat_identifier:….",
    { retryable: false },
  );
}

async function send(
  command: string[],
  { to, text, idempotencyKey }: OutgoingMessage,
  signal: AbortSignal,
): Promise<{ messageId?: string }> {
  const params = { ...toTarget(to), text };
  const answer = await callImsg(command, { id: idempotencyKey, method: "send", params }, signal);
  const { error, result } = answer;
  if (!isObject(result)) throw toDriverError(error);
  return { messageId: typeof result["guid"] === "string" ? result["guid"] : undefined };
}

/** Refusals that say nothing against the message: https://github.com/openclaw/imsg/blob/main/docs/rpc.md */
const PASSING_CODES = new Set([
  -32_000, // busy
  -32_002, // the database of Messages is out of reach
  -32_004, // an earlier message is still in flight
  -32_603, // anything unforeseen, a permission that is missing among them
]);

const ADVICE = new Map<unknown, string>([
  // imsg asks not to try these again: nobody knows whether they went out.
  [-32_001, "It may have been sent: look into Messages before you retry it."],
  [-32_002, "Give the program that runs imsg Full Disk Access."],
  [-32_601, "This imsg cannot send: it can on macOS only."],
  [-32_602, "Check the recipient."],
  [-32_603, "Check that Messages is signed in, and that imsg may control it (Privacy & Security, Automation)."],
]);

/** Sorts a JSON-RPC error of imsg by whether another try can help. */
export function toDriverError(error: unknown): DriverError {
  const code = isObject(error) ? error["code"] : undefined;
  if (typeof code !== "number") return new DriverError("The answer of imsg could not be read.", { retryable: true });
  // The words of the error may hold the recipient.
  const message = `imsg refused the message: ${code}. ${ADVICE.get(code) ?? ""}`.trim();
  return new DriverError(message, { retryable: PASSING_CODES.has(code) });
}

interface ImsgCall {
  id: string;
  method: string;
  params: object;
}

/**
 * Calls a method of `imsg rpc` and resolves to its answer: an object with `result` or `error`. Rejects with a
 * `DriverError` where none came.
 *
 * Each call has a process of its own, that ends with it: an abort then stops no other call, and an `imsg` that a hung
 * message keeps from sending is gone with that message.
 */
async function callImsg(
  [program = "", ...args]: string[],
  call: ImsgCall,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  if (signal.aborted) throw stopped();
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "ignore"],
    env: childEnvironment(),
    signal,
    killSignal: "SIGKILL",
  });
  // A pipe that breaks and an abort show as an answer that never comes.
  child.on("error", ignore);
  child.stdin.on("error", ignore);
  try {
    await once(child, "spawn");
    // imsg finishes what it has taken, then ends with its input.
    child.stdin.end(`${JSON.stringify({ jsonrpc: "2.0", ...call })}\n`);
    const answer = await findAnswer(call.id, createInterface({ input: child.stdout, signal }));
    if (answer) return answer;
  } catch (error) {
    if (!signal.aborted) throw notStarted(program, error);
  } finally {
    child.kill();
  }
  throw signal.aborted ? stopped() : passing(`${program} ended without an answer.`);
}

/** Between the answers stand notifications. */
async function findAnswer(id: string, lines: AsyncIterable<string>): Promise<Record<string, unknown> | undefined> {
  for await (const line of lines) {
    const answer = parseObject(line);
    if (answer?.["id"] === id) return answer;
  }
  return undefined;
}

/** What imsg and ssh need, and none of the service's secrets. */
const PASSED_ON = ["PATH", "HOME", "USER", "LANG", "SSH_AUTH_SOCK"];

function childEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]]));
}

function parseObject(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function notStarted(program: string, error: unknown): DriverError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  if (code !== "ENOENT" && code !== "EACCES") return passing(`${program} could not be started: ${code}.`);
  return new DriverError(
    `${program} could not be started: ${code}. iMessage needs a Mac: install imsg there (brew install steipete/tap/imsg), ` +
      'or let channels.imessage.command reach one: ["ssh", "mac", "imsg", "rpc"].',
    { retryable: false },
  );
}

function stopped(): DriverError {
  return passing("The delivery was stopped before imsg answered.");
}

function passing(message: string): DriverError {
  return new DriverError(message, { retryable: true });
}

function ignore(): void {}
