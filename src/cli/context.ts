import path from "node:path";
import { findConfigFile, readConfig } from "../config/load.ts";
import { DEFAULTS } from "../config/resolve.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { ConfigError, HookError, toSentence } from "../errors.ts";
import { buildProgram, type Program } from "../program/build.ts";
import { createTelemetry } from "../telemetry/telemetry.ts";
import type { TransformRunner } from "../transforms/runner.ts";
import { createSandbox } from "../transforms/sandbox/sandbox.ts";

/** The folder that the person stands in: npm changes into the package's own before it runs a script. */
export function workingFolder(): string {
  return process.env.INIT_CWD ?? process.cwd();
}

/** The configuration that the flag, the environment or the folder names. */
export function locateConfig(flag: string | undefined): string {
  return findConfigFile({ flag, env: process.env, cwd: workingFolder() });
}

/** The configuration that the flag, the environment or the folder names, or, where there is none yet, the one to make. */
export function locateNewConfig(flag: string | undefined): string {
  const named = flag ?? process.env["WEBHOOKS_CONFIG"];
  if (named) return path.resolve(workingFolder(), named);
  return locateAnyConfig(undefined) ?? path.join(workingFolder(), "webhooks.json5");
}

/** The folder of the transforms, absolute: the one named, else the configuration's, else the default one here. */
export async function locateTransforms(flags: { dir?: string; config?: string }): Promise<string> {
  if (flags.dir !== undefined) return path.resolve(workingFolder(), flags.dir);
  const file = locateAnyConfig(flags.config);
  if (file === undefined) return path.resolve(workingFolder(), DEFAULTS.hooks.transformsDir);
  return (await readConfig(file, process.env)).config.hooks.transformsDir;
}

/** None is needed where none is named: a transform can be written before its configuration. */
function locateAnyConfig(flag: string | undefined): string | undefined {
  try {
    return locateConfig(flag);
  } catch (error) {
    const isNamed = flag !== undefined || process.env["WEBHOOKS_CONFIG"];
    if (isNamed || !(error instanceof ConfigError)) throw error;
    return undefined;
  }
}

/** Builds what `serve` would serve, in the same sandbox, and hands it to `use`; nothing stays behind. */
export async function withProgram(
  configFlag: string | undefined,
  use: (program: Program, runner: TransformRunner) => Promise<void>,
): Promise<void> {
  const file = locateConfig(configFlag);
  const runner = createSandbox({ telemetry: createTelemetry("error") });
  try {
    await use(await buildProgram({ generation: 1, load: () => readConfig(file, process.env), runner }), runner);
  } finally {
    await runner.close();
  }
}

/** At SIGTERM or SIGINT closes what runs and exits 0; a second signal exits at once. */
export function stopOnSignal(running: { close(): Promise<void> }): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      process.once(signal, () => process.exit(1));
      running.close().then(() => process.exit(0), fail);
    });
  }
}

/** Where a running service is called: one that listens on every address, on the loopback one. */
export function serviceAddress({ host, port }: ResolvedConfig["gateway"]): string {
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

/** The one way out with an error: what the operator must mend, line by line; anything else with its stack. */
export function fail(error: unknown): void {
  console.error(describeError(error));
  process.exitCode = 1;
}

/** An error as the terminal shows it. */
export function describeError(error: unknown): string {
  if (error instanceof ConfigError) {
    return error.problems
      .map((problem) => [toSentence(problem), problem.excerpt].filter(Boolean).join("\n"))
      .join("\n");
  }
  if (error instanceof HookError) return `${error.status} ${error.code}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
