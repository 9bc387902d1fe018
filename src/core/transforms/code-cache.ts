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
  /** Their code, which other modules may have too. */
  part?: PackagesCode | undefined;
}

/** The code of a list of packages: one script, for all modules that use the same of them. */
export type PackagesCode = Omit<CompiledCode, "part">;

export interface PackageSize {
  name: string;
  bytes: number;
}

/** One size for each package; the largest comes first. */
export function sumSizes(sizes: PackageSize[]): PackageSize[] {
  const sums = new Map<string, number>();
  for (const { name, bytes } of sizes) sums.set(name, (sums.get(name) ?? 0) + bytes);
  return [...sums].map(([name, bytes]) => ({ name, bytes })).toSorted((one, other) => other.bytes - one.bytes);
}

/**
 * Keeps what modules were compiled to from one build to the next, until a file that went into it changes, or one that decided
 * what an import meant. Nothing outlives the process: a file of code would run whatever was written into it.
 */
export interface CodeCache extends Kept<CompiledCode> {
  packages: Kept<PackagesCode>;
  /** Forgets what was neither found nor kept since the last call. */
  dropUnused(): void;
}

interface Kept<Code> {
  /** `name`: the folder of the module, linked roots and the file. `began`: the step in which the build began. */
  find(name: string, text: string, began: number): Code | undefined;
  /** `uses`: files and folders that it depends on, whether they exist or not. `since`: when the first of them was read. */
  keep(name: string, text: string, code: Code, from: { uses: string[]; since: number; began: number }): void;
}

export function createCodeCache(): CodeCache {
  const fingerprints = createFingerprints();
  const packages = createKept<PackagesCode>(fingerprints.of, () => true);
  const modules = createKept<CompiledCode>(
    fingerprints.of,
    ({ part }, began) => part === undefined || packages.has(part, began),
  );
  return {
    find: modules.find,
    keep: modules.keep,
    packages,
    dropUnused() {
      modules.dropUnused();
      packages.dropUnused();
      fingerprints.clear();
    },
  };
}

interface Entry<Code> {
  key: string;
  code: Code;
  /** By path. */
  uses: Record<string, string>;
}

/** `hasRest`: whether what the code refers to is kept too. */
function createKept<Code>(
  fingerprintOf: (file: string, began: number) => Fingerprint,
  hasRest: (code: Code, began: number) => boolean,
): Kept<Code> & { has(code: Code, began: number): boolean; dropUnused(): void } {
  let known = new Map<string, Entry<Code>>();
  let used = new Map<string, Entry<Code>>();
  const current = createMemo<Entry<Code>, boolean>(({ uses }, began) =>
    Object.entries(uses).every(([use, was]) => fingerprintOf(use, began).content === was),
  );

  function findCurrent(entry: Entry<Code> | undefined, began: number): Code | undefined {
    if (!entry || !current.get(entry, began) || !hasRest(entry.code, began)) return undefined;
    used.set(entry.key, entry);
    return entry.code;
  }

  return {
    find(name, text, began) {
      const key = toKey(name, text);
      return findCurrent(used.get(key) ?? known.get(key), began);
    },
    has(code, began) {
      const isOf = (entry: Entry<Code>): boolean => entry.code === code;
      return findCurrent([...used.values()].find(isOf) ?? [...known.values()].find(isOf), began) !== undefined;
    },
    keep(name, text, code, { uses, since, began }) {
      // Seen now: what changed during the build is not known.
      const now = currentStep();
      const isNew = (use: string): boolean => fingerprintOf(use, now).changedAt > since - CLOCK_SLACK_MS;
      if (!hasRest(code, began) || uses.some(isNew)) return;
      const entries = uses.map((use) => [use, fingerprintOf(use, now).content]);
      const key = toKey(name, text);
      used.set(key, { key, code, uses: Object.fromEntries(entries) });
    },
    dropUnused() {
      known = used;
      used = new Map();
      current.clear();
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

/** Bundles have most of their files in common, so each is looked at once in a build, and read if it changed. */
function createFingerprints(): {
  of(file: string, began: number): Fingerprint;
  clear(): void;
} {
  const read = new Map<string, { stamp: string; fingerprint: Fingerprint }>();

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

  const seen = createMemo<string, Fingerprint>((file) => orElse(NOTHING, () => find(file)));
  return { of: seen.get, clear: seen.clear };
}

interface Memo<Key, Value> {
  get(key: Key, began: number): Value;
  clear(): void;
}

/** Asks once for each key in a build, which takes what was asked since the step in which it began. */
function createMemo<Key, Value>(ask: (key: Key, began: number) => Value): Memo<Key, Value> {
  const known = new Map<Key, { value: Value; step: number }>();
  return {
    get(key, began) {
      const earlier = known.get(key);
      if (earlier && earlier.step >= began) return earlier.value;
      const asked = { step: currentStep(), value: ask(key, began) };
      known.set(key, asked);
      return asked.value;
    },
    clear: () => known.clear(),
  };
}

let steps = 0;
let isCounted = false;

/** The step of the event loop. A build that begins in it takes files as they are seen in this step or a later one. */
export function currentStep(): number {
  if (!isCounted) {
    isCounted = true;
    steps++;
    setImmediate(() => (isCounted = false));
  }
  return steps;
}

function listCode(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.isFile() || isCode(entry.name))
    .map(({ name }) => name)
    .toSorted()
    .join("\n");
}
