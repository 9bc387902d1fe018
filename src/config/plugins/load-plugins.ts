import path from "node:path";
import { type ConfigProblem, messageOf } from "../../errors.ts";
import { isObject } from "../is-object.ts";
import { importModule } from "./import-module.ts";
import { type References, resolveReferences } from "../references.ts";
import type { Plugin } from "./plugin.ts";
import { requirePlugin } from "./require-plugin.ts";
import { createStandIn } from "./stand-in.ts";

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
  const loaded = await Promise.all(
    entries.map((entry, index) => loadPlugin(entry, index, references.baseDir)),
  );
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
      return owner === undefined
        ? []
        : [{ key: "plugins", message: `both ${owner} and ${name} bring ${part}` }];
    }),
  );
}
