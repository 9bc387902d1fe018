import { execFile } from "node:child_process";
import { closeSync, openSync, statSync } from "node:fs";
import { devNull } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type ConfigProblem, messageOf } from "../errors.ts";
import type { Plugin } from "../ports/plugin.ts";
import { CLOCK_SLACK_MS, isInstalled } from "../shared/system/files.ts";
import { findManifests, listManifests, withRecords } from "../shared/system/packages.ts";
import { readOwn, toObject } from "../shared/json.ts";
import { toPackageName } from "../shared/text/command.ts";
import { withPeriod } from "../shared/text/text.ts";
import { listPresetFolders } from "./presets/file.ts";
import { PLUGIN_PARTS, requirePlugin } from "./plugin-shape.ts";

/** Every driver that a configuration can name, and the vendors of its presets. */
export type Drivers = Required<Omit<Plugin, "name">>;

/** Drivers of one port. */
export type DriverPart = Exclude<keyof Drivers, "vendors">;

export interface LoadedPlugins {
  /** The built-in drivers and those of the plugins. */
  drivers: Drivers;
  problems: ConfigProblem[];
  /** The files of local plugins and what they import, absolute, without installed packages. Some may be missing. */
  files: string[];
}

/** Imports the plugins that a configuration names. Entries that are not strings are left to the configuration's schema. */
export async function loadPlugins(entries: unknown, baseDir: string, builtIn: Drivers): Promise<LoadedPlugins> {
  const plugins: Plugin[] = [];
  const problems: ConfigProblem[] = [];
  const files: string[] = [];
  for (const [index, entry] of (Array.isArray(entries) ? entries : []).entries()) {
    if (typeof entry !== "string") continue;
    const imported = await importModule(entry, baseDir);
    files.push(...imported.files.filter((file) => !isInstalled(file)), ...withRecords(imported.manifests));
    try {
      plugins.push(requirePlugin(await imported.exports));
    } catch (error) {
      const { message, ...place } = await explainImport(error, { baseDir, files: imported.files });
      problems.push({
        ...place,
        key: `plugins[${index}]`,
        message: `The plugin "${entry}" cannot be used: ${withPeriod(message)}`,
      });
    }
  }
  const all = plugins.map(withVendors);
  return { drivers: mergeDrivers(builtIn, all), problems: [...problems, ...findConflicts(all)], files };
}

/** A plugin with the channels and signatures of its vendors among its own. */
function withVendors(plugin: Plugin): Plugin {
  const vendors = Object.values(plugin.vendors ?? {});
  return {
    ...plugin,
    channels: Object.assign({}, ...vendors.map(({ channels }) => channels), plugin.channels),
    providers: Object.assign({}, ...vendors.map(({ signatures }) => signatures), plugin.providers),
  };
}

/** A plugin's driver replaces a built-in one of the same name. */
function mergeDrivers(builtIn: Drivers, plugins: Plugin[]): Drivers {
  const merge = <Part extends keyof Drivers>(part: Part): Drivers[Part] =>
    Object.assign({}, builtIn[part], ...plugins.map((plugin) => plugin[part]));
  return {
    agents: merge("agents"),
    channels: merge("channels"),
    mailSources: merge("mailSources"),
    tools: merge("tools"),
    providers: merge("providers"),
    vendors: merge("vendors"),
  };
}

/** The order of two plugins must not decide which of them is used. */
function findConflicts(plugins: Plugin[]): ConfigProblem[] {
  const owners = new Map<string, string>();
  return plugins.flatMap(({ name, ...parts }) =>
    [
      ...Object.entries(PLUGIN_PARTS).flatMap(([part, noun]) =>
        Object.keys(toObject(readOwn(parts, part))).map((driver) => `${noun} "${driver}"`),
      ),
      ...listPresetFolders(parts.vendors ?? {}).map((preset) => `the preset "${path.basename(preset)}"`),
    ].flatMap((driver) => {
      const owner = owners.get(driver);
      owners.set(driver, name);
      return owner === undefined
        ? []
        : [{ key: "plugins", message: `Both ${owner} and ${name} bring ${driver}. Remove one of the plugins.` }];
    }),
  );
}

interface ImportedModule {
  /** Rejected with whatever kept it from loading. */
  exports: Promise<unknown>;
  /** The files it was read from, and the one that was not found, absolute. */
  files: string[];
  /** The `package.json` of each package in it, and of the one that it could be. */
  manifests: string[];
  /** Milliseconds since the epoch, before the first file was read. */
  startedAt: number;
}

/** A module stays in memory for the life of the process, so an unchanged one is not imported again at each reload. */
const importedModules = new Map<string, ImportedModule>();

const MISSING_PACKAGE = /Cannot find package '([^']+)'/;

/**
 * Imports a package or a module, JavaScript or TypeScript, as if a file in `baseDir` did. The module and all that it
 * imports are read again when one of the files has changed, or when it could not be loaded.
 */
async function importModule(specifier: string, baseDir: string): Promise<ImportedModule> {
  const id = JSON.stringify([specifier, baseDir]);
  const known = importedModules.get(id);
  if (known && isCurrent(known)) return known;

  const startedAt = Date.now();
  const files = new Set<string>();
  const addFile = (url: unknown): void => {
    if (typeof url === "string" && url.startsWith("file:")) files.add(fileURLToPath(url));
  };
  const exports = compileAndImport(specifier, {
    parentURL: pathToFileURL(toImporter(baseDir)).href,
    onImport: addFile,
    tsconfig: false,
  });
  const failure: unknown = await exports.then(
    () => undefined,
    (error: unknown) => error,
  );
  addFile(toObject(failure)["url"]);
  const names = [specifier, MISSING_PACKAGE.exec(messageOf(failure))?.[1] ?? ""].flatMap(
    (name) => toPackageName(name) ?? [],
  );
  const manifests = [...findManifests(files), ...names.flatMap((name) => listManifests(name, toImporter(baseDir)))];
  const imported = { exports, files: [...files], manifests, startedAt };
  if (failure === undefined) importedModules.set(id, imported);
  return imported;
}

async function compileAndImport(
  specifier: string,
  options: { parentURL: string; onImport: (url: string) => void; tsconfig: false },
): Promise<unknown> {
  requireFileHandles();
  const { tsImport } = await import("tsx/esm/api");
  return tsImport(specifier, options);
}

/** More than the compiler's process needs. */
const FILE_HANDLES = 16;

/** Without file handles for its process, the compiler would never answer, and no reload would come after that. */
function requireFileHandles(): void {
  const opened: number[] = [];
  try {
    while (opened.length < FILE_HANDLES) opened.push(openSync(devNull, "r"));
  } finally {
    opened.forEach(closeSync);
  }
}

/** The file that seems to import the plugins. It does not exist. */
function toImporter(baseDir: string): string {
  return path.join(baseDir, "config");
}

interface FailedImport {
  baseDir: string;
  files: readonly string[];
}

/** A mistake in the syntax of a file, as the compiler tells it: `/p/a.ts:3:13: ERROR: Expected …`. */
const COMPILER_ERROR = /^(.+):(\d+):(\d+): ERROR: (.+)$/m;

async function explainImport(error: unknown, { baseDir, files }: FailedImport): Promise<ConfigProblem> {
  const message = messageOf(error).replace(` imported from ${toImporter(baseDir)}`, "");
  const [, file, line, column, text] = COMPILER_ERROR.exec(message) ?? [];
  if (file !== undefined && text !== undefined) {
    return { message: text, file, line: Number(line), column: Number(column) + 1 };
  }
  return { message, ...(error instanceof SyntaxError ? await findSyntaxError(files) : undefined) };
}

/** Most plugins have fewer files. */
const MAX_CHECKED = 10;

/** The place of a mistake in the syntax of a module that Node itself compiles: its error does not tell that to the program. */
async function findSyntaxError(files: readonly string[]): Promise<Omit<ConfigProblem, "message"> | undefined> {
  const own = files.filter((file) => !isInstalled(file)).slice(-MAX_CHECKED);
  for (const file of own.toReversed()) {
    const told = await promisify(execFile)(process.execPath, ["--check", file]).then(() => "", readErrorOutput);
    const [, line, indent = ""] = /:(\d+)\n.*\n( *)\^/.exec(told) ?? [];
    if (line !== undefined) return { file, line: Number(line), column: indent.length + 1 };
  }
  return undefined;
}

function readErrorOutput(error: { stderr?: string }): string {
  return error.stderr ?? "";
}

function isCurrent({ files, startedAt }: ImportedModule): boolean {
  return files.every((file) => {
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats !== undefined && stats.ctimeMs < startedAt - CLOCK_SLACK_MS;
  });
}
