import path from "node:path";
import type { ConfigProblem } from "../../errors.ts";
import { appendSegment, isObject } from "../../shared/json.ts";
import { findOpenMode } from "../../shared/system/files.ts";
import type { Reference } from "../references.ts";

/** The last word of a key whose value is secret, which may be quoted, and whole keys where `key` alone can be anything. */
const SECRET_KEY = /(?:token|secrets?|password|api_?key|private_?key)(?:"\])?$|\.app\.key$|^gateway\.mcp\.key$/i;
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
export function findForeignReferences(written: unknown): ConfigProblem[] {
  return listSecrets(written).flatMap(({ key, text }) => checkSecret(text.trim(), key));
}

/** Secrets with their values that hold what a person cannot have meant. They may be right, so these are warnings. */
export function findOddSecrets(config: unknown): ConfigProblem[] {
  return listSecrets(config).flatMap(({ key, text }) => {
    const [quote] = QUOTED.exec(text.trim()) ?? [];
    if (quote !== undefined) {
      return [{ key, message: "This secret begins and ends with quotes, which count as a part of it. Remove them." }];
    }
    const hidden = INVISIBLE.exec(text)?.[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
    const message = `This secret has an invisible character (U+${hidden}), as copying from a page can add. Copy it again.`;
    return hidden === undefined ? [] : [{ key, message }];
  });
}

const QUOTED = /^(?:".*"|'.*'|`.*`|“.*”|‘.*’|«.*»)$/su;
/** Characters of no width, and spaces that are not the usual one. */
const INVISIBLE = /[\p{Cf}\u00A0\u2000-\u200A\u202F\u205F\u3000\u2028\u2029]/u;

function listSecrets(config: unknown, key = "", isSecret = false): { key: string; text: string }[] {
  if (typeof config === "string") return isSecret ? [{ key, text: config }] : [];
  if (Array.isArray(config))
    return config.flatMap((item, index) => listSecrets(item, appendSegment(key, index), isSecret));
  if (!isObject(config) || OF_REQUESTS.test(key)) return [];
  return Object.entries(config).flatMap(([name, child]) => {
    const childKey = appendSegment(key, name);
    return listSecrets(child, childKey, isSecret || isSecretKey(childKey));
  });
}

/** Files with secrets that every user of the machine can read, and that this one could protect. `references`: those of the configuration. `folderOf`: what the paths of a key are relative to. */
export function findOpenFiles(references: readonly Reference[], folderOf: (key: string) => string): ConfigProblem[] {
  return references.flatMap(({ key, reference }) => {
    const [, named] = /^\$\{file:([^}]+)\}$/.exec(reference) ?? [];
    // An item of a list of secrets has the key of the list.
    if (named === undefined || !isSecretKey(key.replace(/(?:\[\d+\])+$/, ""))) return [];
    const file = path.resolve(folderOf(key), named);
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
