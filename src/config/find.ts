import { statSync } from "node:fs";
import path from "node:path";
import { ConfigError } from "../errors.ts";

const FILE_NAMES = ["webhooks.json5", "webhooks.yaml", "webhooks.yml", "webhooks.json"];

/**
 * The configuration file, absolute: the one that `--config` names, else `WEBHOOKS_CONFIG`, else the first of
 * the usual names in `cwd`. Throws a `ConfigError` that says what was looked for.
 */
export function findConfigFile(options: { flag?: string; env: NodeJS.ProcessEnv; cwd: string }): string {
  const { flag, env, cwd } = options;
  if (flag !== undefined) return requireFile(path.resolve(cwd, flag), "--config");
  if (env["WEBHOOKS_CONFIG"])
    return requireFile(path.resolve(cwd, env["WEBHOOKS_CONFIG"]), "WEBHOOKS_CONFIG");

  const found = FILE_NAMES.map((name) => path.join(cwd, name)).find(isFile);
  if (found !== undefined) return found;
  const message = `No configuration found: looked for ${FILE_NAMES.join(", ")} in ${cwd}.`;
  throw new ConfigError([{ message: `${message} Name one with --config or WEBHOOKS_CONFIG.` }]);
}

function requireFile(file: string, named: string): string {
  if (isFile(file)) return file;
  throw new ConfigError([{ file, message: `There is no such file; ${named} names it.` }]);
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}
