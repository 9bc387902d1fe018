import path from "node:path";
import { DEFAULTS } from "../config/defaults.ts";
import { findConfigFile } from "../config/find.ts";
import { readConfig } from "../config/read-config.ts";
import { ConfigError } from "../errors.ts";

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
