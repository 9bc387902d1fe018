import type { Command } from "commander";
import { resolveRequest } from "../../mapping/resolve.ts";
import { runTrial, type Trial } from "../../operator/trial.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addPair, CONFIG_HELP, EXIT_CODES } from "../command.ts";
import { readPayload, withProgram } from "../context.ts";
import { formatActions, formatLog } from "../format.ts";
import { type CliIo, print, printError, printJson, style } from "../io.ts";

interface TryFlags {
  config?: string;
  header: Record<string, string>;
  query: Record<string, string>;
  json: boolean;
}

export function addTry(program: Command, io: CliIo): void {
  program
    .command("try")
    .description("Show the action that a payload leads to. Nothing is recorded or dispatched.")
    .argument("<hook>", "name of the hook: what follows the hooks path in its URL")
    .argument("<payload-file>", "file with the JSON payload; - for standard input")
    .option("--config <file>", CONFIG_HELP)
    .option("--header <name:value>", "a header of the request; may be repeated", addPair(":"), {})
    .option("--query <name=value>", "a query parameter; may be repeated", addPair("="), {})
    .option("--json", "print JSON on a terminal too; elsewhere it is the default", false)
    .action((hook: string, payloadFile: string, flags: TryFlags) => tryHook(hook, payloadFile, flags, io));
}

/** Exit code 1 when the service would refuse the payload. */
async function tryHook(hook: string, payloadFile: string, flags: TryFlags, io: CliIo): Promise<void> {
  const payload = await readPayload(payloadFile, io);
  await withProgram(flags.config, io, async (program, { run }) => {
    const trial = await runTrial({ hook, payload, headers: flags.header, query: flags.query }, program, {
      resolve: (request) => resolveRequest(request, { ...program, run }),
    });
    if (io.stdout.isTTY && !flags.json) print(io, ...formatTrial(hook, trial));
    else printTrialJson(trial, io);
    if (!trial.ok) io.exitCode = EXIT_CODES.failed;
  });
}

/** The result goes to standard output, what is for a person to standard error. */
function printTrialJson({ log, ...trial }: Trial, io: CliIo): void {
  printError(io, ...formatLog(log));
  if (!trial.ok && trial.detail) printError(io, toPrintable(trial.detail));
  printJson(io, trial);
}

/** The trial for a person: the mapping, the time taken, the log, then the actions or what went wrong. */
export function formatTrial(hook: string, trial: Trial): string[] {
  const time = style("dim", `${trial.durationMs.toFixed(1)} ms`);
  const log = formatLog(trial.log);
  const logBlock = log.length > 0 ? [...log, ""] : [];
  const mapping = trial.mapping === undefined ? "" : `, mapping ${trial.mapping}`;
  if (!trial.ok) {
    const answer = style("red", `✗ ${hook} would be answered with ${trial.status} ${trial.code}`);
    return [`${answer}${mapping} ${time}`, "", ...logBlock, toPrintable(trial.detail ?? trial.error)];
  }
  const event = trial.event === undefined ? "" : `, event ${toPrintable(trial.event)}`;
  const warnings = trial.warnings.map((warning) => style("yellow", `warning: ${warning}`));
  return [
    `${style("green", `✓ ${hook}`)}${mapping}${event} ${time}`,
    "",
    ...logBlock,
    ...warnings,
    ...formatActions(trial.actions, trial.reason),
  ];
}
