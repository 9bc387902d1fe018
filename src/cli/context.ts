import { readFile } from "node:fs/promises";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { findConfigFile, type ReadConfig, readConfig, resolveUserConfig } from "../config/load.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { ConfigError, type ConfigProblem, messageOf } from "../errors.ts";
import { buildProgram, type Program } from "../program/build.ts";
import { createTelemetry } from "../telemetry/telemetry.ts";
import type { TransformRunner } from "../transforms/runner.ts";
import { createSandbox } from "../transforms/sandbox/sandbox.ts";
import { describeSystemError } from "./command.ts";
import type { CliIo } from "./io.ts";

/** Finds the configuration: by the flag, the environment, or its usual names in the current folder. */
export function locateConfig(flag: string | undefined, { env, cwd }: CliIo): string {
  return findConfigFile({ flag, env, cwd });
}

/** As `locateConfig`, but without a configuration it gives the file to create. */
export function locateNewConfig(flag: string | undefined, io: CliIo): string {
  const named = flag ?? io.env["WEBHOOKS_CONFIG"];
  if (named) return path.resolve(io.cwd, named);
  return locateAnyConfig(undefined, io) ?? path.join(io.cwd, "webhooks.json5");
}

/** The absolute folder of the transforms: by the flag, the configuration, or the default. */
export async function locateTransforms(flags: { dir?: string; config?: string }, io: CliIo): Promise<string> {
  if (flags.dir !== undefined) return path.resolve(io.cwd, flags.dir);
  const file = locateAnyConfig(flags.config, io);
  if (file === undefined) return resolveUserConfig({}, { baseDir: io.cwd }).hooks.transformsDir;
  return (await readConfig(file, io.env)).config.hooks.transformsDir;
}

/** A transform can be written before its configuration, so only a named one has to exist. */
export function locateAnyConfig(flag: string | undefined, io: CliIo): string | undefined {
  try {
    return locateConfig(flag, io);
  } catch (error) {
    const isNamed = flag !== undefined || io.env["WEBHOOKS_CONFIG"];
    if (isNamed || !(error instanceof ConfigError)) throw error;
    return undefined;
  }
}

/** Reads the configuration; see `locateConfig`. */
export async function loadConfig(flag: string | undefined, io: CliIo): Promise<ReadConfig> {
  return readConfig(locateConfig(flag, io), io.env);
}

/** Passes the sandbox of the service to `use`, and closes it. Its errors go to the command's standard error. */
export async function withSandbox<Result>(
  { stderr, pool }: CliIo,
  use: (runner: TransformRunner) => Promise<Result>,
): Promise<Result> {
  const runner = createSandbox({ telemetry: createTelemetry("error", { output: stderr }), children: 1, pool });
  try {
    return await use(runner);
  } finally {
    await runner.close();
  }
}

/** What `serve` would serve with a configuration. Throws a `ConfigError` with all problems. */
export function buildOnce(load: () => Promise<ReadConfig>, io: CliIo): Promise<Program> {
  return withSandbox(io, (runner) => buildProgram({ generation: 1, load, runner }));
}

/** What `serve` would serve, or why it would not. */
export async function tryProgram(
  configFlag: string | undefined,
  io: CliIo,
): Promise<{ program?: Program; problems: ConfigProblem[] }> {
  try {
    return { program: await buildOnce(() => loadConfig(configFlag, io), io), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: error.problems };
  }
}

/** The URL of a running service; one that listens on every address is called on the loopback address. */
export function serviceAddress({ host, port }: ResolvedConfig["gateway"]): string {
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

/** Why a `fetch` failed: its own message says only that it did. */
export function causeOf(error: unknown): string {
  return messageOf(error instanceof Error && error.cause ? error.cause : error);
}

/** The bytes of a file, or for `-` of standard input. Throws a `ConfigError` if it cannot be read. */
export async function readInput(file: string, io: CliIo): Promise<Buffer> {
  if (file === "-") return buffer(io.stdin);
  const name = path.resolve(io.cwd, file);
  return readFile(name).catch((error: unknown) => {
    throw new ConfigError([{ file: name, message: `cannot be read: ${describeSystemError(error)}` }]);
  });
}

export async function readPayload(file: string, io: CliIo): Promise<unknown> {
  // As in the service, without a byte order mark.
  const text = new TextDecoder().decode(await readInput(file, io));
  try {
    return JSON.parse(text);
  } catch (error) {
    const name = file === "-" ? "Standard input" : file;
    throw new ConfigError([{ message: `${name} cannot be read as JSON: ${messageOf(error)}` }]);
  }
}
