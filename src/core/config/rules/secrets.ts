import path from "node:path";
import type { ConfigProblem } from "../../errors.ts";
import { appendSegment, isObject } from "../../shared/json.ts";
import { findOpenMode } from "../../shared/system/files.ts";
import type { Reference } from "../references.ts";

/** The last word of a key whose value is secret, which may be quoted, and whole keys where `key` alone can be anything. */
const SECRET_KEY = /(?:token|secrets?|password|api_?key)(?:"\])?$|\.app\.key$|^gateway\.mcp\.key$/i;
/** Conditions and templates about a request, whose fields may have the names of secrets. */
const OF_REQUESTS =
  /\.(?:match|schema|publish|handshake)$|\.(?:context|grants)\[\d+\]$|^channels\b.*\.targets\b.*\.body$|^agents\.tools\b.*\.calls$/;

/** References as other programs write them. The group is the variable's name. */
const FOREIGN_REFERENCES = [
  /^\$([A-Za-z_]\w*)$/,
  /^\$?\{\{.*?(\w*)\W*\}\}$/s,
  /^\$\{\W*(?:\w+[:.])?(\w*)[^}]*\}$/,
  /^%([A-Za-z_]\w*)%$/,
  /^process\.env\W+([A-Za-z_]\w*)\W*$/,
];
/** The references that `resolveReferences` resolves. */
const OWN_REFERENCE = /^\$?\$\{(?:[A-Za-z_]\w*(?::-[^}]*)?|file:[^}]+)\}$/;

/** Whether a value is secret, by its key as a dotted path. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key);
}

/** Secrets of a configuration, as it is written, that look like references of another program. */
export function findForeignReferences(written: unknown, key = "", isSecret = false): ConfigProblem[] {
  if (typeof written === "string") return isSecret ? checkSecret(written.trim(), key) : [];
  if (Array.isArray(written)) {
    return written.flatMap((item, index) => findForeignReferences(item, appendSegment(key, index), isSecret));
  }
  if (!isObject(written) || OF_REQUESTS.test(key)) return [];
  return Object.entries(written).flatMap(([name, child]) => {
    const childKey = appendSegment(key, name);
    return findForeignReferences(child, childKey, isSecret || isSecretKey(childKey));
  });
}

/** Files with secrets that every user of the machine can read, and that this one could protect. `references`: those of the configuration. */
export function findOpenFiles(references: readonly Reference[], baseDir: string): ConfigProblem[] {
  return references.flatMap(({ key, reference }) => {
    const [, named] = /^\$\{file:([^}]+)\}$/.exec(reference) ?? [];
    // An item of a list of secrets has the key of the list.
    if (named === undefined || !isSecretKey(key.replace(/(?:\[\d+\])+$/, ""))) return [];
    const file = path.resolve(baseDir, named);
    const mode = findOpenMode(file);
    if (mode === undefined) return [];
    const message = `Every user of this machine can read ${file} (mode ${mode}). Run: chmod 600 ${file}`;
    return [{ key, message }];
  });
}

function checkSecret(text: string, key: string): ConfigProblem[] {
  if (OWN_REFERENCE.test(text)) return [];
  const found = FOREIGN_REFERENCES.map((form) => form.exec(text)).find((match) => match !== null);
  if (!found) return [];
  // Names in the usual form only: another text may be a secret after all.
  const name = /^[A-Z][A-Z0-9_]*$/.test(found[1] ?? "") ? found[1] : "NAME";
  const message = `This looks like a reference, but would be the secret itself. Write \${${name}}, or \${file:PATH} for the content of a file.`;
  return [{ key, message }];
}
