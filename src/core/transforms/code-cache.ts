import { hash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { CLOCK_SLACK_MS, orElse, readRegularFile, replaceFile } from "../shared/system/files.ts";
import { isObject, parseObject } from "../shared/json.ts";
import { packageVersion } from "../shared/system/package.ts";
import { isCode, MAX_SOURCE_BYTES } from "./source-boundary.ts";

export interface CompiledCode {
  /** It may be unpacked at each use, and so may the source map. */
  readonly code: string;
  /** As JSON; it stays with the supervisor. */
  readonly sourceMap: string;
  /** SHA-256 of the code. */
  hash: string;
  /** Absolute paths of every file in it, to be watched. */
  inputs: string[];
}

/**
 * Keeps what modules were compiled to from one build to the next, until a file that went into it changes, or one that decided
 * what an import meant. A module that imports nothing is kept from one start to the next too; writing bundles with their
 * packages would take longer than a build.
 */
export interface CodeCache {
  /** `name`: the folder of the module, linked roots and the file. */
  find(name: string, text: string): CompiledCode | undefined;
  /** `uses`: files and folders that it depends on, whether they exist or not. `since`: when the first of them was read. */
  keep(name: string, text: string, compiled: CompiledCode, from: { uses: string[]; since: number }): void;
  /** Writes the file, if something in it is new or was not asked for since the last call. */
  save(): void;
}

interface Entry {
  compiled: CompiledCode;
  /** By path. */
  uses: Record<string, string>;
}

/** More than the code of a thousand modules. */
const MAX_BYTES = 64 * 1024 * 1024;

/** `file`: for the owner alone, as the journal. Without one, nothing outlives the process. */
export function createCodeCache(file?: string): CodeCache {
  const compilers = `${packageVersion()} ${esbuildVersion()}`;
  const fingerprintOf = createFingerprints();
  let known = file === undefined ? new Map<string, Entry>() : readEntries(file);
  let used = new Map<string, Entry>();
  let isNew = false;

  return {
    find(name, text) {
      const key = toKey(name, text);
      const entry = known.get(key) ?? used.get(key);
      if (!entry || !Object.entries(entry.uses).every(([use, was]) => fingerprintOf(use).content === was))
        return undefined;
      used.set(key, entry);
      return entry.compiled;
    },
    keep(name, text, compiled, { uses, since }) {
      if (uses.some((use) => fingerprintOf(use).changedAt > since - CLOCK_SLACK_MS)) return;
      const entries = uses.map((use) => [use, fingerprintOf(use).content]);
      used.set(toKey(name, text), { compiled, uses: Object.fromEntries(entries) });
      isNew ||= uses.length === 0;
    },
    save() {
      const isChanged = isNew || toAlone(used).length !== toAlone(known).length;
      known = used;
      used = new Map();
      isNew = false;
      if (file === undefined || !isChanged) return;
      try {
        replaceFile(file, JSON.stringify(Object.fromEntries(toAlone(known))), { mode: 0o600 });
      } catch {
        // Without it, the next start takes longer.
      }
    },
  };

  function toKey(name: string, text: string): string {
    return hash("sha256", JSON.stringify([compilers, name, text]), "base64url");
  }
}

function toAlone(entries: ReadonlyMap<string, Entry>): [string, Entry][] {
  return [...entries].filter(([, { uses }]) => Object.keys(uses).length === 0);
}

/** Empty if there is no file, or if it is damaged. */
function readEntries(file: string): Map<string, Entry> {
  const entries = orElse({}, () => parseObject(readRegularFile(file, MAX_BYTES).toString("utf8")));
  return new Map(Object.entries(entries).filter(isEntry));
}

function isEntry(entry: [string, unknown]): entry is [string, Entry] {
  const [, value] = entry;
  if (!isObject(value) || !isObject(value["compiled"]) || !isObject(value["uses"])) return false;
  const { code, sourceMap, hash: codeHash, inputs } = value["compiled"];
  return [code, sourceMap, codeHash].every((text) => typeof text === "string") && Array.isArray(inputs);
}

interface Fingerprint {
  /** A file's content, or the names of the code files and folders in a folder. Empty if it cannot be read. */
  content: string;
  /** In milliseconds since the epoch. */
  changedAt: number;
}

const NOTHING: Fingerprint = { content: "", changedAt: 0 };

/** A file that changed this recently may change again within the precision of its times. */
const SETTLED_MS = 1000;

/** Bundles have most of their files in common, so each is looked at once in a step of the event loop, and read if it changed. */
function createFingerprints(): (file: string) => Fingerprint {
  const read = new Map<string, { stamp: string; fingerprint: Fingerprint }>();
  const inThisStep = new Map<string, Fingerprint>();

  function find(file: string): Fingerprint {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (!stats) return NOTHING;
    const stamp = [stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(":");
    const earlier = read.get(file);
    if (earlier?.stamp === stamp) return earlier.fingerprint;
    const content = orElse("", () =>
      hash("sha256", stats.isDirectory() ? listCode(file) : readRegularFile(file, MAX_SOURCE_BYTES), "base64url"),
    );
    const fingerprint = { content, changedAt: stats.ctimeMs };
    if (stats.ctimeMs < Date.now() - SETTLED_MS) read.set(file, { stamp, fingerprint });
    return fingerprint;
  }

  return (file) => {
    if (inThisStep.size === 0) setImmediate(() => inThisStep.clear());
    const known = inThisStep.get(file);
    if (known !== undefined) return known;
    const found = orElse(NOTHING, () => find(file));
    inThisStep.set(file, found);
    return found;
  };
}

function listCode(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.isFile() || isCode(entry.name))
    .map(({ name }) => name)
    .toSorted()
    .join("\n");
}

function esbuildVersion(): string {
  const file = createRequire(import.meta.url).resolve("esbuild/package.json");
  return JSON.parse(readFileSync(file, "utf8")).version;
}
