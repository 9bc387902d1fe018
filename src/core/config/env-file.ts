import { existsSync } from "node:fs";
import { isDeepStrictEqual, parseEnv } from "node:util";
import { ConfigError, messageOf } from "../errors.ts";
import { readRegularFile, replaceFile } from "../shared/system/files.ts";

const MAX_BYTES = 1024 * 1024;

/** The variables of a file with a line `NAME=value` each. Throws a `ConfigError` if it cannot be read. */
export function readEnvFile(file: string): Record<string, string> {
  return parse(readText(file));
}

/** The environment with the variables of a file that it does not have. */
export function withEnvFile(env: NodeJS.ProcessEnv, file: string): NodeJS.ProcessEnv {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  return { ...readEnvFile(file), ...given };
}

/**
 * Sets a variable in a file, and keeps its other lines. The file is created if it is missing, for the user alone; the change is
 * on disk when this returns. Throws a `ConfigError` if the line cannot be written.
 */
export function setInEnvFile(file: string, name: string, value: string): void {
  const before = existsSync(file) ? readText(file) : "";
  if (parse(before)[name] === value) return;
  const line = `${name}=${quote(value)}`;
  const known = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "m");
  const end = before === "" || before.endsWith("\n") ? "" : "\n";
  const after = known.test(before) ? before.replace(known, () => line) : `${before}${end}${line}\n`;
  if (!isDeepStrictEqual(parse(after), { ...parse(before), [name]: value })) {
    const message = `${name} cannot be set in this file without changing something else. Set it by hand, or name another file with --env-file.`;
    throw new ConfigError([{ file, message }]);
  }
  replaceFile(file, after, { mode: 0o600 });
}

function readText(file: string): string {
  try {
    return readRegularFile(file, MAX_BYTES)
      .toString("utf8")
      .replace(/^\uFEFF/, "");
  } catch (error) {
    throw new ConfigError([
      { file, message: `The file with environment variables cannot be read: ${messageOf(error)}.` },
    ]);
  }
}

/** Node takes the next line for a value that is only blanks, and keeps `export` in the name of one that is empty. */
const EMPTY_VALUE = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*$/gm;

function parse(text: string): Record<string, string> {
  const variables = Object.entries(parseEnv(text.replaceAll(EMPTY_VALUE, "$1="))).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return Object.fromEntries(variables);
}

function quote(value: string): string {
  if (/^[\w.+/=:@-]*$/.test(value)) return value;
  return value.includes("'") ? `"${value}"` : `'${value}'`;
}
