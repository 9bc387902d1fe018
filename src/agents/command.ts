import { constants } from "node:os";
import { DriverError } from "../core/errors.ts";
import type { AgentDriver } from "../core/ports/agent.ts";
import type { DriverDefinition } from "../core/ports/driver.ts";
import { type ProgramResult, runProgram } from "../core/shared/system/child-process.ts";
import { assertNotAborted, requireModelId, toProgramMessage } from "./errors.ts";
import {
  checkProgram,
  MAX_REPLY_BYTES,
  preparePrograms,
  type ProgramContext,
  type ProgramOptions,
  programSchema,
  withFileNames,
} from "./workspace/program.ts";

export const command: DriverDefinition<AgentDriver, ProgramOptions> = {
  schema: programSchema,
  check: checkProgram,
  create: createCommand,
};

/** sysexits.h: a temporary failure. */
const EX_TEMPFAIL = 75;

/** Runs a program for each turn. Exit code 0 is a reply. 75 (EX_TEMPFAIL) and a signal are retryable, other codes are not. */
export function createCommand(options: ProgramOptions, context: ProgramContext): AgentDriver {
  const { name } = context;
  const secrets = Object.values(options.env ?? {});
  const prepare = preparePrograms(options, { ...context, kind: "command" });
  return {
    name,
    makesCalls: () => options.sandbox !== false,
    hasWorkspaces: () => options.sandbox !== false,
    async run(given, signal) {
      const turn = withFileNames(given, options);
      const model = requireModelId(name, turn.model);
      assertNotAborted(name, signal);
      return await prepare({ ...turn, model }, signal, async ({ process, isBoxed, words }, turnSignal) => {
        const work = { ...process, input: words + turn.message, maxOutputBytes: MAX_REPLY_BYTES };
        const result = await runProgram(work, turnSignal);
        assertNotAborted(name, turnSignal);
        return { text: readReply(isBoxed ? withSignal(result) : result, { name, secrets }), model: turn.model };
      });
    },
  };
}

/** A box ends with 128 and the number of the signal that ended its program, as a shell does. */
function withSignal(result: Ending): Ending {
  const [signal] = Object.entries(constants.signals).find(([, number]) => number + 128 === result.code) ?? [];
  return signal === undefined ? result : { ...result, code: null, signal };
}

interface Ending extends Omit<ProgramResult, "signal"> {
  signal: string | null;
}

function readReply(
  { code, signal, output, errorOutput }: Ending,
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
