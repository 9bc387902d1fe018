import { hash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { CLOCK_SLACK_MS, orElse, readRegularFile } from "../shared/system/files.ts";
import { isCode, MAX_SOURCE_BYTES } from "./source-boundary.ts";

export interface CompiledCode {
  /** Each read may unpack it. The same holds for the source map. */
  readonly code: string;
  /** JSON. It stays with the supervisor. */
  readonly sourceMap: string;
  /** SHA-256 of the code. */
  hash: string;
  /** Absolute paths of every file in it, to be watched. */
  inputs: string[];
  /** The `package.json` of each package in it, and of those that would be used instead. Absolute; most do not exist. */
  manifests: string[];
  /** The size of the code. */
  bytes: number;
  /** The packages in it; the largest comes first. */
  packages: PackageSize[];
}

export interface PackageSize {
  name: string;
  bytes: number;
}

/**
 * Keeps what modules were compiled to from one build to the next, until a file that went into it changes, or one that decided
 * what an import meant. Nothing outlives the process: a file of code would run whatever was written into it.
 */
export interface CodeCache {
  /** `name`: the folder of the module, linked roots and the file. */
  find(name: string, text: string): CompiledCode | undefined;
  /** `uses`: files and folders that it depends on, whether they exist or not. `since`: when the first of them was read. */
  keep(name: string, text: string, compiled: CompiledCode, from: { uses: string[]; since: number }): void;
  /** Forgets what was neither found nor kept since the last call. */
  dropUnused(): void;
}

interface Entry {
  compiled: CompiledCode;
  /** By path. */
  uses: Record<string, string>;
}

export function createCodeCache(): CodeCache {
  const fingerprintOf = createFingerprints();
  let known = new Map<string, Entry>();
  let used = new Map<string, Entry>();

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
    },
    dropUnused() {
      known = used;
      used = new Map();
    },
  };
}

function toKey(name: string, text: string): string {
  return hash("sha256", JSON.stringify([name, text]), "base64url");
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
