import { type FSWatcher, watch } from "chokidar";
import { type Stats, statSync } from "node:fs";
import path from "node:path";
import type { Log } from "../telemetry/log.ts";

/** Events come in bursts: an editor's rename, a checkout, a folder swap. One pause, one rebuild. */
const QUIET_MS = 60;

/** chokidar looks at a file and watches it a moment later. What happens in between is found by looking once more. */
const LOOK_AGAIN_MS = 250;

/** How often files are looked at where the system has no watches left. */
const POLL_MS = 500;

/** What the system says where it has no watches, no watchers or no file handles left. */
const EXHAUSTED = ["ENOSPC", "EMFILE", "ENFILE"];

/** File systems keep times more coarsely than clocks do. */
const CLOCK_SLACK_MS = 10;

export interface WatcherOptions {
  /** When what is in use was read, in milliseconds since the epoch: a file found to be older than that is no news. */
  since(): number;
  changed(): void;
  /** The service's state folder: what it writes there itself is no news, also where that lies in a followed folder. */
  state?: string;
  log: Log;
}

export interface Watcher {
  /** Watches these files and folders from now on, and no others. */
  follow(paths: string[]): void;
  close(): Promise<void>;
}

/**
 * Calls `changed` once things under the followed paths have been quiet for a moment. A change that happens while the watch
 * is still being set up is not lost. Where the system cannot watch any more, the files are polled, and the log says so.
 */
export function createWatcher({ since, changed, state, log }: WatcherOptions): Watcher {
  const ignored = state === undefined ? isInstalled : [isInstalled, state];
  let watcher = open({ usePolling: false });
  let followed = new Set<string>();
  let quiet: NodeJS.Timeout | undefined;
  let later: NodeJS.Timeout | undefined;

  return {
    follow(paths) {
      // A build that was under way when the service was stopped.
      if (watcher.closed) return;
      const next = new Set(paths);
      const gone = [...followed].filter((followedPath) => !next.has(followedPath));
      if (gone.length > 0) watcher.unwatch(gone);
      watcher.add(paths.filter((wanted) => !followed.has(wanted)));
      followed = next;
      clearTimeout(later);
      later = setTimeout(lookAgain, LOOK_AGAIN_MS);
    },
    async close() {
      clearTimeout(quiet);
      clearTimeout(later);
      await watcher.close();
    },
  };

  function open({ usePolling }: { usePolling: boolean }): FSWatcher {
    const opened = watch([], { alwaysStat: true, ignored, usePolling, interval: POLL_MS });
    opened.on("all", (event, _path, stats) => {
      if (!event.startsWith("add") || isNews(stats)) tell();
    });
    opened.on("ready", lookAgain);
    opened.on("error", (error) => {
      if (!usePolling && isExhausted(error)) poll(opened, error);
      else log.error("watching files failed", { error: String(error) });
    });
    return opened;
  }

  /** Every path that cannot be watched says so; the first is enough. */
  function poll(failed: FSWatcher, reason: unknown): void {
    if (watcher !== failed) return;
    log.warn("files cannot be watched, so they are polled", { everyMs: POLL_MS, reason: String(reason) });
    watcher = open({ usePolling: true });
    watcher.add([...followed]);
    void failed.close();
  }

  function tell(): void {
    clearTimeout(quiet);
    quiet = setTimeout(changed, QUIET_MS);
  }

  function lookAgain(): void {
    const watched = Object.entries(watcher.getWatched());
    const paths = watched.flatMap(([folder, names]) => names.map((name) => path.join(folder, name)));
    // What was followed and is not there was deleted before it could be watched.
    if ([...followed, ...paths].some((file) => isNews(statSync(file, { throwIfNoEntry: false })))) tell();
  }

  /** A rename leaves a file's own times as they were, but not that of its entry. */
  function isNews(stats: Stats | undefined): boolean {
    return stats === undefined || Math.max(stats.ctimeMs, stats.mtimeMs) > since() - CLOCK_SLACK_MS;
  }
}

function isInstalled(file: string): boolean {
  return /[\\/]node_modules([\\/]|$)/.test(file);
}

function isExhausted(error: unknown): boolean {
  return error instanceof Error && "code" in error && EXHAUSTED.some((code) => code === error.code);
}
