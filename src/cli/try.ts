import { readFileSync } from "node:fs";
import path from "node:path";
import { ConfigError, messageOf } from "../errors.ts";
import { resolveRequest } from "../mapping/resolve.ts";
import { runTrial } from "../operator/trial.ts";
import { withProgram } from "./with-program.ts";
import { workingFolder } from "./locate.ts";

export interface TryFlags {
  config?: string;
  header: Record<string, string>;
  query: Record<string, string>;
}

/** Prints, as JSON, what the service would make of the payload; the transform's log goes to standard error. */
export async function tryHook(hook: string, payloadFile: string, flags: TryFlags): Promise<void> {
  const payload = readPayload(payloadFile);
  await withProgram(flags.config, async ({ config, mappings }, { run }) => {
    const { log, ...trial } = await runTrial(
      { hook, payload, headers: flags.header, query: flags.query },
      config.hooks.path,
      (request) => resolveRequest(request, { mappings, config, run }),
    );
    for (const { level, text } of log) console.error(`${level}: ${text}`);
    if (!trial.ok && trial.detail) console.error(trial.detail);
    console.log(JSON.stringify(trial, undefined, 2));
    if (!trial.ok) process.exitCode = 1;
  });
}

function readPayload(file: string): unknown {
  const name = file === "-" ? "standard input" : path.resolve(workingFolder(), file);
  try {
    return JSON.parse(readFileSync(file === "-" ? 0 : name, "utf8"));
  } catch (error) {
    throw new ConfigError([{ message: `${name} cannot be read as JSON: ${messageOf(error)}` }]);
  }
}
