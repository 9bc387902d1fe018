import type { Command } from "commander";
import { toSentence } from "../../errors.ts";
import { CONFIG_HELP } from "../command.ts";
import { withProgram } from "../context.ts";
import { type CliIo, print, printError } from "../io.ts";

export function addCheck(program: Command, io: CliIo): void {
  program
    .command("check")
    .description("Load and compile everything, print every problem, exit 1 when there is one.")
    .option("--config <file>", CONFIG_HELP)
    .action((flags: { config?: string }) => check(flags, io));
}

async function check(flags: { config?: string }, io: CliIo): Promise<void> {
  await withProgram(flags.config, io, async ({ config, warnings }) => {
    printError(io, ...warnings.map((warning) => `warning: ${toSentence(warning)}`));
    const { mappings } = config.hooks;
    const names = mappings.map(({ id }) => id).join(", ");
    const count = mappings.length === 1 ? "1 mapping" : `${mappings.length} mappings`;
    print(io, `${config.file} is valid (${names ? `${count}: ${names}` : count})`);
  });
}
