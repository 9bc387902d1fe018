import type { FromSchema } from "json-schema-to-ts";
import { rmSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { DriverError } from "../core/errors.ts";
import type { DriverContext, DriverDefinition, OptionProblem } from "../core/ports/driver.ts";
import {
  findMissingProgram,
  pickEnvironment,
  type ProcessOptions,
  type ProgramResult,
  runProgram,
} from "../core/shared/system/child-process.ts";
import { NON_BLANK, objectSchema, TEXTS, COMMAND } from "../core/shared/json.ts";
import { createFolder } from "../core/shared/system/files.ts";
import { createTemporaryFolder } from "../core/shared/system/temporary-folder.ts";
import type { AgentDriver, AgentTurn } from "../core/ports/agent.ts";
import { assertNotAborted, requireModelId, toProgramMessage, toStartError } from "./errors.ts";

/** The options of a provider that runs a program: of `command` and of `acp`. */
export const programSchema = objectSchema(["command"], {
  command: {
    ...COMMAND,
    description:
      "The program and its arguments, run without a shell. command: once for each turn, the prompt on its standard input, the reply on its standard output. acp: once for many turns.",
  },
  cwd: { ...NON_BLANK, description: "The folder that the program runs in. Default: the configuration file's." },
  env: {
    ...TEXTS,
    description: "Variables of the program besides PATH, HOME, LANG and, for command, the turn's HOOKLINE_ variables.",
  },
});

type CommandOptions = FromSchema<typeof programSchema>;

export const command: DriverDefinition<AgentDriver, CommandOptions> = {
  schema: programSchema,
  check: checkProgram,
  create: createCommand,
};

/** Warns of a program that is missing. */
export function checkProgram(options: CommandOptions, { baseDir }: Pick<DriverContext, "baseDir">): OptionProblem[] {
  return findMissingProgram(options.command, toProcess(options, baseDir));
}

const MAX_REPLY_BYTES = 1024 * 1024;

/** sysexits.h: a temporary failure. */
const EX_TEMPFAIL = 75;

/** Runs a program for each turn. Exit code 0 is a reply. 75 (EX_TEMPFAIL) and a signal are retryable, other codes are not. */
export function createCommand(
  options: CommandOptions,
  { name, baseDir, tempDir }: Pick<DriverContext, "name" | "baseDir" | "tempDir">,
): AgentDriver {
  const program = toProcess(options, baseDir);
  return {
    name,
    async run(turn, signal) {
      const model = requireModelId(name, turn.model);
      assertNotAborted(name, signal);
      const result = await withHistoryFile(turn, tempDir, (historyFile) =>
        runProgram(
          {
            ...program,
            env: { ...program.env, ...toTurnVariables({ ...turn, model }, historyFile) },
            input: turn.message,
            maxOutputBytes: MAX_REPLY_BYTES,
          },
          signal,
        ),
      ).catch((error: unknown) => {
        throw toStartError(name, error);
      });
      assertNotAborted(name, signal);
      return { text: readReply(result, { name, secrets: Object.values(options.env ?? {}) }), model: turn.model };
    },
  };
}

/** The program of a provider. It has the variables that it needs to find others and its settings, and those of `env`. */
export function toProcess(
  { command: given, cwd = "", env }: CommandOptions,
  baseDir: string,
): ProcessOptions & { cwd: string } {
  return {
    command: given,
    cwd: path.resolve(baseDir, cwd),
    env: { ...pickEnvironment(["PATH", "HOME", "LANG"]), ...env },
  };
}

function toTurnVariables(turn: AgentTurn, historyFile: string): NodeJS.ProcessEnv {
  return {
    HOOKLINE_RUN_ID: turn.runId,
    HOOKLINE_SESSION_KEY: turn.sessionKey,
    HOOKLINE_KIND: turn.kind,
    HOOKLINE_MODEL: turn.model,
    HOOKLINE_THINKING: turn.thinking,
    HOOKLINE_TIMEOUT_SECONDS: String(turn.timeoutSeconds),
    HOOKLINE_MAX_OUTPUT_TOKENS: turn.maxOutputTokens?.toString(),
    HOOKLINE_MAX_REPLY_BYTES: String(MAX_REPLY_BYTES),
    HOOKLINE_ACK: turn.ack,
    HOOKLINE_HISTORY: historyFile,
  };
}

function readReply(
  { code, signal, output, errorOutput }: ProgramResult,
  { name, secrets }: { name: string; secrets: string[] },
): string {
  if (output === undefined) {
    throw new DriverError(`${name} wrote more than ${MAX_REPLY_BYTES} bytes and was killed.`, { retryable: false });
  }
  if (code === 0) return output.replace(/\n+$/, "");
  const ending = code === null ? `was killed by ${signal}` : `exited with code ${code}`;
  const message = toProgramMessage(errorOutput, secrets);
  throw new DriverError(`${name} ${ending}${message && `: ${message}`}`, {
    retryable: code === null || code === EX_TEMPFAIL,
  });
}

/** The folders in use. A service that is killed by a second signal does not wait for its turns. */
const folders = new Set<string>();
process.on("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Calls `work` with a file, readable by this user only, that holds the history as JSON: an array of `{ role, text }`. */
async function withHistoryFile<Result>(
  { history }: AgentTurn,
  tempDir: string,
  work: (file: string) => Promise<Result>,
): Promise<Result> {
  createFolder(tempDir, 0o700);
  const folder = createTemporaryFolder(tempDir);
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
