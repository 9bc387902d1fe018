import { statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tsImport } from "tsx/esm/api";
import { type ConfigProblem, messageOf } from "../../errors.ts";
import { isObject } from "../../shared/json.ts";
import { CHANNEL_NAMES } from "../../types.ts";
import { didYouMean } from "../did-you-mean.ts";
import { type References, resolveReferences } from "../references.ts";
import { compileSchema, readSchema } from "../schema/validator.ts";
import { partOf } from "./extend-schema.ts";
import type { DriverDefinition, Plugin } from "../../plugin.ts";

export interface LoadedPlugins {
  /** Where there are problems, with a stand-in for those that are missing. */
  plugins: Plugin[];
  problems: ConfigProblem[];
  /** The files of local plugins and what they import, absolute, without installed packages. */
  files: string[];
}

/**
 * Imports the plugins that a configuration names, each as far as it can be had. Entries that are no strings are left to the
 * configuration's schema.
 */
export async function loadPlugins(written: unknown, references: References): Promise<LoadedPlugins> {
  const { value } = resolveReferences(isObject(written) ? written["plugins"] : undefined, references);
  const entries: unknown[] = Array.isArray(value) ? value : [];
  const loaded = await Promise.all(entries.map((entry, index) => loadPlugin(entry, index, references.baseDir)));
  const plugins = loaded.flatMap((one) => one.plugins);
  const problems = loaded.flatMap((one) => one.problems);
  return {
    plugins: problems.length > 0 ? [...plugins, createStandIn(written, plugins)] : plugins,
    problems: [...problems, ...findRivals(plugins)],
    files: loaded.flatMap((one) => one.files),
  };
}

async function loadPlugin(entry: unknown, index: number, baseDir: string): Promise<LoadedPlugins> {
  if (typeof entry !== "string") return { plugins: [], problems: [], files: [] };
  try {
    const { exports, files } = await importModule(entry, baseDir);
    return {
      plugins: [requirePlugin(exports)],
      problems: [],
      files: files.filter((file) => !isInstalled(file)),
    };
  } catch (error) {
    const message = `the plugin "${entry}" cannot be used: ${messageOf(error)}`;
    return { plugins: [], problems: [{ key: `plugins[${index}]`, message }], files: [] };
  }
}

function isInstalled(file: string): boolean {
  return file.split(path.sep).includes("node_modules");
}

/** Which of two plugins would serve must not depend on their order. */
function findRivals(plugins: Plugin[]): ConfigProblem[] {
  const owners = new Map<string, string>();
  return plugins.flatMap(({ name, agents = {}, channels = {}, mailSources = {} }) =>
    [
      ...Object.keys(agents).map((kind) => `the agent kind "${kind}"`),
      ...Object.keys(channels).map((channel) => `the channel "${channel}"`),
      ...Object.keys(mailSources).map((kind) => `the mailbox kind "${kind}"`),
    ].flatMap((part) => {
      const owner = owners.get(part);
      owners.set(part, name);
      return owner === undefined ? [] : [{ key: "plugins", message: `both ${owner} and ${name} bring ${part}` }];
    }),
  );
}

interface ImportedModule {
  exports: unknown;
  /** The files it was read from, absolute. */
  files: string[];
}

/**
 * Imports a package or a module, JavaScript or TypeScript, as if a file in `baseDir` did. It is read anew, with all that it
 * imports, when a file of it has changed since the last time. Rejects with whatever kept it from loading.
 */
async function importModule(specifier: string, baseDir: string): Promise<ImportedModule> {
  const place = JSON.stringify([specifier, baseDir]);
  const known = imported.get(place);
  if (known && isCurrent(known)) return known;
  const fresh = await importAnew(specifier, baseDir);
  imported.set(place, fresh);
  return fresh;
}

interface Import extends ImportedModule {
  /** Milliseconds since the epoch, before the first file was read. */
  startedAt: number;
}

/** A module stays in memory for the life of the process, so one that is unchanged is not imported for each reload. */
const imported = new Map<string, Import>();

/** File systems keep times more coarsely than clocks do. */
const CLOCK_SLACK_MS = 10;

function isCurrent({ files, startedAt }: Import): boolean {
  return files.every((file) => {
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats !== undefined && stats.ctimeMs < startedAt - CLOCK_SLACK_MS;
  });
}

async function importAnew(specifier: string, baseDir: string): Promise<Import> {
  const startedAt = Date.now();
  const files = new Set<string>();
  const exports: unknown = await tsImport(specifier, {
    parentURL: pathToFileURL(path.join(baseDir, "config")).href,
    onImport: (url) => {
      if (url.startsWith("file:")) files.add(fileURLToPath(url));
    },
    tsconfig: false,
  });
  return { exports, files: [...files], startedAt };
}

const PARTS = ["name", "agents", "channels", "mailSources"];

/** A module's exports as a plugin; throws an `Error` that says what about them is not one. */
function requirePlugin(exports: unknown): Plugin {
  const plugin = isObject(exports) ? exports["default"] : undefined;
  // Its imports would stay as they were first read: a CommonJS module is kept for the life of the process.
  if (isObject(plugin) && "default" in plugin) {
    throw new Error('it must be an ES module: name it .mts, or put "type": "module" into its package.json');
  }
  requireShape(plugin);
  return plugin;
}

function requireShape(plugin: unknown): asserts plugin is Plugin {
  if (!isObject(plugin)) throw new Error("its default export must be what definePlugin returns");
  if (typeof plugin["name"] !== "string") throw new Error("it must have a name");
  requireKnown("part", Object.keys(plugin), PARTS);
  requireDrivers("agents", plugin["agents"]);
  requireDrivers("channels", plugin["channels"]);
  requireDrivers("mailSources", plugin["mailSources"]);
  requireKnown("channel", Object.keys(plugin["channels"] ?? {}), CHANNEL_NAMES);
}

function requireKnown(what: string, names: string[], known: readonly string[]): void {
  const stranger = names.find((name) => !known.includes(name));
  if (stranger === undefined) return;
  const hint = didYouMean(stranger, known) || `; there are ${known.join(", ")}`;
  throw new Error(`there is no ${what} "${stranger}"${hint}`);
}

function requireDrivers(part: string, drivers: unknown): void {
  if (drivers === undefined) return;
  if (!isObject(drivers)) throw new Error(`${part} must be an object`);
  for (const [name, driver] of Object.entries(drivers)) requireDriver(`${part}.${name}`, driver);
}

function requireDriver(key: string, driver: unknown): void {
  if (!isObject(driver) || typeof driver["create"] !== "function") {
    throw new Error(`${key} must be { schema, create(options) }`);
  }
  const schema = driver["schema"];
  if (!isObject(schema) || schema["type"] !== "object") {
    throw new Error(`${key}.schema must be a JSON Schema of type "object"`);
  }
  try {
    compileSchema(schema);
  } catch (error) {
    throw new Error(`${key}.schema: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Stands for plugins that could not be loaded, beside those that could: it brings what the configuration asks for and nobody
 * else has. So the operator hears the cause alone, and not of every block that such a plugin would have known.
 */
function createStandIn(written: unknown, loaded: Plugin[]): Plugin {
  const providers = Object.values(childOf(written, "agents", "providers"));
  const source = childOf(written, "hooks", "mail", "source");
  const channels = childOf(written, "channels");
  return {
    name: "a plugin that could not be loaded",
    agents: bring(unknownKinds("provider", providers), loaded, "agents"),
    mailSources: bring(unknownKinds("mailbox", [source]), loaded, "mailSources"),
    // The service knows every channel's name: which of them a plugin replaces cannot be told.
    channels: bring(
      CHANNEL_NAMES.filter((name) => Object.hasOwn(channels, name)),
      loaded,
      "channels",
    ),
  };
}

/** Fits every block; is never made, since such a configuration is never served. */
const ANY: DriverDefinition<never> = {
  schema: { type: "object" },
  create: () => {
    throw new Error("its plugin could not be loaded");
  },
};

type Part = "agents" | "channels" | "mailSources";

function bring(names: string[], loaded: Plugin[], part: Part): Record<string, DriverDefinition<never>> {
  const missing = names.filter((name) => !loaded.some((plugin) => Object.hasOwn(plugin[part] ?? {}, name)));
  return Object.fromEntries(missing.map((name) => [name, ANY]));
}

function unknownKinds(definition: "provider" | "mailbox", blocks: unknown[]): string[] {
  const own = new Set([partOf(readSchema("config"), "definitions", definition, "properties", "kind")["enum"]].flat());
  return blocks
    .map((block) => (isObject(block) ? block["kind"] : undefined))
    .filter((kind) => typeof kind === "string")
    .filter((kind) => !own.has(kind));
}

/** Empty where nothing of the kind was written. */
function childOf(value: unknown, ...keys: string[]): Record<string, unknown> {
  const child = keys.reduce((parent, key) => (isObject(parent) ? parent[key] : undefined), value);
  return isObject(child) ? child : {};
}
