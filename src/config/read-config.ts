import { readFile } from "node:fs/promises";
import path from "node:path";
import { ConfigError, messageOf } from "../errors.ts";
import { examineConfig } from "./examine.ts";
import type { UserConfig } from "./generated.ts";
import { parseSource, type Source } from "./parse.ts";
import { loadPlugins } from "./plugins/load-plugins.ts";
import type { References } from "./references.ts";
import type { Origin } from "./resolve.ts";
import { type ReadConfig, toReadConfig } from "./to-read-config.ts";

export type { ReadConfig };

/**
 * Reads a configuration file, or a configuration that a program made (relative to the current folder, its problems without a
 * place), and says everything that is wrong with it. Throws a `ConfigError` only where a file cannot be read or parsed.
 */
export async function readConfig(config: string | UserConfig, env: NodeJS.ProcessEnv): Promise<ReadConfig> {
  if (typeof config !== "string") return read(config, { baseDir: process.cwd(), env });
  const file = path.resolve(config);
  return readConfigText(file, await readText(file), { env });
}

/** As `readConfig`, of a text that may still be on its way to the file. */
export async function readConfigText(
  file: string,
  text: string,
  references: Omit<References, "baseDir">,
): Promise<ReadConfig> {
  const source = parseSource(file, text);
  return read(source.value, { ...references, file, baseDir: path.dirname(file), source });
}

interface ReadOptions extends Origin, References {
  source?: Source;
}

async function read(written: unknown, { source, ...options }: ReadOptions): Promise<ReadConfig> {
  const { plugins, problems, files } = await loadPlugins(written, options);
  const examination = examineConfig(written, { ...options, plugins });
  const all = { ...examination, problems: [...problems, ...examination.problems] };
  const { files: own, ...config } = toReadConfig(all, source);
  return { ...config, files: [...own, ...files] };
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const reason = messageOf(error);
    throw new ConfigError([{ file, message: `it cannot be read: ${reason}` }]);
  }
}
