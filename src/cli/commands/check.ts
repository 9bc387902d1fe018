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
    .action((flags: CheckFlags) => check(flags, io));
}

interface CheckFlags {
  config?: string;
  json: boolean;
}

async function check(flags: CheckFlags, io: CliIo): Promise<void> {
  await withProgram(flags.config, io, async ({ config: { file, hooks }, warnings }) => {
    const mappings = hooks.mappings.map(({ id }) => id);
    if (flags.json) return printJson(io, { ok: true, file, mappings, problems: [], warnings });
    printError(io, ...warnings.map((warning) => `warning: ${toSentence(warning)}`));
    const names = mappings.length > 0 ? `: ${mappings.join(", ")}` : "";
    print(io, `${file} is valid (${formatCount(mappings.length, "mapping")}${names})`);
  }).catch((error: unknown) => {
    if (!flags.json || !(error instanceof ConfigError)) throw error;
    printJson(io, { ok: false, problems: error.problems });
    io.exitCode = 1;
  });
}
