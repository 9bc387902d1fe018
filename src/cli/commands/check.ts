import type { Command } from "commander";
import { ConfigError, type ConfigProblem, toSentence } from "../../errors.ts";
import { CONFIG_HELP } from "../command.ts";
import { withProgram } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printError, printJson } from "../io.ts";
import { checkTypes } from "../samples/types.ts";

export function addCheck(program: Command, io: CliIo): void {
  program
    .command("check")
    .description("Load and compile the configuration, and print all problems. Exits 1 if there is one.")
    .option("--config <file>", CONFIG_HELP)
    .option("--strict", "exit 1 on a warning too", false)
    .option("--types", "check the types of the transforms too, with the project's own TypeScript", false)
    .option("--json", "print one JSON object: ok, file, mappings, problems, warnings", false)
    .action((flags: CheckFlags) => check(flags, io));
}

interface CheckFlags {
  config?: string;
  strict: boolean;
  types: boolean;
  json: boolean;
}

interface Checked {
  file: string | undefined;
  mappings: string[];
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
}

async function check(flags: CheckFlags, io: CliIo): Promise<void> {
  const { file, mappings, problems, warnings } = await load(flags, io);
  const isOk = problems.length === 0 && !(flags.strict && warnings.length > 0);
  if (!isOk) io.exitCode = 1;
  if (flags.json) return printJson(io, { ok: isOk, file, mappings, problems, warnings });
  printError(io, ...warnings.map((warning) => `warning: ${toSentence(warning)}`));
  if (problems.length > 0) throw new ConfigError(problems);
  const names = mappings.length > 0 ? `: ${mappings.join(", ")}` : "";
  const count = `${formatCount(mappings.length, "mapping")}${names}`;
  if (isOk) print(io, `${file} is valid (${count})`);
  else printError(io, `${formatCount(warnings.length, "warning")}, which --strict does not allow.`);
}

async function load({ config, types }: CheckFlags, io: CliIo): Promise<Checked> {
  const checked: Checked = { file: undefined, mappings: [], problems: [], warnings: [] };
  try {
    await withProgram(config, io, async ({ config: { file, baseDir, hooks }, warnings }) => {
      const problems = types ? await checkTypes(hooks.transformsDir, baseDir) : [];
      Object.assign(checked, { file, mappings: hooks.mappings.map(({ id }) => id), problems, warnings });
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    checked.problems.push(...error.problems);
  }
  return checked;
}
