import path from "node:path";
import { ConfigError, type ConfigProblem } from "../../errors.ts";
import { orElse } from "../../shared/system/files.ts";
import { type ParsedText, parseJson5, type Position } from "./json5.ts";
import { parseYaml } from "./yaml.ts";

/** A parsed text with the positions of its keys. */
export interface Located {
  value: unknown;
  /** The position of a key by its dotted path, or of the nearest key around it that was written. */
  locate(key: string): Position | undefined;
}

/** That of a configuration. */
export interface Source extends Located {
  /** Keys that occur twice in one object. */
  duplicates: ConfigProblem[];
  warnings: ConfigProblem[];
}

/** Parses a file's text: YAML by its extension, else JSON5, which includes JSON. Throws a `ConfigError` on bad syntax. */
export function parseSource(file: string, text: string): Source {
  const { value, positions, duplicates, syntax, warnings = [] } = parseText(file, text);
  if (syntax.length > 0) throw new ConfigError(syntax.map((problem) => ({ file, ...problem })));
  return {
    value,
    locate: (key) => locate(positions, key),
    duplicates: duplicates.map((place) => ({ file, ...place, message: "This is a duplicate key. Remove one." })),
    warnings: warnings.map((warning) => ({ file, ...warning })),
  };
}

/**
 * Does the same as `parseSource`. Plain JSON is parsed for positions once one is asked for: those of all presets, which have no mistakes,
 * would take a tenth of a start.
 */
export function parseDataSource(file: string, text: string): Located {
  const plain = orElse(undefined, (): unknown => JSON.parse(text));
  if (plain === undefined) return parseSource(file, text);
  let source: Source | undefined;
  return { value: plain, locate: (key) => (source ??= parseSource(file, text)).locate(key) };
}

function parseText(file: string, text: string): ParsedText {
  try {
    return isYaml(file) ? parseYaml(text) : parseJson5(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError([{ file, message: "The file is nested too deeply." }]);
  }
}

export function isYaml(file: string): boolean {
  return [".yaml", ".yml"].includes(path.extname(file).toLowerCase());
}

function locate(positions: Map<string, Position>, key: string): Position | undefined {
  const found = positions.get(key);
  if (found !== undefined || key === "") return found;
  const end = Math.max(key.lastIndexOf("."), key.lastIndexOf("["), 0);
  return locate(positions, key.slice(0, end));
}
