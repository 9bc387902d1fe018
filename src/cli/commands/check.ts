import type { Command } from "commander";
import { ConfigError, toSentence } from "../../errors.ts";
import { CONFIG_HELP } from "../command.ts";
import { withProgram } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printError, printJson } from "../io.ts";

export function addCheck(program: Command, io: CliIo): void {
  program
    .command("check")
    .description("Load and compile everything, print every problem, exit 1 when there is one.")
    .option("--config <file>", CONFIG_HELP)
    .option("--json", "print one JSON object: ok, file, mappings, problems, warnings", false)
    .action((flags: CheckFlags) => (flags.json ? checkAsJson(flags, io) : check(flags, io)));
}

interface CheckFlags {
  config?: string;
  json: boolean;
}

async function checkAsJson(flags: CheckFlags, io: CliIo): Promise<void> {
  try {
    await withProgram(flags.config, io, async ({ config, warnings }) => {
      const mappings = config.hooks.mappings.map(({ id }) => id);
      printJson(io, { ok: true, file: config.file, mappings, problems: [], warnings });
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printJson(io, { ok: false, problems: error.problems });
    io.exitCode = 1;
  }
}

async function check(flags: CheckFlags, io: CliIo): Promise<void> {
  await withProgram(flags.config, io, async ({ config, warnings }) => {
    printError(io, ...warnings.map((warning) => `warning: ${toSentence(warning)}`));
    const { mappings } = config.hooks;
    const names = mappings.map(({ id }) => id).join(", ");
    const count = formatCount(mappings.length, "mapping");
    print(io, `${config.file} is valid (${names ? `${count}: ${names}` : count})`);
  });
}
