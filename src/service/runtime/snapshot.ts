import type { Stats } from "node:fs";
import { CLOCK_SLACK_MS, statIfAny } from "../../core/shared/system/files.ts";

/** A file at one moment. */
export interface FileState {
  /** Differs after each change of a file. Of a folder, it differs if the folder is another one. */
  stamp: string;
  size: number;
  /** In milliseconds since the epoch, by the clock of its file system. */
  changedAt: number;
  /** The last change is so recent that another one may leave the stamp as it is. */
  isFresh: boolean;
}

/** Files by their path. */
export type Snapshot = ReadonlyMap<string, FileState>;

export const MISSING: FileState = { stamp: "missing", size: 0, changedAt: -Infinity, isFresh: false };

export function takeSnapshot(files: Iterable<string>): Snapshot {
  return new Map(Array.from(files, (file) => [file, readState(file)]));
}

export function readState(file: string): FileState {
  return toState(statIfAny(file));
}

/** undefined: it is missing. */
export function toState(stats: Stats | undefined): FileState {
  if (!stats) return MISSING;
  const { dev, ino, size, ctimeMs, birthtimeMs } = stats;
  // The time of a folder changes with every file in it, also with one that does not count. A new one may get the inode of the last.
  if (stats.isDirectory()) return { stamp: `${dev} ${ino} ${birthtimeMs}`, size, changedAt: ctimeMs, isFresh: false };
  const isFresh = Math.abs(Date.now() - ctimeMs) < CLOCK_SLACK_MS;
  return { stamp: `${dev} ${ino} ${size} ${ctimeMs}`, size, changedAt: ctimeMs, isFresh };
}

/** The files of `now` that `before` knows otherwise. One that it does not know counts if it changed after `since`. */
export function findChanged(before: Snapshot, now: Snapshot, since: number): string[] {
  return [...now].flatMap(([file, { stamp, changedAt }]) => {
    const known = before.get(file);
    const isChanged = known ? known.stamp !== stamp : changedAt > since - CLOCK_SLACK_MS;
    return isChanged ? [file] : [];
  });
}
