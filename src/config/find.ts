import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { ConfigError, type ConfigProblem } from "../errors.ts";

const FILE_NAMES = ["webhooks.json5", "webhooks.yaml", "webhooks.yml", "webhooks.json"];

/**
 * The configuration file, absolute: the one named by `--config`, else by `WEBHOOKS_CONFIG`, else the first of the usual
 * names in `cwd`. Throws a `ConfigError` that lists what was looked for.
 */
export function findConfigFile(options: { flag?: string; env: NodeJS.ProcessEnv; cwd: string }): string {
  const { flag, env, cwd } = options;
  if (flag !== undefined) return requireFile(path.resolve(cwd, flag), "--config");
  if (env["WEBHOOKS_CONFIG"]) return requireFile(path.resolve(cwd, env["WEBHOOKS_CONFIG"]), "WEBHOOKS_CONFIG");

  const found = FILE_NAMES.map((name) => path.join(cwd, name)).find(isFile);
  if (found !== undefined) return found;
  const message = `No configuration found: looked for ${FILE_NAMES.join(", ")} in ${cwd}.`;
  throw new ConfigError([
    { message: `${message} \`webhooks init\` writes one; --config or WEBHOOKS_CONFIG names another.` },
  ]);
}

/** Another configuration in the folder, which is not read. */
export function findIgnored(file: string): ConfigProblem[] {
  const { dir, base } = path.parse(file);
  const later = FILE_NAMES.includes(base) ? FILE_NAMES.slice(FILE_NAMES.indexOf(base) + 1) : [];
  return later
    .map((name) => path.join(dir, name))
    .filter(isFile)
    .map((other) => ({ file: other, message: `is not read, because ${base} is: remove one of them` }));
}

function requireFile(file: string, named: string): string {
  if (isFile(file)) return file;
  const problem = existsSync(file) ? "this is not a file" : "file not found";
  throw new ConfigError([{ file, message: `${problem}; it is named by ${named}` }]);
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}
