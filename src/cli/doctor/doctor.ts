import type { Command } from "commander";
import path from "node:path";
import { toPrintable } from "../../telemetry/log.ts";
import { CONFIG_HELP, EXIT_CODES } from "../command.ts";
import { locateConfig } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import { checkConfiguration } from "./configuration.ts";
import {
  checkDisk,
  checkNode,
  checkRemote,
  type CheckResult,
  checkSandbox,
  checkStateFolder,
  checkWatcher,
} from "./surroundings.ts";

export function addDoctor(program: Command, io: CliIo): void {
  program
    .command("doctor")
    .summary("Check configuration and machine before the service is deployed.")
    .description(
      "Check configuration and machine before the service is deployed: the problems and warnings of `webhooks check`, who " +
        "can reach it, secrets, unsafe content, state folder, disk, file watcher, sandbox, database and clock. Exits 1 on a problem.",
    )
    .option("--config <file>", CONFIG_HELP)
    .option("--json", "print one JSON object: ok, checks", false)
    .action((flags: { config?: string; json: boolean }) => diagnose(flags, io));
}

async function diagnose({ config: flag, json }: { config?: string; json: boolean }, io: CliIo): Promise<void> {
  const file = locateConfig(flag, io);
  const { config, results } = await checkConfiguration(file, io);
  const checks = [
    checkNode(),
    ...results,
    ...(config ? [checkStateFolder(config.store.path), checkDisk(config.store.path)] : []),
    checkWatcher(path.dirname(file)),
    await checkSandbox(),
    ...(config ? await checkRemote(config) : []),
  ];
  const problems = checks.filter(({ level }) => level === "problem");
  if (problems.length > 0) io.exitCode = EXIT_CODES.failed;
  if (json) return printJson(io, { ok: problems.length === 0, checks });
  print(
    io,
    ...checks.flatMap(formatResult),
    "",
    problems.length === 0 ? "No problems." : formatCount(problems.length, "problem") + ".",
  );
}

const MARKS = { ok: style("green", "✓"), note: style("dim", "–"), problem: style("red", "✗") };
const WIDTH = 14;

function formatResult({ name, level, message, next }: CheckResult): string[] {
  // The key of a problem is too long for a column.
  const head = level === "problem" ? `${name}: ` : `${name.padEnd(WIDTH)} `;
  const line = `${MARKS[level]} ${head}${toPrintable(message)}`;
  return next === undefined ? [line] : [line, style("dim", `  → ${next}`)];
}
