import { rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Provider } from "../config/schema/generated.ts";
import { DriverError } from "../errors.ts";
import type { AgentDriver, AgentReply, AgentTurn, HistoryEntry } from "./driver.ts";
import { toStartError, withoutSecrets } from "./errors.ts";
import { requireModelId } from "./model.ts";
import { type ProgramEnd, runProgram } from "./process.ts";

export interface CommandOptions {
  /** The provider's name in the config: the part of a model before the slash. */
  name: string;
  provider: Provider;
}

/** More is no reply: a program has run wild. */
const MAX_BYTES = 1024 * 1024;

/** sysexits.h: try again later. */
const EX_TEMPFAIL = 75;

const MAX_COMPLAINT_LENGTH = 300;

/**
 * Runs a program for each turn: the prompt on its standard input, the reply on its standard output, all else in its
 * environment. Exit code 0: it replied. 75 (EX_TEMPFAIL), or ended by a signal: worth another try. Any other: it will
 * fail again.
 */
export function createCommand(options: CommandOptions): AgentDriver {
  return {
    name: options.name,
    run: (turn, signal) => run(options, turn, signal),
  };
}

async function run(options: CommandOptions, turn: AgentTurn, signal: AbortSignal): Promise<AgentReply> {
  const model = requireModelId(options.name, turn.model);
  requireTime(options.name, signal);
  const end = await runTurn(options, { turn, model, signal });
  requireTime(options.name, signal);
  requireSuccess(end, options);
  return { text: end.output.replace(/\n+$/, ""), model: turn.model };
}

function requireTime(name: string, signal: AbortSignal): void {
  if (signal.aborted) throw new DriverError(`The run was stopped before ${name} replied.`, { retryable: true });
}

async function runTurn(
  { name, provider }: CommandOptions,
  { turn, model, signal }: { turn: AgentTurn; model: string; signal: AbortSignal },
): Promise<ProgramEnd> {
  const { command: [file, ...args] = [""], cwd, env = {} } = provider;
  try {
    return await withHistoryFile(turn.history, (history) => {
      const environment = toTurnEnvironment(turn, { model, history, mostBytes: MAX_BYTES }, env);
      const call = { command: [file, ...args], cwd, env: environment, input: turn.message } as const;
      return runProgram({ ...call, mostBytes: MAX_BYTES }, signal);
    });
  } catch (error) {
    throw toStartError(name, error);
  }
}

function requireSuccess(end: ProgramEnd, { name, provider }: CommandOptions): void {
  const { code, signal, overflowed, complaint } = end;
  if (overflowed) {
    throw new DriverError(`${name} wrote more than ${MAX_BYTES} bytes and was ended.`, { retryable: false });
  }
  if (code === 0) return;
  const passing = code === null || code === EX_TEMPFAIL;
  const ending = code === null ? `was ended by ${signal}` : `ended with code ${code}`;
  const words = withoutSecrets(complaint, Object.values(provider.env ?? {})).slice(-MAX_COMPLAINT_LENGTH);
  throw new DriverError(`${name} ${ending}${words && `: ${words}`}`, { retryable: passing });
}

/** What a program needs to find others and its own settings; the rest of the service's environment holds secrets. */
const PASSED_ON = ["PATH", "HOME", "LANG"];

interface TurnFacts {
  /** The model without its provider. */
  model: string;
  /** Path of the history's file. */
  history: string;
  /** How much the program may write to standard output. */
  mostBytes: number;
}

/** All that a program's environment holds: what `own` names, and the turn's `HOOKLINE_` variables over it. */
function toTurnEnvironment(turn: AgentTurn, facts: TurnFacts, own: Record<string, string>): NodeJS.ProcessEnv {
  return {
    ...toProgramEnvironment(own),
    HOOKLINE_RUN_ID: turn.runId,
    HOOKLINE_SESSION_KEY: turn.sessionKey,
    HOOKLINE_KIND: turn.kind,
    HOOKLINE_MODEL: facts.model,
    HOOKLINE_THINKING: turn.thinking,
    HOOKLINE_TIMEOUT_SECONDS: String(turn.timeoutSeconds),
    HOOKLINE_MAX_REPLY_BYTES: String(facts.mostBytes),
    HOOKLINE_ACK: turn.ack,
    HOOKLINE_HISTORY: facts.history,
  };
}

/** What a program's environment holds whatever it is asked: what it needs to run, and what `own` names. */
export function toProgramEnvironment(own: Record<string, string>): NodeJS.ProcessEnv {
  return { ...Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]])), ...own };
}

/** Those in use. */
const folders = new Set<string>();

// A service that is told to end at once does not wait for its turns, and leaves nothing of a session behind.
process.on("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Does work with a file, readable by this user only, that holds the history as JSON: an array of `{ role, text }`. */
async function withHistoryFile<Result>(
  history: HistoryEntry[],
  work: (file: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), "hookline-turn-"));
  folders.add(folder);
  try {
    const file = path.join(folder, "history.json");
    await writeFile(file, JSON.stringify(history), { mode: 0o600 });
    return await work(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
    folders.delete(folder);
  }
}
