import type { Provider } from "../config/generated.ts";
import { DriverError } from "../errors.ts";
import { withHistoryFile } from "./history-file.ts";
import { requireModelId } from "./model-id.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "./port.ts";
import { withoutSecrets } from "./without-secrets.ts";
import { type ProgramEnd, runProgram } from "./run-program.ts";
import { toStartError } from "./start-error.ts";
import { toTurnEnvironment } from "./turn-environment.ts";

export interface CommandOptions {
  /** The provider's name in the config: the part of a model before the slash. */
  name: string;
  provider: Provider;
}

/** More is no reply: a program has run wild. */
const MOST_BYTES = 1024 * 1024;

/** sysexits.h: try again later. */
const EX_TEMPFAIL = 75;

const LONGEST_COMPLAINT = 300;

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
  if (signal.aborted) throw new DriverError("passing", `The run was stopped before ${name} replied.`);
}

async function runTurn(
  { name, provider }: CommandOptions,
  { turn, model, signal }: { turn: AgentTurn; model: string; signal: AbortSignal },
): Promise<ProgramEnd> {
  const { command: [file, ...args] = [""], cwd, env = {} } = provider;
  try {
    return await withHistoryFile(turn.history, (history) => {
      const environment = toTurnEnvironment(turn, { model, history, mostBytes: MOST_BYTES }, env);
      const call = { command: [file, ...args], cwd, env: environment, input: turn.message } as const;
      return runProgram({ ...call, mostBytes: MOST_BYTES }, signal);
    });
  } catch (error) {
    throw toStartError(name, error);
  }
}

function requireSuccess(end: ProgramEnd, { name, provider }: CommandOptions): void {
  const { code, signal, overflowed, complaint } = end;
  if (overflowed) {
    throw new DriverError("lasting", `${name} wrote more than ${MOST_BYTES} bytes and was ended.`);
  }
  if (code === 0) return;
  const passing = code === null || code === EX_TEMPFAIL;
  const ending = code === null ? `was ended by ${signal}` : `ended with code ${code}`;
  const words = withoutSecrets(complaint, Object.values(provider.env ?? {})).slice(-LONGEST_COMPLAINT);
  throw new DriverError(passing ? "passing" : "lasting", `${name} ${ending}${words && `: ${words}`}`);
}
