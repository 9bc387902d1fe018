import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { readRegularFile, replaceFile } from "../shared/files.ts";
import { packageVersion } from "../config/package.ts";
import { isObject, parseObject } from "../shared/json.ts";

/** What a module was compiled to. */
export interface CompiledCode {
  code: string;
  sourceMap: string;
}

/**
 * Keeps what modules were compiled to, from one build to the next and from one start to the next. Only for modules that import
 * nothing, since they depend on nothing but their text.
 */
export interface CodeCache {
  /** `name`: the file as error messages and source maps name it. */
  find(name: string, text: string): CompiledCode | undefined;
  keep(name: string, text: string, compiled: CompiledCode): void;
  /** Writes the file, if something in it is new or was not asked for since the last call. */
  save(): void;
}

/** More than the code of a thousand modules. */
const MAX_BYTES = 64 * 1024 * 1024;

/** `file`: for the owner alone, as the journal. Without one, nothing outlives the process. */
export function createCodeCache(file?: string): CodeCache {
  const compilers = `${packageVersion()} ${esbuildVersion()}`;
  let known = file === undefined ? new Map<string, CompiledCode>() : readEntries(file);
  let used = new Map<string, CompiledCode>();
  let isNew = false;

  return {
    find(name, text) {
      const key = toKey(name, text);
      const compiled = known.get(key) ?? used.get(key);
      if (compiled) used.set(key, compiled);
      return compiled;
    },
    keep(name, text, compiled) {
      used.set(toKey(name, text), compiled);
      isNew = true;
    },
    save() {
      const isChanged = isNew || used.size !== known.size;
      known = used;
      used = new Map();
      isNew = false;
      if (file === undefined || !isChanged) return;
      try {
        replaceFile(file, JSON.stringify(Object.fromEntries(known)), { mode: 0o600 });
      } catch {
        // Without it, the next start takes longer.
      }
    },
  };

  function toKey(name: string, text: string): string {
    return createHash("sha256")
      .update(JSON.stringify([compilers, name, text]))
      .digest("hex");
  }
}

/** Empty if there is no file, or if it is damaged. */
function readEntries(file: string): Map<string, CompiledCode> {
  try {
    return new Map(Object.entries(parseObject(readRegularFile(file, MAX_BYTES).toString("utf8"))).filter(isEntry));
  } catch {
    return new Map();
  }
}

function isEntry(entry: [string, unknown]): entry is [string, CompiledCode] {
  const [, value] = entry;
  return isObject(value) && typeof value["code"] === "string" && typeof value["sourceMap"] === "string";
}

function esbuildVersion(): string {
  const file = createRequire(import.meta.url).resolve("esbuild/package.json");
  return JSON.parse(readFileSync(file, "utf8")).version;
}
