import { findConfigFile } from "../config/find.ts";

/** The folder that the person stands in: npm changes into the package's own before it runs a script. */
export function workingFolder(): string {
  return process.env.INIT_CWD ?? process.cwd();
}

/** The configuration that the flag, the environment or the folder names. */
export function locateConfig(flag: string | undefined): string {
  return findConfigFile({ flag, env: process.env, cwd: workingFolder() });
}
