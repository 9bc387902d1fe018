import type * as Chokidar from "chokidar";
import type { FSWatcher } from "chokidar";
import { lstatSync, type Stats } from "node:fs";
import path from "node:path";
import { codeOf } from "../../core/errors.ts";
import { CLOCK_SLACK_MS, isInstalled, statIfAny } from "../../core/shared/system/files.ts";
import { loadAtFirstUse } from "../../core/shared/system/package.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { isInside, toRealPath } from "../../core/shared/system/files.ts";
import { createLinkWatcher } from "./links.ts";
import { createLook } from "./look.ts";
import { readState } from "./snapshot.ts";

const chokidar = loadAtFirstUse<typeof Chokidar>("chokidar");

/** Events come in bursts: an editor's rename, a checkout, a folder swap. They become one change. */
const QUIET_MS = 60;

/** How long chokidar holds back a deletion, to see a save by rename as a change: less, so that a rename is one change. */
const DELETION_MS = QUIET_MS / 2;

/** After a first change, it is not waited longer for a quiet moment: some editor may save all the time. */
const MAX_WAIT_MS = 500;

/** A file that was cut has to be as it is for this long: its second half may be written later. */
const STILL_MS = 500;

/** After this, such a file is used as it is. */
const MAX_CUT_MS = 10 * STILL_MS;

/** chokidar reads a file's state and watches it a moment later. A second check finds what changed in between. */
const RECHECK_MS = 250;

/** How often files are polled when the system has no watches left, or after a failure. */
const POLL_MS = 500;

/** Error codes of a system without free watches, watchers or file handles. */
const EXHAUSTED = ["ENOSPC", "EMFILE", "ENFILE"];

export interface WatcherOptions {
  /** When the files in use were read, in milliseconds since the epoch. Older files count as unchanged. */
  since(): number;
  /** Whether a file has changed since it was read; undefined, as by default: its times tell. */
  isStale?(file: string): boolean | undefined;
  /** Called with the changed files and folders. */
  changed(files: string[]): void;
  /** Whether a changed file matters, beside the followed ones. Default: each in a followed folder. */
  isRelevant?(file: string): boolean;
  /** Whether a file is shorter than the one in use, and may be the first half of the next. */
  isCut?(file: string): boolean;
  /** The service's state folder. Changes in it are ignored, even if it is inside a followed folder. */
  stateDir?: string;
  log: Log;
}

export interface Watcher {
  /**
   * Watches these files and folders from now on, and no others. One that does not exist is a change once it does.
   * `polls`: also finds what no watch reports, such as permissions and folders above that are replaced.
   */
  follow(paths: string[], options?: { polls: boolean }): void;
  close(): Promise<void>;
}

/**
 * Calls `changed` once the followed paths have been quiet for a moment after a change. Changes during the set-up of a watch
 * are found too. If the system cannot watch any more, the files are polled.
 */
export function createWatcher(options: WatcherOptions): Watcher {
  const { since, isStale, changed, isRelevant = () => true, isCut, stateDir, log } = options;
  const ignored = [isInstalled, leavesFolder, isState];
  let followed = new Set<string>();
  /** When files changed last that are no news: they were reported, or were missing when they were first followed. */
  const known = new Map<string, number | undefined>();
  let watcher = open({ usePolling: false });
  const links = createLinkWatcher(reopen, (error) => {
    if (!watcher.options.usePolling && isExhausted(error)) poll(watcher, error);
  });
  const look = createLook({
    isRelevant,
    isIgnored: (folder) => isInstalled(folder) || isState(folder),
    changed: reopenFor,
  });
  const changedFiles = new Set<string>();
  /** The stamps of changed files that were cut. */
  const cut = new Map<string, string>();
  let quiet: NodeJS.Timeout | undefined;
  let firstAt: number | undefined;
  let recheck: NodeJS.Timeout | undefined;

  return {
    follow(paths, { polls } = { polls: false }) {
      // The service may be closed while a build is under way.
      if (watcher.closed) return;
      const next = new Set(paths);
      const gone = [...followed].filter((followedPath) => !next.has(followedPath));
      if (gone.length > 0) watcher.unwatch(gone);
      const added = paths.filter((wanted) => !followed.has(wanted));
      followed = next;
      for (const wanted of paths) {
        const stats = statIfAny(wanted);
        if (stats && isMissing(wanted)) known.delete(wanted);
        if (!stats && wasMissing(wanted)) known.set(wanted, undefined);
      }
      watcher.add(added);
      // Polling reads what is behind the links.
      if (!watcher.options.usePolling) links.follow(paths);
      look.follow(paths);
      clearTimeout(recheck);
      recheck = setTimeout(checkAgain, RECHECK_MS, polls);
    },
    async close() {
      clearTimeout(quiet);
      clearTimeout(recheck);
      links.close();
      look.close();
      await watcher.close();
    },
  };

  function open({ usePolling }: { usePolling: boolean }): FSWatcher {
    const atomic = usePolling ? false : DELETION_MS;
    const opened = chokidar().watch([], { alwaysStat: true, atomic, ignored, usePolling, interval: POLL_MS });
    opened.on("all", (event, file) => {
      // Files in a new folder are reported themselves.
      if (event === "addDir") return;
      const matters = followed.has(file) || (event !== "unlinkDir" && isRelevant(file));
      if (matters && (event !== "add" || takeNew(file))) scheduleChange([file]);
    });
    opened.on("ready", checkAll);
    opened.on("error", (error) => {
      if (!usePolling && isExhausted(error)) poll(opened, error);
      else log.error("watching files failed", { error: String(error) });
    });
    return opened;
  }

  /** Every path that cannot be watched reports an error; the first is enough. */
  function poll(failed: FSWatcher, reason: unknown): void {
    if (watcher !== failed) return;
    log.warn("files cannot be watched, so they are polled", { everyMs: POLL_MS, reason: String(reason) });
    links.close();
    replaceBy(open({ usePolling: true }));
  }

  /** The watches are of files that the replaced link leads to no more. */
  function reopen(link: string): void {
    if (watcher.closed) return;
    replaceBy(open({ usePolling: false }));
    links.follow([...followed]);
    scheduleChange([link]);
  }

  /** No event has come for these: the watches may be of files that are behind the paths no more. */
  function reopenFor(files: string[]): void {
    if (watcher.closed) return;
    for (const file of files) known.set(file, statIfAny(file)?.ctimeMs);
    const { usePolling } = watcher.options;
    replaceBy(open({ usePolling }));
    if (!usePolling) links.follow([...followed]);
    scheduleChange(files);
  }

  function replaceBy(next: FSWatcher): void {
    void watcher.close();
    watcher = next;
    watcher.add([...followed]);
  }

  function scheduleChange(files: string[]): void {
    for (const file of files) {
      changedFiles.add(file);
      if (isCut?.(file)) cut.set(file, readState(file).stamp);
      else cut.delete(file);
    }
    look.expect(files);
    clearTimeout(quiet);
    firstAt ??= performance.now();
    const [quietMs, maxMs] = cut.size > 0 ? [STILL_MS, MAX_CUT_MS] : [QUIET_MS, MAX_WAIT_MS];
    const lastAt = firstAt + maxMs;
    quiet = setTimeout(report, Math.max(0, Math.min(quietMs, lastAt - performance.now())), lastAt);
  }

  function report(lastAt: number): void {
    // A file system may have told nothing of the second half.
    const changing = [...cut].flatMap(([file, stamp]) => (readState(file).stamp === stamp ? [] : [file]));
    if (changing.length > 0 && performance.now() < lastAt) return scheduleChange(changing);
    const files = [...changedFiles];
    changedFiles.clear();
    cut.clear();
    firstAt = undefined;
    changed(files);
  }

  function checkAgain(polls: boolean): void {
    checkAll();
    if (polls) recheck = setTimeout(checkAgain, POLL_MS, polls);
  }

  function checkAll(): void {
    const watched = Object.entries(watcher.getWatched());
    const paths = watched.flatMap(([folder, names]) => names.map((name) => path.join(folder, name)));
    const files = [...followed, ...paths.filter(isRelevant)].filter(takeNew);
    if (files.length > 0) scheduleChange(files);
  }

  /**
   * A link in a followed folder to a place outside: nothing there may be compiled, and it may be as large as `/proc`. A
   * followed path may itself be any link.
   */
  function leavesFolder(file: string): boolean {
    if (followed.has(file) || !lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return false;
    const folders = [...followed].filter((folder) => isInside(file, folder));
    return !folders.some((folder) => isInside(toRealPath(file) ?? file, toRealPath(folder) ?? folder));
  }

  /** chokidar and a check may both find the same. */
  function takeNew(file: string): boolean {
    if (!isNew(file)) return false;
    known.set(file, statIfAny(file)?.ctimeMs);
    return true;
  }

  /** Only files: those in a new folder are found themselves. */
  function isNew(file: string): boolean {
    const stats = statIfAny(file);
    if (known.has(file) && known.get(file) === stats?.ctimeMs) return false;
    if (isMissing(file)) return true;
    // A followed file was deleted before it could be watched. Another may be a link that leads nowhere.
    if (stats === undefined) return followed.has(file);
    return !stats.isDirectory() && (isStale?.(file) ?? isRecent(stats));
  }

  /** One that was deleted since the build began has changed its folder, which may be missing itself. */
  function wasMissing(file: string): boolean {
    const folder = path.dirname(file);
    const stats = statIfAny(folder);
    if (stats) return !isRecent(stats);
    // The root of a drive that does not exist is its own folder.
    return folder === file || wasMissing(folder);
  }

  function isMissing(file: string): boolean {
    return known.has(file) && known.get(file) === undefined;
  }

  function isState(file: string): boolean {
    return stateDir !== undefined && (file === stateDir || isInside(file, stateDir));
  }

  /** A rename changes only the time of a file's entry (ctime). */
  function isRecent(stats: Stats | undefined): boolean {
    return stats === undefined || Math.max(stats.ctimeMs, stats.mtimeMs) > since() - CLOCK_SLACK_MS;
  }
}

function isExhausted(error: unknown): boolean {
  return EXHAUSTED.some((code) => code === codeOf(error));
}
