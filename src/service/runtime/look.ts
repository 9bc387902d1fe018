import { readdir, stat } from "node:fs/promises";
import path from "node:path";

/** How often the files are looked at. */
const LOOK_MS = 2000;
/** So that a folder as large as `/` costs a moment and no more. */
const MAX_FILES = 5000;

export interface Look {
  /** Looks at these files and folders from now on, and at no others. */
  follow(paths: readonly string[]): void;
  /** The next look takes these as they are: a change of them is known. */
  expect(paths: readonly string[]): void;
  close(): void;
}

export interface LookOptions {
  /** Whether a file in a followed folder counts. */
  isRelevant(file: string): boolean;
  /** Folders that are not entered. */
  isIgnored(folder: string): boolean;
  /** Called with the paths that differ from the last look. A file that is gone is named only if it is followed itself. */
  changed(paths: string[]): void;
}

/**
 * Compares files with what they were, without any event: their device, inode, size and ctime. It finds what a watch cannot see: a
 * folder or a link above that is replaced, a mount, a file system that reports nothing.
 */
export function createLook({ isRelevant, isIgnored, changed }: LookOptions): Look {
  let followed: readonly string[] = [];
  let seen = new Map<string, string>();
  /** The next look takes these as they are: new ones, and those whose change was reported. */
  let expected = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  /** Counts the changes of `followed`: a look that began before one is dropped. */
  let version = 0;
  let closed = false;

  return {
    follow(paths) {
      const known = new Set(followed);
      const added = paths.filter((file) => !known.has(file));
      for (const file of added) expected.add(file);
      followed = paths;
      version++;
      void look();
    },
    expect(paths) {
      for (const file of paths) expected.add(file);
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };

  async function look(): Promise<void> {
    clearTimeout(timer);
    const mine = version;
    // A change that is reported during this look may be later than it.
    const before = expected;
    expected = new Set();
    const now = await readAll(followed);
    if (closed) return;
    if (mine !== version) {
      expected = expected.union(before);
      return;
    }
    const known = expected.union(before);
    const differing = [...now.keys()].filter((file) => {
      if (now.get(file) === seen.get(file) || known.has(file)) return false;
      // A file of a folder that was not followed until now.
      return seen.has(file) || !isIn(file, known);
    });
    seen = now;
    timer = setTimeout(() => void look(), LOOK_MS).unref();
    if (differing.length > 0) changed(differing);
  }

  /** The state of each followed path, and of the relevant files in followed folders. */
  async function readAll(paths: readonly string[]): Promise<Map<string, string>> {
    const states = new Map<string, string>();
    for (const file of paths) await read(file, states, true);
    return states;
  }

  async function read(file: string, states: Map<string, string>, isNamed: boolean): Promise<void> {
    if (states.size > MAX_FILES) return;
    const stats = await stat(file).catch(() => undefined);
    if (!stats) {
      if (isNamed) states.set(file, "missing");
      return;
    }
    const { dev, ino, size, ctimeMs } = stats;
    if (!stats.isDirectory()) {
      if (isNamed || isRelevant(file)) states.set(file, `${dev} ${ino} ${size} ${ctimeMs}`);
      return;
    }
    // The time of a folder changes with every file in it, also with one that does not count.
    if (isNamed) states.set(file, `${dev} ${ino}`);
    for (const entry of await readdir(file, { withFileTypes: true }).catch(() => [])) {
      const inner = path.join(file, entry.name);
      // A link may lead anywhere, and is followed if a file was read through it.
      if (entry.isDirectory() ? !isIgnored(inner) : entry.isFile()) await read(inner, states, false);
    }
  }
}

function isIn(file: string, folders: ReadonlySet<string>): boolean {
  const folder = path.dirname(file);
  return folder !== file && (folders.has(folder) || isIn(folder, folders));
}
