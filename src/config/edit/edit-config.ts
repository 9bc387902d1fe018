import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "../../errors.ts";
import { toKeyPath } from "../../shared/json.ts";
import { isYaml, parseSource } from "../parse/source.ts";
import { editJson5, withRoot } from "./json5.ts";
import { applyChange, type Change } from "./splice.ts";
import { editYaml } from "./yaml.ts";

const BOM = "\uFEFF";

/**
 * Carries changes out on a configuration's text, YAML or JSON5 by the name of its file, as a person would: comments, order and
 * format of all else stay byte for byte. Throws a `ConfigError` on bad syntax, and where a change cannot be made in its
 * place alone (behind an alias, say).
 */
export function editConfig(file: string, text: string, changes: readonly Change[]): string {
  const bom = text.startsWith(BOM) ? BOM : "";
  return bom + changes.reduce((edited, change) => editOnce(file, edited, change), text.slice(bom.length));
}

function editOnce(file: string, text: string, change: Change): string {
  const start = isYaml(file) ? text : withRoot(text);
  const wanted = applyChange(parseSource(file, start).value ?? {}, change);
  const edited = isYaml(file) ? editYaml(start, change) : editJson5(start, change, isJson(file));
  if (edited !== undefined && isDeepStrictEqual(valueOf(file, edited), wanted)) return edited;
  const message = "this cannot be changed without changing something else: please do it by hand";
  throw new ConfigError([{ file, key: toKeyPath(change.path), message }]);
}

function isJson(file: string): boolean {
  return path.extname(file).toLowerCase() === ".json";
}

/** undefined: the edit has broken the text. */
function valueOf(file: string, text: string): unknown {
  try {
    return parseSource(file, text).value;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return undefined;
  }
}
