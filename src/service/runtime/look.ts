import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { readState, toState } from "./snapshot.ts";

/** How often the files are looked at. */
const LOOK_MS = 2000;
/** So that a folder as large as `/` costs a moment and no more. */
const MAX_FILES = 5000;

export interface Look {
  /** Looks at these files and folders from now on, and at no others. */
  follow(paths: readonly string[]): void;
  /** These are known to be as they are now. */
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
  /** Files that did not count in the last look: that they count now is no change of them. */
  let passed = new Set<string>();
  /** The stamps of files when their change was reported, if no look has seen that yet. */
  const reported = new Map<string, string>();
  /** Followed since the last look, which takes them as they are. */
  let added = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  /** Counts the changes of `followed`: a look that began before one is dropped. */
  let version = 0;
  let closed = false;

  return {
    follow(paths) {
      const known = new Set(followed);
      // The next look is of the same.
      if (paths.length === followed.length && paths.every((file) => known.has(file))) return;
      added = added.union(new Set(paths.filter((file) => !known.has(file))));
      followed = paths;
      version++;
      void look();
    },
    expect(paths) {
      for (const file of paths) reported.set(file, readState(file).stamp);
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };

  async function look(): Promise<void> {
    clearTimeout(timer);
    const mine = version;
    const earlier = [...reported];
    const { now, others } = await readAll(followed);
    if (closed || mine !== version) return;
    const differing = [...now].flatMap(([file, stamp]) => (isNews(file, stamp) ? [file] : []));
    // One that was reported meanwhile may have been read before that.
    for (const [file, stamp] of earlier) if (reported.get(file) === stamp) reported.delete(file);
    seen = now;
    passed = others;
    added = new Set();
    timer = setTimeout(() => void look(), LOOK_MS).unref();
    if (differing.length > 0) changed(differing);
  }

  function isNews(file: string, stamp: string): boolean {
    if (stamp === seen.get(file) || stamp === reported.get(file) || added.has(file) || passed.has(file)) return false;
    // A file of a folder that was not followed until now.
    return seen.has(file) || !isIn(file, added);
  }

  /** The state of each followed path, and of the relevant files in followed folders, which come last: there may be too many. */
  async function readAll(paths: readonly string[]): Promise<{ now: Map<string, string>; others: Set<string> }> {
    const states = new Map<string, string>();
    const others = new Set<string>();
    const folders: string[] = [];
    for (const file of paths) {
      const stats = await stat(file).catch(() => undefined);
      states.set(file, toState(stats).stamp);
      if (stats?.isDirectory()) folders.push(file);
    }
    for (const folder of folders) await readFolder(folder, states, others);
    return { now: states, others };
  }

  async function readFolder(folder: string, states: Map<string, string>, others: Set<string>): Promise<void> {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (states.size > MAX_FILES) return;
      const inner = path.join(folder, entry.name);
      // A link may lead anywhere, and is followed if a file was read through it.
      if (entry.isDirectory() && !isIgnored(inner)) await readFolder(inner, states, others);
      if (!entry.isFile() || states.has(inner)) continue;
      if (!isRelevant(inner)) {
        others.add(inner);
        continue;
      }
      const stats = await stat(inner).catch(() => undefined);
      if (stats) states.set(inner, toState(stats).stamp);
    }
  }
}

function isIn(file: string, folders: ReadonlySet<string>): boolean {
  const folder = path.dirname(file);
  return folder !== file && (folders.has(folder) || isIn(folder, folders));
}
