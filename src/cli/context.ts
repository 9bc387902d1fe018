import { readFile } from "node:fs/promises";
import path from "node:path";
import { buffer, text as readAll } from "node:stream/consumers";
import { makeTempDir } from "../core/shared/system/temporary-folder.ts";
import { findTransformsDir, listItems, readTarget } from "../service/authoring/target.ts";
import { findConfigFile, type ReadConfig, resolveUserConfig } from "../core/config/load.ts";
import { builtInDrivers, readConfig } from "../service/drivers.ts";
import type { ResolvedConfig } from "../core/config/resolved-config.ts";
import { loadPlugins } from "../core/config/plugins.ts";
import type { PresetSearch } from "../core/config/presets/file.ts";
import { ConfigError, type ConfigProblem, messageOf, toSentence } from "../core/errors.ts";
import { buildRuntime } from "../service/runtime/build.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { toServiceAddress } from "../core/shared/system/owner.ts";
import { createTelemetry } from "../core/telemetry/telemetry.ts";
import type { TransformRunner } from "../core/transforms/runner.ts";
import { createSandbox } from "../core/transforms/sandbox/sandbox.ts";
import { describeSystemError } from "./command.ts";
import { withPeriod } from "../core/shared/text/text.ts";
import { parseExact } from "../core/shared/exact-json.ts";
import { type CliIo, printWarnings } from "./io.ts";
import { parseJson } from "../core/shared/json.ts";

/** Finds the configuration: by the flag, the environment, or its usual names in the current folder. */
export function locateConfig(flag: string | undefined, { env, cwd }: CliIo): string {
  return findConfigFile({ flag, env, cwd });
}

/** Locates the configuration, or the file to create. */
export function locateNewConfig(flag: string | undefined, io: CliIo, name = "webhooks.json5"): string {
  const named = flag ?? io.env["WEBHOOKS_CONFIG"];
  if (named) return path.resolve(io.cwd, named);
  return locateAnyConfig(undefined, io) ?? path.join(io.cwd, name);
}

/** The absolute folders of the transforms: by the flag, the configuration with its parts, or the default. The first is that of the including file. */
export function locateTransforms(flags: { dir?: string; config?: string }, io: CliIo): string[] {
  if (flags.dir !== undefined) return [path.resolve(io.cwd, flags.dir)];
  const file = locateAnyConfig(flags.config, io);
  if (file === undefined) return [resolveUserConfig({}, { baseDir: io.cwd }).hooks.transformsDir];
  const target = readTarget(file, io.env);
  return [...new Set(target.files.map((part) => findTransformsDir(target, part.file)))];
}

/** The configuration, or the defaults if there is none yet. */
export async function readAnyConfig(flag: string | undefined, io: CliIo): Promise<ResolvedConfig> {
  const file = locateAnyConfig(flag, io);
  if (file === undefined) return resolveUserConfig({}, { baseDir: io.cwd });
  return (await readConfig(file, io.env)).config;
}

/** Where a command finds presets: below the current folder, in the package, and in plugins of the configuration. */
export async function searchPresets(flags: { config?: string }, io: CliIo): Promise<PresetSearch> {
  const file = locateNewConfig(flags.config, io);
  let drivers = builtInDrivers;
  for (const plugin of listItems(readTarget(file, io.env), ["plugins"])) {
    // Problems of a plugin are left to the commands that check the configuration.
    drivers = (await loadPlugins([plugin.item], path.dirname(plugin.file), drivers)).drivers;
  }
  return { baseDir: io.cwd, vendors: drivers.vendors };
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

export async function loadConfig(flag: string | undefined, io: CliIo): Promise<ReadConfig> {
  return readConfig(locateConfig(flag, io), io.env);
}

/**
 * The configuration that a command needs to call the service. If it cannot be read, or has problems with what the command
 * needs, it is what the running service has written about itself: these commands are needed most while the file is broken.
 * `needs`: the keys of these problems.
 */
export async function loadServiceConfig(
  flag: string | undefined,
  io: CliIo,
  needs: RegExp,
): Promise<Pick<ReadConfig, "config" | "drivers">> {
  const file = locateConfig(flag, io);
  const read = await readConfig(file, io.env).catch((error: unknown) => {
    if (error instanceof ConfigError) return error;
    throw error;
  });
  const isBroken = read.problems.some(({ key = "" }) => needs.test(key));
  if (!(read instanceof ConfigError) && !isBroken) return read;
  const { findOwner } = await import("../stores/sqlite/folder.ts");
  const service = findOwner(findStateDir(file, io.env))?.service;
  if (!service) throw new ConfigError(read.problems);
  const { host, port, token, hooksPath } = service;
  const instead = `using the running service at ${toServiceAddress(service)} as it was started; see \`npx hookline check\``;
  printWarnings(io, [...read.problems.slice(0, 1).map(toSentence), instead]);
  const config = resolveUserConfig(
    { gateway: { host, port, auth: { token } }, hooks: { enabled: true, token, path: hooksPath } },
    { file, baseDir: path.dirname(file) },
    builtInDrivers,
  );
  return { config, drivers: builtInDrivers };
}

/** The state folder, if that part of the file can be read. */
function findStateDir(file: string, env: NodeJS.ProcessEnv): string {
  try {
    return readTarget(file, env).stateDir;
  } catch {
    return resolveUserConfig({}, { baseDir: path.dirname(file) }).store.path;
  }
}

/** Passes the sandbox of the service to `use`, and closes it. `config`: that of the command line. Its errors go to the command's standard error. */
export async function withSandbox<Result>(
  { io, config }: { io: CliIo; config?: string },
  use: (runner: TransformRunner) => Promise<Result>,
): Promise<Result> {
  const telemetry = createTelemetry("error", { output: io.stderr });
  const findTempDir = (): string => makeTempDir(findStateDir(locateConfig(config, io), io.env));
  const runner = createSandbox({ telemetry, children: 1, pool: io.pool, findTempDir });
  try {
    return await use(runner);
  } finally {
    await runner.close();
  }
}

/** The runtime that `serve` would have. Throws a `ConfigError` with all problems. */
export function buildOnce(load: () => Promise<ReadConfig>, io: CliIo, config?: string): Promise<Runtime> {
  return withSandbox({ io, config }, (runner) => buildRuntime({ generation: 1, load, runner }));
}

/** The runtime that `serve` would have, or the problems that prevent it. */
export async function tryRuntime(
  configFlag: string | undefined,
  io: CliIo,
): Promise<{ runtime?: Runtime; problems: ConfigProblem[] }> {
  try {
    return { runtime: await buildOnce(() => loadConfig(configFlag, io), io, configFlag), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: error.problems };
  }
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
    throw new ConfigError([{ file: name, message: `The file cannot be read: ${describeSystemError(error)}.` }]);
  });
}

/** A secret of the command line, or for `-` that of standard input, without the end of its line. */
export async function readSecret(given: string, io: CliIo): Promise<string> {
  return given === "-" ? (await readAll(io.stdin)).replace(/\r?\n$/, "") : given;
}

/** `true`, `5` and `["a"]` are values; anything else is text. */
export function parseJsonOrText(text: string): unknown {
  const value = parseJson(text);
  return value === undefined ? text : value;
}

/** Long numbers keep their text (`ExactNumber`). */
export async function readPayload(file: string, io: CliIo): Promise<unknown> {
  // Drops a byte order mark, like the service.
  const text = decodeText(await readInput(file, io));
  try {
    return parseExact(text);
  } catch (error) {
    const name = file === "-" ? "Standard input" : file;
    throw new ConfigError([{ message: `${name} cannot be read as JSON: ${withPeriod(messageOf(error))}` }]);
  }
}

/** JSON of a shell that writes UTF-16 (Windows PowerShell): it has a mark, or a zero in its first character. */
function decodeText(bytes: Buffer): string {
  const isBigEndian = (bytes[0] === 0xfe && bytes[1] === 0xff) || (bytes[0] === 0 && bytes[1] !== 0);
  const isLittleEndian = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[1] === 0 && bytes[0] !== 0);
  return new TextDecoder(isBigEndian ? "utf-16be" : isLittleEndian ? "utf-16le" : "utf-8").decode(bytes);
}
