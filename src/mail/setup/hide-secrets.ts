import type { Change } from "../../config/edit/change.ts";
import { editConfig } from "../../config/edit/edit-config.ts";
import { isObject } from "../../config/is-object.ts";
import type { Segment } from "../../config/key-path.ts";
import { parseSource } from "../../config/parse.ts";
import { REDACTED } from "../../config/redacted.ts";
import { isReference } from "./secret-place.ts";

/** Names under which a configuration keeps secrets, and blocks that may hold some under any name. */
const SECRET_KEY = /(?:token|secrets?|password|api_?key)$|^headers$|^env$/i;

/** A configuration's text for a person to look at: what it says in clear where secrets stand is hidden. */
export function hideSecrets(file: string, text: string): string {
  if (text.trim() === "") return text;
  return editConfig(file, text, findSecrets(parseSource(file, text).value, [], false));
}

function findSecrets(value: unknown, path: readonly Segment[], isSecret: boolean): Change[] {
  if (typeof value === "string") return isSecret && !isReference(value) ? [{ path, value: REDACTED }] : [];
  if (Array.isArray(value))
    return value.flatMap((item, index) => findSecrets(item, [...path, index], isSecret));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    findSecrets(child, [...path, key], isSecret || SECRET_KEY.test(key)),
  );
}
