import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { isObject } from "../config/is-object.ts";
import { DriverError } from "../errors.ts";

export interface ImsgCall {
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
export async function callImsg(
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
async function findAnswer(
  id: string,
  lines: AsyncIterable<string>,
): Promise<Record<string, unknown> | undefined> {
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
    "lasting",
    `${program} could not be started: ${code}. iMessage needs a Mac: install imsg there (brew install steipete/tap/imsg), ` +
      'or let channels.imessage.command reach one: ["ssh", "mac", "imsg", "rpc"].',
  );
}

function stopped(): DriverError {
  return passing("The delivery was stopped before imsg answered.");
}

function passing(message: string): DriverError {
  return new DriverError("passing", message);
}

function ignore(): void {}
