import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import type { Command } from "commander";
import { ConfigError, type ConfigProblem, toSentence } from "../../errors.ts";
import { parseObject, readPath } from "../../shared/json.ts";
import { CONFIG_HELP, EXIT_CODES } from "../command.ts";
import { tryProgram } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printError, printJson, printWarnings } from "../io.ts";

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

async function check(flags: CheckFlags, io: CliIo): Promise<void> {
  const { program, problems } = await tryProgram(flags.config, io);
  const { config, warnings = [] } = program ?? {};
  if (config && flags.types) problems.push(...(await checkTypes(config.hooks.transformsDir, config.baseDir)));
  const mappings = config?.hooks.mappings.map(({ id }) => id) ?? [];
  const isOk = problems.length === 0 && !(flags.strict && warnings.length > 0);
  if (!isOk) io.exitCode = EXIT_CODES.failed;
  if (flags.json) return printJson(io, { ok: isOk, file: config?.file, mappings, problems, warnings });
  printWarnings(io, warnings.map(toSentence));
  if (problems.length > 0) throw new ConfigError(problems);
  const names = mappings.length > 0 ? `: ${mappings.join(", ")}` : "";
  if (isOk) print(io, `${config?.file} is valid (${formatCount(mappings.length, "mapping")}${names})`);
  else printError(io, `${formatCount(warnings.length, "warning")}, which --strict does not allow.`);
}

const MAX_OUTPUT = 16 * 1024 * 1024;

/** Checks the types of the transforms in a folder with the TypeScript that is installed in the project. */
async function checkTypes(folder: string, projectDir: string): Promise<ConfigProblem[]> {
  const compiler = findCompiler(projectDir);
  if (compiler === undefined) {
    const message = `There is no TypeScript in ${projectDir}, which --types needs: npm install --save-dev typescript`;
    return [{ message }];
  }
  const project = [folder, projectDir].map((dir) => path.join(dir, "tsconfig.json")).find((file) => existsSync(file));
  if (project === undefined) {
    return [{ message: `There is no tsconfig.json in ${folder}: \`webhooks init\` writes one.` }];
  }
  const output = await run(compiler, ["-p", project, "--noEmit", "--pretty", "false"], path.dirname(project));
  return toProblems(output, path.dirname(project));
}

function findCompiler(projectDir: string): string | undefined {
  try {
    const manifest = createRequire(path.join(projectDir, "x.js")).resolve("typescript/package.json");
    const bin = readPath(parseObject(readFileSync(manifest, "utf8")), ["bin", "tsc"]);
    return typeof bin === "string" ? path.join(path.dirname(manifest), bin) : undefined;
  } catch {
    return undefined;
  }
}

/** Its standard output, whatever its exit code. */
function run(compiler: string, args: string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [compiler, ...args], { cwd, maxBuffer: MAX_OUTPUT }, (error, stdout, stderr) => {
      // It exits with 1 or 2 when it finds something.
      if (error && stdout === "") reject(new Error(`TypeScript failed: ${stderr || error.message}`, { cause: error }));
      else resolve(stdout);
    });
  });
}

/** `ci.ts(2,3): error TS2322: …`, with further lines indented. */
function toProblems(output: string, baseDir: string): ConfigProblem[] {
  return [...output.matchAll(/^(?:(\S.*?)\((\d+),(\d+)\): )?error (TS\d+: .*(?:\n {2}.*)*)$/gm)].map(
    ([, file, line, column, message = ""]) => ({
      message,
      ...(file !== undefined && { file: path.resolve(baseDir, file), line: Number(line), column: Number(column) }),
    }),
  );
}
