import { readFileSync } from "node:fs";
import path from "node:path";
import { ConfigError, messageOf } from "../errors.ts";
import { resolveRequest } from "../mapping/resolve.ts";
import { runTrial, type Trial } from "../operator/trial.ts";
import { workingFolder } from "./locate.ts";
import { printLog } from "./print-log.ts";
import { printTrial } from "./print-trial.ts";
import { toPrintable } from "../telemetry/to-printable.ts";
import { withProgram } from "./with-program.ts";

export interface TryFlags {
  config?: string;
  header: Record<string, string>;
  query: Record<string, string>;
  json: boolean;
}

/**
 * Shows what the service would make of the payload: to a person at a terminal, elsewhere as JSON. Exit code 1 where it
 * would be refused.
 */
export async function tryHook(hook: string, payloadFile: string, flags: TryFlags): Promise<void> {
  const payload = readPayload(payloadFile);
  await withProgram(flags.config, async (program, { run }) => {
    const trial = await runTrial(
      { hook, payload, headers: flags.header, query: flags.query },
      program,
      (request) => resolveRequest(request, { ...program, run }),
    );
    if (process.stdout.isTTY && !flags.json) console.log(printTrial(hook, trial).join("\n"));
    else printJson(trial);
    if (!trial.ok) process.exitCode = 1;
  });
}

/** The result goes to standard output, everything that is for a person to standard error. */
function printJson({ log, ...trial }: Trial): void {
  for (const line of printLog(log)) console.error(line);
  if (!trial.ok && trial.detail) console.error(toPrintable(trial.detail));
  console.log(JSON.stringify(trial, undefined, 2));
}

function readPayload(file: string): unknown {
  const name = file === "-" ? "standard input" : path.resolve(workingFolder(), file);
  try {
    return JSON.parse(readFileSync(file === "-" ? 0 : name, "utf8"));
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const message = isMissing
      ? `There is no file ${name}.`
      : `${name} cannot be read as JSON: ${messageOf(error)}`;
    throw new ConfigError([{ message }]);
  }
}
